//===- GradientCheck.h - The second oracle: adjoints against finite differences ------*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_TEST_UNIT_INTERPRETER_GRADIENTCHECK_H
#define ULSC_TEST_UNIT_INTERPRETER_GRADIENTCHECK_H

#include "ulsc/Interpreter/Compare.h"

namespace ulsc::interpreter {

/// The arguments of a block, drawn from its attributes: `test.low` and `test.high` bound a tensor's
/// elements (floats: −1 to 1, integers: 0 to 4, upper end excluded).
std::vector<RuntimeValue> drawBlockArguments(uls::BlockOp block, uint64_t seed);

/// Compares the gradients of joint block `joint` with central differences (five points, error h⁴)
/// of plain block `plain`, under random cotangents: along random directions, and element by element
/// for small arguments. Returns a line per disagreement.
std::vector<std::string> checkGradients(uls::BlockOp plain, uls::BlockOp joint, uint64_t seed,
                                        double tolerance = 1e-7);

} // namespace ulsc::interpreter

#endif // ULSC_TEST_UNIT_INTERPRETER_GRADIENTCHECK_H
