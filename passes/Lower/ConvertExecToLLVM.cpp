//===- ConvertExecToLLVM.cpp - Turn a rank's program into calls of the runtime -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Exec/ControlBlock.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/RuntimeCalls.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ulsc {
#define GEN_PASS_DEF_CONVERTEXECTOLLVMPASS
#include "passes/Lower/LowerPasses.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

namespace {

/// Converts one function: buffers become addresses, ops calls.
class FunctionConverter {
public:
  FunctionConverter(RuntimeCalls &runtime, exec::FunctionOp function, bool isForDevice)
      : runtime(runtime), source(function), builder(function), code(builder, function.getLoc()),
        isForDevice(isForDevice) {}

  LogicalResult run() {
    LLVM::LLVMFuncOp target = createFunction();
    if (source.isExternal())
      return source.erase(), success();
    target.getBody().takeBody(source.getBody());
    convertArguments(target.getBody().front());
    LogicalResult result = convertBlock(target.getBody().front());
    // Users come after what they use.
    if (succeeded(result))
      for (Operation *op : llvm::reverse(converted))
        op->erase();
    Block &entry = target.getBody().front();
    if (succeeded(result))
      entry.eraseArguments(entry.getNumArguments() - oldArguments, oldArguments);
    source.erase();
    return result;
  }

private:
  LLVM::LLVMFuncOp createFunction() {
    SmallVector<Type> types = {code.ptrType()};
    if (!source.getEntry())
      types.push_back(code.ptrType());
    for (Type type : source.getArgumentTypes())
      types.push_back(isa<MemRefType>(type) ? code.ptrType() : code.i64Type());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), types);
    StringAttr name = source.getSymNameAttr();
    bool isExported = (source.getEntry() && dist::getStage(source) < 0) || source.isExternal();
    // The old function gives up its name.
    source.setSymNameAttr(builder.getStringAttr(name.getValue() + ".exec"));
    return LLVM::LLVMFuncOp::create(builder, source.getLoc(), name, type,
                                    isExported ? LLVM::Linkage::External : LLVM::Linkage::Internal);
  }

  /// Puts the new arguments before the old ones, which stay until their users are gone.
  void convertArguments(Block &entry) {
    builder.setInsertionPointToStart(&entry);
    unsigned old = entry.getNumArguments(), position = 0;
    context = entry.insertArgument(position++, code.ptrType(), code.loc);
    frame = source.getEntry() ? code.loadPointer(context, 0)
                              : Value(entry.insertArgument(position++, code.ptrType(), code.loc));
    unsigned shift = position;
    for (unsigned i = 0; i < old; ++i) {
      BlockArgument argument = entry.getArgument(shift + 2 * i);
      bool isBuffer = isa<MemRefType>(argument.getType());
      BlockArgument added = entry.insertArgument(
          shift + i, isBuffer ? code.ptrType() : code.i64Type(), argument.getLoc());
      if (isBuffer)
        addresses[argument] = added;
      else if (argument.getType().isIndex())
        argument.replaceAllUsesWith(
            arith::IndexCastOp::create(builder, code.loc, builder.getIndexType(), added)
                .getResult());
      else
        argument.replaceAllUsesWith(added);
    }
    oldArguments = old;
  }

  LogicalResult convertBlock(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      builder.setInsertionPoint(&op);
      code.loc = op.getLoc();
      if (failed(convert(op)))
        return failure();
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(convertBlock(inner)))
            return failure();
      if (isa<exec::ExecDialect, memref::MemRefDialect>(op.getDialect()))
        converted.push_back(&op);
    }
    return success();
  }

  Value address(Value buffer) { return addresses.lookup(buffer); }
  Value addressOrNull(Value buffer) {
    return buffer ? address(buffer)
                  : Value(LLVM::ZeroOp::create(builder, code.loc, code.ptrType()));
  }
  static MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }
  Value asI64(Value scalar) {
    return scalar.getType().isIndex()
               ? Value(arith::IndexCastOp::create(builder, code.loc, code.i64Type(), scalar))
               : scalar;
  }
  Value offsetBytes(Value pointer, Value bytes) {
    return code.address(pointer, bytes, builder.getI8Type());
  }

  /// The addresses of buffers and scalars in the place of addresses, as an array on the stack.
  Value addressArray(ArrayRef<Value> buffers, ValueRange scalars = {}) {
    Value array = code.stack(8 * std::max<size_t>(1, buffers.size() + scalars.size()));
    int64_t position = 0;
    for (Value buffer : buffers)
      code.store(address(buffer), array, code.i64(position++), code.ptrType());
    for (Value scalar : scalars)
      code.store(asI64(scalar), array, code.i64(position++), code.i64Type());
    return array;
  }

  LogicalResult convert(Operation &op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case<exec::BufferOp, exec::SlotOp, exec::ViewOp, exec::CopyOp, exec::FillOp,
              exec::LaunchOp, exec::CallOp, exec::GemmOp, exec::AttentionOp, exec::AttentionGradOp,
              exec::CollectiveStartOp, exec::CollectiveWaitOp, exec::ReadControlOp,
              exec::WriteControlOp, exec::CoordinateOp, exec::ReturnOp, memref::SubViewOp>(
            [&](auto typed) { return convertOp(typed); })
        .Case<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp>([&](auto view) {
          addresses[view->getResult(0)] = address(view->getOperand(0));
          return success();
        })
        .Default([&](Operation *other) -> LogicalResult {
          if (isa<exec::ExecDialect, memref::MemRefDialect>(other->getDialect()))
            return other->emitOpError("cannot be lowered to LLVM");
          return success();
        });
  }

  LogicalResult convertOp(exec::BufferOp op) {
    if (!op.getOffset())
      return op.emitOpError("has no offset; the memory plan comes before the lowering");
    addresses[op.getResult()] = code.addressBytes(frame, *op.getOffset());
    return success();
  }
  LogicalResult convertOp(exec::SlotOp op) {
    Value bytes =
        code.mul(asI64(op.getIndex()), code.i64(exec::getBytes(op.getResult().getType())));
    addresses[op.getResult()] = offsetBytes(address(op.getSource()), bytes);
    return success();
  }
  LogicalResult convertOp(exec::ViewOp op) {
    int64_t bytes = op.getOffset() * exec::getElementBytes(typeOf(op.getSource()).getElementType());
    addresses[op.getResult()] = code.addressBytes(address(op.getSource()), bytes);
    return success();
  }
  LogicalResult convertOp(memref::SubViewOp op) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(op.getSourceType().getStridesAndOffset(strides, offset)))
      return op.emitOpError("has a source without strides");
    Value index = code.i64(0);
    for (auto [position, stride] : llvm::zip(op.getMixedOffsets(), strides)) {
      auto constant = getConstantIntValue(position);
      Value value = constant ? code.i64(*constant) : asI64(cast<Value>(position));
      index = code.add(index, code.mul(value, code.i64(stride)));
    }
    addresses[op.getResult()] =
        code.address(address(op.getSource()), index, op.getType().getElementType());
    return success();
  }
  LogicalResult convertOp(exec::CopyOp op) {
    Value bytes = code.i64(exec::getBytes(typeOf(op.getSource())));
    if (isForDevice) {
      copyOnDevice(address(op.getTarget()), address(op.getSource()), bytes);
      return success();
    }
    // The same memory is legal, and memmove takes it.
    LLVM::MemmoveOp::create(builder, code.loc, address(op.getTarget()), address(op.getSource()),
                            bytes, false);
    return success();
  }
  LogicalResult convertOp(exec::FillOp op) {
    MemRefType type = typeOf(op.getTarget());
    if (isForDevice)
      return fillOnDevice(op, type);
    auto number = dyn_cast<FloatAttr>(op.getValue());
    auto integer = dyn_cast<IntegerAttr>(op.getValue());
    bool isZero = number ? number.getValue().isPosZero() : integer && integer.getValue().isZero();
    if (isZero) {
      Value zero = LLVM::ConstantOp::create(builder, code.loc, builder.getI8Type(),
                                            builder.getI8IntegerAttr(0));
      LLVM::MemsetOp::create(builder, code.loc, address(op.getTarget()), zero,
                             code.i64(exec::getBytes(type)), false);
      return success();
    }
    Value value = arith::ConstantOp::create(
        builder, code.loc,
        number ? cast<TypedAttr>(FloatAttr::get(code.f32Type(), number.getValueAsDouble()))
               : op.getValue());
    code.independentLoop(code.i64(0), code.i64(type.getNumElements()), {},
                         [&](Value index, ValueRange) {
                           code.store(value, address(op.getTarget()), index, type.getElementType());
                           return SmallVector<Value>();
                         });
    return success();
  }
  void copyOnDevice(Value target, Value from, Value bytes) {
    runtime.call(code, "ulsc_copy", {context, runtime.source(code, code.loc), target, from, bytes});
  }
  LogicalResult fillOnDevice(exec::FillOp op, MemRefType type) {
    if (op->hasAttr(kPoisonAttrName)) {
      runtime.call(code, "ulsc_forget",
                   {context, runtime.source(code, code.loc), address(op.getTarget()),
                    code.i64(exec::getBytes(type))});
      return success();
    }
    int64_t elementBytes = exec::getElementBytes(type.getElementType());
    if (elementBytes > 4)
      return op.emitOpError("fills elements of ")
             << elementBytes << " bytes, a device fills those of 1, 2 and 4";
    auto number = dyn_cast<FloatAttr>(op.getValue());
    APFloat value = number ? number.getValue() : APFloat(0.0f);
    bool isInexact;
    if (number)
      value.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &isInexact);
    APInt bits = number ? value.bitcastToAPInt() : cast<IntegerAttr>(op.getValue()).getValue();
    runtime.call(code, "ulsc_fill",
                 {context, runtime.source(code, code.loc), address(op.getTarget()),
                  code.i32(static_cast<uint32_t>(bits.zextOrTrunc(32).getZExtValue())),
                  code.i32(static_cast<uint32_t>(elementBytes)), code.i64(type.getNumElements())});
    return success();
  }
  LogicalResult convertOp(exec::LaunchOp op) {
    if (!op.getExtent() || !op.getGrain())
      return op.emitOpError("has no extent and grain; kernels are emitted before the lowering");
    SmallVector<Value> buffers(op.getInputs());
    buffers.append(op.getOutputs().begin(), op.getOutputs().end());
    Value kernel = LLVM::AddressOfOp::create(builder, code.loc, code.ptrType(), op.getKernelAttr());
    runtime.call(code, "ulsc_launch",
                 {context, kernel, runtime.string(code, op.getKernel()),
                  runtime.source(code, code.loc), addressArray(buffers, op.getScalars()),
                  code.i64(*op.getExtent()), code.i64(*op.getGrain())});
    return success();
  }
  LogicalResult convertOp(exec::CallOp op) {
    SmallVector<Value> arguments = {context};
    arguments.push_back(op.getFrame()
                            ? address(op.getFrame())
                            : Value(LLVM::ZeroOp::create(builder, code.loc, code.ptrType())));
    for (Value argument : op.getArgs())
      arguments.push_back(isa<MemRefType>(argument.getType()) ? address(argument)
                                                              : asI64(argument));
    runtime.call(code, "ulsc_block_begin",
                 {context, runtime.string(code, op.getCallee()), runtime.source(code, code.loc)});
    LLVM::CallOp::create(builder, code.loc, TypeRange(), op.getCallee(), arguments);
    runtime.call(code, "ulsc_block_end", {context});
    return success();
  }
  LogicalResult convertOp(exec::GemmOp op) {
    runtime.call(code, "ulsc_gemm",
                 {context, runtime.gemmDescriptor(code, op), address(op.getA()), address(op.getB()),
                  address(op.getC()), addressOrNull(op.getEpilogueInput()),
                  addressOrNull(op.getEpilogueOutput()), addressOrNull(op.getWorkspace())});
    return success();
  }
  LogicalResult convertOp(exec::AttentionOp op) {
    if (!op.getLibrary())
      return op.emitOpError(
          "is computed by no library; its kernels are emitted before the lowering");
    runtime.call(code, "ulsc_attention",
                 {context, runtime.attentionDescriptor(code, op), address(op.getQ()),
                  address(op.getK()), address(op.getV()), address(op.getOut()),
                  address(op.getLse()), addressOrNull(op.getScratch())});
    return success();
  }
  LogicalResult convertOp(exec::AttentionGradOp op) {
    if (!op.getLibrary())
      return op.emitOpError(
          "is computed by no library; its kernels are emitted before the lowering");
    runtime.call(code, "ulsc_attention_grad",
                 {context, runtime.attentionDescriptor(code, op), address(op.getQ()),
                  address(op.getK()), address(op.getV()), address(op.getOut()),
                  address(op.getLse()), address(op.getDout()), address(op.getDq()),
                  address(op.getDk()), address(op.getDv()), addressOrNull(op.getScratch())});
    return success();
  }
  LogicalResult convertOp(exec::CollectiveStartOp op) {
    Value descriptor = runtime.collectiveDescriptor(code, op);
    Value inputs = addressArray(SmallVector<Value>(op.getInputs()));
    Value outputs = addressArray(SmallVector<Value>(op.getOutputs()));
    runtime.call(code, "ulsc_collective_start",
                 {context, descriptor, inputs, outputs, code.i32(op.getSlot())});
    return success();
  }
  LogicalResult convertOp(exec::CollectiveWaitOp op) {
    runtime.call(code, "ulsc_collective_wait", {context, code.i32(op.getSlot())});
    return success();
  }
  Value controlAddress(int64_t offset) {
    return code.addressBytes(code.loadPointer(context, 1), offset);
  }
  /// Where a field lies in the control block of the device.
  Value deviceControlAddress(StringRef field) {
    return code.addressBytes(code.loadPointer(context, 2), exec::lookupControlField(field)->offset);
  }
  LogicalResult convertOp(exec::ReadControlOp op) {
    Type type = typeOf(op.getTarget()).getElementType();
    if (isForDevice) {
      copyOnDevice(address(op.getTarget()), deviceControlAddress(op.getField()),
                   code.i64(exec::getElementBytes(type)));
      return success();
    }
    Value from = controlAddress(exec::lookupControlField(op.getField())->offset);
    code.store(code.load(from, code.i64(0), type), address(op.getTarget()), code.i64(0), type);
    return success();
  }
  LogicalResult convertOp(exec::WriteControlOp op) {
    Type type = typeOf(op.getSource()).getElementType();
    if (isForDevice) {
      copyOnDevice(deviceControlAddress(op.getField()), address(op.getSource()),
                   code.i64(exec::getElementBytes(type)));
      return success();
    }
    Value to = controlAddress(exec::lookupControlField(op.getField())->offset);
    code.store(code.load(address(op.getSource()), code.i64(0), type), to, code.i64(0), type);
    return success();
  }
  LogicalResult convertOp(exec::CoordinateOp op) {
    Value value = code.load(controlAddress(exec::getCoordinateOffset(op.getAxis())), code.i64(0),
                            code.i64Type());
    if (op.getResult().getType().isIndex())
      value = arith::IndexCastOp::create(builder, code.loc, builder.getIndexType(), value);
    op.getResult().replaceAllUsesWith(value);
    return success();
  }
  LogicalResult convertOp(exec::ReturnOp op) {
    LLVM::ReturnOp::create(builder, code.loc, ValueRange());
    return success();
  }

  RuntimeCalls &runtime;
  exec::FunctionOp source;
  OpBuilder builder;
  CodeBuilder code;
  /// The host can't address buffers: copies and fills are calls, too.
  bool isForDevice;
  Value context, frame;
  SmallVector<Operation *> converted;
  unsigned oldArguments = 0;
  DenseMap<Value, Value> addresses;
};

