// A kernel around one instruction.
#include "instructions.h"

#include <random>

namespace ulsc::simulator::test {

namespace {

std::string resultText(char result) {
  switch (result) {
  case 'h':
    return "cvt.u64.u16 %rd5, %h5;\n";
  case 'r':
    return "cvt.u64.u32 %rd5, %r5;\n";
  case 'p':
    return "selp.u64 %rd5, 1, 0, %p1;\n";
  default:
    return "";
  }
}

} // namespace

Words evaluate(const std::string &text, char result, const Words &a, const Words &b, const Words &c,
               const std::string &declarations, int target) {
  begin();
  std::string ptx =
      ".version 8.6\n.target sm_" + std::to_string(target) +
      "\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
      ".reg .pred %p<8>;\n.reg .b16 %h<16>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n" +
      declarations +
      "\nld.param.u64 %rd0, [p];\nld.param.u64 %rd1, [q];\nmov.u32 %r0, %tid.x;\n"
      "mad.wide.u32 %rd0, %r0, 24, %rd0;\nmad.wide.u32 %rd1, %r0, 8, %rd1;\n"
      "ld.global.u64 %rd2, [%rd0];\nld.global.u64 %rd3, [%rd0+8];\n"
      "ld.global.u64 %rd4, [%rd0+16];\ncvt.u32.u64 %r2, %rd2;\ncvt.u32.u64 %r3, %rd3;\n"
      "cvt.u32.u64 %r4, %rd4;\ncvt.u16.u64 %h2, %rd2;\ncvt.u16.u64 %h3, %rd3;\n"
      "cvt.u16.u64 %h4, %rd4;\n" +
      text + "\n" + resultText(result) + "st.global.u64 [%rd1], %rd5;\nret;\n}\n";
  Program program(ptx);
  Words inputs;
  for (size_t i = 0; i < a.size(); ++i)
    for (const Words *list : {&a, &b, &c})
      inputs.push_back(i < list->size() ? (*list)[i] : 0);
  Buffer<uint64_t> in(inputs), out(a.size());
  launch(program.function("k"), {1, unsigned(a.size())}, in.pointer(), out.pointer());
  return out.read();
}

Words randomWords(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Words result;
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = random();
    switch (random() % 8) {
    case 0:
      value = 0;
      break;
    case 1:
      value = ~uint64_t(0);
      break;
    case 2:
      value = uint64_t(1) << (random() % 64);
      break;
    case 3:
      value = 0x8000800080008000u;
      break;
    case 4:
      value >>= random() % 64;
      break;
    default:
      break;
    }
    result.push_back(value);
  }
  return result;
}

} // namespace ulsc::simulator::test
