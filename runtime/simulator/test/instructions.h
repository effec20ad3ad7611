// Runs one instruction on many values: a thread per value.
#ifndef ULSC_RUNTIME_SIMULATOR_TEST_INSTRUCTIONS_H
#define ULSC_RUNTIME_SIMULATOR_TEST_INSTRUCTIONS_H

#include "device_program.h"

namespace ulsc::simulator::test {

using Words = std::vector<uint64_t>;

/// Thread i finds a[i], b[i], c[i] in %rd2 to %rd4, their lower halves in %r2 to %r4 and quarters
/// in %h2 to %h4. `text` leaves the result in %rd5, %r5, %h5 or %p1, which `result` says by its
/// letters: 'd', 'r', 'h' or 'p'.
Words evaluate(const std::string &text, char result, const Words &a, const Words &b = {},
               const Words &c = {}, const std::string &declarations = "", int target = 80);

/// Numbers with many zeros, ones and extremes among them.
Words randomWords(size_t count, uint64_t seed);

} // namespace ulsc::simulator::test

#endif // ULSC_RUNTIME_SIMULATOR_TEST_INSTRUCTIONS_H
