//===- BufferEmitter.cpp - Writes a function on buffers from one on values --------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/BufferEmitter.h"

#include "passes/Lower/DecomposePatterns.h"
#include "passes/Lower/GemmWorkspace.h"
#include "passes/Lower/GenericOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static MemRefType getMemRef(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

BufferEmitter::BufferEmitter(ModuleState &state, Block &body, StringRef name,
                             const Signature &signature)
    : state(state), body(body), name(name), signature(signature),
      assignment(body, state.symbols, state.signatures, signature),
      builder(body.getParentOp()->getContext()) {
  // Callees run while this function's collectives are under way: their slots come first.
  body.walk([&](uls::CallOp call) {
    firstSlot = std::max(firstSlot, state.slots.lookup(call.getCallee()));
  });
  slotCount = firstSlot;
}

const llvm::StringMap<BufferEmitter::Handler> &BufferEmitter::getHandlers() {
  static const llvm::StringMap<Handler> handlers = {
      {exec::ApplyOp::getOperationName(), &BufferEmitter::emitApply},
      {exec::ContractOp::getOperationName(), &BufferEmitter::emitContract},
      {exec::GetOp::getOperationName(), &BufferEmitter::emitNothing},
      {exec::PutOp::getOperationName(), &BufferEmitter::emitPut},
      {exec::CoordinateOp::getOperationName(), &BufferEmitter::emitScalar},
      {uls::AttentionOp::getOperationName(), &BufferEmitter::emitAttention},
      {uls::AttentionGradOp::getOperationName(), &BufferEmitter::emitAttentionGrad},
      {uls::ConstantOp::getOperationName(), &BufferEmitter::emitConstant},
      {uls::ReshapeOp::getOperationName(), &BufferEmitter::emitNothing},
      {uls::SliceOp::getOperationName(), &BufferEmitter::emitNothing},
      {uls::ConcatOp::getOperationName(), &BufferEmitter::emitConcat},
      {uls::MicrobatchOp::getOperationName(), &BufferEmitter::emitMicrobatch},
      {uls::MicrobatchesOp::getOperationName(), &BufferEmitter::emitLoop},
      {uls::YieldOp::getOperationName(), &BufferEmitter::emitYield},
      {uls::CallOp::getOperationName(), &BufferEmitter::emitCall},
      {uls::ControlOp::getOperationName(), &BufferEmitter::emitControl},
      {uls::ReportOp::getOperationName(), &BufferEmitter::emitReport},
      {dist::StartOp::getOperationName(), &BufferEmitter::emitStart},
      {dist::WaitOp::getOperationName(), &BufferEmitter::emitWait},
      {dist::AllReduceOp::getOperationName(), &BufferEmitter::emitCollective},
      {dist::AllGatherOp::getOperationName(), &BufferEmitter::emitCollective},
      {dist::ReduceScatterOp::getOperationName(), &BufferEmitter::emitCollective},
      {dist::AllToAllOp::getOperationName(), &BufferEmitter::emitCollective},
      {dist::PermuteOp::getOperationName(), &BufferEmitter::emitCollective},
      {UnrealizedConversionCastOp::getOperationName(), &BufferEmitter::emitNothing},
  };
  return handlers;
}

//===---------------------------------------------------------------------------------------===//
// Functions
//===---------------------------------------------------------------------------------------===//

