// Where a shim writes: a path from the environment, one file per rank.
#ifndef ULSC_TEST_SHIM_OUTPUT_H
#define ULSC_TEST_SHIM_OUTPUT_H

#include <cstdio>
#include <cstdlib>
#include <string>

/// The rank that the launcher gave this process.
inline int launcherRank() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char *value = std::getenv(name))
      return std::atoi(value);
  return 0;
}

/// Opens the file named by `variable`, "%r" replaced by the rank; without "%r" the rank is appended
/// as
/// ".<rank>". Null when the variable is not set.
inline std::FILE *openOutput(const char *variable, int rank) {
  const char *value = std::getenv(variable);
  if (!value || !*value)
    return nullptr;
  std::string path = value, number = std::to_string(rank);
  size_t place = path.find("%r");
  path = place == std::string::npos ? path + "." + number : path.replace(place, 2, number);
  std::FILE *file = std::fopen(path.c_str(), "w");
  if (!file)
    std::fprintf(stderr, "error: can't write '%s' named by %s\n", path.c_str(), variable);
  return file;
}

#endif // ULSC_TEST_SHIM_OUTPUT_H