struct ConvertExecToLLVM : public ulsc::impl::ConvertExecToLLVMPassBase<ConvertExecToLLVM> {
  using ConvertExecToLLVMPassBase::ConvertExecToLLVMPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    RuntimeCalls runtime(module);
    if (auto manifest = module->getAttrOfType<StringAttr>("exec.manifest")) {
      runtime.defineString("ulsc_manifest", manifest.getValue(), /*isExported=*/true);
      module->removeAttr("exec.manifest");
    }
    SmallVector<std::string> stages;
    for (auto function : llvm::make_early_inc_range(module.getOps<exec::FunctionOp>())) {
      if (dist::getStage(function) >= 0)
        stages.push_back(function.getSymName().str());
      if (failed(FunctionConverter(runtime, function, isForDevice).run()))
        return signalPassFailure();
    }
    if (!stages.empty())
      createEntry(stages);
  }

  /// The exported step of a pipelined program calls the one of this rank's stage: `pp` is the
  /// mesh's first axis.
  void createEntry(ArrayRef<std::string> stages) {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    CodeBuilder code(builder, getOperation().getLoc());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), code.ptrType());
    auto entry = LLVM::LLVMFuncOp::create(builder, code.loc, "ulsc_step", type);
    Value context = entry.addEntryBlock(builder)->getArgument(0);
    builder.setInsertionPointToStart(&entry.getBody().front());
    Value coordinate =
        code.load(code.addressBytes(code.loadPointer(context, 1), exec::getCoordinateOffset(0)),
                  code.i64(0), code.i64Type());
    for (auto [stage, name] : llvm::enumerate(stages)) {
      Value isOwn = LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::eq, coordinate,
                                         code.i64(stage));
      Block *block = builder.getInsertionBlock();
      Block *call = builder.createBlock(&entry.getBody()),
            *next = builder.createBlock(&entry.getBody());
      builder.setInsertionPointToEnd(block);
      LLVM::CondBrOp::create(builder, code.loc, isOwn, call, next);
      builder.setInsertionPointToEnd(call);
      LLVM::CallOp::create(builder, code.loc, TypeRange(), name, context);
      LLVM::ReturnOp::create(builder, code.loc, ValueRange());
      builder.setInsertionPointToEnd(next);
    }
    LLVM::ReturnOp::create(builder, code.loc, ValueRange());
  }
};

} // namespace
