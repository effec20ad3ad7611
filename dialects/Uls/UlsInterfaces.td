//===- UlsInterfaces.td - Differentiation as an op interface -*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSINTERFACES_TD
#define ULSC_DIALECTS_ULS_ULSINTERFACES_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::ulsc::uls";
  let description = [{
    Reverse-mode differentiation of one op. Cotangents of floating-point values have the value's shape; their element type
    is the value's, or the gradient dtype for parameters, as `AdjointBuilder` decides.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds at `adjoint.builder` the cotangents of the operands from those of the results. `cotangents` has an entry per result,
        null when no one asks through that result. `adjoint.add(operandIndex, value)` hands over one operand's cotangent;
        `adjoint.needs(operandIndex)` tells whether it is wanted.
      }],
      "mlir::LogicalResult", "buildAdjoint",
      (ins "::ulsc::uls::AdjointBuilder &":$adjoint, "llvm::ArrayRef<mlir::Value>":$cotangents)>
  ];
}

#endif // ULSC_DIALECTS_ULS_ULSINTERFACES_TD
