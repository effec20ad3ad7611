// Splits a PTX text into words.
#include "simulator/ptx/lexer.h"

#include "simulator/ptx/error.h"

#include <cstring>

namespace ulsc::simulator::ptx {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool startsWord(char c) { return isLetter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
/// What may follow "::", as in L2::128B.
bool startsPart(char c) { return isLetter(c) || isDigit(c); }
/// ':' only as part of "::", as in shared::cta.
bool continuesWord(char c) { return startsWord(c) || isDigit(c); }

class Lexer {
public:
  explicit Lexer(const std::string &ptx) : ptx(ptx) {}

  std::vector<Token> run() {
    while (skipBlanks(), position < ptx.size())
      tokens.push_back(next());
    tokens.push_back({Token::End, "end of text", line});
    return std::move(tokens);
  }

private:
  char at(size_t offset) const {
    return position + offset < ptx.size() ? ptx[position + offset] : 0;
  }

  void skipBlanks() {
    while (position < ptx.size()) {
      char c = at(0);
      if (c == '\n') {
        ++line;
        ++position;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++position;
      } else if (c == '/' && at(1) == '/') {
        while (position < ptx.size() && at(0) != '\n')
          ++position;
      } else if (c == '/' && at(1) == '*') {
        skipBlockComment();
      } else {
        return;
      }
    }
  }

  void skipBlockComment() {
    uint32_t begin = line;
    for (position += 2; !(at(0) == '*' && at(1) == '/'); ++position) {
      if (position >= ptx.size())
        refuse(begin, "a comment has no end");
      if (at(0) == '\n')
        ++line;
    }
    position += 2;
  }

  Token next() {
    char c = at(0);
    size_t begin = position;
    if (isDigit(c)) {
      while (isDigit(at(0)) || isLetter(at(0)) || (at(0) == '.' && isDigit(at(1))))
        ++position;
      return {Token::Number, ptx.substr(begin, position - begin), line};
    }
    if (c == '"')
      return quoted();
    if (startsWord(c)) {
      while (continuesWord(at(0)) || (at(0) == ':' && at(1) == ':' && startsPart(at(2))) ||
             (at(0) == ':' && position > begin && at(-1) == ':' && startsPart(at(1))))
        ++position;
      return {Token::Word, ptx.substr(begin, position - begin), line};
    }
    if (c == 0 || !std::strchr("{}[]()<>,;:=+-|!@*~&", c))
      refuse(line, "unexpected character '", c, "'");
    ++position;
    return {Token::Symbol, std::string(1, c), line};
  }

  Token quoted() {
    size_t begin = ++position;
    while (at(0) != '"') {
      if (position >= ptx.size() || at(0) == '\n')
        refuse(line, "a string has no end");
      position += at(0) == '\\' && position + 1 < ptx.size() && at(1) != '\n' ? 2 : 1;
    }
    return {Token::Text, ptx.substr(begin, position++ - begin), line};
  }

  const std::string &ptx;
  size_t position = 0;
  uint32_t line = 1;
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> tokenize(const std::string &ptx) { return Lexer(ptx).run(); }

} // namespace ulsc::simulator::ptx
