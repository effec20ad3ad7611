// Decodes branches, calls and the end of threads.
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/warp.h"

namespace ulsc::simulator::ptx {

namespace {

/// Copies bytes of local memory, from the arguments of a call to the parameters of its function, or
/// results back.
void copyLocal(Warp &warp, const Instruction &instruction) {
  const Kernel &kernel = *warp.launch->kernel;
  forActive(warp, [&](uint32_t lane) {
    uint8_t *local = warp.local.data() + size_t(lane) * kernel.localBytes;
    for (uint32_t i = 0; i < instruction.count; ++i) {
      const Kernel::Copy &copy = kernel.copies[instruction.target + i];
      std::memmove(local + copy.to, local + copy.from, copy.bytes);
    }
  });
}

void trap(Warp &warp, const Instruction &) {
  reportThread(warp, uint32_t(__builtin_ctz(warp.exec)), "trap", "the kernel executes trap", "",
               "no trap: usually a failed assertion of the kernel");
}

} // namespace

bool Decoder::isControl(const std::string &name) const {
  return name == "bra" || name == "brx" || name == "call" || name == "ret" || name == "exit" ||
         name == "trap";
}

void Decoder::decodeControl(const Statement &statement, Opcode &opcode, Instruction &instruction) {
  const std::string &name = opcode.name();
  auto at = uint32_t(kernel.code.size());
  if (name == "bra") {
    opcode.take("uni");
    expectOperands(statement, 1);
    instruction.control = Control::Branch;
    branches.emplace_back(at, statement.operands[0].name);
  } else if (name == "brx") {
    opcode.take("idx");
    opcode.take("uni");
    expectOperands(statement, 2);
    instruction.control = Control::IndexedBranch;
    instruction.source[0] = source(statement.operands[0], Type::U32, statement.line);
    branches.emplace_back(at, statement.operands[1].name);
  } else if (name == "call") {
    decodeCall(statement, opcode, instruction);
  } else if (name == "ret") {
    opcode.take("uni");
    instruction.control = current().isEntry ? Control::Exit : Control::Return;
  } else if (name == "exit") {
    instruction.control = Control::Exit;
  } else {
    instruction.run = trap;
  }
}

void Decoder::addCopies(const std::vector<std::string> &names, const std::vector<Variable> &formals,
                        const std::string &function, bool isResult, Instruction &instruction) {
  if (names.size() != formals.size())
    refuse(instruction.line, "'", function, "' is called with ", names.size(),
           isResult ? " results" : " arguments", " instead of ", formals.size());
  instruction.run = copyLocal;
  instruction.target = uint32_t(kernel.copies.size());
  instruction.count = uint32_t(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    Symbol actual = symbol(names[i], instruction.line);
    const PlacedVariable &formal = parametersOf.at({function, formals[i].name});
    auto caller = parametersOf.find({current().name, names[i]});
    if (actual.space != Space::Local || caller == parametersOf.end() ||
        caller->second.bytes != formal.bytes)
      refuse(instruction.line, "'", names[i], "' doesn't fit the parameter '", formal.name, "'");
    auto mine = uint32_t(actual.address), theirs = uint32_t(formal.begin);
    kernel.copies.push_back(
        {isResult ? theirs : mine, isResult ? mine : theirs, uint32_t(formal.bytes)});
  }
}

void Decoder::decodeCall(const Statement &statement, Opcode &opcode, Instruction &instruction) {
  opcode.take("uni");
  const Function &called = calledFunction(statement);
  Instruction arguments = instruction;
  addCopies(statement.arguments, called.parameters, called.name, false, arguments);
  kernel.code.push_back(arguments);
  Instruction call = instruction;
  call.control = Control::Call;
  call.target = entries.at(called.name);
  kernel.code.push_back(call);
  addCopies(statement.returns, called.results, called.name, true, instruction);
}

} // namespace ulsc::simulator::ptx
