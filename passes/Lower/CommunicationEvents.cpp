//===- CommunicationEvents.cpp - What a stage's program communicates --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/CommunicationEvents.h"

#include "dialects/Dist/Dist.h"
#include "passes/Lower/CollectiveTable.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;
using proof::Communication;

static constexpr StringLiteral kPipelineAxis = "pp";

/// The most starts and waits of a rank that are followed: some hundred bytes each.
static constexpr size_t kMostEvents = size_t(1) << 21;

void lower::noteOwner(Operation *op, const CallChain &calls, int64_t &chunk, int64_t &microbatch) {
  auto note = [&](Operation *from) {
    if (auto attr = from->getAttrOfType<IntegerAttr>(dist::DistDialect::kChunkAttrName);
        attr && chunk < 0)
      chunk = attr.getInt();
    if (auto attr = from->getAttrOfType<IntegerAttr>(dist::DistDialect::kMicrobatchAttrName);
        attr && microbatch < 0)
      microbatch = attr.getInt();
  };
  note(op);
  for (exec::CallOp call : llvm::reverse(calls))
    note(call);
}

CommunicationReader::CommunicationReader(ModuleOp module, SymbolTable &symbols)
    : module(module), symbols(symbols),
      groups(module->getAttrOfType<ArrayAttr>(CollectiveTable::kGroupsAttrName)),
      collectives(module->getAttrOfType<ArrayAttr>(CollectiveTable::kCollectivesAttrName)) {
  for (auto op : module.getOps<dist::MeshOp>())
    mesh = op.getMesh();
}

FailureOr<SmallVector<exec::FunctionOp>> CommunicationReader::getEntries() {
  SmallVector<exec::FunctionOp> entries;
  for (auto function : module.getOps<exec::FunctionOp>())
    if (function.getEntry() && !function.isExternal())
      entries.push_back(function);
  if (entries.size() == 1 && dist::getStage(entries[0]) < 0)
    return entries;
  llvm::sort(entries, [](exec::FunctionOp a, exec::FunctionOp b) {
    return dist::getStage(a) < dist::getStage(b);
  });
  stages = entries.size();
  if (mesh)
    stages = mesh.getAxisSize(kPipelineAxis).value_or(stages);
  for (auto [stage, entry] : llvm::enumerate(entries))
    if (dist::getStage(entry) != int64_t(stage))
      return entry.emitOpError("is the program of stage ")
             << dist::getStage(entry) << " where that of stage " << stage << " is expected";
  if (stages != int64_t(entries.size()))
    return module.emitError("the mesh has ")
           << stages << " stages along pp, but there are programs of " << entries.size();
  return entries;
}

FailureOr<std::vector<proof::Event>> CommunicationReader::read(exec::FunctionOp entry) {
  events.clear();
  CallChain calls;
  if (failed(readBlock(entry.getBody().front(), calls)))
    return failure();
  return std::move(events);
}

LogicalResult CommunicationReader::add(Operation *op, proof::Event event) {
  if (events.size() >= kMostEvents)
    return op->emitOpError("is behind ")
           << kMostEvents
           << " starts and waits of one rank, calls and loops followed; more are not "
           << "followed; take fewer microbatches";
  events.push_back(std::move(event));
  return success();
}

LogicalResult CommunicationReader::readBlock(Block &block, CallChain &calls) {
  for (Operation &op : block) {
    if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
      if (failed(checkStart(start, calls)) ||
          failed(add(start, {true, int64_t(start.getSlot()), describe(start, calls)})))
        return failure();
    } else if (auto wait = dyn_cast<exec::CollectiveWaitOp>(op)) {
      if (failed(add(wait, {false, int64_t(wait.getSlot()), {}})))
        return failure();
    } else if (auto call = dyn_cast<exec::CallOp>(op)) {
      if (failed(readCall(call, calls)))
        return failure();
    } else if (op.getNumRegions() > 0 && failed(readLoop(&op, calls))) {
      return failure();
    }
  }
  return success();
}

