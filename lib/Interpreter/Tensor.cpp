//===- Tensor.cpp - Values of the interpreter ===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Interpreter/Tensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

int64_t interpreter::getNumElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Shape interpreter::getStrides(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

int64_t interpreter::getPosition(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [size, i] : llvm::zip_equal(shape, index))
    position = position * size + i;
  return position;
}

void interpreter::forEachIndex(ArrayRef<int64_t> shape,
                               function_ref<void(ArrayRef<int64_t>)> visit) {
  Shape index(shape.size(), 0);
  for (int64_t count = interpreter::getNumElements(shape); count > 0; --count) {
    visit(index);
    for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
  }
}

Tensor::Tensor(ArrayRef<int64_t> shape, std::vector<double> elements)
    : shape(shape),
      floatElements(std::make_shared<const std::vector<double>>(std::move(elements))) {
  assert(getNumElements() == int64_t(floatElements->size()) && "shape and elements disagree");
}

Tensor::Tensor(ArrayRef<int64_t> shape, std::vector<int64_t> elements)
    : shape(shape),
      integerElements(std::make_shared<const std::vector<int64_t>>(std::move(elements))) {
  assert(getNumElements() == int64_t(integerElements->size()) && "shape and elements disagree");
}

int64_t Tensor::getNumElements() const { return interpreter::getNumElements(shape); }

Tensor Tensor::zeros(ArrayRef<int64_t> shape, bool isFloat) {
  int64_t count = interpreter::getNumElements(shape);
  return isFloat ? Tensor(shape, std::vector<double>(count))
                 : Tensor(shape, std::vector<int64_t>(count));
}

Tensor Tensor::fromAttribute(ElementsAttr attr) {
  ArrayRef<int64_t> shape = attr.getShapedType().getShape();
  if (llvm::isa<FloatType>(attr.getElementType())) {
    std::vector<double> elements;
    for (const APFloat &value : attr.getValues<APFloat>()) {
      APFloat wide = value;
      bool losesInfo;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      elements.push_back(wide.convertToDouble());
    }
    return Tensor(shape, std::move(elements));
  }
  std::vector<int64_t> elements;
  bool isBool = attr.getElementType().isInteger(1);
  for (const APInt &value : attr.getValues<APInt>())
    elements.push_back(isBool ? int64_t(value.getZExtValue()) : value.getSExtValue());
  return Tensor(shape, std::move(elements));
}

template <typename Element>
static std::vector<Element> gatherElements(ArrayRef<Element> from, int64_t count,
                                           function_ref<int64_t(int64_t)> source) {
  std::vector<Element> elements(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = source(i);
    elements[i] = position < 0 ? Element(0) : from[position];
  }
  return elements;
}

Tensor Tensor::gather(ArrayRef<int64_t> newShape, function_ref<int64_t(int64_t)> source) const {
  int64_t count = interpreter::getNumElements(newShape);
  return isFloat() ? Tensor(newShape, gatherElements<double>(getFloats(), count, source))
                   : Tensor(newShape, gatherElements<int64_t>(getIntegers(), count, source));
}

Tensor Tensor::reshape(ArrayRef<int64_t> newShape) const {
  assert(interpreter::getNumElements(newShape) == getNumElements() && "reshape keeps the elements");
  Tensor result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  return result;
}

Tensor Tensor::block(ArrayRef<int64_t> offsets, ArrayRef<int64_t> size) const {
  std::vector<int64_t> sources;
  sources.reserve(interpreter::getNumElements(size));
  Shape place(offsets.size());
  forEachIndex(size, [&](ArrayRef<int64_t> index) {
    for (auto [to, offset, i] : llvm::zip_equal(place, offsets, index))
      to = offset + i;
    sources.push_back(getPosition(shape, place));
  });
  return gather(size, [&](int64_t i) { return sources[i]; });
}

Tensor Tensor::map(function_ref<double(double)> function) const {
  std::vector<double> elements(getFloats());
  for (double &element : elements)
    element = function(element);
  return Tensor(shape, std::move(elements));
}

Tensor Tensor::zip(const Tensor &other, function_ref<double(double, double)> function) const {
  assert(shape == other.shape && "elementwise on different shapes");
  std::vector<double> elements(getFloats());
  ArrayRef<double> others = other.getFloats();
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = function(elements[i], others[i]);
  return Tensor(shape, std::move(elements));
}

bool Tensor::hasNaN() const {
  return isFloat() && llvm::any_of(getFloats(), [](double x) { return std::isnan(x); });
}

