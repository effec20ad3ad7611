//===- RuntimeCalls.cpp - Calls of the runtime and their constant descriptors -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/RuntimeCalls.h"
#include "ulsc/RuntimeABI.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

int32_t ulsc::lower::getDtype(Type type) {
  if (type.isF32())
    return ULSC_F32;
  if (type.isBF16())
    return ULSC_BF16;
  if (type.isF16())
    return ULSC_F16;
  return type.isInteger(64) ? ULSC_I64 : ULSC_I32;
}

std::string ulsc::lower::describeSources(Location location) {
  constexpr size_t most = 4;
  SmallVector<StringRef> names;
  location->walk([&](Location inner) {
    auto name = dyn_cast<NameLoc>(inner);
    if (name && !llvm::is_contained(names, name.getName().getValue()))
      names.push_back(name.getName());
    return WalkResult::advance();
  });
  std::string text = llvm::join(ArrayRef(names).take_front(most), ", ");
  if (names.size() > most)
    text += ", …";
  return text;
}

void RuntimeCalls::call(CodeBuilder &code, StringRef name, ValueRange arguments) {
  auto function = symbols.lookup<LLVM::LLVMFuncOp>(name);
  if (!function) {
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.b.getContext()),
                                            llvm::to_vector(arguments.getTypes()));
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    function = LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
    symbols.insert(function);
  }
  LLVM::CallOp::create(code.b, code.loc, function, arguments);
}

Value RuntimeCalls::addressOf(CodeBuilder &code, FlatSymbolRefAttr symbol) {
  return LLVM::AddressOfOp::create(code.b, code.loc, code.ptrType(), symbol);
}

FlatSymbolRefAttr RuntimeCalls::unique(StringRef prefix, StringRef key,
                                       llvm::function_ref<void(OpBuilder &, StringRef)> create) {
  FlatSymbolRefAttr &symbol = constants[(prefix + ":" + key).str()];
  if (!symbol) {
    std::string name = (prefix + "." + Twine(constants.size())).str();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    create(builder, name);
    symbol = FlatSymbolRefAttr::get(module.getContext(), name);
  }
  return symbol;
}

void RuntimeCalls::defineString(StringRef name, StringRef text, bool isExported) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  std::string terminated = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                         isExported ? LLVM::Linkage::External : LLVM::Linkage::Internal, name,
                         builder.getStringAttr(terminated));
}

FlatSymbolRefAttr RuntimeCalls::stringConstant(StringRef text) {
  return unique("ulsc.string", text,
                [&](OpBuilder &, StringRef name) { defineString(name, text, false); });
}

Value RuntimeCalls::source(CodeBuilder &code, Location location) {
  std::string text = describeSources(location);
  return text.empty() ? Value(LLVM::ZeroOp::create(code.b, code.loc, code.ptrType()))
                      : string(code, text);
}

Value RuntimeCalls::string(CodeBuilder &code, StringRef text) {
  return addressOf(code, stringConstant(text));
}

FlatSymbolRefAttr RuntimeCalls::arrayConstant(StringRef prefix, DenseElementsAttr values) {
  std::string key;
  llvm::raw_string_ostream(key) << values;
  return unique(prefix, key, [&](OpBuilder &builder, StringRef name) {
    auto type = LLVM::LLVMArrayType::get(values.getElementType(), values.getNumElements());
    LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name, values);
  });
}

FlatSymbolRefAttr RuntimeCalls::structConstant(StringRef prefix, ArrayRef<Field> fields) {
  MLIRContext *context = module.getContext();
  std::string key;
  llvm::raw_string_ostream stream(key);
  SmallVector<Type> types;
  for (const Field &field : fields) {
    if (auto *small = std::get_if<int32_t>(&field)) {
      stream << *small << ",";
      types.push_back(IntegerType::get(context, 32));
    } else if (auto *large = std::get_if<int64_t>(&field)) {
      stream << *large << ",";
      types.push_back(IntegerType::get(context, 64));
    } else if (auto *number = std::get_if<double>(&field)) {
      stream << llvm::bit_cast<uint64_t>(*number) << "f,";
      types.push_back(Float64Type::get(context));
    } else {
      stream << std::get<FlatSymbolRefAttr>(field) << ",";
      types.push_back(LLVM::LLVMPointerType::get(context));
    }
  }
  return unique(prefix, key, [&](OpBuilder &builder, StringRef name) {
    auto type = LLVM::LLVMStructType::getLiteral(context, types);
    auto global = LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                                         LLVM::Linkage::Internal, name, Attribute());
    builder.createBlock(&global.getInitializerRegion());
    CodeBuilder code(builder, module.getLoc());
    Value value = LLVM::UndefOp::create(builder, code.loc, type);
    for (auto [i, field] : llvm::enumerate(fields)) {
      Value element;
      if (auto *symbol = std::get_if<FlatSymbolRefAttr>(&field))
        element = *symbol ? addressOf(code, *symbol)
                          : Value(LLVM::ZeroOp::create(builder, code.loc, types[i]));
      else if (auto *small = std::get_if<int32_t>(&field))
        element = LLVM::ConstantOp::create(builder, code.loc, types[i],
                                           builder.getI32IntegerAttr(*small));
      else if (auto *number = std::get_if<double>(&field))
        element =
            LLVM::ConstantOp::create(builder, code.loc, types[i], builder.getF64FloatAttr(*number));
      else
        element = LLVM::ConstantOp::create(builder, code.loc, types[i],
                                           builder.getI64IntegerAttr(std::get<int64_t>(field)));
      value = LLVM::InsertValueOp::create(builder, code.loc, value, element,
                                          ArrayRef<int64_t>{int64_t(i)});
    }
    LLVM::ReturnOp::create(builder, code.loc, value);
  });
}