LogicalResult CommunicationReader::readCall(exec::CallOp call, CallChain &calls) {
  auto callee = symbols.lookup<exec::FunctionOp>(call.getCallee());
  if (!callee || callee.isExternal())
    return success();
  if (llvm::any_of(calls,
                   [&](exec::CallOp outer) { return outer.getCallee() == call.getCallee(); }))
    return call.emitOpError("is in @") << call.getCallee() << ", which it calls";
  calls.push_back(call);
  LogicalResult result = readBlock(callee.getBody().front(), calls);
  calls.pop_back();
  return result;
}

LogicalResult CommunicationReader::readLoop(Operation *op, CallChain &calls) {
  size_t before = events.size();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(readBlock(block, calls)))
        return failure();
  std::vector<proof::Event> body(events.begin() + before, events.end());
  if (body.empty())
    return success();
  auto loop = dyn_cast<scf::ForOp>(op);
  std::optional<APInt> count = loop ? loop.getStaticTripCount() : std::nullopt;
  if (!count)
    return op->emitOpError("communicates, but how often is not known");
  uint64_t turns = count->getLimitedValue();
  if (turns > (kMostEvents - before) / body.size())
    return op->emitOpError("turns ") << turns << " times with " << body.size()
                                     << " starts and waits each; of one rank at most "
                                     << kMostEvents << " are followed; take fewer microbatches";
  events.resize(before);
  for (uint64_t i = 0; i < turns; ++i)
    events.insert(events.end(), body.begin(), body.end());
  return success();
}

SmallVector<StringRef> CommunicationReader::getAxes(exec::CollectiveStartOp start) {
  SmallVector<StringRef> axes;
  if (!groups || start.getGroup() >= groups.size())
    return axes;
  if (auto list = dyn_cast<ArrayAttr>(groups[start.getGroup()]))
    for (Attribute axis : list)
      if (auto name = dyn_cast<StringAttr>(axis))
        axes.push_back(name.getValue());
  return axes;
}

/// The group tells who takes part, and a transfer's peer is a stage.
std::string CommunicationReader::findGroupProblem(exec::CollectiveStartOp start) {
  std::string problem;
  llvm::raw_string_ostream text(problem);
  SmallVector<StringRef> axes = getAxes(start);
  std::optional<int64_t> peer = start.getPeer();
  const StringRef *unknown =
      llvm::find_if(axes, [&](StringRef axis) { return mesh && !mesh.findAxis(axis); });
  if (axes.empty())
    text << "is of group " << start.getGroup() << ", where the module lists "
         << (groups ? groups.size() : 0);
  else if (unknown != axes.end())
    text << "goes over " << *unknown << ", which is no axis of the mesh " << mesh;
  else if (peer && axes != SmallVector<StringRef>{kPipelineAxis})
    text << "goes over " << llvm::join(axes, "+") << "; a transfer goes over pp alone";
  else if (peer && (*peer < 0 || *peer >= stages))
    text << "names stage " << *peer << "; there are stages 0 to " << stages - 1;
  return problem;
}

/// What the ranks of the group make of what each of them has.
std::string CommunicationReader::findTypeProblem(exec::CollectiveStartOp start) {
  if (!mesh || start.getPeer())
    return "";
  int64_t ranks = 1;
  for (StringRef axis : getAxes(start))
    ranks *= *mesh.getAxisSize(axis);
  std::string problem;
  llvm::raw_string_ostream text(problem);
  if (auto destinations = start.getDestinations();
      destinations && int64_t(destinations->size()) != ranks)
    text << "has " << destinations->size() << " destinations, but its group is of " << ranks
         << " ranks";
  for (auto [input, output] : llvm::zip_equal(start.getInputs(), start.getOutputs())) {
    auto in = cast<MemRefType>(input.getType()), out = cast<MemRefType>(output.getType());
    bool gathers = start.getKind() == exec::CollectiveKind::AllGather;
    bool scatters = start.getKind() == exec::CollectiveKind::ReduceScatter;
    if (in.getNumElements() * (gathers ? ranks : 1) ==
        out.getNumElements() * (scatters ? ranks : 1))
      continue;
    // All others keep the number of elements, which the op's verifier knows.
    text << "makes " << out << " of " << in << "; expected "
         << (gathers ? "are as many elements as its " : "is one of ") << ranks
         << (gathers ? " ranks have together" : " equal parts, a rank each");
    break;
  }
  return problem;
}

