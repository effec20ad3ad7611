// Handles and descriptors that live. Their addresses are never dereferenced before they are found.
#include "simulator/cublaslt/descriptors.h"

#include "simulator/core/report.h"

#include <map>
#include <memory>
#include <mutex>

namespace ulsc::simulator {

namespace {

template <typename State>
class LiveObjects {
public:
  explicit LiveObjects(const char *kind) : kind(kind) {}

  void *create(const State &state) {
    auto object = std::make_unique<State>(state);
    void *address = object.get();
    std::lock_guard<std::mutex> lock(mutex);
    objects.emplace(address, std::move(object));
    return address;
  }

  State *find(void *address) {
    if (!address)
      return nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    auto found = objects.find(address);
    if (found == objects.end())
      reportDead(address, "used");
    return found->second.get();
  }

  bool destroy(void *address) {
    if (!address)
      return false;
    std::lock_guard<std::mutex> lock(mutex);
    if (!objects.erase(address))
      reportDead(address, "destroyed");
    return true;
  }

  bool has(void *address) {
    std::lock_guard<std::mutex> lock(mutex);
    return objects.count(address) != 0;
  }

private:
  [[noreturn]] void reportDead(void *address, const char *verb) {
    Finding finding;
    finding.kind = "dead-descriptor";
    finding.summary = text("a cuBLASLt ", kind, " is ", verb, " that doesn't exist");
    finding.details = {{"address", text(address)}};
    finding.legal = "one that was created, and not yet destroyed";
    report(finding);
  }

  const char *kind;
  std::mutex mutex;
  std::map<void *, std::unique_ptr<State>> objects;
};

struct HandleState {};

// Never destroyed: programs destroy their descriptors in static destructors, too.
template <typename State>
LiveObjects<State> &live(const char *kind) {
  static auto *objects = new LiveObjects<State>(kind);
  return *objects;
}

LiveObjects<HandleState> &handles() { return live<HandleState>("handle"); }
LiveObjects<LayoutState> &layouts() { return live<LayoutState>("matrix layout"); }
LiveObjects<MatmulState> &matmuls() { return live<MatmulState>("matmul descriptor"); }
LiveObjects<PreferenceState> &preferences() { return live<PreferenceState>("preference"); }

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
