//===- BufferAssignment.cpp - The buffers of one function's values ----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/BufferAssignment.h"

#include "dialects/Dist/Dist.h"
#include "passes/Lower/KernelPlan.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

Value lower::getViewSource(Operation *op) {
  if (auto reshape = dyn_cast<uls::ReshapeOp>(op))
    return reshape.getInput();
  if (auto slice = dyn_cast<uls::SliceOp>(op))
    return slice.getInput();
  return {};
}

/// Byte offset of a view in its source.
static int64_t getViewOffset(Operation *op) {
  auto slice = dyn_cast<uls::SliceOp>(op);
  if (!slice)
    return 0;
  auto type = cast<RankedTensorType>(slice.getInput().getType());
  int64_t elements = slice.getOffset();
  for (int64_t size : type.getShape().drop_front(slice.getDim() + 1))
    elements *= size;
  return elements * exec::getElementBytes(type.getElementType());
}

//===---------------------------------------------------------------------------------------===//
// Signatures
//===---------------------------------------------------------------------------------------===//

/// Whether nobody reads `argument` of `call` after it: made by an op of the same block, seen
/// through no view, and last used there.
static bool diesAtCall(uls::CallOp call, Value argument) {
  Operation *producer = argument.getDefiningOp();
  if (!isTensor(argument) || !producer || producer->getBlock() != call->getBlock() ||
      !argument.hasOneUse())
    return false;
  return isa<uls::CallOp, exec::ApplyOp, exec::ContractOp>(producer);
}

Signature lower::getSignature(uls::BlockOp block, ArrayRef<uls::CallOp> calls) {
  Signature signature;
  signature.accumulatorOf.resize(block.getNumResults());
  signature.isDonated.assign(block.getNumArguments(), true);
  for (unsigned i = 0; i < block.getNumArguments(); ++i) {
    if (auto result = block.getArgAttrOfType<IntegerAttr>(i, "exec.accumulates")) {
      signature.accumulatorOf[result.getInt()] = i;
      signature.isDonated[i] = false;
    }
    for (uls::CallOp call : calls)
      signature.isDonated[i] = signature.isDonated[i] && diesAtCall(call, call.getArguments()[i]);
  }
  return signature;
}

//===---------------------------------------------------------------------------------------===//
// Classes of single values
//===---------------------------------------------------------------------------------------===//

BufferAssignment::BufferAssignment(Block &body, const SymbolTable &symbols,
                                   const llvm::StringMap<Signature> &signatures,
                                   const Signature &own)
    : timeline(body), body(body), symbols(symbols), signatures(signatures), own(own) {
  for (BlockArgument argument : body.getArguments()) {
    if (!isTensor(argument))
      continue;
    // An argument that is not given away is read-only: it lives throughout.
    unsigned index = argument.getArgNumber();
    bool isWritable = own.isDonated[index] || llvm::is_contained(own.accumulatorOf, index);
    classes.create(argument, 0, isWritable ? timeline.getLastUse(argument) : timeline.getEnd(),
                   /*isPinned=*/true);
  }
  createPersistents();
  createValues(body);
  createResults();
  tieCollectives();
  tieAll();
}

void BufferAssignment::createPersistents() {
  llvm::StringSet<> written;
  body.walk([&](exec::PutOp put) { written.insert(put.getName()); });
  auto create = [&](StringRef name, Type type) -> unsigned {
    auto [it, isNew] = persistents.try_emplace(name, Persistent{0, cast<RankedTensorType>(type)});
    if (isNew)
      it->second.classId = classes.createPinned(exec::getBytes(cast<ShapedType>(type)));
    return it->second.classId;
  };
  body.walk([&](exec::GetOp get) {
    unsigned id = create(get.getName(), get.getType());
    bool isWritten = written.contains(get.getName());
    classes.add(id, get.getResult(), 0, 0,
                isWritten ? timeline.getLastUse(get.getResult()) : timeline.getEnd());
  });
  body.walk([&](exec::PutOp put) { create(put.getName(), put.getValue().getType()); });
}

