// A PTX module as it is written: what the parser makes and the decoder reads.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_SYNTAX_H
#define ULSC_RUNTIME_SIMULATOR_PTX_SYNTAX_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ulsc::simulator::ptx {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F32x2,
  F64,
};

/// None where the name ("u32", without the dot) is no type.
Type typeOfName(const std::string &name);
const char *nameOf(Type type);
/// Bytes of a value; 0 for predicates.
uint32_t bytesOf(Type type);
bool isSignedType(Type type);
bool isFloatType(Type type);
/// Whether the type is of .bN kind or an unsigned integer.
bool isPlainBits(Type type);

enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };

struct Operand {
  enum Kind { Register, Integer, Float32, Float64, Symbol, Address, Vector, Sink } kind = Sink;
  std::string name;            ///< Register or symbol; of an address its base, which may be empty.
  bool isNegated = false;      ///< `!%p`
  bool isRegisterBase = false; ///< Of an address.
  uint64_t value = 0;          ///< Bits of an immediate.
  int64_t offset = 0;          ///< Of an address, or of a symbol.
  std::vector<Operand> elements; ///< Of a vector; the second half of `a|b`.
};

struct Statement {
  uint32_t line = 0;
  std::string label; ///< A label stands alone in its statement.
  std::string guard; ///< Register of `@%p`, or empty.
  bool isGuardNegated = false;
  std::string opcode; ///< With its modifiers: "ld.global.v4.f32".
  std::vector<Operand> operands;
  // call
  std::vector<std::string> returns, arguments;
  std::vector<std::string> targets; ///< Of `.branchtargets`.
};

struct Variable {
  uint32_t line = 0;
  std::string name;
  Space space = Space::Global;
  Type type = Type::B8;
  uint64_t align = 1;
  uint64_t elements = 1;
  bool isExtern = false, isUnsized = false;
  struct Initialiser {
    uint64_t bits = 0;
    std::string symbol; ///< Or the address of a variable.
  };
  std::vector<Initialiser> initialisers;

  uint64_t bytes() const { return elements * bytesOf(type); }
};

struct Function {
  uint32_t line = 0;
  std::string name;
  bool isEntry = false, hasBody = false;
  std::vector<Variable> parameters, results;
  std::map<std::string, Type> registers;
  std::vector<Variable> variables; ///< .shared, .local and .param of the body.
  std::vector<Statement> body;
  uint32_t maximumThreads[3] = {0, 0, 0};  ///< .maxntid; 0: not given
  uint32_t requiredThreads[3] = {0, 0, 0}; ///< .reqntid
};

struct Module {
  int version = 0;                     ///< 85 for 8.5
  int target = 0;                      ///< 90 for sm_90
  bool isArchitectureSpecific = false; ///< sm_90a
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// Throws PtxError.
Module parse(const std::string &ptx);

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_SYNTAX_H
