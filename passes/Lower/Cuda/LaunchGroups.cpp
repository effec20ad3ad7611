//===- LaunchGroups.cpp - Launches that one kernel can do -------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/LaunchGroups.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

//===---------------------------------------------------------------------------------------===//
// What is known of a launch
//===---------------------------------------------------------------------------------------===//

/// Where `buffer` lies in the frame, where that is fixed.
static std::optional<int64_t> findOffset(Value buffer) {
  Operation *op = buffer.getDefiningOp();
  if (auto whole = dyn_cast_or_null<exec::BufferOp>(op))
    return whole.getOffset();
  if (auto view = dyn_cast_or_null<exec::ViewOp>(op)) {
    std::optional<int64_t> source = findOffset(view.getSource());
    Type element = cast<MemRefType>(view.getSource().getType()).getElementType();
    if (source)
      return *source + int64_t(view.getOffset()) * exec::getElementBytes(element);
  }
  if (op && isa<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp>(op))
    return findOffset(op->getOperand(0));
  return std::nullopt;
}

static std::optional<int64_t> countElements(exec::KernelOp kernel) {
  for (Type type : kernel.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getRank() == 1)
      return tensor.getNumElements();
  return std::nullopt;
}

static std::optional<GroupMember> readLaunch(exec::LaunchOp launch, exec::KernelOp kernel) {
  if (!kernel || !kernel.getFamily())
    return std::nullopt;
  std::optional<int64_t> elements = countElements(kernel);
  if (!elements)
    return std::nullopt;
  GroupMember member{launch, kernel, *elements, {}, {}};
  SmallVector<Value> buffers(launch.getInputs());
  llvm::append_range(buffers, launch.getOutputs());
  for (Value buffer : buffers) {
    std::optional<int64_t> offset = findOffset(buffer);
    if (!offset)
      return std::nullopt;
    member.offsets.push_back(*offset);
  }
  for (Value scalar : launch.getScalars()) {
    APInt value;
    if (!matchPattern(scalar, m_ConstantInt(&value)))
      return std::nullopt;
    member.scalars.push_back(value.getSExtValue());
  }
  return member;
}

/// Equal for kernels that one function may do: those of a family, whose types agree but for sizes.
static std::string getKey(exec::KernelOp kernel) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << *kernel.getFamily();
  auto print = [&](TypeRange types) {
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      stream << "|";
      if (tensor)
        stream << tensor.getRank() << " of " << tensor.getElementType();
      else
        stream << type;
    }
  };
  print(kernel.getArgumentTypes());
  print(kernel.getResultTypes());
  return key;
}

//===---------------------------------------------------------------------------------------===//
// Stretches
//===---------------------------------------------------------------------------------------===//

namespace {

struct ByteRange {
  int64_t begin, end;
};

/// A set of bytes.
class ByteSet {
public:
  bool meets(ByteRange range) const {
    auto after = ranges.lower_bound(range.end);
    return after != ranges.begin() && std::prev(after)->second > range.begin;
  }

  void insert(ByteRange range) {
    auto at = ranges.lower_bound(range.begin);
    if (at != ranges.begin() && std::prev(at)->second >= range.begin)
      --at;
    while (at != ranges.end() && at->first <= range.end) {
      range = {std::min(range.begin, at->first), std::max(range.end, at->second)};
      at = ranges.erase(at);
    }
    ranges[range.begin] = range.end;
  }

private:
  std::map<int64_t, int64_t> ranges; ///< from begin to end; they don't touch
};

/// The bytes that an op reads and writes.
struct Accesses {
  SmallVector<ByteRange> reads, writes;
};

} // namespace

static std::optional<ByteRange> findRange(Value buffer) {
  std::optional<int64_t> offset = findOffset(buffer);
  if (!offset)
    return std::nullopt;
  return ByteRange{*offset, *offset + exec::getBytes(cast<MemRefType>(buffer.getType()))};
}

