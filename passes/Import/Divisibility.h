//===- Divisibility.h - All sizes that a mesh does not divide, as one error -------- -*- C++
//-*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_IMPORT_DIVISIBILITY_H
#define ULSC_PASSES_IMPORT_DIVISIBILITY_H

#include "dialects/Uls/Uls.h"
#include "ulsc/Recipe.h"

#include <map>

namespace ulsc {

/// Collects sharded dimensions and reports those that don't divide, together with the sizes that
/// would.
class Divisibility {
public:
  explicit Divisibility(const Recipe &recipe) : recipe(recipe) {}

  using Origins = llvm::ArrayRef<std::pair<std::string, std::string>>;
  /// Dimension `dim` of `param` is sharded over `axes`.
  void add(uls::ParamOp param, int64_t dim, const AxisNames &axes, Origins origins);
  /// The sequence, of this length, is sharded by `rule`.
  void addSequence(int64_t length, const AxisRule &rule);
  /// One error with every offender, or success.
  mlir::LogicalResult report(mlir::Operation *where) const;

private:
  void add(const std::string &what, int64_t size, llvm::StringRef where, const AxisNames &axes,
           Origins origins);

  struct Offender {
    std::string first, origin;
    int64_t tensors = 0;
  };
  const Recipe &recipe;
  /// By what is not divisible.
  std::map<std::string, Offender> offenders;
  /// For each mesh axis the greatest common divisor of all it shards, and whether an offender is
  /// among that.
  std::map<std::string, std::pair<int64_t, bool>> common;
};

} // namespace ulsc

#endif // ULSC_PASSES_IMPORT_DIVISIBILITY_H
