// Statements of a PTX function.
#include "simulator/ptx/parser.h"

namespace ulsc::simulator::ptx {

namespace {

/// Names declared in an inner block (inline assembly, the parameters of a call) are valid only
/// there: they get a suffix that no PTX name has.
class BodyParser {
public:
  BodyParser(Words &words, Function &function) : words(words), function(function) {}

  void run() {
    words.expect("{");
    scopes.emplace_back();
    while (!scopes.empty()) {
      if (words.isAtEnd())
        refuse(function.line, "the body of '", function.name, "' has no end");
      statement();
    }
  }

private:
  void statement() {
    if (words.take("{")) {
      scopes.emplace_back();
      ++blocks;
    } else if (words.take("}")) {
      scopes.pop_back();
    } else if (words.peek().kind == Token::Word && words.peek().text[0] == '.') {
      directive();
    } else if (words.peek().kind == Token::Word && words.peek(1).text == ":" &&
               words.peek(1).kind == Token::Symbol) {
      label();
    } else {
      instruction();
    }
  }

  std::string declare(const std::string &name) {
    if (scopes.size() == 1)
      return name;
    return scopes.back()[name] = name + "@" + std::to_string(blocks);
  }

  std::string resolve(const std::string &name) const {
    for (size_t i = scopes.size(); i-- > 1;)
      if (auto found = scopes[i].find(name); found != scopes[i].end())
        return found->second;
    return name;
  }

  void resolve(Operand &operand) const {
    if (!operand.name.empty()) {
      operand.name = resolve(operand.name);
      // A register need not begin with %: what has been declared as one is one.
      bool isRegister = operand.name[0] == '%' || function.registers.count(operand.name);
      if (operand.kind == Operand::Symbol && isRegister)
        operand.kind = Operand::Register;
      if (operand.kind == Operand::Address)
        operand.isRegisterBase = isRegister;
    }
    for (Operand &element : operand.elements)
      resolve(element);
  }

  void label() {
    Statement result;
    result.line = words.line();
    result.label = resolve(words.next().text);
    words.expect(":");
    if (words.take(".branchtargets")) {
      do
        result.targets.push_back(words.word("a label"));
      while (words.take(","));
      words.expect(";");
    }
    function.body.push_back(std::move(result));
  }

  void directive() {
    uint32_t line = words.line();
    std::string name = words.next().text;
    if (name == ".reg") {
      registers();
    } else if (name == ".shared" || name == ".local" || name == ".param") {
      Space space = name == ".shared"  ? Space::Shared
                    : name == ".local" ? Space::Local
                                       : Space::Param;
      do {
        Variable variable = parseVariable(words, space);
        variable.name = declare(variable.name);
        function.variables.push_back(std::move(variable));
      } while (words.take(","));
      words.expect(";");
    } else if (name == ".pragma") { // all are hints for ptxas
      if (words.next().kind != Token::Text)
        refuse(line, "expected the string of .pragma");
      words.expect(";");
    } else if (name == ".loc" || name == ".file") {
      words.skipLine();
    } else {
      refuse(line, "directive '", name, "' is not simulated");
    }
  }

  void registers() {
    uint32_t line = words.line();
    std::string typeName = words.word("the type of registers");
    Type type = typeName[0] == '.' ? typeOfName(typeName.substr(1)) : Type::None;
    if (type == Type::None || type == Type::B128)
      refuse(line, "registers of type '", typeName, "' are not simulated");
    do {
      std::string name = words.word("the name of a register");
      if (words.take("<")) {
        int64_t count = words.integer();
        words.expect(">");
        if (count < 0 || count > 1 << 20)
          refuse(line, count, " registers '", name, "'");
        for (int64_t i = 0; i < count; ++i)
          function.registers[declare(name + std::to_string(i))] = type;
      } else {
        function.registers[declare(name)] = type;
      }
    } while (words.take(","));
    words.expect(";");
  }

  void instruction() {
    Statement result;
    result.line = words.line();
    if (words.take("@")) {
      result.isGuardNegated = words.take("!");
      result.guard = resolve(words.word("a predicate"));
    }
    result.opcode = words.word("an instruction");
    if (result.opcode.compare(0, 4, "call") == 0 &&
        (result.opcode.size() == 4 || result.opcode[4] == '.')) {
      call(result);
    } else if (!words.is(";")) {
      do {
        result.operands.push_back(parseOperand(words));
        resolve(result.operands.back());
      } while (words.take(","));
    }
    words.expect(";");
    function.body.push_back(std::move(result));
  }

  std::vector<std::string> names() {
    std::vector<std::string> result;
    words.expect("(");
    while (!words.take(")")) {
      result.push_back(resolve(words.word("a parameter")));
      words.take(",");
    }
    return result;
  }

  void call(Statement &result) {
    if (words.is("(")) {
      result.returns = names();
      words.expect(",");
    }
    Operand target = parseOperand(words);
    resolve(target);
    result.operands.push_back(target);
    if (words.take(",")) {
      if (words.is("("))
        result.arguments = names();
      else
        refuse(result.line, "calls through a pointer are not simulated");
    }
    if (words.is(","))
      refuse(result.line, "calls through a pointer are not simulated");
  }

  Words &words;
  Function &function;
  std::vector<std::map<std::string, std::string>> scopes;
  int blocks = 0;
};

} // namespace

void parseBody(Words &words, Function &function) { BodyParser(words, function).run(); }

} // namespace ulsc::simulator::ptx
