// Reads /proc/PID/stat.
#include "simulator/nccl/process.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace ulsc::simulator {

uint64_t processStartTime(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line))
    return 0;
  // The command's name is in parentheses and may hold anything.
  size_t end = line.rfind(')');
  if (end == std::string::npos)
    return 0;
  std::istringstream fields(line.substr(end + 1));
  std::string field, state;
  fields >> state; // field 3
  if (state == "Z" || state == "X" || state == "x")
    return 0;
  for (int number = 4; number <= 22; ++number)
    fields >> field;
  return std::stoull(field.empty() ? "0" : field);
}

} // namespace ulsc::simulator
