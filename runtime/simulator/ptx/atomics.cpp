// atom and red: lane after lane, which is one of the orders that the hardware may choose.
#include "simulator/ptx/accesses.h"
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/float_values.h"
#include "simulator/ptx/memory_modifiers.h"

namespace ulsc::simulator::ptx {

namespace {

struct Add {
  template <typename T>
  static T apply(T old, T b, T) {
    if constexpr (std::is_floating_point_v<T>)
      return canonical(old + b);
    else
      return T(uint64_t(old) + uint64_t(b));
  }
};
struct Exchange {
  template <typename T>
  static T apply(T, T b, T) {
    return b;
  }
};
struct CompareAndSwap {
  template <typename T>
  static T apply(T old, T b, T c) {
    return old == b ? c : old;
  }
};
struct Minimum {
  template <typename T>
  static T apply(T old, T b, T) {
    return b < old ? b : old;
  }
};
struct Maximum {
  template <typename T>
  static T apply(T old, T b, T) {
    return old < b ? b : old;
  }
};
struct And {
  template <typename T>
  static T apply(T old, T b, T) {
    return old & b;
  }
};
struct Or {
  template <typename T>
  static T apply(T old, T b, T) {
    return old | b;
  }
};
struct Xor {
  template <typename T>
  static T apply(T old, T b, T) {
    return old ^ b;
  }
};
struct Increment {
  template <typename T>
  static T apply(T old, T b, T) {
    return old >= b ? T(0) : T(old + 1);
  }
};
struct Decrement {
  template <typename T>
  static T apply(T old, T b, T) {
    return old == 0 || old > b ? b : T(old - 1);
  }
};
template <typename E>
struct AddHalf {
  template <typename T>
  static T apply(T old, T b, T) {
    T result = 0;
    for (size_t shift = 0; shift < 8 * sizeof(T); shift += 16) {
      E x{uint16_t(old >> shift)}, y{uint16_t(b >> shift)};
      result |= T(T(E::from(fmaToOdd(x.value(), 1, y.value())).bits) << shift);
    }
    return result;
  }
};

template <typename T, typename Op>
void atomic(Warp &warp, const Instruction &in) {
  uint64_t addresses[warpLanes];
  addressesOf(warp, in, addresses);
  const T *b = warp.read<T>(in.source[1]);
  const T *c = in.source[2] == noPlace ? b : warp.read<T>(in.source[2]);
  T olds[warpLanes] = {};
  forActive(warp, [&](uint32_t lane) {
    uint8_t *at = access(warp, in, lane, in.space, addresses[lane], sizeof(T), AccessKind::Atomic);
    std::memcpy(&olds[lane], at, sizeof(T));
    T value = Op::template apply<T>(olds[lane], b[lane], c[lane]);
    std::memcpy(at, &value, sizeof(T));
  });
  if (in.result != noPlace)
    forLanes<T>(warp, in.result, [&](uint32_t lane) { return olds[lane]; });
}

template <typename Op>
Handler chooseInteger(Type type, const Opcode &opcode) {
  switch (type) {
  case Type::U32:
  case Type::B32:
    return atomic<uint32_t, Op>;
  case Type::S32:
    return atomic<int32_t, Op>;
  case Type::U64:
  case Type::B64:
    return atomic<uint64_t, Op>;
  case Type::S64:
    return atomic<int64_t, Op>;
  case Type::B16:
    return atomic<uint16_t, Op>;
  default:
    opcode.refuseType(type);
  }
}

Handler chooseAdd(Type type, const Opcode &opcode) {
  switch (type) {
  case Type::F32:
    return atomic<float, Add>;
  case Type::F64:
    return atomic<double, Add>;
  case Type::F16:
    return atomic<uint16_t, AddHalf<Half>>;
  case Type::F16x2:
    return atomic<uint32_t, AddHalf<Half>>;
  case Type::BF16:
    return atomic<uint16_t, AddHalf<BFloat>>;
  case Type::BF16x2:
    return atomic<uint32_t, AddHalf<BFloat>>;
  default:
    return chooseInteger<Add>(type, opcode);
  }
}

Handler choose(int operation, Type type, const Opcode &opcode) {
  switch (operation) {
  case 0:
    return chooseAdd(type, opcode);
  case 1:
    return chooseInteger<Exchange>(type, opcode);
  case 2:
    return chooseInteger<CompareAndSwap>(type, opcode);
  case 3:
    return chooseInteger<Minimum>(type, opcode);
  case 4:
    return chooseInteger<Maximum>(type, opcode);
  case 5:
    return chooseInteger<And>(type, opcode);
  case 6:
    return chooseInteger<Or>(type, opcode);
  case 7:
    return chooseInteger<Xor>(type, opcode);
  case 8:
    return chooseInteger<Increment>(type, opcode);
  case 9:
    return chooseInteger<Decrement>(type, opcode);
  default:
    refuse(opcode.line(), "'", opcode.spelling(), "' has no operation that is simulated");
  }
}

template <bool returns>
void decodeAtomic(Decoder &decoder, Opcode &opcode, const Statement &statement, Instruction &in) {
  in.space = takeMemorySpace(opcode);
  takeOrdering(opcode);
  in.isStrong = true;
  int operation =
      opcode.takeOneOf({"add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec"});
  opcode.take("noftz"); // what additions of 16-bit numbers do
  Type type = opcode.requireType();
  if (in.space == Space::Local || in.space == Space::Const || in.space == Space::Param)
    refuse(in.line, "'", opcode.spelling(), "' in this space");
  in.run = choose(operation, type, opcode);
  decoder.noteAccess(in.space, bytesOf(type));
  size_t values = operation == 2 ? 2 : 1, first = returns ? 1 : 0;
  Decoder::expectOperands(statement, first + 1 + values);
  if (returns && statement.operands[0].kind != Operand::Sink)
    in.result = decoder.destination(statement.operands[0], type, in.line);
  decoder.address(statement.operands[first], in);
  for (size_t i = 0; i < values; ++i)
    in.source[1 + i] = decoder.source(statement.operands[first + 1 + i], type, in.line);
}

} // namespace

const DecodeTable &atomicOpcodes() {
  static const DecodeTable table = {{"atom", decodeAtomic<true>}, {"red", decodeAtomic<false>}};
  return table;
}

} // namespace ulsc::simulator::ptx
