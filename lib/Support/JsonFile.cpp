//===- JsonFile.cpp - JSON files with the places of their values
//-------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "ulsc/Support/JsonFile.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ulsc;

/// The parser recurses, so that nesting is bounded before it sees the text.
static constexpr unsigned kMaxDepth = 64;

namespace ulsc {
/// Walks text that is known to be valid JSON and notes where each value stands.
class PlaceFinder {
public:
  PlaceFinder(JsonFile &file) : file(file), text(file.text) {}

  /// The path of a key that an object gives twice, or an empty text.
  std::string run() {
    value("");
    return duplicate;
  }

private:
  void advance() {
    if (text[at++] == '\n') {
      ++line;
      lineStart = at;
    }
  }
  void skipSpace() {
    while (at < text.size() && llvm::isSpace(text[at]))
      advance();
  }
  bool accept(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    advance();
    return true;
  }
  /// The string that starts here, as the parser decodes it: keys must be those of its objects.
  std::string string() {
    size_t start = at;
    for (advance(); at < text.size() && text[at] != '"'; advance())
      if (text[at] == '\\')
        advance();
    advance();
    auto decoded = llvm::json::parse(text.slice(start, at));
    if (!decoded) {
      llvm::consumeError(decoded.takeError());
      return text.slice(start + 1, at - 1).str();
    }
    return decoded->getAsString().value_or("").str();
  }
  /// `path` with `key` after it; a slash of the key itself must not look like two keys.
  static std::string join(const std::string &path, StringRef key) {
    std::string result = path + "/";
    for (char c : key)
      result += c == '/' ? std::string("~1") : std::string(1, c);
    return result;
  }
  void note(const std::string &path) { file.places[path] = {line, unsigned(at - lineStart) + 1}; }
  void object(const std::string &path) {
    llvm::StringSet<> seen;
    while (!accept('}')) {
      skipSpace();
      JsonFile::Place place{line, unsigned(at - lineStart) + 1};
      std::string key = string(), child = join(path, key);
      if (!seen.insert(key).second && duplicate.empty())
        duplicate = child;
      file.keys[path].push_back(key);
      accept(':');
      value(child);
      file.places[child] = place;
      file.places.try_emplace(path + "/" + key, place);
      accept(',');
    }
  }
  void value(const std::string &path) {
    skipSpace();
    note(path);
    if (accept('{'))
      return object(path);
    if (accept('[')) {
      for (unsigned index = 0; !accept(']'); accept(','))
        value(path + "/" + std::to_string(index++));
      return;
    }
    if (text[at] == '"') {
      string();
      return;
    }
    while (at < text.size() && !llvm::isSpace(text[at]) && !StringRef(",]}").contains(text[at]))
      advance();
  }

  JsonFile &file;
  StringRef text;
  size_t at = 0, lineStart = 0;
  unsigned line = 1;
  std::string duplicate;
};
} // namespace ulsc

/// Deepest nesting of arrays and objects in `text`, strings aside.
static unsigned findDepth(StringRef text) {
  unsigned depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  return deepest;
}

/// What the parser says, and where: its messages begin with "[line:column, byte=n]: ". The column
/// is that of the character that it read last, 0 at the beginning of a line.
static std::pair<std::string, FileLineColLoc> explainParseError(MLIRContext *context,
                                                                StringRef file, llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  StringRef rest = message;
  unsigned line = 0, column = 0;
  if (rest.consume_front("[") && !rest.consumeInteger(10, line) && rest.consume_front(":") &&
      !rest.consumeInteger(10, column))
    rest = rest.split("]: ").second;
  std::string text = rest.str();
  if (!text.empty())
    text[0] = llvm::toLower(text[0]);
  return {text, FileLineColLoc::get(context, file, line, std::max(column, 1u))};
}

std::optional<JsonFile> JsonFile::load(MLIRContext *context, StringRef path, uint64_t mostBytes) {
  auto fail = [&](const Twine &message) {
    mlir::emitError(FileLineColLoc::get(context, path, 0, 0)) << message;
    return std::nullopt;
  };
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return fail("can't be read: " + error.message());
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return fail("is not a regular file, expected a JSON file");
  if (status.getSize() > mostBytes)
    return fail("has " + Twine(status.getSize()) + " bytes; at most " + Twine(mostBytes) +
                " are read");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail("can't be read: " + buffer.getError().message());
  return parse(context, path, (*buffer)->getBuffer());
}

std::optional<JsonFile> JsonFile::parse(MLIRContext *context, StringRef path, StringRef text) {
  auto fail = [&](const Twine &message) {
    mlir::emitError(FileLineColLoc::get(context, path, 0, 0)) << message;
    return std::nullopt;
  };
  text.consume_front("\xef\xbb\xbf");
  if (text.trim().empty())
    return fail("is empty, expected a JSON object");
  size_t badByte = 0;
  if (!llvm::json::isUTF8(text, &badByte))
    return fail("is not UTF-8 text (byte " + Twine(badByte) + ")");
  if (unsigned depth = findDepth(text); depth > kMaxDepth)
    return fail("nests " + Twine(depth) + " deep; at most " + Twine(kMaxDepth) + " is read");
  auto parsed = llvm::json::parse(text);
  if (!parsed) {
    auto [message, location] = explainParseError(context, path, parsed.takeError());
    mlir::emitError(location) << "is not valid JSON: " << message;
    return std::nullopt;
  }
  JsonFile result(context);
  result.file = path.str();
  result.text = text.str();
  result.root = std::move(*parsed);
  if (std::string twice = PlaceFinder(result).run(); !twice.empty()) {
    result.emitError(twice) << "\"" << StringRef(twice).rsplit('/').second
                            << "\" is given twice; keep one of them";
    return std::nullopt;
  }
  return result;
}

unsigned JsonFile::getLine(StringRef path) const { return places.lookup(path).line; }

Location JsonFile::getLocation(StringRef path) const {
  Place place = places.lookup(path);
  return FileLineColLoc::get(context, file, place.line, place.column);
}

InFlightDiagnostic JsonFile::emitError(StringRef path) const {
  return mlir::emitError(getLocation(path));
}
InFlightDiagnostic JsonFile::emitWarning(StringRef path) const {
  return mlir::emitWarning(getLocation(path));
}

std::vector<std::string> JsonFile::getKeys(StringRef path) const { return keys.lookup(path); }

std::string ulsc::describeJson(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << value;
  return shorten(text, 60);
}

std::string ulsc::shorten(StringRef text, size_t longest) {
  if (text.size() <= longest)
    return text.str();
  // Not in the midst of a character.
  while (longest > 0 && (text[longest] & 0xc0) == 0x80)
    --longest;
  return text.take_front(longest).str() + "…";
}
