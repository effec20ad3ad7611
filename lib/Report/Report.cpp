//===- Report.cpp - What a compilation tells about its program
//---------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "ulsc/Report.h"

#include "dialects/Exec/ExecOps.h"
#include "dialects/Uls/Uls.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::report;

int64_t ulsc::report::countParameters(ModuleOp module) {
  int64_t count = 0;
  for (auto param : module.getOps<uls::ParamOp>())
    count += param.getParameterCount();
  return count;
}

/// Operations of the attentions of one call of `block`, forward and backward.
static double countAttention(uls::BlockOp block) {
  double flops = 0;
  block.walk([&](uls::AttentionOp op) {
    auto query = llvm::cast<RankedTensorType>(op.getQuery().getType());
    auto key = llvm::cast<RankedTensorType>(op.getKey().getType());
    double products = double(query.getNumElements()) * double(key.getDimSize(1));
    flops += (op.getCausal() ? 6.0 : 12.0) * products;
  });
  return flops;
}

double ulsc::report::computeFlopsPerStep(ModuleOp module, int64_t microbatches) {
  double flops = 0;
  llvm::StringMap<double> perBlock;
  for (auto block : module.getOps<uls::BlockOp>())
    perBlock[block.getName()] = countAttention(block);
  double tokens = 0;
  for (auto forward : module.getOps<uls::ForwardOp>()) {
    tokens =
        double(llvm::cast<RankedTensorType>(forward.getArgumentTypes().front()).getNumElements());
    forward.walk([&](uls::CallOp call) { flops += perBlock.lookup(call.getCallee()); });
  }
  return double(microbatches) * (flops + 6.0 * double(countParameters(module)) * tokens);
}

//===---------------------------------------------------------------------------------------===//
// Text
//===---------------------------------------------------------------------------------------===//

/// `12.0 MiB`.
static std::string formatBytes(double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  return llvm::formatv(unit == 0 || bytes >= 100 ? "{0:F0} {1}" : "{0:F1} {1}", bytes, units[unit])
      .str();
}

/// `8.5 us`, `1.2 ms`.
static std::string formatUs(double us) {
  return llvm::formatv("{0:F1} {1}", us >= 1000 ? us / 1000 : us, us >= 1000 ? "ms" : "us").str();
}

/// What a bucket carries has a cause each: the first, and how many more the report lists.
static std::string shorten(StringRef cause) {
  auto [first, rest] = cause.split("; ");
  if (rest.empty())
    return cause.str();
  return llvm::formatv("{0} (and {1} more)", first, rest.count("; ") + 1).str();
}

/// Prints lines of as many cells each, every column as wide as its widest cell.
static void printTable(raw_ostream &stream, ArrayRef<std::vector<std::string>> table) {
  SmallVector<size_t> widths(table.front().size());
  for (const auto &line : table)
    for (auto [width, cell] : llvm::zip_equal(widths, line))
      width = std::max(width, cell.size());
  for (const auto &line : table) {
    std::string text;
    for (auto [column, cell] : llvm::enumerate(line)) {
      text += cell;
      if (column + 1 < line.size())
        text.append(widths[column] + 2 - cell.size(), ' ');
    }
    stream << StringRef(text).rtrim() << "\n";
  }
}

/// What a rank does in a step. Ranks of a stage do the stage's part: of them those that do most.
static void printTotals(raw_ostream &stream, ArrayRef<CollectiveRow> rows) {
  std::map<int64_t, std::pair<double, double>> totals;
  double mostWireBytes = 0, mostUs = 0;
  for (const CollectiveRow &row : rows) {
    auto &[wireBytes, us] = totals[row.stage];
    wireBytes += row.wireBytes * double(row.countPerStep);
    us += row.predictedUs * double(row.countPerStep);
    mostWireBytes = std::max(mostWireBytes, wireBytes);
    mostUs = std::max(mostUs, us);
  }
  stream << "bytes and predicted time are those of one call; in all per rank and step"
         << (totals.size() > 1 ? " at most: " : ": ") << formatBytes(mostWireBytes)
         << " on the wire, " << formatUs(mostUs) << " predicted\n";
}

void ulsc::report::printCollectives(raw_ostream &stream, ArrayRef<CollectiveRow> rows) {
  if (rows.empty()) {
    stream << "no collectives: every rank works alone\n";
    return;
  }
  std::vector<std::vector<std::string>> table;
  table.push_back({"kind", "axes", "phase", "per step", "bytes", "wire bytes", "predicted", "dtype",
                   "source", "cause"});
  bool hasStages = rows.front().stage >= 0;
  if (hasStages)
    table.front().insert(table.front().begin(), "stage");
  for (const CollectiveRow &row : rows) {
    table.push_back({row.kind, llvm::join(row.axes, ","), row.phase,
                     std::to_string(row.countPerStep), formatBytes(double(row.bytes)),
                     formatBytes(row.wireBytes), formatUs(row.predictedUs), row.dtype, row.source,
                     shorten(row.cause)});
    if (hasStages)
      table.back().insert(table.back().begin(), std::to_string(row.stage));
  }
  printTable(stream, table);
  printTotals(stream, rows);
}

