// The parser's shared part: words, numbers, types and operands. Internal to parser*.cpp.
#ifndef ULSC_RUNTIME_SIMULATOR_PTX_PARSER_H
#define ULSC_RUNTIME_SIMULATOR_PTX_PARSER_H

#include "simulator/ptx/error.h"
#include "simulator/ptx/lexer.h"
#include "simulator/ptx/syntax.h"

namespace ulsc::simulator::ptx {

class Words {
public:
  explicit Words(const std::string &ptx) : tokens(tokenize(ptx)) {}

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(position + ahead, tokens.size() - 1)];
  }
  const Token &next() {
    const Token &result = peek();
    if (position + 1 < tokens.size())
      ++position;
    return result;
  }
  uint32_t line() const { return peek().line; }
  bool isAtEnd() const { return peek().kind == Token::End; }
  bool is(const char *text) const { return peek().kind != Token::Text && peek().text == text; }
  bool take(const char *text) {
    if (!is(text) || isAtEnd())
      return false;
    next();
    return true;
  }
  void expect(const char *text) {
    if (!take(text))
      refuse(line(), "expected '", text, "', found '", peek().text, "'");
  }
  std::string word(const char *what);
  /// A whole number, decimal, hexadecimal, octal or binary, with its sign.
  int64_t integer();
  /// Skips what is left of a line, for directives of debug information that have no end mark.
  void skipLine() {
    for (uint32_t at = line(); !isAtEnd() && line() == at;)
      next();
  }
  /// Skips a block in braces.
  void skipBlock();

private:
  std::vector<Token> tokens;
  size_t position = 0;
};

/// Reads the digits of a literal; false where they are none.
bool readInteger(const std::string &digits, uint64_t &value);
/// One operand of an instruction.
Operand parseOperand(Words &words);
/// After the space's directive: `.align 16 .b8 name[64] = {…}`, without the end mark.
Variable parseVariable(Words &words, Space space);
/// The statements of a function in braces.
void parseBody(Words &words, Function &function);

} // namespace ulsc::simulator::ptx

#endif // ULSC_RUNTIME_SIMULATOR_PTX_PARSER_H
