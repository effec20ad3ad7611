// Loads a module: its variables into device memory, its kernels decoded.
#include "simulator/core/memory.h"
#include "simulator/ptx/decoder.h"

#include <cstring>

namespace ulsc::simulator::ptx {

namespace {

using Symbols = std::map<std::string, Symbol>;

void placeVariables(const Module &module, LoadedModule &loaded, Symbols &symbols) {
  for (const Variable &variable : module.variables) {
    if (variable.space == Space::Shared)
      continue;
    if (variable.isExtern || variable.isUnsized)
      refuse(variable.line, "variable '", variable.name, "' is not defined in this module");
    if (variable.bytes() == 0)
      continue;
    bool isConstant = variable.space == Space::Const;
    void *address =
        allocate(variable.bytes(), isConstant ? MemoryKind::Constant : MemoryKind::Variable,
                 text("variable '", variable.name, "' of ", variable.bytes(), " bytes"));
    if (!address)
      refuse(variable.line, "no memory for variable '", variable.name, "' of ", variable.bytes(),
             " bytes");
    loaded.globals[variable.name] = {address, variable.bytes(), isConstant};
    symbols[variable.name] = {variable.space, uint64_t(address)};
  }
}

void initialise(const Module &module, const LoadedModule &loaded, const Symbols &symbols) {
  for (const Variable &variable : module.variables) {
    auto found = loaded.globals.find(variable.name);
    if (found == loaded.globals.end())
      continue;
    auto *target = static_cast<char *>(found->second.address);
    std::memset(target, 0, variable.bytes());
    uint32_t width = bytesOf(variable.type);
    if (variable.initialisers.size() > variable.elements)
      refuse(variable.line, "'", variable.name, "' has more values than elements");
    for (const Variable::Initialiser &each : variable.initialisers) {
      uint64_t bits = each.bits;
      if (!each.symbol.empty()) {
        auto symbol = symbols.find(each.symbol);
        if (symbol == symbols.end() || width != 8)
          refuse(variable.line, "the address of '", each.symbol, "' as a value of '", variable.name,
                 "'");
        bits += symbol->second.address;
      }
      std::memcpy(target, &bits, std::min<size_t>(width, sizeof bits));
      target += width;
    }
    markValues(found->second.address, int64_t(variable.bytes()));
  }
}

std::shared_ptr<const std::vector<std::string>> splitLines(const std::string &ptx) {
  auto lines = std::make_shared<std::vector<std::string>>();
  std::istringstream stream(ptx);
  for (std::string line; std::getline(stream, line);)
    lines->push_back(line);
  return lines;
}

void freeVariables(const LoadedModule &loaded) {
  for (const auto &[name, global] : loaded.globals)
    release(global.address, global.isConstant ? MemoryKind::Constant : MemoryKind::Variable);
}

} // namespace

LoadedModule::~LoadedModule() { freeVariables(*this); }

std::unique_ptr<LoadedModule> load(const std::string &ptx) {
  Module module = parse(ptx);
  auto loaded = std::make_unique<LoadedModule>();
  loaded->target = module.target;
  loaded->isArchitectureSpecific = module.isArchitectureSpecific;
  auto lines = splitLines(ptx);
  Symbols symbols;
  placeVariables(module, *loaded, symbols);
  initialise(module, *loaded, symbols);
  for (const Function &function : module.functions) {
    if (!function.isEntry || !function.hasBody)
      continue;
    auto kernel = std::make_unique<Kernel>();
    kernel->name = function.name;
    kernel->lines = lines;
    std::copy(std::begin(function.maximumThreads), std::end(function.maximumThreads),
              kernel->maximumThreads);
    std::copy(std::begin(function.requiredThreads), std::end(function.requiredThreads),
              kernel->requiredThreads);
    Decoder(module, symbols, *kernel).decode(function);
    if (!loaded->kernels.emplace(function.name, std::move(kernel)).second)
      refuse(function.line, "kernel '", function.name, "' stands twice");
  }
  return loaded;
}

} // namespace ulsc::simulator::ptx
