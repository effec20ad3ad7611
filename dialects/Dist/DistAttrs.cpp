//===- DistAttrs.cpp - Syntax and arithmetic of meshes and shardings --------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ulsc::dist;

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.cpp.inc"

void DistDialect::registerAttrs() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dist/DistAttrs.cpp.inc"
      >();
}

//===---------------------------------------------------------------------------------------===//
// Mesh
//===---------------------------------------------------------------------------------------===//

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) {
    printer << '"' << axis.getName() << "\"=" << axis.getSize();
  });
  printer << "]>";
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
      return failure();
    axes.push_back(MeshAxisAttr::get(parser.getContext(), name, size));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), axes);
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes) {
  llvm::StringSet<> seen;
  for (MeshAxisAttr axis : axes) {
    if (axis.getSize() < 1)
      return emitError() << "mesh axis \"" << axis.getName() << "\" has size " << axis.getSize()
                         << "; sizes are at least 1";
    if (!seen.insert(axis.getName()).second)
      return emitError() << "mesh axis \"" << axis.getName() << "\" is listed twice";
  }
  return success();
}

//===---------------------------------------------------------------------------------------===//
// Syntax of shardings
//===---------------------------------------------------------------------------------------===//

static void printAxes(AsmPrinter &printer, ArrayRef<StringAttr> axes) {
  llvm::interleaveComma(axes, printer,
                        [&](StringAttr axis) { printer << '"' << axis.getValue() << '"'; });
}

static ParseResult parseAxis(AsmParser &parser, SmallVectorImpl<StringAttr> &axes) {
  std::string name;
  if (parser.parseString(&name))
    return failure();
  axes.push_back(StringAttr::get(parser.getContext(), name));
  return success();
}

static ParseResult parseBracedAxes(AsmParser &parser, SmallVectorImpl<StringAttr> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                        [&] { return parseAxis(parser, axes); });
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << '{';
  printAxes(printer, getAxes());
  if (getIsOpen())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << '}';
  if (getPriority() > 0)
    printer << 'p' << getPriority();
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  bool isOpen = false;
  auto parseEntry = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      isOpen = true;
      return success();
    }
    if (isOpen)
      return parser.emitError(parser.getCurrentLocation(), "'?' must be the last entry");
    return parseAxis(parser, axes);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return {};
  int64_t priority = 0;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&keyword)) &&
      (!keyword.consume_front("p") || keyword.getAsInteger(10, priority))) {
    parser.emitError(loc, "expected a priority such as p0");
    return {};
  }
  return DimShardingAttr::get(parser.getContext(), axes, isOpen, priority);
}

void PartialAttr::print(AsmPrinter &printer) const {
  printer << stringifyReduction(getReduction()) << ":{";
  printAxes(printer, getAxes());
  printer << '}';
}

Attribute PartialAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringAttr> axes;
  if (parser.parseKeyword(&keyword))
    return {};
  std::optional<Reduction> reduction = symbolizeReduction(keyword);
  if (!reduction) {
    parser.emitError(loc) << "unknown reduction '" << keyword << "'; expected sum or max";
    return {};
  }
  if (parser.parseColon() || parseBracedAxes(parser, axes))
    return {};
  return PartialAttr::get(parser.getContext(), *reduction, axes);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printAttribute(getMesh());
  printer << ", [";
  llvm::interleaveComma(getDims(), printer, [&](DimShardingAttr dim) { dim.print(printer); });
  printer << ']';
  if (!getReplicated().empty()) {
    printer << ", replicated={";
    printAxes(printer, getReplicated());
    printer << '}';
  }
  if (!getPartials().empty()) {
    printer << ", partial=[";
    llvm::interleaveComma(getPartials(), printer, [&](PartialAttr p) { p.print(printer); });
    printer << ']';
  }
  if (!getFlat().empty()) {
    printer << ", flat={";
    printAxes(printer, getFlat());
    printer << '}';
  }
  printer << '>';
}

/// Parses one of the optional trailing clauses of a sharding.
static ParseResult parseClause(AsmParser &parser, SmallVectorImpl<StringAttr> &replicated,
                               SmallVectorImpl<PartialAttr> &partials,
                               SmallVectorImpl<StringAttr> &flat) {
  if (succeeded(parser.parseOptionalKeyword("flat")))
    return failure(parser.parseEqual() || parseBracedAxes(parser, flat));
  if (succeeded(parser.parseOptionalKeyword("replicated")))
    return failure(parser.parseEqual() || parseBracedAxes(parser, replicated));
  if (parser.parseKeyword("partial") || parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    auto partial = llvm::dyn_cast_or_null<PartialAttr>(PartialAttr::parse(parser, {}));
    if (!partial)
      return failure();
    partials.push_back(partial);
    return success();
  });
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<StringAttr> replicated;
  SmallVector<PartialAttr> partials;
  SmallVector<StringAttr> flat;
  auto parseDim = [&]() -> ParseResult {
    auto dim = llvm::dyn_cast_or_null<DimShardingAttr>(DimShardingAttr::parse(parser, {}));
    if (!dim)
      return failure();
    dims.push_back(dim);
    return success();
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseClause(parser, replicated, partials, flat))
      return {};
  if (parser.parseGreater())
    return {};
  return ShardingAttr::get(parser.getContext(), mesh, dims, replicated, partials, flat);
}