/// The module's list tells the runtime, and who reads traces, what a number stands for. A module
/// written by hand may have none.
std::string CommunicationReader::findIdentifierProblem(exec::CollectiveStartOp start) {
  Attribute listed = module->getAttr(CollectiveTable::kCollectivesAttrName);
  if (!listed)
    return "";
  std::string problem;
  llvm::raw_string_ostream text(problem);
  uint64_t identifier = start.getIdentifier();
  size_t count = collectives ? collectives.size() : 0;
  text << "has identifier " << identifier << ", ";
  if (identifier >= count) {
    text << "where the module lists " << count << " collectives";
    return problem;
  }
  auto entry = dyn_cast<DictionaryAttr>(collectives[identifier]);
  auto kind = entry ? entry.getAs<StringAttr>("kind") : StringAttr();
  StringRef expected = exec::stringifyCollectiveKind(start.getKind());
  if (kind && kind.getValue() == expected)
    return "";
  text << "which the module lists as " << (kind ? kind.getValue() : "of no kind") << ", not "
       << expected;
  return problem;
}

LogicalResult CommunicationReader::checkStart(exec::CollectiveStartOp start,
                                              const CallChain &calls) {
  for (auto find : {&CommunicationReader::findGroupProblem, &CommunicationReader::findTypeProblem,
                    &CommunicationReader::findIdentifierProblem})
    if (std::string problem = (this->*find)(start); !problem.empty())
      return start.emitError() << proof::describe(describe(start, calls)) << " " << problem;
  return success();
}

/// The source model's op, by the location, or, where a printed module lost it, by the module's
/// list.
std::string CommunicationReader::getSource(exec::CollectiveStartOp start) {
  if (auto name = start.getLoc()->findInstanceOf<NameLoc>())
    return name.getName().str();
  if (!collectives || start.getIdentifier() >= collectives.size())
    return "";
  auto entry = dyn_cast<DictionaryAttr>(collectives[start.getIdentifier()]);
  auto source = entry ? entry.getAs<StringAttr>("source") : StringAttr();
  return source ? source.str() : "";
}

Communication CommunicationReader::describe(exec::CollectiveStartOp start, const CallChain &calls) {
  Communication what;
  what.name = exec::stringifyCollectiveKind(start.getKind()).str();
  if (start.getReduction())
    what.name += " " + exec::stringifyReduction(*start.getReduction()).str();
  llvm::raw_string_ostream name(what.name);
  if (start.getDestinations())
    name << " to " << llvm::interleaved_array(*start.getDestinations());
  if (start.getKind() == exec::CollectiveKind::Send)
    what.kind = Communication::Kind::Send;
  if (start.getKind() == exec::CollectiveKind::Receive)
    what.kind = Communication::Kind::Receive;
  SmallVector<StringRef> axes = getAxes(start);
  what.axes = llvm::join(axes, "+");
  // A part of an axis is its name with a suffix.
  what.joinsStages = stages > 1 && llvm::any_of(axes, [](StringRef axis) {
                       return axis.split(':').first == kPipelineAxis;
                     });
  what.peer = start.getPeer().value_or(-1);
  llvm::raw_string_ostream operands(what.operands);
  llvm::interleaveComma(start.getInputs().empty() ? start.getOutputs() : start.getInputs(),
                        operands, [&](Value buffer) {
                          auto type = cast<MemRefType>(buffer.getType());
                          for (int64_t size : type.getShape())
                            operands << size << "x";
                          operands << type.getElementType();
                        });
  what.source = getSource(start);
  if (std::string place = dist::describeLocation(start.getLoc()); place != "here")
    what.place = place;
  noteOwner(start, calls, what.chunk, what.microbatch);
  return what;
}
