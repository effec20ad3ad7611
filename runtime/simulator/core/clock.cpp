// Names of logged operations, each kept once.
#include "simulator/core/clock.h"

#include "simulator/core/report.h"

namespace ulsc::simulator {

uint32_t OperationLog::intern(const std::string &value) {
  if (value.empty())
    return 0;
  auto [found, isNew] = numbers.try_emplace(value, uint32_t(strings.size()));
  if (isNew)
    strings.push_back(value);
  return found->second;
}

std::string OperationLog::describe(uint32_t number) const {
  const Entry &entry = entries[number];
  std::string source = entry.source ? " (source " + strings[entry.source] + ")" : "";
  return text("'", strings[entry.name], "'", source, ", operation ", entry.tick, " of stream ",
              entry.stream);
}

} // namespace ulsc::simulator