static std::optional<SmallVector<ByteRange>> findRanges(ValueRange buffers) {
  SmallVector<ByteRange> ranges;
  for (Value buffer : buffers) {
    std::optional<ByteRange> range = findRange(buffer);
    if (!range)
      return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

/// Nothing where the place of a buffer isn't fixed.
static std::optional<Accesses> findAccesses(ValueRange reads, ValueRange writes) {
  auto read = findRanges(reads), written = findRanges(writes);
  if (!read || !written)
    return std::nullopt;
  return Accesses{std::move(*read), std::move(*written)};
}

namespace {

class StretchFinder {
public:
  StretchFinder(SymbolTable &symbols, SmallVector<LaunchStretch> &found)
      : symbols(symbols), found(found) {}

  void visit(Block &block) {
    for (Operation &op : block)
      if (!isa<exec::BufferOp>(op) && !isMemoryEffectFree(&op) && !add(&op))
        finish();
    finish();
  }

private:
  /// False where launches before and behind `op` have to stay there.
  bool add(Operation *op) {
    if (auto fill = dyn_cast<exec::FillOp>(op)) {
      std::optional<ByteRange> range = findRange(fill.getTarget());
      if (range) {
        filled.insert(*range);
        stretch.fills.push_back(fill);
      }
      return range.has_value();
    }
    auto launch = dyn_cast<exec::LaunchOp>(op);
    auto copy = dyn_cast<exec::CopyOp>(op);
    std::optional<Accesses> accesses;
    if (launch)
      accesses = findAccesses(launch.getInputs(), launch.getOutputs());
    else if (copy)
      accesses = findAccesses(copy.getSource(), copy.getTarget());
    if (!accesses)
      return false;
    std::optional<GroupMember> member = launch ? readLaunch(launch) : std::nullopt;
    if (!member)
      return !isInTheWay(*accesses); // launches before it may move behind it
    if (isInTheWay(*accesses))
      finish();
    addMember(std::move(*member), *accesses);
    return true;
  }

  std::optional<GroupMember> readLaunch(exec::LaunchOp launch) {
    return ::readLaunch(launch, symbols.lookup<exec::KernelOp>(launch.getKernel()));
  }

  void addMember(GroupMember member, const Accesses &accesses) {
    for (ByteRange range : accesses.reads)
      read.insert(range);
    for (ByteRange range : accesses.writes)
      written.insert(range);
    auto [at, isNew] = groupOf.try_emplace(getKey(member.kernel), stretch.groups.size());
    if (isNew)
      stretch.groups.emplace_back();
    stretch.groups[at->second].push_back(std::move(member));
  }

  /// Whether an op with these accesses has to stay behind a launch or fill of the stretch.
  bool isInTheWay(const Accesses &accesses) const {
    auto meets = [](const ByteSet &set, ArrayRef<ByteRange> ranges) {
      return llvm::any_of(ranges, [&](ByteRange range) { return set.meets(range); });
    };
    return meets(written, accesses.reads) || meets(written, accesses.writes) ||
           meets(read, accesses.writes) || meets(filled, accesses.reads) ||
           meets(filled, accesses.writes);
  }

  void finish() {
    if (!stretch.groups.empty())
      found.push_back(std::move(stretch));
    stretch = {};
    groupOf.clear();
    read = written = filled = {};
  }

  SymbolTable &symbols;
  SmallVector<LaunchStretch> &found;
  LaunchStretch stretch;
  llvm::StringMap<size_t> groupOf;
  ByteSet read, written, filled;
};

} // namespace

SmallVector<LaunchStretch> lower::findLaunchStretches(ModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<LaunchStretch> found;
  for (auto function : module.getOps<exec::FunctionOp>())
    // Frames of other functions lie where their callers have room.
    if (function.getEntry())
      function.walk([&](Block *block) { StretchFinder(symbols, found).visit(*block); });
  return found;
}
