// The entry point of every compiled program. Alone in its file, so that a test's own main replaces
// it.
#include "core/training.h"

// Programs for the cpu have none.
extern "C" __attribute__((weak)) const char ulsc_kernels[];

int main(int argc, char **argv) {
  return ulsc::runtime::runProgram(argc, argv, {ulsc_manifest, ulsc_kernels, ulsc_step});
}
