// Handles and descriptors that live. Their addresses are never dereferenced before they are found.
#include "simulator/cublaslt/descriptors.h"

#include "simulator/core/live_objects.h"

namespace ulsc::simulator {

namespace {

struct HandleState {};

LiveObjects<HandleState> &handles() { return live<HandleState>("cuBLASLt handle"); }
LiveObjects<LayoutState> &layouts() { return live<LayoutState>("cuBLASLt matrix layout"); }
LiveObjects<MatmulState> &matmuls() { return live<MatmulState>("cuBLASLt matmul descriptor"); }
LiveObjects<PreferenceState> &preferences() { return live<PreferenceState>("cuBLASLt preference"); }

} // namespace

cublaslt::Handle createHandle() { return static_cast<cublaslt::Handle>(handles().create({})); }
bool isHandle(cublaslt::Handle handle) { return handle && handles().has(handle); }
bool destroyHandle(cublaslt::Handle handle) {
  return isHandle(handle) && handles().destroy(handle);
}

cublaslt::MatrixLayout createLayout(const LayoutState &state) {
  return static_cast<cublaslt::MatrixLayout>(layouts().create(state));
}
cublaslt::Matmul createMatmul(const MatmulState &state) {
  return static_cast<cublaslt::Matmul>(matmuls().create(state));
}
cublaslt::Preference createPreference() {
  return static_cast<cublaslt::Preference>(preferences().create({}));
}

LayoutState *find(cublaslt::MatrixLayout layout) { return layouts().find(layout); }
MatmulState *find(cublaslt::Matmul matmul) { return matmuls().find(matmul); }
PreferenceState *find(cublaslt::Preference preference) { return preferences().find(preference); }

bool destroy(cublaslt::MatrixLayout layout) { return layouts().destroy(layout); }
bool destroy(cublaslt::Matmul matmul) { return matmuls().destroy(matmul); }
bool destroy(cublaslt::Preference preference) { return preferences().destroy(preference); }

} // namespace ulsc::simulator
