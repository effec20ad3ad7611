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
    /// Logical axes of the dimensions of a block's argument or result.
    static constexpr llvm::StringLiteral kAxesAttrName = "uls.axes";
    /// Unit attribute of a block's argument that is a parameter's compute value: its gradient has the gradient dtype.
    static constexpr llvm::StringLiteral kParameterAttrName = "uls.parameter";
    /// Type attribute of the module: the dtype of parameter gradients and their accumulators.
    static constexpr llvm::StringLiteral kGradientDtypeAttrName = "uls.gradient_dtype";
    /// Dictionary of the module: how the global batch is cut (docs/pipeline.md).
    static constexpr llvm::StringLiteral kBatchAttrName = "uls.batch";
    /// Dictionary of the module: `optimizer`, `gradients` and `parameters`, the mesh axes over which each is split (ZeRO),
    /// and `origin`, who said so.
    static constexpr llvm::StringLiteral kStorageAttrName = "uls.storage";
    /// Integer of the module: among how many ranks what a microbatch's forward gathers lies until its backward; absent
    /// where it lies as it is stored.
    static constexpr llvm::StringLiteral kKeptRanksAttrName = "uls.kept_ranks";
  }];
}

class Uls_Op<string mnemonic, list<Trait> traits = []> : Op<UlsDialect, mnemonic, traits>;

/// A value that is cheap to compute again from its operands: the cut of joint blocks prefers that to storing it.
def CheapToRecompute : NativeOpTrait<"CheapToRecompute"> { let cppNamespace = "::ulsc::uls"; }

/// An op that only rearranges or converts its operands: of a parameter, its result's cotangent has the gradient dtype
/// too, so that no gradient is rounded on the way back.
def KeepsGradientDtype : NativeOpTrait<"KeepsGradientDtype"> { let cppNamespace = "::ulsc::uls"; }

#endif // ULSC_DIALECTS_ULS_ULSDIALECT_TD
