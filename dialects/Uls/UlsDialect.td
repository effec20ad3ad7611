//===- UlsDialect.td - The uls dialect --------------------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSDIALECT_TD
#define ULSC_DIALECTS_ULS_ULSDIALECT_TD

include "dialects/Dist/DistInterfaces.td"
include "dialects/Uls/UlsInterfaces.td"
include "dialects/Dist/DistAttrs.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def UlsDialect : Dialect {
  let name = "uls";
  let cppNamespace = "::ulsc::uls";
  let summary = "models and their training, on values";
  let description = [{
    A model is a `uls.forward` that calls one `uls.block` per distinct layer type with that layer's parameters.
    Training turns blocks into joint ones (forward and backward together) and writes down the `uls.step`. All
    values are immutable tensors of static shape, global until partitioning and of one rank after it; only `uls.update`,
    `uls.report` and `uls.reset` change state.
  }];
  let dependentDialects = ["::ulsc::dist::DistDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttrs();
    /// Marks an argument of a block as a parameter, by the logical axes of its dimensions.
    static constexpr llvm::StringLiteral kAxesAttrName = "uls.axes";
  }];
}

class Uls_Op<string mnemonic, list<Trait> traits = []> : Op<UlsDialect, mnemonic, traits>;

/// A value that is cheap to compute again from its operands: the cut of joint blocks prefers that to storing it.
def CheapToRecompute : NativeOpTrait<"CheapToRecompute"> { let cppNamespace = "::ulsc::uls"; }

#endif // ULSC_DIALECTS_ULS_ULSDIALECT_TD
