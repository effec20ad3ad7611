//===- Pipeline.cpp - Which stage holds which blocks ------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/PipelineSchedule.h"
#include "ulsc/Report.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace ulsc;

namespace {
struct Chunk {
  int64_t stage = 0;
  SmallVector<std::string> blocks;
};
} // namespace

static SmallVector<Chunk> readChunks(ModuleOp module) {
  SmallVector<Chunk> chunks;
  auto pipeline = module->getAttrOfType<DictionaryAttr>(pipeline::kPipelineAttr);
  auto list = pipeline ? pipeline.getAs<ArrayAttr>("chunks") : ArrayAttr();
  if (!list)
    return chunks;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    Chunk &chunk = chunks.emplace_back();
    if (auto stage = entry.getAs<IntegerAttr>("stage"))
      chunk.stage = stage.getInt();
    if (auto blocks = entry.getAs<ArrayAttr>("blocks"))
      for (auto name : blocks.getAsRange<StringAttr>())
        chunk.blocks.push_back(name.str());
  }
  return chunks;
}

/// `embed, layer.0-2`: neighbours that differ in their number alone are one.
static std::string joinBlocks(ArrayRef<std::string> blocks) {
  std::string text;
  for (size_t i = 0; i < blocks.size(); ++i) {
    text += (text.empty() ? "" : ", ") + blocks[i];
    auto [name, digits] = StringRef(blocks[i]).rsplit('.');
    int64_t first = 0, last = 0;
    if (digits.getAsInteger(10, first))
      continue;
    last = first;
    while (i + 1 < blocks.size() && blocks[i + 1] == (name + "." + Twine(last + 1)).str())
      ++i, ++last;
    if (last > first)
      text += "-" + std::to_string(last);
  }
  return text;
}

llvm::json::Array report::makeChunks(ModuleOp module) {
  llvm::json::Array rows;
  for (const Chunk &chunk : readChunks(module))
    rows.push_back(
        llvm::json::Object{{"stage", chunk.stage}, {"blocks", llvm::json::Array(chunk.blocks)}});
  return rows;
}

void report::printChunks(raw_ostream &stream, ModuleOp module) {
  SmallVector<Chunk> chunks = readChunks(module);
  std::map<int64_t, SmallVector<size_t>> chunksOf;
  for (auto [number, chunk] : llvm::enumerate(chunks))
    chunksOf[chunk.stage].push_back(number);
  for (const auto &[stage, numbers] : chunksOf) {
    std::string text;
    for (size_t number : numbers)
      text += (text.empty() ? "" : "; ") +
              (numbers.size() > 1 ? "chunk " + std::to_string(number) + ": " : "") +
              joinBlocks(chunks[number].blocks);
    stream << "stage " << stage << "  " << text << "\n";
  }
}
