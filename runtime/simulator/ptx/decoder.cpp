// The walk over a kernel's functions and their statements.
#include "simulator/ptx/decoder.h"

#include "simulator/ptx/warp.h"

#include <algorithm>

namespace ulsc::simulator::ptx {

Decoder::Decoder(const Module &module, const std::map<std::string, Symbol> &globals, Kernel &kernel)
    : module(module), globals(globals), kernel(kernel) {}

void Decoder::decode(const Function &entry) {
  for (const Variable &variable : module.variables)
    if (variable.space == Space::Shared) {
      kernel.dynamicSharedAlign = std::max(kernel.dynamicSharedAlign, variable.align);
      layOutShared(variable);
    }
  for (const Function &function : module.functions)
    for (const Variable &variable : function.variables)
      if (variable.space == Space::Shared)
        kernel.dynamicSharedAlign = std::max(kernel.dynamicSharedAlign, variable.align);
  auto moduleSymbols = symbols;
  decodeFunction(entry, moduleSymbols);
  kernel.entry = entries.at(entry.name);
  placeDynamicShared();
}

void Decoder::decodeFunction(const Function &function,
                             const std::unordered_map<std::string, Symbol> &outer) {
  functions.push_back(&function);
  if (functions.size() > 64)
    refuse(function.line, "calls more than 64 deep");
  // Callees first: lanes in them have the lower addresses, and so come back before the others go
  // on.
  std::vector<const Function *> callees;
  for (const Statement &statement : function.body)
    if (Opcode(statement.opcode, statement.line).name() == "call")
      callees.push_back(&calledFunction(statement));
  for (const Function *called : callees) {
    if (std::find(functions.begin(), functions.end(), called) != functions.end())
      refuse(called->line, "recursion of '", called->name, "' is not simulated");
    if (!entries.count(called->name))
      decodeFunction(*called, outer);
  }
  registers.clear();
  labels.clear();
  targets.clear();
  branches.clear();
  symbols = outer;
  layOut(function);
  for (auto &[name, found] : symbols)
    if (std::find(dynamicNames.begin(), dynamicNames.end(), name) != dynamicNames.end())
      found = {Space::Shared, dynamicSharedBegin + kernel.dynamicSharedAlign};
  decodeBody(function);
  functions.pop_back();
}

const Function &Decoder::calledFunction(const Statement &statement) const {
  const Operand &target = operand(statement, 0);
  const Function *declared = nullptr;
  for (const Function &each : module.functions)
    if (each.name == target.name && !each.isEntry) {
      declared = &each;
      if (each.hasBody)
        return each;
    }
  if (target.kind != Operand::Symbol)
    refuse(statement.line, "calls through a pointer are not simulated");
  refuse(statement.line, "function '", target.name,
         declared ? "' has no body" : "' is not declared");
}

void Decoder::decodeBody(const Function &function) {
  entries[function.name] = uint32_t(kernel.code.size());
  for (const Statement &statement : function.body)
    if (!statement.targets.empty())
      targets[statement.label] = statement.targets;
  for (const Statement &statement : function.body)
    decodeStatement(statement);
  Instruction end; // a body may end without ret
  end.control = function.isEntry ? Control::Exit : Control::Return;
  end.line = function.line;
  kernel.code.push_back(end);
  if (kernel.code.size() > (1u << 24))
    refuse(function.line, "more than 16 million instructions");
  auto resolve = [&](const std::string &label, uint32_t line) {
    auto found = labels.find(label);
    if (found == labels.end())
      refuse(line, "label '", label, "' doesn't exist");
    return found->second;
  };
  for (const auto &[at, label] : branches) {
    Instruction &branch = kernel.code[at];
    if (branch.control == Control::Branch) {
      branch.target = resolve(label, branch.line);
      continue;
    }
    std::vector<uint32_t> table;
    auto found = targets.find(label);
    if (found == targets.end())
      refuse(branch.line, "'", label, "' names no .branchtargets");
    for (const std::string &each : found->second)
      table.push_back(resolve(each, branch.line));
    branch.target = uint32_t(kernel.branchTables.size());
    kernel.branchTables.push_back(std::move(table));
  }
}

void Decoder::decodeStatement(const Statement &statement) {
  if (!statement.label.empty()) {
    if (statement.targets.empty() &&
        !labels.emplace(statement.label, uint32_t(kernel.code.size())).second)
      refuse(statement.line, "label '", statement.label, "' stands twice");
    return;
  }
  Instruction instruction;
  instruction.line = statement.line;
  if (!statement.guard.empty()) {
    Operand guard;
    guard.kind = Operand::Register;
    guard.name = statement.guard;
    instruction.guard = predicate(guard, statement.line);
    instruction.isGuardNegated = statement.isGuardNegated;
  }
  Opcode opcode(statement.opcode, statement.line);
  if (isControl(opcode.name())) {
    decodeControl(statement, opcode, instruction);
  } else {
    bool isFloat = false; // any type at all: `cvt` has two and is in no table of floats
    size_t dot = 0;
    for (std::string rest = statement.opcode; dot != std::string::npos;) {
      size_t end = rest.find('.', dot + 1);
      isFloat |=
          isFloatType(typeOfName(rest.substr(dot, end == std::string::npos ? end : end - dot)));
      dot = end == std::string::npos ? end : end + 1;
    }
    Decode found = nullptr;
    if (isFloat)
      if (auto entry = floatOpcodes().find(opcode.name()); entry != floatOpcodes().end())
        found = entry->second;
    for (const DecodeTable *table :
         {&integerOpcodes(), &bitOpcodes(), &bitFieldOpcodes(), &moveOpcodes(),
          &comparisonOpcodes(), &conversionOpcodes(), &memoryOpcodes(), &atomicOpcodes(),
          &asyncCopyOpcodes(), &warpOpcodes()})
      if (auto entry = table->find(opcode.name()); !found && entry != table->end())
        found = entry->second;
    if (!found)
      refuse(statement.line, "instruction '", statement.opcode, "' is not simulated");
    found(*this, opcode, statement, instruction);
  }
  opcode.finish();
  kernel.code.push_back(instruction);
}

} // namespace ulsc::simulator::ptx
