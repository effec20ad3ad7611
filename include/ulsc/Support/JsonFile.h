//===- JsonFile.h - JSON files with the places of their values --------------------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_SUPPORT_JSONFILE_H
#define ULSC_SUPPORT_JSONFILE_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace ulsc {

/// A parsed JSON file that remembers the line and column of each value, so that messages can name
/// them. A value's path is its keys and indices from the root, each after a slash: `/rules/mlp`,
/// `/sharding/0/match`.
class JsonFile {
public:
  /// The largest file that is read unless someone says otherwise: configurations and recipes are a
  /// few kilobytes.
  static constexpr uint64_t kMostBytes = uint64_t(16) << 20;

  /// Reads and parses `path`. Anything that is wrong with it (absent, too large, not UTF-8, nested
  /// too deeply, malformed, a key given twice) is an error at the place in the file, and nothing is
  /// returned.
  static std::optional<JsonFile> load(mlir::MLIRContext *context, llvm::StringRef path,
                                      uint64_t mostBytes = kMostBytes);

  /// As `load`, of a text that messages call `path`.
  static std::optional<JsonFile> parse(mlir::MLIRContext *context, llvm::StringRef path,
                                       llvm::StringRef text);

  llvm::StringRef getPath() const { return file; }
  llvm::StringRef getText() const { return text; }
  const llvm::json::Value &getRoot() const { return root; }

  /// Where the value at `path` stands; the file's start when there is none.
  mlir::Location getLocation(llvm::StringRef path) const;
  /// Line of the value at `path`, 0 when there is none.
  unsigned getLine(llvm::StringRef path) const;
  mlir::InFlightDiagnostic emitError(llvm::StringRef path) const;
  mlir::InFlightDiagnostic emitWarning(llvm::StringRef path) const;

  /// Keys of the object at `path` in the order of the file.
  std::vector<std::string> getKeys(llvm::StringRef path) const;

private:
  struct Place {
    unsigned line = 0, column = 0;
  };
  friend class PlaceFinder;
  JsonFile(mlir::MLIRContext *context) : context(context), root(nullptr) {}

  mlir::MLIRContext *context;
  std::string file, text;
  llvm::json::Value root;
  llvm::StringMap<Place> places;
  llvm::StringMap<std::vector<std::string>> keys;
};

/// `value` as a message shows it: JSON on one line, cut when long.
std::string describeJson(const llvm::json::Value &value);

/// What a user wrote, such as a key, as a message shows it: cut when long.
std::string shorten(llvm::StringRef text, size_t longest = 80);

} // namespace ulsc

#endif // ULSC_SUPPORT_JSONFILE_H
