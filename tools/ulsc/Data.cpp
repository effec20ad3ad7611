//===- Data.cpp - ulsc data: byte-level tokens
//-------------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "tools/ulsc/CommandLine.h"
#include "tools/ulsc/NamedFiles.h"
#include "tools/ulsc/Output.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <vector>

using namespace llvm;
using namespace ulsc::tool;

static const OptionSpec kOptions[] = {
    {"o", "FILE", "the token file: little-endian u16, a byte of text each"},
    {"holdout", "FRACTION",
     "put the last part of each text aside, into FILE with .holdout before its extension"},
    {"help", "", "this help"},
};

/// `tokens.holdout.bin` of `tokens.bin`.
static std::string getHoldoutPath(StringRef path) {
  SmallString<128> result(path);
  StringRef extension = sys::path::extension(path);
  sys::path::replace_extension(result, ("holdout" + extension).str());
  return result.str().str();
}

static mlir::LogicalResult writeTokens(StringRef path, StringRef bytes) {
  return writeFile(path, [&](raw_ostream &stream) {
    for (unsigned char byte : bytes)
      stream << char(byte) << '\0';
  });
}

/// Mean negative log-likelihood, in nats, of each byte after the first under the frequencies of
/// pairs in the same text: what a model that sees one byte back can reach at best.
static double getBigramLoss(StringRef bytes) {
  std::vector<double> pairs(256 * 256), firsts(256);
  for (size_t i = 1; i < bytes.size(); ++i) {
    unsigned char first = bytes[i - 1], second = bytes[i];
    pairs[256 * first + second] += 1;
    firsts[first] += 1;
  }
  double sum = 0;
  for (size_t pair = 0; pair < pairs.size(); ++pair)
    if (pairs[pair] > 0)
      sum -= pairs[pair] * std::log(pairs[pair] / firsts[pair / 256]);
  return bytes.size() > 1 ? sum / double(bytes.size() - 1) : 0;
}

static int run(const Arguments &arguments) {
  std::string output = arguments.get("o");
  if (arguments.positionals.empty())
    return reportUsageError("ulsc data needs at least one TEXT");
  if (output.empty())
    return reportUsageError("ulsc data needs -o FILE");
  double holdout = 0;
  if (arguments.has("holdout") &&
      (StringRef(arguments.get("holdout")).getAsDouble(holdout) || !(holdout >= 0) || holdout >= 1))
    return reportUsageError("--holdout is \"" + arguments.get("holdout") +
                            "\", expected a fraction from 0 to below 1, as 0.1");
  std::vector<NamedFile> texts, outputs = {{"-o", output}};
  for (const std::string &path : arguments.positionals)
    texts.push_back({"TEXT", path});
  if (arguments.has("holdout"))
    outputs.push_back({"--holdout", getHoldoutPath(output)});
  if (failed(checkFiles(texts, outputs)))
    return 2;
  std::string training, heldOut;
  for (const std::string &path : arguments.positionals) {
    bool isDirectory = sys::fs::is_directory(path);
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (isDirectory || !buffer) {
      errs() << "ulsc: error: " << path << " can't be read: "
             << (isDirectory ? "it is a directory" : buffer.getError().message()) << "\n";
      return 1;
    }
    StringRef text = (*buffer)->getBuffer();
    size_t kept = text.size() - size_t(double(text.size()) * holdout);
    training += text.take_front(kept);
    heldOut += text.drop_front(kept);
  }
  if (training.empty()) {
    errs() << "ulsc: error: there is no text to make tokens of\n";
    return 1;
  }
  if (failed(writeTokens(output, training)))
    return 1;
  errs() << output << ": " << training.size()
         << " tokens, vocabulary 256; a bigram model counted on them has a loss of "
         << format("%.4f", getBigramLoss(training)) << "\n";
  if (!arguments.has("holdout"))
    return 0;
  if (failed(writeTokens(getHoldoutPath(output), heldOut)))
    return 1;
  errs() << getHoldoutPath(output) << ": " << heldOut.size() << " tokens\n";
  return 0;
}

const CommandSpec ulsc::tool::kDataCommand = {
    "data", "TEXT... -o tokens.bin [--holdout FRACTION]",
    "Makes byte-level tokens of text files for a first run.", kOptions, run};
