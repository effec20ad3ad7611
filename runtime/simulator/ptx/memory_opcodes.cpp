// Loads and stores.
#include "simulator/ptx/accesses.h"
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/memory_modifiers.h"

namespace ulsc::simulator::ptx {

namespace {

bool isDeviceSpace(Space space) {
  return space == Space::Global || space == Space::Generic || space == Space::Const;
}

/// `Memory` is signed where the register gets the value's sign.
template <typename Register, typename Memory>
void load(Warp &warp, const Instruction &in) {
  uint64_t addresses[warpLanes];
  addressesOf(warp, in, addresses);
  constexpr uint32_t width = sizeof(Memory);
  uint32_t bytes = width * in.elements;
  Register *targets[8];
  for (uint32_t i = 0; i < in.elements; ++i)
    targets[i] = warp.at<Register>(in.vector[i]);
  auto copy = [&](uint32_t lane, const uint8_t *from) {
    for (uint32_t i = 0; i < in.elements; ++i) {
      Memory value;
      std::memcpy(&value, from + i * width, width);
      targets[i][lane] = Register(value);
    }
  };
  if (isDeviceSpace(in.space))
    if (const uint8_t *from = accessInOrder(warp, in, addresses, bytes, AccessKind::Read)) {
      for (uint32_t lane = 0; lane < warpLanes; ++lane)
        copy(lane, from + lane * bytes);
      return;
    }
  forActive(warp, [&](uint32_t lane) {
    copy(lane, access(warp, in, lane, in.space, addresses[lane], bytes, AccessKind::Read));
  });
}

template <typename Register, typename Memory>
void store(Warp &warp, const Instruction &in) {
  uint64_t addresses[warpLanes];
  addressesOf(warp, in, addresses);
  constexpr uint32_t width = sizeof(Memory);
  uint32_t bytes = width * in.elements;
  const Register *sources[8];
  for (uint32_t i = 0; i < in.elements; ++i)
    sources[i] = warp.read<Register>(in.vector[i]);
  auto copy = [&](uint32_t lane, uint8_t *to) {
    for (uint32_t i = 0; i < in.elements; ++i) {
      auto value = Memory(sources[i][lane]);
      std::memcpy(to + i * width, &value, width);
    }
  };
  if (isDeviceSpace(in.space))
    if (uint8_t *to = accessInOrder(warp, in, addresses, bytes, AccessKind::Write)) {
      for (uint32_t lane = 0; lane < warpLanes; ++lane)
        copy(lane, to + lane * bytes);
      return;
    }
  forActive(warp, [&](uint32_t lane) {
    copy(lane, access(warp, in, lane, in.space, addresses[lane], bytes, AccessKind::Write));
  });
}

template <typename Register>
Handler chooseLoad(Type type, const Opcode &opcode) {
  bool isSigned = isSignedType(type);
  switch (bytesOf(type)) {
  case 1:
    return isSigned ? load<Register, int8_t> : load<Register, uint8_t>;
  case 2:
    return isSigned ? load<Register, int16_t> : load<Register, uint16_t>;
  case 4:
    return isSigned ? load<Register, int32_t> : load<Register, uint32_t>;
  case 8:
    return load<Register, uint64_t>;
  default:
    opcode.refuseType(type);
  }
}

template <typename Register>
Handler chooseStore(Type type, const Opcode &opcode) {
  switch (bytesOf(type)) {
  case 1:
    return store<Register, uint8_t>;
  case 2:
    return store<Register, uint16_t>;
  case 4:
    return store<Register, uint32_t>;
  case 8:
    return store<Register, uint64_t>;
  default:
    opcode.refuseType(type);
  }
}

Handler choose(bool isLoad, Type type, uint32_t registerBytes, const Opcode &opcode) {
  switch (registerBytes) {
  case 2:
    return isLoad ? chooseLoad<uint16_t>(type, opcode) : chooseStore<uint16_t>(type, opcode);
  case 4:
    return isLoad ? chooseLoad<uint32_t>(type, opcode) : chooseStore<uint32_t>(type, opcode);
  default:
    return isLoad ? chooseLoad<uint64_t>(type, opcode) : chooseStore<uint64_t>(type, opcode);
  }
}

/// The registers of a load's results or a store's values, which all have one width.
uint32_t valuePlaces(Decoder &decoder, const Operand &operand, Type type, bool isLoad,
                     Instruction &in) {
  const std::vector<Operand> alone = {operand};
  const auto &all = operand.kind == Operand::Vector ? operand.elements : alone;
  if (all.size() != in.elements)
    refuse(in.line, all.size(), " registers for ", int(in.elements), " elements");
  uint32_t width = 0;
  for (const Operand &each : all)
    if (each.kind == Operand::Register) {
      uint32_t bytes = 0;
      decoder.wideSource(each, type, in.line, bytes);
      if (width && width != bytes)
        refuse(in.line, "registers of two widths in a vector");
      width = bytes;
    }
  width = width ? width : std::max(bytesOf(type), 2u);
  Type asWide = width == 2 ? Type::B16 : width == 4 ? Type::B32 : Type::B64;
  for (size_t i = 0; i < all.size(); ++i) {
    uint32_t bytes = 0;
    bool isRegister = all[i].kind == Operand::Register;
    // Immediates are read as the type says, but take a place of the registers' width.
    Type placeType = bytesOf(type) == width ? type : asWide;
    in.vector[i] = isLoad
                       ? decoder.wideDestination(all[i], placeType, in.line, bytes)
                       : decoder.wideSource(all[i], isRegister ? type : placeType, in.line, bytes);
  }
  return width;
}

template <bool isLoad>
void decodeAccess(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  in.space = takeMemorySpace(opcode);
  in.isStrong = takeOrdering(opcode);
  takeCacheHints(opcode);
  int vector = opcode.takeOneOf({"v2", "v4", "v8"});
  in.elements = uint8_t(vector < 0 ? 1 : 2 << vector);
  Type type = opcode.requireType();
  in.elementBytes = uint8_t(bytesOf(type));
  if (type == Type::Pred || uint32_t(in.elements) * in.elementBytes > 32 ||
      (in.elements == 8 && in.elementBytes != 4))
    opcode.refuseType(type);
  Decoder::expectOperands(statement, 2);
  decoder.noteAccess(in.space, uint32_t(in.elements) * in.elementBytes);
  bool isParameter = in.space == Space::Param;
  decoder.address(statement.operands[isLoad ? 1 : 0], in);
  if (!isLoad && (in.space == Space::Const || (isParameter && in.space == Space::Param)))
    refuse(in.line, "'", opcode.spelling(), "' writes to constant memory");
  uint32_t width = valuePlaces(decoder, statement.operands[isLoad ? 0 : 1], type, isLoad, in);
  in.run = choose(isLoad, type, width, opcode);
}

/// prefetch and the like change nothing that can be seen.
void decodeHint(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  takeMemorySpace(opcode);
  opcode.takeOneOf({"L1", "L2"});
  takeCacheHints(opcode);
  Decoder::expectOperands(statement, 1);
  decoder.address(statement.operands[0], in);
  in.run = [](Warp &, const Instruction &) {};
}

} // namespace

Space takeMemorySpace(Opcode &opcode) {
  switch (opcode.takeOneOf({"global", "shared", "shared::cta", "local", "const", "param",
                            "param::entry", "param::func"})) {
  case 0:
    return Space::Global;
  case 1:
  case 2:
    return Space::Shared;
  case 3:
    return Space::Local;
  case 4:
    return Space::Const;
  case 5:
  case 6:
  case 7:
    return Space::Param;
  default:
    return Space::Generic;
  }
}

bool takeOrdering(Opcode &opcode) {
  int order = opcode.takeOneOf({"weak", "relaxed", "acquire", "release", "acq_rel", "volatile"});
  opcode.takeOneOf({"cta", "cluster", "gpu", "sys"});
  return order > 0;
}

void takeCacheHints(Opcode &opcode) {
  opcode.take("nc");
  opcode.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  opcode.takeOneOf({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
                    "L1::no_allocate"});
  opcode.takeOneOf({"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
  opcode.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
}

const DecodeTable &memoryOpcodes() {
  static const DecodeTable table = {
      {"ld", decodeAccess<true>}, {"ldu", decodeAccess<true>}, {"st", decodeAccess<false>},
      {"prefetch", decodeHint},   {"prefetchu", decodeHint},
  };
  return table;
}

} // namespace ulsc::simulator::ptx
