//===- BufferClasses.cpp - Which values share a buffer ----------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "passes/Lower/BufferClasses.h"

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::lower;

//===---------------------------------------------------------------------------------------===//
// Timeline
//===---------------------------------------------------------------------------------------===//

Timeline::Timeline(Block &body) : body(body) {
  for (Operation &op : body) {
    points[&op] = ++end;
    auto loop = dyn_cast<uls::MicrobatchesOp>(op);
    if (!loop)
      continue;
    for (Operation &nested : loop.getBody().front())
      points[&nested] = ++end;
  }
  ++end;
}

/// The point where `op`'s effect is complete: for a loop that of its end.
static Operation *getLastOp(Operation *op) {
  if (auto loop = dyn_cast<uls::MicrobatchesOp>(op))
    return loop.getBody().front().getTerminator();
  return op;
}

int64_t Timeline::getStart(Value value) const {
  if (Operation *op = value.getDefiningOp())
    return points.lookup(getLastOp(op));
  Block *block = cast<BlockArgument>(value).getOwner();
  return block == &body ? 0 : points.lookup(block->getParentOp());
}

int64_t Timeline::getLastUse(Value value) const {
  int64_t last = getStart(value);
  Block *block = value.getParentBlock();
  for (Operation *user : value.getUsers()) {
    // A started collective reads its operands until the wait; that is the buffers' assignment to
    // say. Here the start counts.
    Operation *at = block->findAncestorOpInBlock(*user);
    bool isNested = at != user && isa<uls::MicrobatchesOp>(at);
    last = std::max(last, points.lookup(isNested ? getLastOp(at) : at));
  }
  return last;
}

//===---------------------------------------------------------------------------------------===//
// Classes
//===---------------------------------------------------------------------------------------===//

static int64_t getValueBytes(Value value) {
  return exec::getBytes(cast<ShapedType>(value.getType()));
}

unsigned BufferClasses::create(Value value, int64_t start, int64_t end, bool isPinned) {
  unsigned id = classes.size();
  classes.emplace_back();
  classes.back().bytes = getValueBytes(value);
  classes.back().isPinned = isPinned;
  classes.back().leader = value;
  add(id, value, 0, start, end);
  return id;
}

unsigned BufferClasses::createPinned(int64_t bytes) {
  classes.emplace_back();
  classes.back().bytes = bytes;
  classes.back().isPinned = true;
  return classes.size() - 1;
}

void BufferClasses::add(unsigned classId, Value value, int64_t offset, int64_t start, int64_t end) {
  places[value] = {classId, offset};
  classes[classId].values.push_back(value);
  classes[classId].occupancies.push_back(
      {start, end, offset, getValueBytes(value), value.getAsOpaquePointer()});
}

void BufferClasses::occupy(unsigned classId, int64_t start, int64_t end, const void *user) {
  classes[classId].occupancies.push_back({start, end, 0, classes[classId].bytes, user});
}

void BufferClasses::extend(Value value, int64_t start, int64_t end) {
  Place place = getPlace(value);
  classes[place.classId].occupancies.push_back(
      {start, end, place.offset, getValueBytes(value), value.getAsOpaquePointer()});
}

bool BufferClasses::mayMeet(const Occupancy &a, const Occupancy &b) const {
  return (a.end == b.start && allowed.contains({a.user, b.user})) ||
         (b.end == a.start && allowed.contains({b.user, a.user}));
}

bool BufferClasses::canJoin(const BufferClass &from, const BufferClass &to, int64_t shift) const {
  if (from.isPinned || shift < 0 || shift + from.bytes > to.bytes)
    return false;
  for (const Occupancy &a : from.occupancies)
    for (const Occupancy &b : to.occupancies) {
      bool sharesBytes =
          a.offset + shift < b.offset + b.bytes && b.offset < a.offset + shift + a.bytes;
      bool sharesTime = a.start <= b.end && b.start <= a.end;
      if (sharesBytes && sharesTime && !mayMeet(a, b))
        return false;
    }
  return true;
}

bool BufferClasses::join(Value value, unsigned target, int64_t offset) {
  Place place = getPlace(value);
  if (place.classId == target)
    return place.offset == offset;
  BufferClass &from = classes[place.classId], &to = classes[target];
  int64_t shift = offset - place.offset;
  if (!canJoin(from, to, shift))
    return false;
  for (Value member : from.values) {
    Place &old = places[member];
    old = {target, old.offset + shift};
    to.values.push_back(member);
  }
  for (Occupancy occupancy : from.occupancies) {
    occupancy.offset += shift;
    to.occupancies.push_back(occupancy);
  }
  if (!to.leader && shift == 0 && from.bytes == to.bytes)
    to.leader = from.leader;
  from = BufferClass();
  return true;
}

bool BufferClasses::tie(Value operand, Value result) {
  Place from = getPlace(operand), to = getPlace(result);
  // The class that exists already, or else the larger, takes in the other.
  const BufferClass &a = classes[from.classId], &b = classes[to.classId];
  bool intoOperand = a.isPinned || (!b.isPinned && a.bytes > b.bytes);
  return intoOperand ? join(result, from.classId, from.offset)
                     : join(operand, to.classId, to.offset);
}
