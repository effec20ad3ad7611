// Splits an opcode at its dots.
#include "simulator/ptx/opcode.h"

namespace ulsc::simulator::ptx {

Opcode::Opcode(const std::string &spelling, uint32_t line) : whole(spelling), atLine(line) {
  size_t begin = 0;
  while (begin <= spelling.size()) {
    size_t end = std::min(spelling.find('.', begin), spelling.size());
    words.push_back(spelling.substr(begin, end - begin));
    begin = end + 1;
  }
  isTaken.resize(words.size());
}

bool Opcode::take(const char *modifier) {
  for (size_t i = 1; i < words.size(); ++i)
    if (!isTaken[i] && words[i] == modifier) {
      isTaken[i] = true;
      return true;
    }
  return false;
}

int Opcode::takeOneOf(std::initializer_list<const char *> modifiers) {
  int index = 0;
  for (const char *modifier : modifiers) {
    if (take(modifier))
      return index;
    ++index;
  }
  return -1;
}

Type Opcode::takeType() {
  for (size_t i = 1; i < words.size(); ++i)
    if (Type type = typeOfName(words[i]); !isTaken[i] && type != Type::None) {
      isTaken[i] = true;
      return type;
    }
  return Type::None;
}

Type Opcode::requireType() {
  Type type = takeType();
  if (type == Type::None)
    refuse(atLine, "'", whole, "' has no type that is simulated");
  return type;
}

Rounding Opcode::takeRounding(Rounding otherwise) {
  switch (takeOneOf({"rn", "rz", "rm", "rp", "rna"})) {
  case 0:
    return Rounding::Nearest;
  case 1:
    return Rounding::Zero;
  case 2:
    return Rounding::Down;
  case 3:
    return Rounding::Up;
  case 4:
    return Rounding::NearestAway;
  default:
    return otherwise;
  }
}

void Opcode::finish() const {
  for (size_t i = 1; i < words.size(); ++i)
    if (!isTaken[i])
      refuse(atLine, "modifier '.", words[i], "' of '", whole, "' is not simulated");
}

void Opcode::refuseType(Type type) const {
  refuse(atLine, "type '.", nameOf(type), "' of '", whole, "' is not simulated");
}

} // namespace ulsc::simulator::ptx
