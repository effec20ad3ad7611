// One rank's slices of state in a safetensors file: logical elements only, each of them once in the
// job. A slice is one box of a rank's part (core/slice.h).
#ifndef ULSC_RUNTIME_CHECKPOINT_RANK_FILE_H
#define ULSC_RUNTIME_CHECKPOINT_RANK_FILE_H

#include "checkpoint/files.h"
#include "checkpoint/safetensors.h"
#include "core/slice.h"
#include "device/arena_view.h"

#include <functional>

namespace ulsc::runtime {

using TensorFilter = std::function<bool(const StateTensor &)>;

/// Writes the slices for which this rank is the first replica. A tensor's first slice is called
/// "<parameter>:<role>", further ones "<parameter>:<role>#1" and so on. The metadata under this
/// name is a JSON text {"tensor", "offset", "logical_shape", "external_shape"}: the name without
/// "#…", and where the slice begins in the logical tensor.
void writeRankFile(FileWriter &writer, const Manifest &manifest, const Shape &coordinates,
                   ArenaView &arena, const TensorFilter &filter);

/// A slice of a rank's file.
struct SavedSlice {
  const SafetensorsFile *file;
  FileTensor tensor;
  Shape offset; // in the logical tensor
};

/// The slices of a file by tensor, checked against the logical shapes in `logicalShapes`. A slice
/// without "tensor" in its metadata is the only one of its tensor in the file and has its name.
std::map<std::string, std::vector<SavedSlice>>
readSlices(const SafetensorsFile &file, const std::map<std::string, Shape> &logicalShapes);

/// Copies what `saved` has of the rank's part to its memory. Returns how many elements that were.
int64_t copySlice(const SavedSlice &saved, const Part &part, char *memory, int64_t elementSize);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CHECKPOINT_RANK_FILE_H