//===---------------------------------------------------------------------------------------===//
// JSON
//===---------------------------------------------------------------------------------------===//

static llvm::json::Object makeRow(const CollectiveRow &row) {
  llvm::json::Object object{{"kind", row.kind},
                            {"axes", llvm::json::Array(row.axes)},
                            {"phase", row.phase},
                            {"count_per_step", row.countPerStep},
                            {"bytes", row.bytes},
                            {"wire_bytes", row.wireBytes},
                            {"predicted_us", row.predictedUs},
                            {"dtype", row.dtype},
                            {"source", row.source},
                            {"cause", row.cause}};
  if (row.stage >= 0)
    object["stage"] = row.stage;
  return object;
}

llvm::json::Array ulsc::report::makeCollectives(ArrayRef<CollectiveRow> rows) {
  llvm::json::Array array;
  for (const CollectiveRow &row : rows)
    array.push_back(makeRow(row));
  return array;
}

template <typename Attr>
static Attr lookup(Operation *op, StringRef dictionary, StringRef key) {
  auto attributes = op->getAttrOfType<DictionaryAttr>(dictionary);
  return attributes ? llvm::dyn_cast_or_null<Attr>(attributes.get(key)) : Attr();
}

static void copyInteger(llvm::json::Object &to, ModuleOp module, StringRef dictionary,
                        StringRef key) {
  if (auto value = lookup<IntegerAttr>(module, dictionary, key))
    to[key.str()] = value.getInt();
}

llvm::json::Array ulsc::report::makeMemory(ModuleOp module) {
  llvm::json::Array rows;
  for (auto function : module.getOps<exec::FunctionOp>()) {
    if (!function.getEntry() || !function.getFrameBytes())
      continue;
    llvm::json::Object row;
    if (int64_t stage = dist::getStage(function); stage >= 0)
      row["stage"] = stage;
    if (auto categories = function.getCategoriesAttr())
      for (NamedAttribute category : categories)
        if (auto bytes = llvm::dyn_cast<IntegerAttr>(category.getValue()))
          row[category.getName().str()] = bytes.getInt();
    row["peak"] = int64_t(*function.getFrameBytes());
    // The part that buffers share by their lifetimes, beside what no plan could be smaller than.
    if (auto persistent = function->getAttrOfType<IntegerAttr>("exec.persistent_bytes"))
      row["transient"] = int64_t(*function.getFrameBytes()) - persistent.getInt();
    if (auto live = function->getAttrOfType<IntegerAttr>("exec.largest_live_bytes"))
      row["largest_live"] = live.getInt();
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<llvm::json::Array> ulsc::report::makeAttention(ModuleOp module) {
  auto choices = module->getAttrOfType<ArrayAttr>(kAttentionAttrName);
  if (!choices)
    return std::nullopt;
  llvm::json::Array rows;
  for (auto choice : choices.getAsRange<DictionaryAttr>()) {
    llvm::json::Object row;
    for (NamedAttribute entry : choice)
      if (auto text = llvm::dyn_cast<StringAttr>(entry.getValue()))
        row[entry.getName().str()] = text.getValue();
    rows.push_back(std::move(row));
  }
  return rows;
}

llvm::json::Object ulsc::report::makeReport(ModuleOp module) {
  llvm::json::Object report{{"schema", "ulsc.report/1"}}, model, batch;
  for (StringRef key : {"name", "family"})
    if (auto text = lookup<StringAttr>(module, "uls.model", key))
      model[key.str()] = text.getValue();
  copyInteger(model, module, "uls.model", "parameters");
  if (auto flops = lookup<FloatAttr>(module, "uls.model", "flops_per_step"))
    model["flops_per_step"] = flops.getValueAsDouble();
  report["model"] = std::move(model);
  for (StringRef key : {"global", "micro", "microbatches", "seq"})
    copyInteger(batch, module, "uls.batch", key);
  report["batch"] = std::move(batch);
  for (auto mesh : module.getOps<dist::MeshOp>()) {
    llvm::json::Array axes;
    for (dist::MeshAxisAttr axis : mesh.getMesh().getAxes())
      axes.push_back(llvm::json::Object{{"name", axis.getName()}, {"size", axis.getSize()}});
    report["mesh"] =
        llvm::json::Object{{"axes", std::move(axes)}, {"devices", mesh.getMesh().getDeviceCount()}};
  }
  return report;
}
