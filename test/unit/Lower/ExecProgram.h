//===- ExecProgram.h - Compiles and runs an exec program in this process -*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#ifndef ULSC_TEST_UNIT_LOWER_EXECPROGRAM_H
#define ULSC_TEST_UNIT_LOWER_EXECPROGRAM_H

#include "ulsc/RuntimeABI.h"
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

/// An exec program made machine code in this process. The functions of the runtime are simple ones
/// of the test; launches are cut into `threads` parts as the runtime may cut them.
class ExecProgram {
public:
  explicit ExecProgram(const std::string &text, int64_t arenaBytes = 1 << 22);
  ~ExecProgram();

  bool isValid() const { return step != nullptr; }
  /// Runs the step with launches cut into `threads` parts, one after the other.
  void run(int threads = 1);
  /// Of the last run, on a device.
  int64_t countLaunches() const;
  template <typename T>
  T *at(int64_t offset) {
    return reinterpret_cast<T *>(arena.get() + offset);
  }
  double compileSeconds = 0;
  ulsc_control control = {};

private:
  struct Machine;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<char, void (*)(void *)> arena;
  int64_t bytes;
  void (*step)(ulsc_context *) = nullptr;
};

/// Replaces each `$NAME` of `text` by its value.
std::string format(std::string text,
                   const std::vector<std::pair<std::string, std::string>> &values);

/// A buffer of the arena: a memref's type without `memref<>`, and its offset.
struct Operand {
  std::string type;
  int64_t offset;
};

/// The text of a program whose step launches the kernel `name` of `text` once.
std::string launchOnce(const std::string &text, const std::string &name,
                       const std::vector<Operand> &inputs, const std::vector<Operand> &outputs,
                       const std::vector<int64_t> &scalars = {});

inline float fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
inline uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (value != value)
    return 0x7fc0;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

#endif // ULSC_TEST_UNIT_LOWER_EXECPROGRAM_H