void BufferAssignment::createValues(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<uls::MicrobatchesOp>(op)) {
      createLoop(loop);
      continue;
    }
    if (Value source = getViewSource(&op)) {
      createView(&op, source);
      continue;
    }
    for (Value result : op.getResults())
      createValue(result);
  }
}

void BufferAssignment::createValue(Value value) {
  if (!isTensor(value) || classes.contains(value))
    return;
  // One microbatch of the inputs is memory that exists, and no one writes it.
  bool isPinned = value.getDefiningOp<uls::MicrobatchOp>() != nullptr;
  classes.create(value, timeline.getStart(value),
                 isPinned ? timeline.getEnd() : timeline.getLastUse(value), isPinned);
}

void BufferAssignment::createView(Operation *op, Value source) {
  Value view = op->getResult(0);
  Place place = classes.getPlace(source);
  classes.add(place.classId, view, place.offset + getViewOffset(op), timeline.getStart(view),
              timeline.getLastUse(view));
}

void BufferAssignment::createLoop(uls::MicrobatchesOp loop) {
  Block &inner = loop.getBody().front();
  for (auto [argument, result] :
       llvm::zip_equal(inner.getArguments().drop_front(), loop.getResults())) {
    unsigned id =
        classes.create(argument, timeline.getStart(argument), timeline.getLastUse(argument));
    classes.add(id, result, 0, timeline.getStart(result), timeline.getLastUse(result));
  }
  createValues(inner);
}

void BufferAssignment::createResults() {
  Operation *yield = body.getTerminator();
  int64_t point = timeline.getPoint(yield);
  for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
    if (auto argument = own.accumulatorOf[i]) {
      resultClasses.push_back(classes.getPlace(body.getArgument(*argument)).classId);
    } else {
      resultClasses.push_back(
          classes.createPinned(exec::getBytes(cast<ShapedType>(value.getType()))));
    }
    classes.occupy(resultClasses.back(), point, timeline.getEnd(), yield);
  }
}

//===---------------------------------------------------------------------------------------===//
// Ties
//===---------------------------------------------------------------------------------------===//

/// The collectives of a function with the ops where they start and end.
static void
forEachCollective(Block &body,
                  function_ref<void(dist::CollectiveOpInterface, Operation *, Operation *)> visit) {
  body.walk([&](dist::CollectiveOpInterface collective) {
    auto start = dyn_cast<dist::StartOp>(collective->getParentOp());
    if (!start)
      return visit(collective, collective, collective);
    visit(collective, start, *start.getHandle().user_begin());
  });
}

void BufferAssignment::tieCollectives() {
  forEachCollective(
      body, [&](dist::CollectiveOpInterface collective, Operation *start, Operation *wait) {
        int64_t from = timeline.getPoint(start), until = timeline.getPoint(wait);
        bool mayBeInPlace = isa<dist::AllReduceOp>(collective);
        // Results fill while the collective is under way.
        for (Value result : wait->getResults())
          if (from != until)
            classes.extend(result, from, until);
        if (wait->getNumResults() == 0)
          for (Value operand : collective.getInputs())
            classes.extend(operand, from, until);
        for (auto [operand, result] : llvm::zip(collective.getInputs(), wait->getResults())) {
          if (mayBeInPlace)
            classes.allow(operand, result);
          if (!(mayBeInPlace && classes.tie(operand, result)))
            classes.extend(operand, from, until);
        }
      });
}

void BufferAssignment::request(const void *ending, const void *starting, bool isRequired,
                               std::function<void()> join) {
  classes.allow(ending, starting);
  ties.push_back({isRequired, std::move(join)});
}

void BufferAssignment::tieAll() {
  body.walk([&](Operation *op) { collectTies(op); });
  // What saves a copy comes before what saves memory; from the end, for where a value is to end up
  // decides where it is made.
  for (Tie &tie : llvm::reverse(ties))
    if (tie.isRequired)
      tie.join();
  for (Tie &tie : ties)
    if (!tie.isRequired)
      tie.join();
}

