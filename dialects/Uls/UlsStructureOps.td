//===- UlsStructureOps.td - Parameters, blocks, forward and calls -----------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSSTRUCTUREOPS_TD
#define ULSC_DIALECTS_ULS_ULSSTRUCTUREOPS_TD

include "dialects/Uls/UlsAttrs.td"

def Uls_ParamOp : Uls_Op<"param", [Symbol]> {
  let summary = "a parameter of the model";
  let description = [{
    Declares a stored value under its Hugging Face name. `type` is the global, structured type in the stored dtype, with padding; `axes` names
    each dimension's logical axis (docs/glossary.md). `external` groups dimensions into those of Hugging Face's tensor (row-major orders are the
    same); absent, they are equal. `logical_shape` is the shape without padding, where it differs. `sharding` is that of the stored
    value, set when a mesh is chosen. `frozen` parameters get no gradient. `group` indexes the optimizer's parameter groups.

    Made by import; the sharding is set by annotation; lives to the manifest.

    Example:
    ```
    uls.param @"model.layers.0.self_attn.q_proj.weight" : tensor<2x2x16x64xf32>
      axes ["heads", "head_group", "head_dim", "embed"] init <normal, 0.02> external [[0, 1, 2], [3]]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, StrArrayAttr:$axes,
                       Uls_Init:$init, OptionalAttr<ArrayAttr>:$external,
                       OptionalAttr<DenseI64ArrayAttr>:$logical_shape, OptionalAttr<Dist_Sharding>:$sharding,
                       UnitAttr:$frozen, DefaultValuedAttr<I64Attr, "0">:$group);
  let assemblyFormat = [{
    $sym_name `:` $type `axes` $axes `init` $init (`external` $external^)? (`logical_shape` $logical_shape^)?
    (`sharding` $sharding^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::RankedTensorType getTensorType() { return llvm::cast<mlir::RankedTensorType>(getType()); }
    /// The shape without padding.
    llvm::ArrayRef<int64_t> getUnpaddedShape();
    /// The shape of Hugging Face's tensor.
    llvm::SmallVector<int64_t> getExternalShape();
    /// For each external dimension, the dimensions it is made of.
    llvm::SmallVector<llvm::SmallVector<int64_t>> getExternalDims();
    /// Number of elements without padding.
    int64_t getParameterCount();
  }];
}

def Uls_StateOp : Uls_Op<"state", [Symbol]> {
  let summary = "a tensor of the optimizer's state";
  let description = [{
    A persistent tensor beside a parameter, zero at first, of the parameter's shape. `role` is `moment1`, `moment2` or `master` (starts as the
    parameter). Named `<parameter>.<role>`. Made when the step is written down.

    Example:
    ```
    uls.state @"head.weight.moment1" of @"head.weight" role "moment1" : tensor<256x16xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$parameter, StrAttr:$role,
                       TypeAttrOf<AnyRankedTensor>:$type, OptionalAttr<Dist_Sharding>:$sharding);
  let assemblyFormat = [{
    $sym_name `of` $parameter `role` $role `:` $type (`sharding` $sharding^)? attr-dict
  }];
}

defvar Uls_FunctionMethods = [{
    llvm::ArrayRef<mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    llvm::ArrayRef<mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    mlir::Region *getCallableRegion() { return &getBody(); }
    mlir::Block &getEntry() { return getBody().front(); }
  }];

class Uls_FunctionOp<string mnemonic, list<Trait> traits = []>
    : Uls_Op<mnemonic, [FunctionOpInterface, IsolatedFromAbove, SingleBlock] # traits> {
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = Uls_FunctionMethods;
}

