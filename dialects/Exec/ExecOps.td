//===- ExecOps.td - Ops of the exec dialect -----------------------------*- tablegen -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------===//

#ifndef ULSC_EXEC_OPS
#define ULSC_EXEC_OPS

include "dialects/Exec/ExecFunctionOps.td"
include "dialects/Exec/ExecMemoryOps.td"
include "dialects/Exec/ExecKernelOps.td"
include "dialects/Exec/ExecLibraryOps.td"
include "dialects/Exec/ExecCommunicationOps.td"
include "dialects/Exec/ExecControlOps.td"
// Ops on values that become the above when buffers are assigned.
include "dialects/Exec/ExecValueOps.td"

#endif // ULSC_EXEC_OPS
