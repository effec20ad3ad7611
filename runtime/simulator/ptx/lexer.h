// Words of a PTX text.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_LEXER_H
#define ULSC_RUNTIME_SIMULATOR_PTX_LEXER_H

#include <cstdint>
#include <string>
#include <vector>

namespace ulsc::simulator::ptx {

struct Token {
  /// Word: identifiers, registers with special suffix (%tid.x), opcodes and directives with their
  /// dots (.visible, ld.global.f32).
  enum Kind { Word, Number, Text, Symbol, End } kind = End;
  std::string text;
  uint32_t line = 0;
};

/// Comments are dropped. Throws PtxError at a character that PTX doesn't have.
std::vector<Token> tokenize(const std::string &ptx);

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_LEXER_H
