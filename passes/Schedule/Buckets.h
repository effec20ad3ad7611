//===- Buckets.h - Collectives that travel together -------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_SCHEDULE_BUCKETS_H
#define ULSC_PASSES_SCHEDULE_BUCKETS_H

#include "dialects/Dist/Dist.h"
#include "dialects/Uls/Uls.h"

namespace ulsc::uls {

/// What travels together: the parameters that one block call takes and the same pattern of the
/// module's `uls.units` matches first, or none.
struct Unit {
  mlir::Operation *call;
  size_t pattern;
};

/// The patterns of a module, by which the parameters of a call are units.
class UnitPatterns {
public:
  explicit UnitPatterns(mlir::ModuleOp module);

  /// The unit of a parameter that `call` takes; a null name stands for none that is known.
  Unit getUnit(mlir::Operation *call, mlir::StringAttr parameter) const;

private:
  llvm::SmallVector<llvm::StringRef> patterns;
};

/// What collectives must share to be one: unit, kind, axes, reduction and dtype.
using BucketKey = std::tuple<mlir::Operation *, size_t, mlir::OperationName, mlir::ArrayAttr,
                             mlir::Attribute, mlir::Type>;
BucketKey getBucketKey(const Unit &unit, dist::CollectiveOpInterface collective);

/// Where the members come from: the module that all `sources` are in, "model.layers.*", or all of
/// them, "model.norm, lm_head"; empty without any.
std::string joinSources(llvm::ArrayRef<std::string> sources);

/// The source that an op's location names, layers as `*`; empty without a name.
std::string getSource(mlir::Operation *op);

/// One collective in place of `members`, which have equal keys, at the builder's insertion point.
/// The results replace the members'; operands keep their order: the layout of a bucket is that of
/// its operands one after the other, each rank's chunk of each.
void mergeCollectives(mlir::OpBuilder &builder, mlir::Location location,
                      llvm::ArrayRef<dist::CollectiveOpInterface> members);

/// The call that made a gradient or added to it last, through accumulation, changes of shape and
/// earlier collectives; null when it comes from elsewhere.
CallOp getContributor(mlir::Value gradient);

} // namespace ulsc::uls

#endif // ULSC_PASSES_SCHEDULE_BUCKETS_H
