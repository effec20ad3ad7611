// Directives of a PTX module, its variables and functions.
#include "simulator/ptx/parser.h"

namespace ulsc::simulator::ptx {

namespace {

class ModuleParser {
public:
  explicit ModuleParser(const std::string &ptx) : words(ptx) {}

  Module run() {
    while (!words.isAtEnd())
      directive();
    if (!module.version || !module.target)
      refuse(words.line(), "a module needs .version and .target");
    return std::move(module);
  }

private:
  void directive() {
    uint32_t line = words.line();
    std::string name = words.word("a directive");
    if (name == ".version")
      version();
    else if (name == ".target")
      target();
    else if (name == ".address_size")
      addressSize();
    else if (name == ".file" || name == ".loc")
      words.skipLine();
    else if (name == ".section")
      words.next(), words.skipBlock();
    else if (name == ".pragma")
      words.next(), words.expect(";");
    else
      declaration(line, name);
  }

  void version() {
    uint32_t line = words.line();
    std::string number = words.next().text;
    size_t dot = number.find('.');
    uint64_t major = 0, minor = 0;
    if (dot == std::string::npos || !readInteger(number.substr(0, dot), major) ||
        !readInteger(number.substr(dot + 1), minor) || major < 3 || major > 9)
      refuse(line, ".version ", number, " is not simulated");
    module.version = int(major * 10 + minor);
  }

  void target() {
    uint32_t line = words.line();
    do {
      std::string name = words.word("a target");
      if (name == "debug")
        continue;
      size_t end = name.find_first_not_of("0123456789", 3);
      std::string suffix = end == std::string::npos ? "" : name.substr(end);
      uint64_t number = 0;
      if (name.compare(0, 3, "sm_") != 0 || (!suffix.empty() && suffix != "a" && suffix != "f") ||
          !readInteger(name.substr(3, end == std::string::npos ? end : end - 3), number) ||
          number > 999)
        refuse(line, "target '", name, "' is not simulated");
      module.target = int(number);
      module.isArchitectureSpecific = !suffix.empty();
    } while (words.take(","));
  }

  void addressSize() {
    uint32_t line = words.line();
    if (int64_t size = words.integer(); size != 64)
      refuse(line, ".address_size ", size, " is not simulated");
  }

  void declaration(uint32_t line, std::string name) {
    bool isExtern = false;
    while (name == ".visible" || name == ".extern" || name == ".weak" || name == ".common") {
      isExtern |= name == ".extern";
      name = words.word("a declaration");
    }
    if (name == ".entry" || name == ".func") {
      function(line, name == ".entry");
    } else if (name == ".global" || name == ".const" || name == ".shared") {
      Space space = name == ".global"  ? Space::Global
                    : name == ".const" ? Space::Const
                                       : Space::Shared;
      do {
        Variable variable = parseVariable(words, space);
        variable.isExtern = isExtern;
        module.variables.push_back(std::move(variable));
      } while (words.take(","));
      words.expect(";");
    } else {
      refuse(line, "directive '", name, "' is not simulated");
    }
  }

  std::vector<Variable> parameters() {
    std::vector<Variable> result;
    words.expect("(");
    while (!words.take(")")) {
      if (words.is(".reg"))
        refuse(words.line(), "parameters in registers are not simulated");
      words.expect(".param");
      result.push_back(parseVariable(words, Space::Param));
      if (!words.is(")"))
        words.expect(",");
    }
    return result;
  }

  void threads(uint32_t (&counts)[3]) {
    for (uint32_t &count : counts)
      count = 1;
    int at = 0;
    do {
      if (at == 3)
        refuse(words.line(), "more than three dimensions");
      int64_t count = words.integer();
      if (count < 1 || count > 1024)
        refuse(words.line(), count, " threads in a dimension");
      counts[at++] = uint32_t(count);
    } while (words.take(","));
  }

  void function(uint32_t line, bool isEntry) {
    Function result;
    result.line = line;
    result.isEntry = isEntry;
    if (!isEntry && words.is("("))
      result.results = parameters();
    result.name = words.word("the name of a function");
    if (words.is("("))
      result.parameters = parameters();
    while (!words.is("{") && !words.is(";")) {
      uint32_t at = words.line();
      std::string name = words.word("the body of a function");
      if (name == ".maxntid")
        threads(result.maximumThreads);
      else if (name == ".reqntid")
        threads(result.requiredThreads);
      else if (name == ".minnctapersm" || name == ".maxnreg" || name == ".maxnctapersm")
        words.integer();
      else if (name != ".noreturn")
        refuse(at, "directive '", name, "' is not simulated");
    }
    if (!words.take(";")) {
      result.hasBody = true;
      parseBody(words, result);
    }
    if (result.hasBody || !isEntry)
      module.functions.push_back(std::move(result));
  }

  Words words;
  Module module;
};

} // namespace

Module parse(const std::string &ptx) { return ModuleParser(ptx).run(); }

} // namespace ulsc::simulator::ptx
