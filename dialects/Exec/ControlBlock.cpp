//===- ControlBlock.cpp - The control block's fields by name -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/ControlBlock.h"
#include "ulsc/RuntimeABI.h"
#include <cstddef>

using namespace ulsc::exec;

#define FIELD(name, isInteger, isWritten)                                                          \
  {#name, offsetof(ulsc_control, name), isInteger, isWritten}

static const ControlField fields[] = {
    FIELD(seed, true, false),
    FIELD(step, true, false),
    FIELD(learning_rate, false, false),
    FIELD(beta1, false, false),
    FIELD(beta2, false, false),
    FIELD(epsilon, false, false),
    FIELD(bias_correction1, false, false),
    FIELD(bias_correction2, false, false),
    FIELD(weight_decay, false, false),
    FIELD(momentum, false, false),
    FIELD(clip_grad, false, false),
    FIELD(dropout_rate, false, false),
    FIELD(loss_scale, false, false),
    FIELD(good_steps, false, false),
    FIELD(loss_scale_growth_interval, false, false),
    FIELD(stop_requested, false, false),
    FIELD(loss, false, true),
    FIELD(grad_norm, false, true),
    FIELD(valid_count, false, true),
    FIELD(stop_count, false, true),
    FIELD(next_loss_scale, false, true),
    FIELD(next_good_steps, false, true),
    FIELD(overflowed, false, true),
};

llvm::ArrayRef<ControlField> ulsc::exec::getControlFields() { return fields; }

const ControlField *ulsc::exec::lookupControlField(llvm::StringRef name) {
  for (const ControlField &field : fields)
    if (field.name == name)
      return &field;
  return nullptr;
}

int64_t ulsc::exec::getCoordinateOffset(int64_t axis) {
  return offsetof(ulsc_control, coordinates) + axis * sizeof(int64_t);
}

int64_t ulsc::exec::getParameterScalesOffset() { return offsetof(ulsc_control, parameter_scales); }

int64_t ulsc::exec::getMaxAxes() { return ULSC_MAX_AXES; }
