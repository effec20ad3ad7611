//===- DistInterfaces.cpp - Generated bodies of the interfaces --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

#include "dialects/Dist/DistInterfaces.cpp.inc"
