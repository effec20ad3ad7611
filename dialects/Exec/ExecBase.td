//===- ExecBase.td - What the ops of the exec dialect share -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_BASE
#define ULSC_EXEC_BASE

include "dialects/Exec/ExecDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_Buffer : Type<CPred<"::ulsc::exec::isBuffer($_self)">,
    "memref of static shape and identity layout", "::mlir::MemRefType">;
def Exec_Contiguous : Type<CPred<"::ulsc::exec::isContiguous($_self)">,
    "memref of static shape whose elements lie in row-major order", "::mlir::MemRefType">;
def Exec_Scalar : AnyTypeOf<[I64, Index], "i64 or index">;

// The function-like ops: functions and kernels.
class Exec_FunctionLike<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat([FunctionOpInterface, IsolatedFromAbove], traits)> {
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  code functionDeclaration = [{
    llvm::ArrayRef<mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    llvm::ArrayRef<mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    mlir::Region *getCallableRegion() { return isExternal() ? nullptr : &getBody(); }
  }];
}

#endif // ULSC_EXEC_BASE