FailureOr<exec::FunctionOp> BufferEmitter::emitBlock(uls::BlockOp block) {
  SmallVector<Type> types;
  for (Type type : block.getArgumentTypes())
    types.push_back(isa<RankedTensorType>(type) ? Type(getMemRef(type)) : type);
  for (auto [type, accumulator] : llvm::zip_equal(block.getResultTypes(), signature.accumulatorOf))
    if (!accumulator)
      types.push_back(getMemRef(type));
  builder.setInsertionPoint(block);
  auto function = exec::FunctionOp::create(
      builder, block.getLoc(), builder.getStringAttr(name),
      TypeAttr::get(builder.getFunctionType(types, {})), builder.getStringAttr("private"),
      ArrayAttr(), ArrayAttr(), IntegerAttr(), UnitAttr(), DictionaryAttr());
  target = builder.createBlock(&function.getBody(), {}, types,
                               SmallVector<Location>(types.size(), block.getLoc()));
  unsigned next = block.getNumArguments();
  for (auto [argument, buffer] : llvm::zip(block.getArguments(), target->getArguments())) {
    if (isa<RankedTensorType>(argument.getType()))
      roots[assignment.classes.getPlace(argument).classId] = buffer;
    else
      scalars.map(argument, buffer);
  }
  for (auto [id, accumulator] : llvm::zip_equal(assignment.resultClasses, signature.accumulatorOf))
    if (!accumulator)
      roots[id] = target->getArgument(next++);
  if (failed(emitOps(body)))
    return failure();
  state.slots[name] = slotCount;
  return function;
}

FailureOr<exec::FunctionOp> BufferEmitter::emitStep(uls::StepOp step) {
  builder.setInsertionPoint(step);
  auto function = exec::FunctionOp::create(builder, step.getLoc(), builder.getStringAttr(name),
                                           TypeAttr::get(builder.getFunctionType({}, {})),
                                           StringAttr(), ArrayAttr(), ArrayAttr(), IntegerAttr(),
                                           builder.getUnitAttr(), DictionaryAttr());
  stage = dist::getStage(step);
  if (stage >= 0)
    function->setAttr(dist::DistDialect::kStageAttrName, builder.getI64IntegerAttr(stage));
  target = builder.createBlock(&function.getBody());
  createPersistents();
  if (failed(emitOps(body)))
    return failure();
  state.slots[name] = slotCount;
  return function;
}

/// Every persistent buffer, used or not, in the order of the arena.
void BufferEmitter::createPersistents() {
  auto create = [&](StringRef persistent, Type declared, dist::ShardingAttr sharding,
                    exec::Category category) {
    auto it = assignment.persistents.find(persistent);
    auto type = it != assignment.persistents.end() ? it->second.type
                                                   : dyn_cast_or_null<RankedTensorType>(declared);
    if (!type)
      return;
    if (it == assignment.persistents.end() && sharding)
      type = sharding.getLocalType(lookupMesh(body.getParentOp(), sharding.getMesh()), type);
    Value buffer = createBuffer(category, getMemRef(type), builder.getStringAttr(persistent),
                                body.getParentOp()->getLoc());
    buffer.getDefiningOp()->setAttr("exec.persistent", builder.getUnitAttr());
    if (it != assignment.persistents.end())
      roots[it->second.classId] = buffer;
  };
  create("tokens", {}, {}, exec::Category::Activations);
  create("targets", {}, {}, exec::Category::Activations);
  for (auto param : state.module.getOps<uls::ParamOp>())
    if (dist::isOnStage(param, stage))
      create(param.getSymName(), param.getType(), param.getShardingAttr(),
             exec::Category::Parameters);
  for (auto op : state.module.getOps<uls::StateOp>())
    if (dist::isOnStage(state.symbols.lookup(op.getParameter()), stage))
      create(op.getSymName(), op.getType(), op.getShardingAttr(), exec::Category::Optimizer);
  for (auto param : state.module.getOps<uls::ParamOp>())
    create((param.getSymName() + ".gradient").str(), {}, {}, exec::Category::Gradients);
}

