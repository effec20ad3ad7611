// The entry point of every compiled program. Alone in its file, so that a test's own main replaces
// it.
#include "core/training.h"

int main(int argc, char **argv) {
  return ulsc::runtime::runProgram(argc, argv, ulsc_manifest, ulsc_step);
}
