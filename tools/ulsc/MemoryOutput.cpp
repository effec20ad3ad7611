//===- MemoryOutput.cpp - What ulsc memory prints ---------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "tools/ulsc/MemoryOutput.h"

#include "tools/ulsc/Output.h"
#include "ulsc/Support/Quantity.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ulsc;
using namespace ulsc::tool;

std::string ulsc::tool::describe(const memory::RowPart &part) {
  if (part.isTransient)
    return "under way";
  return part.axes.empty() ? "replicated" : "sharded over " + llvm::join(part.axes, ",");
}

std::string ulsc::tool::formatExactBytes(int64_t bytes) { return formatCount(bytes) + " B"; }

void MemoryOutput::print(const Twine &line) { text += line.str() + "\n"; }

void MemoryOutput::print(ArrayRef<std::vector<std::string>> table, StringRef alignment) {
  SmallVector<size_t> widths(alignment.size());
  for (const auto &line : table)
    for (auto [width, cell] : llvm::zip(widths, line))
      width = std::max(width, cell.size());
  for (const auto &line : table) {
    std::string all;
    for (auto [cell, width, side] : llvm::zip(line, widths, alignment)) {
      std::string space(width - cell.size(), ' ');
      all += (all.empty() ? "" : "  ") + (side == 'r' ? space + cell : cell + space);
    }
    print(StringRef(all).rtrim());
  }
}

static llvm::json::Object makeJson(const memory::Row &row) {
  llvm::json::Object object{{"bytes", row.bytes}};
  llvm::json::Array parts;
  for (const memory::RowPart &part : row.parts) {
    llvm::json::Object entry{{"bytes", part.bytes}};
    if (part.isTransient)
      entry["transient"] = true;
    else
      entry["axes"] = llvm::json::Array(part.axes);
    parts.push_back(std::move(entry));
  }
  if (!parts.empty())
    object["parts"] = std::move(parts);
  return object;
}

void MemoryOutput::print(const memory::RankMemory &rank, StringRef totalName) {
  std::vector<std::vector<std::string>> table;
  llvm::json::Object rows;
  auto add = [&](StringRef name, int64_t bytes) {
    table.push_back({name.str(), formatExactBytes(bytes), formatDecimalBytes(bytes)});
  };
  for (const memory::Row &row : rank.rows) {
    add("  " + row.name, row.bytes);
    for (const memory::RowPart &part : row.parts)
      add("    " + describe(part), part.bytes);
    rows[row.name] = makeJson(row);
  }
  add(("  " + totalName).str(), rank.total);
  table.back().push_back(formatBinaryBytes(rank.total));
  add("  padding in these", rank.padding);
  std::string stage = rank.stage >= 0 ? ", stage " + std::to_string(rank.stage) : "";
  print(rank.firstRank == rank.lastRank
            ? "rank " + Twine(rank.firstRank) + stage
            : "ranks " + Twine(rank.firstRank) + " to " + Twine(rank.lastRank) + ", alike" + stage);
  print(table, "lrrr");
  if (rank.padding)
    print("  (padding is that of rank " + Twine(rank.lastRank) + ", where it ends up)");
  auto *ranks = document.try_emplace("ranks", llvm::json::Array()).first->second.getAsArray();
  llvm::json::Object row{{"first", rank.firstRank},
                         {"last", rank.lastRank},
                         {"rows", std::move(rows)},
                         {totalName.str(), rank.total},
                         {"padding", rank.padding}};
  if (rank.stage >= 0)
    row["stage"] = rank.stage;
  ranks->push_back(std::move(row));
}

LogicalResult MemoryOutput::write(StringRef json) const {
  if (json != "-" && failed(writeFile("-", [&](raw_ostream &stream) { stream << text; })))
    return failure();
  if (json.empty())
    return success();
  return writeFile(json, [&](raw_ostream &stream) {
    stream << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object(document))) << "\n";
  });
}
