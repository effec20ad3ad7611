// Turns statements into instructions: places of registers and constants, and per family of opcodes
// a table of what decodes them.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_DECODER_H
#define ULSC_RUNTIME_SIMULATOR_PTX_DECODER_H

#include "simulator/ptx/opcode.h"
#include "simulator/ptx/program.h"

#include <unordered_map>

namespace ulsc::simulator::ptx {

/// Where a name of a variable leads.
struct Symbol {
  Space space = Space::Global;
  uint64_t address = 0; ///< In that space.
};

/// Decodes the functions of one kernel. What fails throws PtxError.
class Decoder {
public:
  Decoder(const Module &module, const std::map<std::string, Symbol> &globals, Kernel &kernel);

  /// Decodes the entry and all functions it calls.
  void decode(const Function &entry);

  // For the families:

  /// The operand as a value of this type; registers must have its size.
  Place source(const Operand &operand, Type type, uint32_t line);
  /// The same for `ld`, `st` and `cvt`, where registers may be wider; gives the register's bytes.
  Place wideSource(const Operand &operand, Type type, uint32_t line, uint32_t &bytes);
  Place destination(const Operand &operand, Type type, uint32_t line);
  Place wideDestination(const Operand &operand, Type type, uint32_t line, uint32_t &bytes);
  Place predicate(const Operand &operand, uint32_t line);
  /// `p` and, where it is written, `q` of `p|q`.
  void predicates(const Operand &operand, Instruction &instruction);
  Place constant(uint64_t bits, uint32_t bytes);
  Place scratch(uint32_t bytes);
  Symbol symbol(const std::string &name, uint32_t line) const;
  bool hasSymbol(const std::string &name) const;
  Place special(const std::string &name, uint32_t bytes, uint32_t line);
  /// Fills source[0], offset and, for named parameters, the space of an address operand.
  void address(const Operand &operand, Instruction &instruction);
  /// Every instruction that accesses so many bytes says so.
  void noteAccess(Space space, uint32_t bytes);
  static const Operand &operand(const Statement &statement, size_t index);
  static void expectOperands(const Statement &statement, size_t count);

private:
  void layOut(const Function &function);
  void layOutShared(const Variable &variable);
  void layOutLocal(const Function &function, const Variable &variable);
  void placeDynamicShared();
  void decodeFunction(const Function &function,
                      const std::unordered_map<std::string, Symbol> &outer);
  void decodeBody(const Function &function);
  void decodeStatement(const Statement &statement);
  void decodeControl(const Statement &statement, Opcode &opcode, Instruction &instruction);
  void decodeCall(const Statement &statement, Opcode &opcode, Instruction &instruction);
  bool isControl(const std::string &name) const;
  const Function &calledFunction(const Statement &statement) const;
  void addCopies(const std::vector<std::string> &names, const std::vector<Variable> &formals,
                 const std::string &function, bool isResult, Instruction &instruction);
  const std::pair<Type, Place> &find(const std::string &name, uint32_t line) const;
  const Function &current() const { return *functions.back(); }

  const Module &module;
  const std::map<std::string, Symbol> &globals;
  Kernel &kernel;
  std::vector<const Function *> functions; ///< Being decoded, outermost first.
  std::map<std::string, uint32_t> entries; ///< Of functions already decoded.
  std::unordered_map<std::string, std::pair<Type, Place>> registers;
  std::unordered_map<std::string, Symbol> symbols; ///< Of the function being decoded.
  std::map<std::pair<std::string, std::string>, PlacedVariable> parametersOf; ///< In local memory.
  std::map<std::pair<uint64_t, uint32_t>, Place> constants;
  std::map<std::pair<int, uint32_t>, Place> specials;
  std::unordered_map<std::string, uint32_t> labels;
  std::unordered_map<std::string, std::vector<std::string>> targets;
  std::vector<std::pair<uint32_t, std::string>> branches; ///< To be patched.
  std::vector<std::string> dynamicNames;                  ///< Of extern shared arrays.
};

/// Decodes the operands and chooses the handler. `opcode.finish()` is called afterwards.
using Decode = void (*)(Decoder &, Opcode &, const Statement &, Instruction &);
using DecodeTable = std::unordered_map<std::string, Decode>;

const DecodeTable &integerOpcodes();
const DecodeTable &bitOpcodes();
const DecodeTable &bitFieldOpcodes();
const DecodeTable &moveOpcodes();
const DecodeTable &comparisonOpcodes();
const DecodeTable &conversionOpcodes();
const DecodeTable &memoryOpcodes();
const DecodeTable &atomicOpcodes();
const DecodeTable &asyncCopyOpcodes();
const DecodeTable &warpOpcodes();
/// Opcodes that integers and floats share (add, min …) look at the type: these are tried where it
/// is a floating-point type.
const DecodeTable &floatOpcodes();

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_DECODER_H