static int32_t dtypeOf(Value buffer) {
  return getDtype(cast<MemRefType>(buffer.getType()).getElementType());
}

Value RuntimeCalls::gemmDescriptor(CodeBuilder &code, exec::GemmOp op) {
  SmallVector<Field> fields;
  for (ArrayRef<int64_t> list :
       {op.getSizes(), op.getAStrides(), op.getBStrides(), op.getCStrides()})
    for (int64_t value : list)
      fields.push_back(value);
  for (Value buffer : {op.getA(), op.getB(), op.getC()})
    fields.push_back(dtypeOf(buffer));
  fields.push_back(int32_t(op.getAccumulate()));
  fields.push_back(op.getEpilogue() ? int32_t(*op.getEpilogue()) : ULSC_EPILOGUE_NONE);
  fields.push_back(op.getWorkspace() ? exec::getBytes(cast<MemRefType>(op.getWorkspace().getType()))
                                     : int64_t(0));
  fields.push_back(stringConstant(op.getName()));
  return addressOf(code, structConstant("ulsc.gemm", fields));
}

/// The descriptor of attention `op` and of its gradient.
template <typename Op>
static SmallVector<RuntimeCalls::Field> getAttentionFields(Op op) {
  auto q = cast<MemRefType>(op.getQ().getType()), k = cast<MemRefType>(op.getK().getType());
  Value scratch = op.getScratch();
  return {q.getDimSize(0),
          q.getDimSize(1),
          k.getDimSize(1),
          q.getDimSize(2),
          q.getDimSize(3),
          q.getDimSize(4),
          getDtype(q.getElementType()),
          int32_t(op.getCausal()),
          op.getScale().convertToDouble(),
          scratch ? exec::getBytes(cast<MemRefType>(scratch.getType())) : int64_t(0)};
}

Value RuntimeCalls::attentionDescriptor(CodeBuilder &code, Operation *op) {
  auto forward = dyn_cast<exec::AttentionOp>(op);
  SmallVector<Field> fields =
      forward ? getAttentionFields(forward) : getAttentionFields(cast<exec::AttentionGradOp>(op));
  fields.push_back(stringConstant(describeSources(op->getLoc())));
  return addressOf(code, structConstant("ulsc.attention", fields));
}

Value RuntimeCalls::collectiveDescriptor(CodeBuilder &code, exec::CollectiveStartOp op) {
  SmallVector<int64_t> elements;
  SmallVector<int32_t> dtypes;
  for (Value buffer : op.getInputs().empty() ? op.getOutputs() : op.getInputs()) {
    elements.push_back(cast<MemRefType>(buffer.getType()).getNumElements());
    dtypes.push_back(dtypeOf(buffer));
  }
  int64_t count = elements.size();
  auto dtypeType = RankedTensorType::get({count}, code.i32Type());
  auto list = [&](StringRef name, ArrayRef<int64_t> values) {
    auto type = RankedTensorType::get({int64_t(values.size())}, code.i64Type());
    return arrayConstant(name, DenseElementsAttr::get(type, values));
  };
  SmallVector<Field> fields = {
      static_cast<int32_t>(op.getKind()),
      static_cast<int32_t>(op.getReduction().value_or(exec::Reduction::Sum)),
      static_cast<int32_t>(op.getGroup()),
      static_cast<int32_t>(count),
      list("ulsc.elements", elements),
      arrayConstant("ulsc.dtypes", DenseElementsAttr::get(dtypeType, ArrayRef<int32_t>(dtypes))),
      static_cast<int64_t>(op.getIdentifier()),
      op.getDestinations() ? list("ulsc.destinations", *op.getDestinations()) : FlatSymbolRefAttr(),
      static_cast<int64_t>(op.getPeer().value_or(-1))};
  return addressOf(code, structConstant("ulsc.collective", fields));
}
