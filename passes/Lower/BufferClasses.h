//===- BufferClasses.h - Which values share a buffer ------------------------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Values are put into classes; a class is one buffer, and a value a range of its bytes. Classes are
// joined as a register allocator joins live ranges for copies: where an op could write its result
// over an operand, the two classes become one if no two of their values are live at once in the
// same bytes, but for that operand and that result at that op.
//
// Time is counted in points: op number i (in pre-order, loops included) reads and writes at point
// i. A value lives from the point of its definition to that of its last use; a value from outside a
// loop that is used in it lives to the loop's end.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_PASSES_LOWER_BUFFERCLASSES_H
#define ULSC_PASSES_LOWER_BUFFERCLASSES_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ulsc::lower {

/// Points of the ops of one function, and where loops end.
class Timeline {
public:
  explicit Timeline(mlir::Block &body);

  int64_t getPoint(mlir::Operation *op) const { return points.lookup(op); }
  /// The point after everything.
  int64_t getEnd() const { return end; }
  /// The point where `value` starts.
  int64_t getStart(mlir::Value value) const;
  /// The point of the last use of `value` itself (not of views of it).
  int64_t getLastUse(mlir::Value value) const;

private:
  mlir::Block &body;
  llvm::DenseMap<mlir::Operation *, int64_t> points;
  int64_t end = 0;
};

/// Where a value lies.
struct Place {
  unsigned classId = 0;
  int64_t offset = 0; ///< bytes
};

/// Bytes of a class that are in use for a while, and by what: a value, or an op that fills memory
/// at the end.
struct Occupancy {
  int64_t start, end; ///< points, inclusive
  int64_t offset, bytes;
  const void *user;
};

/// One buffer to be.
struct BufferClass {
  int64_t bytes = 0;
  /// An argument, a persistent buffer: memory that exists; at most one of two joined classes may be
  /// so.
  bool isPinned = false;
  /// The first value that fills it, which gives the buffer its type.
  mlir::Value leader;
  llvm::SmallVector<Occupancy> occupancies;
  llvm::SmallVector<mlir::Value> values;
};

class BufferClasses {
public:
  /// A class of `value` alone, live in [start, end].
  unsigned create(mlir::Value value, int64_t start, int64_t end, bool isPinned = false);
  /// A class of memory that exists, without a value yet.
  unsigned createPinned(int64_t bytes);
  /// Puts `value` into a class at `offset`.
  void add(unsigned classId, mlir::Value value, int64_t offset, int64_t start, int64_t end);
  /// Occupies a whole class for a while without a value.
  void occupy(unsigned classId, int64_t start, int64_t end, const void *user);
  /// Keeps `value` from `start` until `end`, whatever its uses.
  void extend(mlir::Value value, int64_t start, int64_t end);

  Place getPlace(mlir::Value value) const { return places.lookup(value); }
  bool contains(mlir::Value value) const { return places.contains(value); }
  BufferClass &getClass(unsigned id) { return classes[id]; }
  unsigned size() const { return classes.size(); }

  /// Says that what starts may start where what ends does, at the point where both do: an op may
  /// write the one over the other.
  void allow(const void *ending, const void *starting) { allowed.insert({ending, starting}); }
  void allow(mlir::Value ending, mlir::Value starting) {
    allow(ending.getAsOpaquePointer(), starting.getAsOpaquePointer());
  }

  /// Joins the class of `value` into `target` so that `value` comes to lie at `offset` there.
  /// Whether it could be done.
  bool join(mlir::Value value, unsigned target, int64_t offset);

  /// Has both values share memory, whichever class takes in the other. Whether it could be done.
  bool tie(mlir::Value operand, mlir::Value result);

private:
  bool canJoin(const BufferClass &from, const BufferClass &to, int64_t shift) const;
  bool mayMeet(const Occupancy &a, const Occupancy &b) const;

  llvm::DenseSet<std::pair<const void *, const void *>> allowed;
  std::vector<BufferClass> classes;
  llvm::DenseMap<mlir::Value, Place> places;
};

} // namespace ulsc::lower

#endif // ULSC_PASSES_LOWER_BUFFERCLASSES_H