//===---------------------------------------------------------------------------------------===//
// Shardings
//===---------------------------------------------------------------------------------------===//

ShardingAttr ShardingAttr::getReplicated(FlatSymbolRefAttr mesh, int64_t rank) {
  return getClosed(mesh, SmallVector<SmallVector<StringAttr>>(rank));
}

ShardingAttr ShardingAttr::getClosed(FlatSymbolRefAttr mesh,
                                     ArrayRef<SmallVector<StringAttr>> dimAxes,
                                     ArrayRef<PartialAttr> partials, ArrayRef<StringAttr> flat,
                                     ArrayRef<uint8_t> priorities) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimShardingAttr> dims;
  for (auto [i, axes] : llvm::enumerate(dimAxes))
    dims.push_back(DimShardingAttr::get(context, axes, /*isOpen=*/false,
                                        axes.empty() || priorities.empty() ? 0 : priorities[i]));
  return ShardingAttr::get(context, mesh, dims, {}, partials, flat);
}

SmallVector<StringAttr> ShardingAttr::getShardingAxes() const {
  SmallVector<StringAttr> axes;
  for (DimShardingAttr dim : getDims())
    llvm::append_range(axes, dim.getAxes());
  llvm::append_range(axes, getFlat());
  return axes;
}

SmallVector<StringAttr> ShardingAttr::getPartialAxes() const {
  SmallVector<StringAttr> axes;
  for (PartialAttr partial : getPartials())
    llvm::append_range(axes, partial.getAxes());
  return axes;
}

bool ShardingAttr::isFullyReplicated() const {
  return getShardingAxes().empty() && getPartials().empty();
}

ShardingAttr ShardingAttr::withoutPartials() const {
  return get(getContext(), getMesh(), getDims(), getReplicated(), {}, getFlat());
}

ShardingAttr ShardingAttr::getCanonical() const {
  SmallVector<SmallVector<StringAttr>> dimAxes;
  for (DimShardingAttr dim : getDims())
    dimAxes.emplace_back(dim.getAxes());
  return getClosed(getMesh(), dimAxes, getPartials(), getFlat());
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, MeshAttr mesh,
                                   ArrayRef<int64_t> shape) const {
  if (int64_t(shape.size()) != getRank())
    return emitError() << "sharding has " << getRank() << " dimensions, the value has "
                       << shape.size();
  llvm::StringSet<> seen;
  auto checkAxis = [&](StringAttr axis) -> LogicalResult {
    if (!mesh.getAxisPosition(axis))
      return emitError() << "axis \"" << axis.getValue() << "\" is not on the mesh " << mesh;
    if (!seen.insert(axis.getValue()).second)
      return emitError() << "axis \"" << axis.getValue() << "\" is used twice in one sharding";
    return success();
  };
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    for (StringAttr axis : dim.getAxes())
      if (failed(checkAxis(axis)))
        return failure();
    int64_t parts = mesh.getSize(dim.getAxes());
    if (!ShapedType::isDynamic(shape[i]) && shape[i] % parts != 0)
      return emitError() << "dimension " << i << " of size " << shape[i] << " does not divide into "
                         << parts << " shards";
  }
  for (StringAttr axis : getReplicated())
    if (failed(checkAxis(axis)))
      return failure();
  for (StringAttr axis : getPartialAxes())
    if (failed(checkAxis(axis)))
      return failure();
  for (StringAttr axis : getFlat())
    if (failed(checkAxis(axis)))
      return failure();
  return success();
}

SmallVector<int64_t> ShardingAttr::getLocalShape(MeshAttr mesh, ArrayRef<int64_t> global) const {
  SmallVector<int64_t> block = getBlockShape(mesh, global);
  if (getFlat().empty())
    return block;
  return {llvm::divideCeilSigned(ShapedType::getNumElements(block), mesh.getSize(getFlat()))};
}

SmallVector<int64_t> ShardingAttr::getBlockShape(MeshAttr mesh, ArrayRef<int64_t> global) const {
  SmallVector<int64_t> local(global);
  for (auto [size, dim] : llvm::zip_equal(local, getDims())) {
    int64_t parts = mesh.getSize(dim.getAxes());
    assert(size % parts == 0 && "sharding must divide the shape");
    size /= parts;
  }
  return local;
}

RankedTensorType ShardingAttr::getLocalType(MeshAttr mesh, RankedTensorType global) const {
  return RankedTensorType::get(getLocalShape(mesh, global.getShape()), global.getElementType());
}

SmallVector<int64_t> ShardingAttr::getOffsets(MeshAttr mesh, int64_t rank,
                                              ArrayRef<int64_t> global) const {
  SmallVector<int64_t> offsets = getBlockShape(mesh, global);
  for (auto [offset, dim] : llvm::zip_equal(offsets, getDims()))
    offset *= mesh.getPosition(rank, dim.getAxes());
  return offsets;
}
