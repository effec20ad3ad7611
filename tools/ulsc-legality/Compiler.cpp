//===- Compiler.cpp - Asks the compiler about a command -----------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===------------------------------------------------------------------------------------===//

#include "tools/ulsc-legality/Compiler.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include <unistd.h>

using namespace ulsc::legality;
namespace fs = std::filesystem;

Compiler::Compiler(fs::path program, fs::path root, fs::path scratch)
    : program(std::move(program)), root(std::move(root)), scratch(std::move(scratch)) {
  fs::create_directories(this->scratch);
}

static std::string quote(const std::string &word) {
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

fs::path Compiler::nameFile(const char *name) const {
  return scratch / (std::to_string(::getpid()) + "-" + name);
}

std::optional<Words> Compiler::complete(const Command &command, std::string &error) const {
  Words words{root / "test" / "golden" / command.model};
  words.insert(words.end(), command.flags.begin(), command.flags.end());
  if (!command.recipe.empty()) {
    // Named by its text, so that the same command is the same words.
    fs::path file =
        scratch / ("recipe-" + std::to_string(std::hash<std::string>{}(command.recipe)) + ".json");
    std::ofstream(file) << command.recipe;
    words.insert(words.end(), {"--recipe", file});
  }
  auto place = std::find(words.begin(), words.end(), "{limit}");
  if (place == words.end())
    return words;
  // Half way between all kept and all computed again: some is computed again.
  Words others(words.begin(), place - 1);
  others.insert(others.end(), place + 1, words.end());
  std::optional<int64_t> most = measurePeak(others, "none", error),
                         least = most ? measurePeak(others, "full", error) : std::nullopt;
  if (!least)
    return std::nullopt;
  *place = std::to_string((*most + *least) / 2);
  return words;
}

std::optional<int64_t> Compiler::measurePeak(Words words, const std::string &policy,
                                             std::string &error) const {
  fs::path report = nameFile("report.json");
  words.insert(words.end(), {"--recompute", policy, "--report", report});
  if (std::optional<std::string> text = run(std::move(words))) {
    error = *text;
    return std::nullopt;
  }
  std::ifstream stream(report);
  // Of pipeline stages the largest counts.
  int64_t peak = 0;
  nlohmann::json document = nlohmann::json::parse(stream);
  for (const auto &row : document.at("memory"))
    peak = std::max(peak, row.at("peak").get<int64_t>());
  return peak;
}

std::optional<std::string> Compiler::refuses(const Command &command) const {
  std::string error;
  std::optional<Words> words = complete(command, error);
  return words ? run(*words) : error;
}

std::optional<std::string> Compiler::run(Words words) const {
  words.insert(words.begin(), {program, "compile"});
  words.insert(words.end(), {"--emit", "exec", "-o", nameFile("exec.mlir")});
  std::string line;
  for (const std::string &word : words)
    line += quote(word) + " ";
  std::FILE *pipe = ::popen((line + "2>&1").c_str(), "r");
  if (!pipe)
    throw std::runtime_error("can't start " + program.string());
  std::string output;
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    output.append(buffer, count);
  if (::pclose(pipe) == 0)
    return std::nullopt;
  std::string errors = readErrors(output);
  // A crash is no refusal, nor is what a check of the compiler itself found in its own work.
  if (errors.empty())
    throw std::runtime_error(line + "\nfailed without an error:\n" + output);
  for (const char *own : {"'", "operand #", "the communication of this program"})
    if (errors.rfind(own, 0) == 0)
      throw std::runtime_error(line + "\nfailed a check of the compiler itself:\n" + output);
  return errors;
}

/// The lines with errors, without what differs from machine to machine.
std::string Compiler::readErrors(const std::string &output) const {
  static const std::string mark = "error: ";
  std::istringstream stream(output);
  std::string errors;
  for (std::string line; std::getline(stream, line);) {
    size_t at = line.find(mark);
    if (at == std::string::npos || (at > 0 && line.compare(at - 2, 2, ": ") != 0))
      continue;
    std::string text = line.substr(at + mark.size());
    for (const fs::path &folder : {root, scratch})
      for (size_t place; (place = text.find(folder.string() + "/")) != std::string::npos;)
        text.erase(place, folder.string().size() + 1);
    errors += (errors.empty() ? "" : "; ") + text;
  }
  return errors;
}
