//===- UlsAttrs.td - Attributes and types of the uls dialect ----------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSATTRS_TD
#define ULSC_DIALECTS_ULS_ULSATTRS_TD

include "dialects/Uls/UlsDialect.td"
include "dialects/Uls/UlsEnums.td"

class Uls_Attr<string name, string attrMnemonic> : AttrDef<UlsDialect, name> {
  let mnemonic = attrMnemonic;
}

def Uls_Init : Uls_Attr<"Init", "init"> {
  let summary = "initial value of a parameter";
  let description = [{
    `zeros`, `ones`, or `normal` with mean 0 and the given standard deviation, drawn by name and global element.

    Example: `#uls.init<normal, 0.02>`, `#uls.init<ones>`
  }];
  let parameters = (ins EnumParameter<Uls_InitKind>:$kind,
                        OptionalParameter<"::mlir::FloatAttr", "standard deviation of normal">:$std);
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilder<(ins "::ulsc::uls::InitKind":$kind, CArg<"double", "0.0">:$std), [{
    return $_get($_ctxt, kind, kind == InitKind::Normal ? mlir::Builder($_ctxt).getF64FloatAttr(std) : mlir::FloatAttr());
  }]>];
}

def Uls_ApproximationAttr : EnumAttr<UlsDialect, Uls_Approximation, "approximation"> {
  let assemblyFormat = "$value";
}

def Uls_ReduceKindAttr : EnumAttr<UlsDialect, Uls_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def Uls_ComparisonAttr : EnumAttr<UlsDialect, Uls_Comparison, "comparison"> {
  let assemblyFormat = "$value";
}

def Uls_Context : TypeDef<UlsDialect, "Context"> {
  let mnemonic = "context";
  let summary = "the context of a call: seed, step, layer index, first global row";
  let description = [{
    What a block needs to know beside its operands so that one function serves every layer, microbatch and step. Global row `r`
    of local row 0 and the layer index come from the call, seed and step from the control block.
  }];
}

def Uls_Residuals : TypeDef<UlsDialect, "Residuals"> {
  let mnemonic = "residuals";
  let summary = "what a forward call leaves for its backward call";
  let description = [{
    Opaque until the joint block is cut; then each becomes the tensors that the cut chose to save.
  }];
}

#endif // ULSC_DIALECTS_ULS_ULSATTRS_TD
