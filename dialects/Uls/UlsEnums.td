//===- UlsEnums.td - Enumerations of the uls dialect -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSENUMS_TD
#define ULSC_DIALECTS_ULS_ULSENUMS_TD

include "mlir/IR/EnumAttr.td"

def Uls_InitKind : I32EnumAttr<"InitKind", "how a parameter starts", [
    I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">,
    I32EnumAttrCase<"Normal", 2, "normal">]> {
  let cppNamespace = "::ulsc::uls";
  let genSpecializedAttr = 0;
}

def Uls_Approximation : I32EnumAttr<"Approximation", "form of gelu", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Tanh", 1, "tanh">]> {
  let cppNamespace = "::ulsc::uls";
  let genSpecializedAttr = 0;
}

def Uls_ReduceKind : I32EnumAttr<"ReduceKind", "combiner of a reduction over dimensions", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::ulsc::uls";
  let genSpecializedAttr = 0;
}

def Uls_Comparison : I32EnumAttr<"Comparison", "how two elements compare", [
    I32EnumAttrCase<"Lt", 0, "lt">, I32EnumAttrCase<"Le", 1, "le">,
    I32EnumAttrCase<"Gt", 2, "gt">, I32EnumAttrCase<"Ge", 3, "ge">]> {
  let cppNamespace = "::ulsc::uls";
  let genSpecializedAttr = 0;
}

#endif // ULSC_DIALECTS_ULS_ULSENUMS_TD
