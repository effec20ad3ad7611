// Initial values of parameters, equal on every mesh.
#ifndef ULSC_RUNTIME_CORE_INITIAL_VALUES_H
#define ULSC_RUNTIME_CORE_INITIAL_VALUES_H

#include "core/manifest.h"
#include "device/arena_view.h"

namespace ulsc::runtime {

/// A standard normal value from a draw's first two words, by Box and Muller in double:
///   u1 = (words[0] + 1) * 2^-32 in (0, 1],   u2 = words[1] * 2^-32 in [0, 1),
///   value = sqrt(-2 ln u1) * cos(2 pi u2).
double normalFromWords(const uint32_t words[4]);

/// Draws this rank's part of every parameter, zeroes what else is in `tensors` (the arena is zero
/// where nothing is drawn: padding, moments). A parameter's master and stored values come from the
/// same draw: the master is rounded to its dtype, the stored value is the master rounded to its
/// own.
void drawInitialValues(const Manifest &manifest, const Shape &coordinates, uint64_t seed,
                       ArenaView &arena, int threads);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CORE_INITIAL_VALUES_H
