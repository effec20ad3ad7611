//===- BreakKernel.cpp - The pass that breaks the PTX of a kernel -----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "Faults.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::test;

namespace {
/// A part of a kernel's text, which may be a group of what matches, and what takes its place.
struct Edit {
  StringLiteral fault;
  const char *pattern;
  unsigned group;
  StringLiteral by;
  /// What the kernel's text begins with, or that of a table of its own.
  StringLiteral begin = ".visible .entry ";
};
} // namespace

constexpr Edit kEdits[] = {
    {"barrier", "bar\\.sync[^\n]*\n", 0, ""},
    // A vector begins at its second element.
    {"vector", "ld\\.global\\.v4\\.b32[^\n]*\\[%rd[0-9]+(\\])", 1, "+4]"},
    // A row of 64 elements is read by 16 lanes, four elements each; now all 32 lanes read.
    {"bound", "setp\\.gt\\.u64[^\n]*%p[0-9]+, %rd[0-9]+, (15);", 1, "31"},
    {"opcode", "(fma)\\.rn\\.f32", 1, "frobnicate"},
    // Behind the eight bytes of the first tensor's size, the second one of the place of its first
    // buffer.
    {"member", "members\\[[0-9]+\\] = \\{([0-9]+, ){9}([0-9]+)", 2, "0", ".global "},
};

/// The `nth` part of a kernel's text that fits; empty where there is none.
static StringRef findPart(StringRef kernel, const Edit &edit, unsigned nth) {
  llvm::Regex pattern(edit.pattern);
  SmallVector<StringRef> groups;
  for (;; --nth) {
    if (!pattern.match(kernel, &groups))
      return {};
    if (nth == 0)
      return groups[edit.group];
    kernel = kernel.drop_front(groups[0].end() - kernel.begin());
  }
}

namespace {

class BreakKernel : public PassWrapper<BreakKernel, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BreakKernel)
  BreakKernel() = default;
  BreakKernel(const BreakKernel &other) : PassWrapper(other) { copyOptionValuesFrom(&other); }

  StringRef getArgument() const final { return "test-break-kernel"; }
  StringRef getDescription() const final { return "break the PTX of a kernel in one place"; }

  void runOnOperation() override {
    auto text = getOperation().lookupSymbol<LLVM::GlobalOp>("ulsc_kernels");
    auto value = text ? dyn_cast_or_null<StringAttr>(text.getValueOrNull()) : StringAttr();
    const Edit *edit = llvm::find_if(kEdits, [&](const Edit &each) { return each.fault == fault; });
    StringRef part = value && edit != std::end(kEdits) ? findPart(value.getValue(), *edit) : "";
    if (part.empty()) {
      getOperation().emitError() << "no kernel '" << kernel << "' has a place for the fault '"
                                 << fault << "'";
      return signalPassFailure();
    }
    StringRef ptx = value.getValue();
    size_t begin = part.begin() - ptx.begin();
    std::string broken =
        (ptx.take_front(begin) + edit->by + ptx.drop_front(begin + part.size())).str();
    text.setValueAttr(StringAttr::get(&getContext(), broken));
    // A string of another length has another type.
    text.setGlobalType(LLVM::LLVMArrayType::get(IntegerType::get(&getContext(), 8), broken.size()));
  }

private:
  /// In the first kernel of the name that has the place.
  StringRef findPart(StringRef ptx, const Edit &edit) {
    for (size_t at = ptx.find(edit.begin); at != StringRef::npos;
         at = ptx.find(edit.begin, at + 1)) {
      StringRef rest = ptx.drop_front(at);
      // A table is a line.
      StringRef one = rest.take_front(rest.find(edit.begin == ".global " ? "\n" : "\n}\n"));
      StringRef name =
          one.drop_front(edit.begin.size()).take_until([](char c) { return c == '(' || c == '['; });
      if (!name.contains(kernel))
        continue;
      if (StringRef part = ::findPart(one, edit, nth); !part.empty())
        return part;
    }
    return {};
  }

  Option<std::string> fault{*this, "fault", llvm::cl::desc("what is done to it")};
  Option<std::string> kernel{*this, "kernel", llvm::cl::desc("part of the kernel's name")};
  Option<unsigned> nth{*this, "nth", llvm::cl::desc("which of its places, from 0"),
                       llvm::cl::init(0)};
};

} // namespace

void test::registerBreakKernel() { PassRegistration<BreakKernel>(); }
