//===- SpecializeBlocks.cpp - Clones blocks whose layers are annotated differently
//-------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "dialects/Uls/Uls.h"

#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "ulsc-specialize-blocks"

namespace ulsc {
#define GEN_PASS_DEF_SPECIALIZEBLOCKSPASS
#include "passes/Import/Passes.h.inc"
} // namespace ulsc

using namespace mlir;
using namespace ulsc;

namespace {
struct SpecializeBlocksPass : public ulsc::impl::SpecializeBlocksPassBase<SpecializeBlocksPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    // Calls by callee and by the annotations of what they pass.
    llvm::MapVector<StringAttr, llvm::MapVector<Attribute, SmallVector<uls::CallOp>>> calls;
    getOperation().walk([&](uls::CallOp call) {
      calls[call.getCalleeAttr().getAttr()][describe(call, symbols)].push_back(call);
    });
    for (auto &[callee, variants] : calls) {
      auto block = symbols.lookup<uls::BlockOp>(callee);
      for (auto &[annotation, users] : llvm::drop_begin(variants)) {
        auto clone = llvm::cast<uls::BlockOp>(block->clone());
        symbols.insert(clone, std::next(Block::iterator(block)));
        for (uls::CallOp call : users)
          call.setCalleeAttr(FlatSymbolRefAttr::get(clone.getSymNameAttr()));
      }
    }
  }

private:
  /// The shardings of the parameters that a call passes, in order.
  Attribute describe(uls::CallOp call, SymbolTable &symbols) {
    SmallVector<Attribute> shardings;
    Builder builder(&getContext());
    for (Value argument : call.getArguments()) {
      auto materialize = argument.getDefiningOp<uls::MaterializeOp>();
      auto param =
          materialize ? symbols.lookup<uls::ParamOp>(materialize.getParameter()) : uls::ParamOp();
      dist::ShardingAttr sharding = param ? param.getShardingAttr() : dist::ShardingAttr();
      shardings.push_back(sharding ? Attribute(sharding) : Attribute(builder.getUnitAttr()));
    }
    return builder.getArrayAttr(shardings);
  }
};
} // namespace
