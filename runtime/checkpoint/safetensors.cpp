#include "checkpoint/safetensors.h"

#include "checkpoint/files.h"
#include "core/error.h"
#include "core/numeric.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <tuple>

using nlohmann::json;

namespace ulsc::runtime {

namespace {

constexpr int64_t largestHeader = 100'000'000; // the format's own limit
constexpr int64_t windowBytes = 256 << 10;

// Bytes of one element of any dtype of the format, 0 for an unknown one.
int64_t elementBytes(const std::string &dtype) {
  static const std::map<std::string, int64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  auto entry = sizes.find(dtype);
  return entry == sizes.end() ? 0 : entry->second;
}

bool isIndex(const json &value) {
  return value.is_number_unsigned() && value.get<uint64_t>() < (UINT64_C(1) << 62);
}

} // namespace

SafetensorsFile::SafetensorsFile(const std::string &path) : filePath(path) {
  requireRegularFile("weight file", path);
  file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    raise("can't open '", path, "': ", std::strerror(errno), "; give a safetensors file");
  struct stat status;
  try {
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
      refuse("it is not a regular file");
    parseHeader(status.st_size);
  } catch (...) {
    close(file);
    throw;
  }
}

SafetensorsFile::SafetensorsFile(SafetensorsFile &&other) noexcept
    : filePath(std::move(other.filePath)), file(other.file), entries(std::move(other.entries)),
      notes(std::move(other.notes)) {
  other.file = -1;
}

SafetensorsFile::~SafetensorsFile() {
  if (file >= 0)
    close(file);
}

void SafetensorsFile::refuse(const std::string &problem) const {
  raise("'", filePath, "' is not a whole safetensors file: ", problem,
        "; download or save it again");
}

void SafetensorsFile::read(int64_t offset, void *target, int64_t bytes) const {
  auto *next = static_cast<char *>(target);
  while (bytes > 0) {
    ssize_t count = pread(file, next, static_cast<size_t>(bytes), offset);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      raise("can't read '", filePath, "': ", std::strerror(errno));
    if (count == 0)
      refuse(concat("it ends at byte ", offset));
    next += count;
    offset += count;
    bytes -= count;
  }
}

void SafetensorsFile::parseHeader(int64_t fileBytes) {
  if (fileBytes < 8)
    refuse(concat("it has ", fileBytes, " bytes, less than a header's length takes"));
  unsigned char raw[8];
  read(0, raw, 8);
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | raw[i];
  if (length > static_cast<uint64_t>(std::min(largestHeader, fileBytes - 8)))
    refuse(concat("its header would take ", length, " of its ", fileBytes, " bytes"));
  std::string text(length, '\0');
  read(8, text.data(), static_cast<int64_t>(length));
  std::set<std::string> names;
  std::string twice;
  // The parser itself would keep the last of several.
  auto noteName = [&](int depth, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::key && depth == 1 &&
        !names.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  json header = json::parse(text, noteName, /*allow_exceptions=*/false);
  if (!header.is_object())
    refuse("its header is not a JSON object");
  if (!twice.empty())
    refuse("its header has '" + twice + "' twice");
  int64_t dataBegin = 8 + static_cast<int64_t>(length);
  for (auto entry = header.begin(); entry != header.end(); ++entry) {
    if (entry.key() != "__metadata__") {
      parseTensor(entry.key(), entry.value(), dataBegin, fileBytes - dataBegin);
      continue;
    }
    if (entry->is_object())
      for (auto note = entry->begin(); note != entry->end(); ++note)
        if (note->is_string())
          notes[note.key()] = note->get<std::string>();
  }
  checkPlaces(dataBegin, fileBytes);
}

// The format's own rule: tensors follow each other without a gap and fill the file.
void SafetensorsFile::checkPlaces(int64_t dataBegin, int64_t fileBytes) const {
  std::vector<std::tuple<int64_t, int64_t, std::string>> places;
  for (const auto &[name, tensor] : entries)
    places.emplace_back(tensor.begin, tensor.begin + tensor.bytes, name);
  std::sort(places.begin(), places.end());
  int64_t expected = dataBegin;
  std::string before;
  for (const auto &[begin, end, name] : places) {
    if (begin < expected)
      refuse(concat("tensors '", before, "' and '", name, "' overlap"));
    if (begin > expected)
      refuse(concat(begin - expected, " bytes before tensor '", name, "' belong to none"));
    expected = end;
    before = name;
  }
  if (expected != fileBytes)
    refuse(concat("it has ", fileBytes - expected, " bytes past its last tensor"));
}

void SafetensorsFile::parseTensor(const std::string &name, const json &object, int64_t dataBegin,
                                  int64_t dataBytes) {
  if (!object.is_object() || !object.contains("dtype") || !object["dtype"].is_string() ||
      !object.contains("shape") || !object["shape"].is_array() ||
      !object.contains("data_offsets") || !object["data_offsets"].is_array() ||
      object["data_offsets"].size() != 2 || !isIndex(object["data_offsets"][0]) ||
      !isIndex(object["data_offsets"][1]))
    refuse("tensor '" + name + "' lacks a dtype, a shape or two offsets");
  FileTensor tensor;
  tensor.dtype = object["dtype"].get<std::string>();
  int64_t size = elementBytes(tensor.dtype);
  if (!size)
    refuse("tensor '" + name + "' has the unknown dtype '" + tensor.dtype + "'");
  for (const json &extent : object["shape"]) {
    if (!isIndex(extent) || __builtin_mul_overflow(size, extent.get<int64_t>(), &size))
      refuse("tensor '" + name + "' has an impossible shape");
    tensor.shape.push_back(extent.get<int64_t>());
  }
  int64_t begin = object["data_offsets"][0].get<int64_t>();
  int64_t end = object["data_offsets"][1].get<int64_t>();
  if (begin > end || end > dataBytes)
    refuse(concat("tensor '", name, "' lies at bytes ", begin, " to ", end, " of ", dataBytes));
  if (end - begin != size)
    refuse(concat("tensor '", name, "' of ", tensor.dtype, " ", shapeText(tensor.shape), " has ",
                  end - begin, " bytes"));
  tensor.begin = dataBegin + begin;
  tensor.bytes = size;
  entries[name] = tensor;
}

RangeReader::RangeReader(const SafetensorsFile &file, int64_t end) : file(file), end(end) {}

void RangeReader::read(int64_t offset, void *target, int64_t bytes) {
  if (bytes >= windowBytes) {
    file.read(offset, target, bytes);
    return;
  }
  int64_t windowEnd = windowBegin + static_cast<int64_t>(window.size());
  if (offset < windowBegin || offset + bytes > windowEnd) {
    windowBegin = offset;
    window.resize(static_cast<size_t>(std::min(windowBytes, end - offset)));
    file.read(offset, window.data(), static_cast<int64_t>(window.size()));
  }
  std::memcpy(target, window.data() + (offset - windowBegin), static_cast<size_t>(bytes));
}

int64_t TensorHeader::bytes() const { return elementCount(shape) * dtypeSize(dtype); }

std::string safetensorsHeader(const std::vector<TensorHeader> &tensors,
                              const std::map<std::string, std::string> &metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const TensorHeader &tensor : tensors) {
    header[tensor.name] = {{"dtype", safetensorsName(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string result;
  for (int i = 0; i < 8; ++i)
    result += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return result + text;
}

} // namespace ulsc::runtime