LogicalResult BufferEmitter::emitOps(Block &block) {
  for (Operation &op : block) {
    auto it = getHandlers().find(op.getName().getStringRef());
    Handler handler = it != getHandlers().end() ? it->second : nullptr;
    if (!handler && isa<arith::ArithDialect>(op.getDialect()))
      handler = &BufferEmitter::emitScalar;
    if (!handler)
      return op.emitOpError(
          "has no form on buffers: a handler in passes/Lower/BufferEmitter.cpp is missing");
    if (failed((this->*handler)(&op)))
      return failure();
  }
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Buffers
//===---------------------------------------------------------------------------------------===//

Value BufferEmitter::createBuffer(exec::Category category, Type type, StringAttr bufferName,
                                  Location location) {
  OpBuilder::InsertionGuard guard(builder);
  if (lastBuffer)
    builder.setInsertionPointAfter(lastBuffer);
  else
    builder.setInsertionPointToStart(target);
  auto buffer = exec::BufferOp::create(builder, location, cast<MemRefType>(type),
                                       exec::CategoryAttr::get(builder.getContext(), category),
                                       bufferName, IntegerAttr());
  lastBuffer = buffer;
  return buffer.getResult();
}

/// Whether a value of the step is a gradient on its way to a scattered sum, or what a loop adds up.
static bool isGradient(Value value) {
  if (cast<RankedTensorType>(value.getType()).getRank() == 0)
    return false;
  auto isLoop = [](Operation *op) { return isa_and_nonnull<uls::MicrobatchesOp>(op); };
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isLoop(argument.getOwner()->getParentOp());
  return isLoop(value.getDefiningOp()) ||
         llvm::any_of(value.getUsers(), llvm::IsaPred<dist::ReduceScatterOp>);
}

/// Whether a value of the step is a sum that a call adds to.
bool BufferEmitter::isAccumulator(Value value) {
  auto call = value.getDefiningOp<uls::CallOp>();
  if (!call)
    return value.getDefiningOp<uls::AccumulateOp>() != nullptr;
  const Signature &callee = state.signatures.find(call.getCallee())->second;
  return callee.accumulatorOf[cast<OpResult>(value).getResultNumber()].has_value();
}

exec::Category BufferEmitter::getCategory(const BufferClass &owner) {
  if (!isa<uls::StepOp>(body.getParentOp()))
    return exec::Category::Temporaries;
  if (llvm::any_of(owner.values, isGradient) ||
      (stage >= 0 && llvm::any_of(owner.values, [&](Value value) { return isAccumulator(value); })))
    return exec::Category::Gradients;
  for (Value value : owner.values) {
    Operation *producer = value.getDefiningOp();
    if (producer && isa<uls::CallOp>(producer))
      return exec::Category::Activations;
    // What a gather takes may wait for it long: the part of a unit that a rank keeps.
    if ((producer && isa<dist::DistDialect>(producer->getDialect())) ||
        llvm::any_of(value.getUsers(), llvm::IsaPred<dist::AllGatherOp>))
      return exec::Category::Communication;
  }
  return exec::Category::Temporaries;
}

Value BufferEmitter::getRoot(unsigned classId) {
  Value &root = roots[classId];
  if (root)
    return root;
  const BufferClass &owner = assignment.classes.getClass(classId);
  Value buffer = createBuffer(getCategory(owner), getMemRef(owner.leader.getType()), StringAttr(),
                              owner.leader.getLoc());
  return roots[classId] = buffer;
}

Value BufferEmitter::getView(Value root, int64_t offset, RankedTensorType type, Location location) {
  MemRefType wanted = getMemRef(type);
  auto source = cast<MemRefType>(root.getType());
  if (source == wanted)
    return root;
  int64_t elements = offset / exec::getElementBytes(source.getElementType());
  return exec::ViewOp::create(builder, location, wanted, root, elements);
}

Value BufferEmitter::getBuffer(Value value) {
  Place place = assignment.classes.getPlace(value);
  return getView(getRoot(place.classId), place.offset, cast<RankedTensorType>(value.getType()),
                 value.getLoc());
}

SmallVector<Value> BufferEmitter::getBuffers(ValueRange values) {
  SmallVector<Value> buffers;
  for (Value value : values)
    buffers.push_back(getBuffer(value));
  return buffers;
}

bool BufferEmitter::haveSamePlace(Value a, Value b) {
  Place x = assignment.classes.getPlace(a), y = assignment.classes.getPlace(b);
  return x.classId == y.classId && x.offset == y.offset;
}

//===---------------------------------------------------------------------------------------===//
// Computations
//===---------------------------------------------------------------------------------------===//

LogicalResult BufferEmitter::emitScalar(Operation *op) {
  builder.clone(*op, scalars);
  return success();
}

LogicalResult BufferEmitter::emitApply(Operation *op) {
  auto apply = cast<exec::ApplyOp>(op);
  SmallVector<Value> numbers;
  for (Value scalar : apply.getScalars())
    numbers.push_back(scalars.lookup(scalar));
  exec::LaunchOp::create(builder, op->getLoc(), apply.getKernel(), getBuffers(apply.getInputs()),
                         getBuffers(apply.getResults()), numbers, IntegerAttr(), IntegerAttr());
  return success();
}

LogicalResult BufferEmitter::emitContract(Operation *op) {
  auto contract = cast<exec::ContractOp>(op);
  Value result = getBuffer(contract.getResult());
  Value accumulator = contract.getAccumulator();
  if (accumulator && !haveSamePlace(accumulator, contract.getResult()))
    exec::CopyOp::create(builder, op->getLoc(), getBuffer(accumulator), result);
  auto gemm = exec::GemmOp::create(
      builder, op->getLoc(), contract.getNameAttr(), getBuffer(contract.getA()),
      getBuffer(contract.getB()), result, Value(), contract.getSizesAttr(),
      contract.getAStridesAttr(), contract.getBStridesAttr(), contract.getCStridesAttr(),
      accumulator ? builder.getUnitAttr() : UnitAttr(), contract.getEpilogueAttr(),
      getBufferOrNull(contract.getEpilogueInput()), getBufferOrNull(contract.getEpilogueOutput()));
  auto workspace =
      MemRefType::get({gemmWorkspaceBytes(gemm, state.isForDevice)}, builder.getI8Type());
  gemm.getWorkspaceMutable().assign(
      createBuffer(exec::Category::Workspaces, workspace, StringAttr(), op->getLoc()));
  return success();
}

LogicalResult BufferEmitter::emitConstant(Operation *op) {
  auto constant = cast<uls::ConstantOp>(op);
  if (op->use_empty())
    return success();
  Value buffer = getBuffer(constant.getOutput());
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements)
    return op->emitOpError("is not a dense constant");
  if (elements.isSplat()) {
    exec::FillOp::create(builder, op->getLoc(), buffer, elements.getSplatValue<TypedAttr>());
    return success();
  }
  // Tables such as rope's frequencies are short.
  auto flat = MemRefType::get({1}, elements.getElementType());
  for (auto [i, value] : llvm::enumerate(elements.getValues<TypedAttr>())) {
    Value element =
        exec::ViewOp::create(builder, op->getLoc(), flat, buffer, static_cast<int64_t>(i));
    exec::FillOp::create(builder, op->getLoc(), element, value);
  }
  return success();
}