double interpreter::roundTo(double value, FloatType type) {
  if (type.isF64())
    return value;
  float narrow = float(value);
  if (type.isF32() || !std::isfinite(narrow))
    return narrow;
  APFloat rounded(narrow);
  bool losesInfo;
  rounded.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

Tensor Tensor::round(FloatType type) const {
  if (type.isF64())
    return *this;
  if (type.isF32())
    return map([](double x) { return double(float(x)); });
  return map([&](double x) { return roundTo(x, type); });
}

//===---------------------------------------------------------------------------------------===//
// Shards
//===---------------------------------------------------------------------------------------===//

Tensor interpreter::shardOf(const Tensor &global, dist::ShardingAttr sharding, dist::MeshAttr mesh,
                            int64_t rank) {
  Tensor block = global.block(sharding.getOffsets(mesh, rank, global.getShape()),
                              sharding.getBlockShape(mesh, global.getShape()));
  if (sharding.getFlat().empty())
    return block;
  SmallVector<int64_t> chunk = sharding.getLocalShape(mesh, global.getShape());
  int64_t first = chunk[0] * mesh.getPosition(rank, sharding.getFlat());
  return block.gather(chunk, [&](int64_t i) {
    return first + i < block.getNumElements() ? first + i : -1; // padding is zero
  });
}

/// Puts the chunks of flat blocks together; padding is cut.
static SmallVector<Tensor> joinChunks(ArrayRef<Tensor> chunks, dist::ShardingAttr sharding,
                                      dist::MeshAttr mesh, ArrayRef<int64_t> globalShape) {
  if (sharding.getFlat().empty())
    return SmallVector<Tensor>(chunks);
  Shape shape(sharding.getBlockShape(mesh, globalShape));
  SmallVector<Tensor> blocks;
  for (int64_t rank = 0; rank < int64_t(chunks.size()); ++rank) {
    std::vector<double> elements;
    for (int64_t other : mesh.getGroup(rank, sharding.getFlat()))
      llvm::append_range(elements, chunks[other].getFloats());
    elements.resize(getNumElements(shape));
    blocks.push_back(Tensor(shape, std::move(elements)));
  }
  return blocks;
}

/// Combines the summands that the ranks along partial axes hold.
static SmallVector<Tensor> combinePartials(ArrayRef<Tensor> blocks, dist::ShardingAttr sharding,
                                           dist::MeshAttr mesh) {
  SmallVector<Tensor> current(blocks);
  for (dist::PartialAttr partial : sharding.getPartials()) {
    bool isMax = partial.getReduction() == dist::Reduction::Max;
    SmallVector<Tensor> combined;
    for (int64_t rank = 0; rank < int64_t(current.size()); ++rank) {
      SmallVector<int64_t> group = mesh.getGroup(rank, partial.getAxes());
      Tensor sum = current[group[0]];
      for (int64_t other : llvm::drop_begin(group))
        sum = sum.zip(current[other],
                      [&](double a, double b) { return isMax ? std::max(a, b) : a + b; });
      combined.push_back(sum);
    }
    current = combined;
  }
  return current;
}

namespace {
/// Puts blocks into a global tensor, remembering which rank gave each element.
class Assembler {
public:
  Assembler(ArrayRef<int64_t> shape, bool isFloat, double tolerance)
      : shape(shape), isFloat(isFloat), tolerance(tolerance), floats(getNumElements(shape)),
        integers(floats.size()), owners(floats.size(), -1) {}

  /// Returns a rank that holds other values at the same place, or −1.
  int64_t add(int64_t rank, const Tensor &block, ArrayRef<int64_t> offsets) {
    int64_t local = 0, other = -1;
    Shape place(offsets.size());
    forEachIndex(block.getShape(), [&](ArrayRef<int64_t> index) {
      for (size_t dim = 0; dim < index.size(); ++dim)
        place[dim] = offsets[dim] + index[dim];
      int64_t at = getPosition(shape, place);
      if (owners[at] >= 0 && !agrees(at, block.getAsDouble(local)))
        other = owners[at];
      owners[at] = rank;
      if (isFloat)
        floats[at] = block.getFloats()[local];
      else
        integers[at] = block.getIntegers()[local];
      ++local;
    });
    return other;
  }

  Tensor take() {
    return isFloat ? Tensor(shape, std::move(floats)) : Tensor(shape, std::move(integers));
  }

private:
  bool agrees(int64_t at, double value) const {
    double before = isFloat ? floats[at] : double(integers[at]);
    return value == before || std::abs(value - before) <= tolerance;
  }

  ArrayRef<int64_t> shape;
  bool isFloat;
  double tolerance;
  std::vector<double> floats;
  std::vector<int64_t> integers, owners;
};
} // namespace

static double getLargest(ArrayRef<Tensor> tensors) {
  double largest = 0;
  for (const Tensor &tensor : tensors)
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      largest = std::max(largest, std::abs(tensor.getAsDouble(i)));
  return largest;
}

std::optional<Tensor> interpreter::assemble(ArrayRef<Tensor> blocks, dist::ShardingAttr sharding,
                                            dist::MeshAttr mesh, ArrayRef<int64_t> globalShape,
                                            double tolerance, std::string &error) {
  SmallVector<Tensor> combined = combinePartials(blocks, sharding, mesh);
  SmallVector<int64_t> localShape = sharding.getLocalShape(mesh, globalShape);
  for (auto [rank, block] : llvm::enumerate(combined))
    if (block.getShape() != ArrayRef<int64_t>(localShape)) {
      error =
          "rank " + std::to_string(rank) + " holds a block of another shape than its sharding says";
      return std::nullopt;
    }
  combined = joinChunks(combined, sharding, mesh, globalShape);
  Assembler assembler(globalShape, combined[0].isFloat(), tolerance * getLargest(combined));
  for (auto [rank, block] : llvm::enumerate(combined)) {
    int64_t other = assembler.add(rank, block, sharding.getOffsets(mesh, rank, globalShape));
    if (other >= 0) {
      error = "replicas differ between rank " + std::to_string(other) + " and rank " +
              std::to_string(rank);
      return std::nullopt;
    }
  }
  return assembler.take();
}

double interpreter::getRelativeDifference(const Tensor &actual, const Tensor &expected) {
  if (actual.getShape() != expected.getShape())
    return INFINITY;
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double a = actual.getAsDouble(i), e = expected.getAsDouble(i);
    if (a == e)
      continue;
    if (!std::isfinite(a) || !std::isfinite(e))
      return INFINITY;
    difference = std::max(difference, std::abs(a - e));
  }
  for (int64_t i = 0; i < expected.getNumElements(); ++i)
    if (std::isfinite(expected.getAsDouble(i)))
      largest = std::max(largest, std::abs(expected.getAsDouble(i)));
  return difference == 0 ? 0 : difference / std::max(largest, 1e-30);
}
