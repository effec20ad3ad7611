//===- ConfigReader.h - Checked access to a model's configuration ------------------ -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_LIB_FRONTEND_CONFIGREADER_H
#define ULSC_LIB_FRONTEND_CONFIGREADER_H

#include "ulsc/Support/JsonFile.h"

#include "llvm/ADT/StringSet.h"

namespace ulsc::frontend {

/// How a family treats a key of its configuration.
enum class KeyUse {
  Used,    ///< read by the importer
  Neutral, ///< changes nothing about training: accepted and ignored
  OnlyIf   ///< accepted with one of a few values, refused otherwise
};

struct KeyRule {
  llvm::StringRef name;
  KeyUse use;
  /// With OnlyIf: the accepted values as JSON texts, separated by `|`.
  llvm::StringRef accepted = {};
  /// With OnlyIf: what any other value would ask for.
  llvm::StringRef meaning = {};
};

/// Keys that every Hugging Face configuration may have.
llvm::ArrayRef<KeyRule> getSharedKeys();

/// Reads keys of one JSON object. A wrong type or value is an error that names file, key, what was
/// found, what is legal and the nearest fix; reading goes on with a legal value so that one run
/// shows all errors.
class ConfigReader {
public:
  ConfigReader(const JsonFile &file, std::string path, bool &hasErrors);

  /// Refuses keys by their value and warns about unknown ones.
  void checkKeys(llvm::ArrayRef<llvm::ArrayRef<KeyRule>> tables) const;

  /// A whole number between `least` and `most`. Names are spellings of the same key; without a
  /// `fallback` one of them must be there.
  int64_t getInteger(llvm::ArrayRef<llvm::StringRef> names, int64_t least, int64_t most,
                     std::optional<int64_t> fallback = std::nullopt) const;
  /// A finite number; `least` itself is legal only with `closed`.
  double getNumber(llvm::StringRef name, double least, double most, bool closed,
                   std::optional<double> fallback = std::nullopt) const;
  bool getBool(llvm::StringRef name, bool fallback) const;
  std::string getString(llvm::ArrayRef<llvm::StringRef> names,
                        std::optional<llvm::StringRef> fallback) const;
  /// One of `choices`.
  std::string getChoice(llvm::ArrayRef<llvm::StringRef> names,
                        llvm::ArrayRef<llvm::StringRef> choices,
                        std::optional<llvm::StringRef> fallback) const;

  /// Whether none of these keys had an error so far: else their values are made up, and nothing
  /// that follows from them is worth telling.
  bool isSound(llvm::ArrayRef<llvm::StringRef> names) const {
    return llvm::none_of(names, [&](llvm::StringRef name) { return failed.contains(name); });
  }
  /// The spelling of `names` that the object has, the first when there is none.
  llvm::StringRef findSpelling(llvm::ArrayRef<llvm::StringRef> names) const;
  bool has(llvm::StringRef name) const { return find(name) != nullptr; }
  /// The object at `name`, if there is one that is not null; an error if it is something else.
  std::optional<ConfigReader> getObject(llvm::StringRef name) const;

  /// An error at a key, which makes the import fail.
  mlir::InFlightDiagnostic emitError(llvm::StringRef name) const;
  mlir::InFlightDiagnostic emitWarning(llvm::StringRef name) const;
  const JsonFile &getFile() const { return file; }

private:
  /// The value at `name`, if it is there and not null.
  const llvm::json::Value *find(llvm::StringRef name) const;
  /// The one spelling that is there. Two that differ, or none without a fallback, are errors.
  llvm::StringRef select(llvm::ArrayRef<llvm::StringRef> names, bool required,
                         llvm::StringRef expected) const;
  std::string at(llvm::StringRef name) const { return path + "/" + name.str(); }

  const JsonFile &file;
  std::string path;
  const llvm::json::Object *object;
  bool &hasErrors;
  /// Keys that had an error.
  mutable llvm::StringSet<> failed;
};

} // namespace ulsc::frontend

#endif // ULSC_LIB_FRONTEND_CONFIGREADER_H
