// Words, numbers, operands and variables of a PTX text.
#include "simulator/ptx/parser.h"

#include <cstdlib>

namespace ulsc::simulator::ptx {

std::string Words::word(const char *what) {
  if (peek().kind != Token::Word)
    refuse(line(), "expected ", what, ", found '", peek().text, "'");
  return next().text;
}

bool readInteger(const std::string &digits, uint64_t &value) {
  std::string body = digits;
  int base = 10;
  if (!body.empty() && body.back() == 'U')
    body.pop_back();
  if (body.size() > 2 && body[0] == '0' && (body[1] == 'x' || body[1] == 'X')) {
    base = 16;
    body = body.substr(2);
  } else if (body.size() > 2 && body[0] == '0' && (body[1] == 'b' || body[1] == 'B')) {
    base = 2;
    body = body.substr(2);
  } else if (body.size() > 1 && body[0] == '0') {
    base = 8;
  }
  if (body.empty())
    return false;
  char *end = nullptr;
  value = std::strtoull(body.c_str(), &end, base);
  return *end == 0;
}

int64_t Words::integer() {
  bool isNegative = take("-");
  uint64_t value = 0;
  if (peek().kind != Token::Number || !readInteger(peek().text, value))
    refuse(line(), "expected a whole number, found '", peek().text, "'");
  next();
  return isNegative ? int64_t(0 - value) : int64_t(value);
}

void Words::skipBlock() {
  uint32_t begin = line();
  expect("{");
  for (int depth = 1; depth > 0;) {
    if (isAtEnd())
      refuse(begin, "a block has no end");
    depth += is("{") ? 1 : is("}") ? -1 : 0;
    next();
  }
}

namespace {

/// Numbers, and floating-point literals 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX.
Operand parseNumber(Words &words) {
  Operand result;
  bool isNegative = words.take("-");
  bool isComplement = !isNegative && words.take("~");
  const std::string &digits = words.peek().text;
  uint32_t line = words.line();
  if (words.peek().kind != Token::Number)
    refuse(line, "expected a number, found '", digits, "'");
  char second = digits.size() > 1 && digits[0] == '0' ? char(digits[1] | 0x20) : 0;
  bool isHex = digits.size() > 2 && digits[1] != 'b';
  if (isHex && ((second == 'f' && digits.size() == 10) || (second == 'd' && digits.size() == 18))) {
    result.kind = second == 'f' ? Operand::Float32 : Operand::Float64;
    char *end = nullptr;
    result.value = std::strtoull(digits.c_str() + 2, &end, 16);
    if (*end != 0 || isNegative || isComplement)
      refuse(line, "'", digits, "' is no floating-point literal");
  } else if (digits.find('.') != std::string::npos) {
    result.kind = Operand::Float64;
    char *end = nullptr;
    double value = std::strtod(digits.c_str(), &end);
    if (*end != 0)
      refuse(line, "'", digits, "' is no number");
    value = isNegative ? -value : value;
    static_assert(sizeof value == sizeof result.value);
    __builtin_memcpy(&result.value, &value, sizeof value);
  } else {
    result.kind = Operand::Integer;
    if (!readInteger(digits, result.value))
      refuse(line, "'", digits, "' is no number");
    if (isNegative)
      result.value = 0 - result.value;
    if (isComplement)
      result.value = ~result.value;
  }
  words.next();
  return result;
}

Operand parseAddress(Words &words) {
  Operand result;
  result.kind = Operand::Address;
  words.expect("[");
  if (words.peek().kind == Token::Word) {
    result.name = words.next().text;
    result.isRegisterBase = result.name[0] == '%';
    if (words.is("+") || words.is("-")) {
      words.take("+");
      result.offset = words.integer();
    }
  } else {
    result.offset = words.integer();
  }
  words.expect("]");
  return result;
}

Operand parseVector(Words &words) {
  Operand result;
  result.kind = Operand::Vector;
  words.expect("{");
  do {
    if (words.is("{") || words.is("["))
      refuse(words.line(), "a vector of vectors");
    result.elements.push_back(parseOperand(words));
  } while (words.take(","));
  words.expect("}");
  return result;
}

} // namespace

Operand parseOperand(Words &words) {
  if (words.is("["))
    return parseAddress(words);
  if (words.is("{"))
    return parseVector(words);
  Operand result;
  if (words.is("!")) {
    words.next();
    result.isNegated = true;
  } else if (words.peek().kind == Token::Number || words.is("-") || words.is("~")) {
    return parseNumber(words);
  }
  result.name = words.word("an operand");
  if (result.name == "_") {
    result.kind = Operand::Sink;
  } else {
    result.kind = result.name[0] == '%' ? Operand::Register : Operand::Symbol;
  }
  if (words.take("|"))
    result.elements.push_back(parseOperand(words));
  if (result.kind == Operand::Symbol && (words.is("+") || words.is("-"))) {
    words.take("+");
    result.offset = words.integer();
  }
  return result;
}

namespace {

Variable::Initialiser parseInitialiser(Words &words) {
  if (words.peek().kind != Token::Word) {
    Operand number = parseNumber(words);
    return {number.value, ""};
  }
  std::string name = words.next().text;
  if (name == "generic") {
    words.expect("(");
    name = words.word("a variable");
    words.expect(")");
  }
  uint64_t offset = 0;
  if (words.is("+") || words.is("-")) {
    words.take("+");
    offset = uint64_t(words.integer());
  }
  return {offset, name};
}

void parseInitialisers(Words &words, Variable &variable) {
  if (!words.take("{")) {
    variable.initialisers.push_back(parseInitialiser(words));
    return;
  }
  int depth = 1;
  while (depth > 0) {
    if (words.take("{"))
      ++depth;
    else if (words.take("}"))
      --depth;
    else if (!words.take(","))
      variable.initialisers.push_back(parseInitialiser(words));
    if (words.isAtEnd())
      refuse(variable.line, "the values of '", variable.name, "' have no end");
  }
}

void parseDimensions(Words &words, Variable &variable) {
  constexpr uint64_t limit = uint64_t(1) << 40;
  while (words.take("[")) {
    if (words.take("]")) {
      variable.isUnsized = true;
      continue;
    }
    int64_t count = words.integer();
    if (count < 0 || (count > 0 && variable.elements > limit / uint64_t(count)))
      refuse(variable.line, "'", variable.name, "' has ", count, " elements in a dimension");
    variable.elements *= uint64_t(count);
    words.expect("]");
  }
  if (variable.isUnsized)
    variable.elements = 0;
}

} // namespace

Variable parseVariable(Words &words, Space space) {
  Variable result;
  result.line = words.line();
  result.space = space;
  uint64_t vector = 1, align = 0;
  for (;;) {
    std::string word = words.word("the type of a variable");
    if (word == ".align") {
      align = uint64_t(words.integer());
      if (align == 0 || (align & (align - 1)) || align > 4096)
        refuse(result.line, "alignment ", align);
      continue;
    }
    if (word == ".v2" || word == ".v4") {
      vector = word == ".v2" ? 2 : 4;
      continue;
    }
    if (word == ".ptr") { // of a parameter: what it points to. A hint for the optimiser.
      while (words.is(".global") || words.is(".shared") || words.is(".const") || words.is(".local"))
        words.next();
      if (words.take(".align"))
        words.integer();
      break;
    }
    Type type = word[0] == '.' ? typeOfName(word.substr(1)) : Type::None;
    if (type == Type::None || type == Type::Pred)
      refuse(result.line, "'", word, "' is no type of a variable that is simulated");
    result.type = type;
    if (words.is(".ptr"))
      continue;
    break;
  }
  result.name = words.word("the name of a variable");
  result.elements = vector;
  result.align = std::max<uint64_t>(align, align ? 1 : bytesOf(result.type) * vector);
  parseDimensions(words, result);
  if (words.take("="))
    parseInitialisers(words, result);
  return result;
}

} // namespace ulsc::simulator::ptx
