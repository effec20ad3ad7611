//===- UlsOps.td - All ops of the uls dialect -------------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#ifndef ULSC_DIALECTS_ULS_ULSOPS_TD
#define ULSC_DIALECTS_ULS_ULSOPS_TD

include "dialects/Uls/UlsStructureOps.td"
include "dialects/Uls/UlsElementwiseOps.td"
include "dialects/Uls/UlsShapeOps.td"
include "dialects/Uls/UlsModelOps.td"
include "dialects/Uls/UlsTrainingOps.td"

#endif // ULSC_DIALECTS_ULS_ULSOPS_TD
