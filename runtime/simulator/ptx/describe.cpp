// Names of threads and instructions in reports.
#include "simulator/ptx/warp.h"

#include "simulator/core/report.h"

namespace ulsc::simulator::ptx {

namespace {

std::string coordinates(uint64_t number, const Dimensions &size) {
  return text("(", number % size.x, ",", number / size.x % size.y, ",", number / size.x / size.y,
              ")");
}

std::string trimmed(const std::string &line) {
  size_t begin = line.find_first_not_of(" \t"), end = line.find_last_not_of(" \t\r");
  if (begin == std::string::npos)
    return "";
  std::string result = line.substr(begin, end - begin + 1);
  for (char &c : result)
    c = c == '\t' ? ' ' : c;
  return result;
}

} // namespace

std::string describeBlock(const Launch &launch, uint64_t block) {
  return "block " + coordinates(block, launch.grid);
}

std::string describeThread(const Launch &launch, uint64_t block, uint32_t warp, uint32_t lane) {
  return "thread " + coordinates(uint64_t(warp) * warpLanes + lane, launch.block) + " of " +
         describeBlock(launch, block);
}

std::string describeThread(const Warp &warp, uint32_t lane) {
  return describeThread(*warp.launch, warp.block->number, warp.number, lane);
}

std::string describeInstruction(const Kernel &kernel, uint32_t pc) {
  uint32_t line = pc < kernel.code.size() ? kernel.code[pc].line : 0;
  if (!kernel.lines || line == 0 || line > kernel.lines->size())
    return text("PTX line ", line);
  return text("PTX line ", line, ": ", trimmed((*kernel.lines)[line - 1]));
}

void reportThread(const Warp &warp, uint32_t lane, const std::string &kind,
                  const std::string &summary, const std::string &address,
                  const std::string &legal) {
  Finding finding{kind, summary, {}, legal};
  finding.details = {{"operation", currentOperation()},
                     {"thread", describeThread(warp, lane)},
                     {"instruction", describeInstruction(*warp.launch->kernel, warp.pc)}};
  if (!address.empty())
    finding.details.push_back({"address", address});
  report(finding);
}

} // namespace ulsc::simulator::ptx