def Uls_BlockOp : Uls_FunctionOp<"block"> {
  let summary = "a layer as a function";
  let description = [{
    One *distinct* layer type: called once per layer with that layer's parameters. Arguments may carry `uls.axes` (logical axes) and, once a
    mesh is chosen, `dist.sharding`; so may results.

    A *joint* block holds forward and backward together: arguments are the primal ones followed by cotangents of the results, results the
    primal ones followed by gradients; `uls.result` ends the forward part, and ops below it may use any value above. `gradients` says which
    primal argument each gradient belongs to, `cotangents` which primal result each cotangent belongs to. Training makes blocks joint;
    the cut makes two plain blocks of each.

    Example:
    ```
    uls.block @scale(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>) {
      %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
      uls.yield %y : tensor<4xf32>
    }
    uls.block @joint_scale(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
      %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
      uls.result %y : tensor<4xf32>
      %dx = uls.mul %dy, %w : tensor<4xf32>, tensor<4xf32>
      %dw = uls.mul %dy, %x : tensor<4xf32>, tensor<4xf32>
      uls.yield %dx, %dw : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<I64Attr>:$primal_arguments, OptionalAttr<I64Attr>:$primal_results,
                       OptionalAttr<DenseI64ArrayAttr>:$gradients, OptionalAttr<DenseI64ArrayAttr>:$cotangents);
  let extraClassDeclaration = Uls_FunctionMethods # [{
    /// Whether forward and backward are together here.
    bool isJoint() { return getPrimalArguments().has_value(); }
    /// Arguments of the forward part: all of them in a plain block.
    int64_t getNumPrimalArguments() { return getPrimalArguments().value_or(getFunctionType().getNumInputs()); }
    int64_t getNumPrimalResults() { return getPrimalResults().value_or(getFunctionType().getNumResults()); }
    /// The op between forward and backward of a joint block.
    ::ulsc::uls::ResultOp getResultOp();
  }];
}

def Uls_ForwardOp : Uls_FunctionOp<"forward"> {
  let summary = "the model's forward computation on one microbatch";
  let description = [{
    Materialises parameters and calls blocks, nothing else. Arguments are tokens, targets (each [rows, seq], i32; rows of all data ranks)
    and the context; the result is the sum (f32) of the losses of valid targets. Import makes it; training turns it into the step and
    keeps it for forward-only programs.

    Example:
    ```
    uls.forward @forward(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %context: !uls.context) -> (tensor<f32>) {
      %table = uls.materialize @"embed.weight" : tensor<256x16xf32>
      %loss = uls.call @model(%tokens, %table, %targets)
        : (tensor<4x8xi32>, tensor<256x16xf32>, tensor<4x8xi32>) -> tensor<f32>
      uls.yield %loss : tensor<f32>
    }
    ```
  }];
}

def Uls_ResultOp : Uls_Op<"result", [HasParent<"BlockOp">]> {
  let summary = "ends the forward part of a joint block";
  let description = [{
    Names the primal results. What follows is the backward part.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Uls_YieldOp : Uls_Op<"yield", [Pure, Terminator]> {
  let summary = "ends a function or a loop body";
  let description = [{
    Results of the enclosing function; gradients in a joint block; the values carried on in `uls.microbatches`.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Uls_MaterializeOp : Uls_Op<"materialize", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the compute value of a parameter";
  let description = [{
    Casts and gathers from the stored value (its dtype, its sharding) to the result's. The barrier at which ZeRO happens; free where stored
    and compute value agree.

    Example:
    ```
    %0 = uls.materialize @"head.weight" : tensor<256x16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$parameter attr-dict `:` type($output)";
}

def Uls_CallOp : Uls_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a block";
  let description = [{
    Of a joint block, runs the forward part; a last result of type `!uls.residuals` is given where the backward part will be called.
    `layer` is the layer index of the context that the block sees.

    Example:
    ```
    %y = uls.call @scale(%x, %w) {layer = 3 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$arguments, OptionalAttr<I64Attr>:$layer);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $results)";
}

def Uls_BackwardOp : Uls_Op<"backward", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls the backward part of a joint block";
  let description = [{
    Takes the residuals of the forward call and the cotangents, gives the block's gradients. With `gives` it is one half: the first gives the
    gradients with these numbers and residuals of its own, which the second takes in the place of the forward call's and of cotangents to give
    the others.

    Example:
    ```
    %y, %r = uls.call @joint_scale(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
    %dx, %dw = uls.backward @joint_scale %r (%dy) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    // In halves:
    %dx, %s = uls.backward @joint_scale %r (%dy) gives [0] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
    %dw = uls.backward @joint_scale %s () gives [1] : () -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Uls_Residuals:$residuals, Variadic<AnyType>:$cotangents,
                       OptionalAttr<DenseI64ArrayAttr>:$gives);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee $residuals `(` $cotangents `)` (`gives` $gives^)? attr-dict `:` functional-type($cotangents, $results)
  }];
  let extraClassDeclaration = [{
    /// The number, among the block's gradients, of what result `index` is.
    unsigned getGradientNumber(unsigned index) { return getGives() ? unsigned((*getGives())[index]) : index; }
    /// Whether it goes on with what a first half left.
    bool isSecondHalf() { return getResiduals().getDefiningOp<BackwardOp>() != nullptr; }
    /// What a first half leaves for the second; null without.
    mlir::Value getLeft();
  }];
}

#endif // ULSC_DIALECTS_ULS_ULSSTRUCTUREOPS_TD
