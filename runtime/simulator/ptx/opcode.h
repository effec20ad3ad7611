// The dotted words of an opcode, taken one by one: what nobody takes is refused by name.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_OPCODE_H
#define ULSC_RUNTIME_SIMULATOR_PTX_OPCODE_H

#include "simulator/ptx/error.h"
#include "simulator/ptx/float16.h"
#include "simulator/ptx/syntax.h"

#include <initializer_list>

namespace ulsc::simulator::ptx {

class Opcode {
public:
  Opcode(const std::string &spelling, uint32_t line);

  const std::string &name() const { return words[0]; }
  const std::string &spelling() const { return whole; }
  uint32_t line() const { return atLine; }

  /// Takes a modifier, wherever it stands.
  bool take(const char *modifier);
  /// The index of the first of these that is there, taken; -1 for none.
  int takeOneOf(std::initializer_list<const char *> modifiers);
  /// Takes the first type from the left; Type::None if there is none.
  Type takeType();
  Type requireType();
  /// One of .rn .rz .rm .rp .rna; `otherwise` where there is none.
  Rounding takeRounding(Rounding otherwise = Rounding::Nearest);
  /// Refuses the modifiers that are left.
  void finish() const;
  [[noreturn]] void refuseType(Type type) const;

private:
  std::string whole;
  uint32_t atLine;
  std::vector<std::string> words;
  std::vector<bool> isTaken;
};

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_OPCODE_H
