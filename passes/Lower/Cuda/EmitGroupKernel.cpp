//===- EmitGroupKernel.cpp - One kernel for tensors of many sizes -----------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/Cuda/EmitGridKernel.h"
#include "passes/Lower/Cuda/LaunchGroups.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

static constexpr unsigned kGlobalSpace = 1;

/// The address of `numbers` in the module of kernels: in global memory, since constant memory has
/// 64 KiB.
static Value placeTable(CodeBuilder &code, LLVM::LLVMFuncOp function, StringRef suffix,
                        ArrayRef<int64_t> numbers) {
  LLVM::GlobalOp table;
  {
    OpBuilder::InsertionGuard guard(code.b);
    code.b.setInsertionPoint(function);
    auto type = LLVM::LLVMArrayType::get(code.i64Type(), numbers.size());
    table = LLVM::GlobalOp::create(
        code.b, code.loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
        (function.getSymName() + "." + suffix).str(), code.b.getI64TensorAttr(numbers),
        /*alignment=*/8, kGlobalSpace);
    SymbolTable(function->getParentOfType<ModuleOp>()).insert(table);
  }
  Value address = LLVM::AddressOfOp::create(
      code.b, code.loc, LLVM::LLVMPointerType::get(code.b.getContext(), kGlobalSpace),
      table.getSymName());
  return LLVM::AddrSpaceCastOp::create(code.b, code.loc, code.ptrType(), address);
}

static Value loadNumber(CodeBuilder &code, Value table, Value index) {
  return LLVM::LoadOp::create(code.b, code.loc, code.i64Type(),
                              code.address(table, index, code.i64Type()), /*alignment=*/8);
}

namespace {
/// The member that a block has elements of.
struct Position {
  Value member, firstBlock;
};
} // namespace

/// The last member whose first block isn't behind this one: the search takes half of what is left
/// at each step, for all threads alike.
static Position findMember(GridBuilder &grid, LLVM::LLVMFuncOp function,
                           SmallVector<int64_t> firstBlocks, int64_t blocks) {
  CodeBuilder &code = grid.code;
  size_t size = llvm::PowerOf2Ceil(firstBlocks.size());
  firstBlocks.resize(size, blocks); // no block is behind the last one
  Value table = placeTable(code, function, "first", firstBlocks), block = grid.block();
  Position position{code.i64(0), code.i64(0)};
  for (int64_t step = size / 2; step > 0; step /= 2) {
    Value next = code.add(position.member, code.i64(step));
    Value first = loadNumber(code, table, next);
    Value isBehind = code.cmpi(arith::CmpIPredicate::sgt, first, block);
    position.member = code.select(isBehind, position.member, next);
    position.firstBlock = code.select(isBehind, position.firstBlock, first);
  }
  return position;
}

/// Row `index` of `rows`. What is the same in all of them needs no table, and equal columns, such
/// as those of a tensor that is overwritten, are one.
static SmallVector<Value> readRow(CodeBuilder &code, LLVM::LLVMFuncOp function,
                                  ArrayRef<SmallVector<int64_t>> rows, Value index) {
  size_t width = rows.front().size();
  SmallVector<SmallVector<int64_t>> columns;
  std::vector<std::optional<size_t>> columnOf(width);
  for (size_t i = 0; i < width; ++i) {
    SmallVector<int64_t> column;
    for (const SmallVector<int64_t> &row : rows)
      column.push_back(row[i]);
    if (llvm::all_equal(column))
      continue;
    auto *found = llvm::find(columns, column);
    columnOf[i] = found - columns.begin();
    if (found == columns.end())
      columns.push_back(column);
  }
  SmallVector<int64_t> numbers;
  for (size_t row = 0; row < rows.size(); ++row)
    for (const SmallVector<int64_t> &column : columns)
      numbers.push_back(column[row]);
  SmallVector<Value> loaded, values;
  if (!columns.empty()) {
    Value table = placeTable(code, function, "members", numbers);
    Value begin = code.mul(index, code.i64(columns.size()));
    for (size_t i = 0; i < columns.size(); ++i)
      loaded.push_back(loadNumber(code, table, code.add(begin, code.i64(i))));
  }
  for (auto [i, column] : llvm::enumerate(columnOf))
    values.push_back(column ? loaded[*column] : code.i64(rows.front()[i]));
  return values;
}

/// The kernel that stands for the family: where all tensors of another are of one element, that
/// element's place may be written as a constant.
static exec::KernelOp getLargest(ArrayRef<GroupMember> group) {
  return llvm::max_element(group, [](const GroupMember &x,
                                     const GroupMember &y) { return x.elements < y.elements; })
      ->kernel;
}

static SmallVector<Type> getBuffers(ArrayRef<GroupMember> group) {
  SmallVector<Type> buffers;
  for (const GroupMember &member : group)
    llvm::append_range(buffers, exec::LaunchOp(member.launch).getInputs().getTypes());
  for (const GroupMember &member : group)
    llvm::append_range(buffers, exec::LaunchOp(member.launch).getOutputs().getTypes());
  return buffers;
}

std::optional<GroupKernel> lower::emitGroupKernel(DeviceFunctions &functions, StringRef name,
                                                  ArrayRef<GroupMember> group) {
  exec::KernelOp kernel = getLargest(group);
  KernelPlan plan(kernel);
  if (!isElementKernel(plan) || !plan.flat)
    return std::nullopt;
  int64_t width = getVectorWidth(kernel), blocks = 0;
  SmallVector<int64_t> firstBlocks;
  SmallVector<SmallVector<int64_t>> rows;
  for (const GroupMember &member : group) {
    firstBlocks.push_back(blocks);
    blocks += llvm::divideCeil(member.elements, kBlockThreads * width);
    SmallVector<int64_t> &row = rows.emplace_back();
    row.push_back(member.elements);
    llvm::append_range(row, member.offsets);
    llvm::append_range(row, member.scalars);
  }
  Location loc = kernel.getLoc();
  LLVM::LLVMFuncOp function = functions.create(loc, name, /*pointers=*/1, /*scalars=*/0);
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  CodeBuilder code(builder, loc);
  GridBuilder grid(code, functions.getModule());
  Position position = findMember(grid, function, firstBlocks, blocks);
  SmallVector<Value> numbers = readRow(code, function, rows, position.member);
  size_t pointers = group.front().offsets.size();
  KernelInterface interface{function, {}, {}, function.getArgument(0)};
  for (Value offset : ArrayRef(numbers).slice(1, pointers))
    interface.pointers.push_back(
        code.address(function.getArgument(1), offset, builder.getI8Type()));
  interface.scalars.assign(numbers.begin() + 1 + pointers, numbers.end());
  KernelValues values(code, kernel, interface);
  emitElements(grid, plan, values, width, code.sub(grid.block(), position.firstBlock),
               numbers.front());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  size_t outputs = group.size() * exec::LaunchOp(group.front().launch).getOutputs().size();
  Geometry geometry{blocks, kBlockThreads};
  functions.describe(function, builder.getStringAttr(name), getBuffers(group), outputs,
                     /*scalars=*/0, geometry, /*readsArena=*/true);
  return GroupKernel{FlatSymbolRefAttr::get(builder.getContext(), name), geometry};
}