void BufferAssignment::collectTies(Operation *op) {
  auto require = [&](Value ending, Value starting) {
    request(ending.getAsOpaquePointer(), starting.getAsOpaquePointer(), /*isRequired=*/true,
            [=] { classes.tie(ending, starting); });
  };
  if (auto put = dyn_cast<exec::PutOp>(op)) {
    unsigned id = persistents.lookup(put.getName()).classId;
    // The value stays; where it can't be made in place, its copy does.
    classes.extend(put->getOperand(0), timeline.getPoint(op), timeline.getEnd());
    ties.push_back({true, [=] {
                      if (!classes.join(put->getOperand(0), id, 0))
                        classes.occupy(id, timeline.getPoint(op), timeline.getEnd(), op);
                    }});
  } else if (auto loop = dyn_cast<uls::MicrobatchesOp>(op)) {
    for (auto [init, argument] :
         llvm::zip_equal(loop.getInits(), loop.getBody().front().getArguments().drop_front()))
      require(init, argument);
  } else if (isa<uls::YieldOp>(op) && op->getBlock() == &body) {
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      request(value.getAsOpaquePointer(), op, true,
              [this, value = value, id = resultClasses[i]] { classes.join(value, id, 0); });
  } else if (isa<uls::YieldOp>(op)) {
    auto loop = cast<uls::MicrobatchesOp>(op->getParentOp());
    for (auto [value, result] : llvm::zip_equal(op->getOperands(), loop.getResults()))
      require(value, result);
  } else if (auto contract = dyn_cast<exec::ContractOp>(op)) {
    if (contract.getAccumulator())
      require(contract.getAccumulator(), contract.getResult());
  } else if (auto call = dyn_cast<uls::CallOp>(op)) {
    collectCallTies(call);
  } else if (auto concat = dyn_cast<uls::ConcatOp>(op)) {
    collectConcatTies(concat);
  } else if (auto apply = dyn_cast<exec::ApplyOp>(op)) {
    collectApplyTies(apply);
  }
}

void BufferAssignment::collectCallTies(uls::CallOp call) {
  const Signature &signature = signatures.find(call.getCallee())->second;
  for (auto [i, argument] : llvm::enumerate(signature.accumulatorOf)) {
    if (!argument)
      continue;
    Value operand = call.getArguments()[*argument], result = call.getResult(i);
    request(operand.getAsOpaquePointer(), result.getAsOpaquePointer(), true,
            [=] { classes.tie(operand, result); });
  }
}

void BufferAssignment::collectConcatTies(uls::ConcatOp concat) {
  int64_t shift = 0;
  for (Value input : concat.getInputs()) {
    Value output = concat.getOutput();
    request(input.getAsOpaquePointer(), output.getAsOpaquePointer(), true, [=] {
      Place place = classes.getPlace(output);
      classes.join(input, place.classId, place.offset + shift);
    });
    shift += exec::getBytes(cast<ShapedType>(input.getType()));
  }
}

void BufferAssignment::collectApplyTies(exec::ApplyOp apply) {
  auto kernel = symbols.lookup<exec::KernelOp>(apply.getKernel());
  bool isScatter = kernel.getKind() == exec::KernelKind::Scatter;
  for (auto [o, result] : llvm::enumerate(apply.getResults()))
    for (Value input : apply.getInputs()) {
      if (exec::getBytes(cast<ShapedType>(input.getType())) !=
          exec::getBytes(cast<ShapedType>(result.getType())))
        continue;
      // Every operand that is this value has to allow it.
      bool isAllowed = true;
      for (auto [j, other] : llvm::enumerate(apply.getInputs()))
        if (other == input)
          isAllowed = isAllowed && mayWriteInPlace(kernel, j, o);
      if (isAllowed)
        request(input.getAsOpaquePointer(), result.getAsOpaquePointer(), isScatter,
                [this, input = input, result = Value(result)] { classes.tie(input, result); });
    }
}
