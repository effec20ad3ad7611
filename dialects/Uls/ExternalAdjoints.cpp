//===- ExternalAdjoints.cpp - Adjoints of ops of other dialects
//----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Uls/ExternalAdjoints.h"

#include "dialects/Uls/Uls.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::uls;

namespace {
/// The same value elsewhere: the cotangent passes, and lies as its primal does unless something
/// else is asked of it.
struct ReshardAdjoint : DifferentiableOpInterface::ExternalModel<ReshardAdjoint, dist::ReshardOp> {
  LogicalResult buildAdjoint(Operation *, AdjointBuilder &adjoint,
                             ArrayRef<Value> cotangents) const {
    adjoint.addConverted(0, cotangents[0]);
    return success();
  }
};
} // namespace

void ulsc::uls::attachExternalAdjoints(MLIRContext &context) {
  dist::ReshardOp::attachInterface<ReshardAdjoint>(context);
}