LogicalResult BufferEmitter::emitConcat(Operation *op) {
  auto concat = cast<uls::ConcatOp>(op);
  Place place = assignment.classes.getPlace(concat.getOutput());
  int64_t offset = place.offset;
  for (Value input : concat.getInputs()) {
    Place own = assignment.classes.getPlace(input);
    auto type = cast<RankedTensorType>(input.getType());
    if (own.classId != place.classId || own.offset != offset)
      exec::CopyOp::create(builder, op->getLoc(), getBuffer(input),
                           getView(getRoot(place.classId), offset, type, op->getLoc()));
    offset += exec::getBytes(type);
  }
  return success();
}

LogicalResult BufferEmitter::emitPut(Operation *op) {
  auto put = cast<exec::PutOp>(op);
  unsigned id = assignment.persistents.lookup(put.getName()).classId;
  Place place = assignment.classes.getPlace(put.getValue());
  if (place.classId != id)
    exec::CopyOp::create(builder, op->getLoc(), getBuffer(put.getValue()), getRoot(id));
  return success();
}

LogicalResult BufferEmitter::emitControl(Operation *op) {
  auto control = cast<uls::ControlOp>(op);
  if (!op->use_empty())
    exec::ReadControlOp::create(builder, op->getLoc(), control.getField(),
                                getBuffer(control.getOutput()));
  return success();
}

LogicalResult BufferEmitter::emitReport(Operation *op) {
  auto report = cast<uls::ReportOp>(op);
  exec::WriteControlOp::create(builder, op->getLoc(), report.getField(),
                               getBuffer(report.getValue()));
  return success();
}
