// One rank's slices of state in a safetensors file: logical elements only, each block once in the
// job.
#ifndef ULSC_RUNTIME_CHECKPOINT_RANK_FILE_H
#define ULSC_RUNTIME_CHECKPOINT_RANK_FILE_H

#include "checkpoint/files.h"
#include "checkpoint/safetensors.h"
#include "core/slice.h"

#include <functional>

namespace ulsc::runtime {

using TensorFilter = std::function<bool(const StateTensor &)>;

/// Writes the slices for which this rank is the first replica. A tensor is called
/// "<parameter>:<role>", and the metadata under this name is a JSON text {"offset",
/// "logical_shape", "external_shape"}: where the slice begins in the logical tensor.
void writeRankFile(FileWriter &writer, const Manifest &manifest, const Shape &coordinates,
                   const char *arena, const TensorFilter &filter);

/// A slice of a rank's file.
struct SavedSlice {
  const SafetensorsFile *file;
  FileTensor tensor;
  Shape offset; // in the logical tensor
};

/// The slices of a file by name, checked against their tensors' logical shapes in `logicalShapes`.
std::map<std::string, SavedSlice> readSlices(const SafetensorsFile &file,
                                             const std::map<std::string, Shape> &logicalShapes);

/// Copies what `saved` has of the rank's block into it. Returns how many elements that were.
int64_t copySlice(const SavedSlice &saved, const Slice &slice, char *block, int64_t elementSize);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CHECKPOINT_RANK_FILE_H
