//===- ulsc-legality.cpp - Asks the compiler what composes --------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//
//
//   ulsc-legality DOCUMENT CASES
//
// Writes the page and the list of cases that test/e2e/state_test.cpp trains.
//
//===------------------------------------------------------------------------------------===//

#include "tools/ulsc-legality/Compiler.h"
#include "tools/ulsc-legality/Document.h"
#include "tools/ulsc-legality/Exploration.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

using namespace ulsc::legality;
namespace fs = std::filesystem;

/// The errors of features that are not there; one that is belongs among the dimensions.
static std::vector<std::string> askLater(const Compiler &compiler) {
  std::vector<std::string> errors;
  for (const LaterFeature &feature : getLaterFeatures()) {
    std::optional<std::string> error = compiler.refuses(makeCommand(feature));
    if (!error)
      throw std::runtime_error(
          feature.name + " is accepted: make it a choice in tools/ulsc-legality/Features.cpp");
    errors.push_back(*error);
  }
  return errors;
}

static void write(const std::string &document, const std::string &cases) {
  fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
  Compiler compiler(bin / "ulsc", ULSC_SOURCE_DIR, bin.parent_path() / "legality");
  Exploration exploration(
      [&](const Case &choices) { return compiler.refuses(makeCommand(choices)); });
  CaseList list = exploration.run();
  for (const std::string &pair : list.findUnmetPairs())
    throw std::runtime_error(pair + " is in no case: legal alone, but not with any other choices");
  std::ofstream page(document), text(cases);
  writeDocument(page, list, askLater(compiler));
  list.write(text);
  if (!page.flush() || !text.flush())
    throw std::runtime_error("can't write " + document + " and " + cases);
  std::fprintf(stderr, "%zu compilations, %zu + %zu cases\n", exploration.countCompilations(),
               list.pairwise.size(), list.more.size());
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: ulsc-legality DOCUMENT CASES\n");
    return 2;
  }
  try {
    write(argv[1], argv[2]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "ulsc-legality: error: %s\n", error.what());
    return 1;
  }
  return 0;
}
