// The safetensors format: a u64 header length, a JSON header, the values.
#ifndef ULSC_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define ULSC_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "core/manifest.h"

#include <map>
#include <string>
#include <vector>

namespace ulsc::runtime {

/// One tensor of an opened file.
struct FileTensor {
  std::string dtype; // as in the file, such as "BF16"
  Shape shape;
  int64_t begin = 0, bytes = 0; // in the file
};

/// A file opened for reading. Its header is checked as a whole before any of it is used: every
/// tensor's size agrees with its shape, no two overlap, and together they fill the file.
class SafetensorsFile {
public:
  explicit SafetensorsFile(const std::string &path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile &&other) noexcept;
  SafetensorsFile(const SafetensorsFile &) = delete;
  SafetensorsFile &operator=(const SafetensorsFile &) = delete;

  const std::string &path() const { return filePath; }
  const std::map<std::string, FileTensor> &tensors() const { return entries; }
  const std::map<std::string, std::string> &metadata() const { return notes; }

  void read(int64_t offset, void *target, int64_t bytes) const;

private:
  void parseHeader(int64_t fileBytes);
  void parseTensor(const std::string &name, const nlohmann::json &object, int64_t dataBegin,
                   int64_t dataBytes);
  void checkPlaces(int64_t dataBegin, int64_t fileBytes) const;
  [[noreturn]] void refuse(const std::string &problem) const;

  std::string filePath;
  int file = -1;
  std::map<std::string, FileTensor> entries;
  std::map<std::string, std::string> notes;
};

/// Reads ascending ranges of one file, neighbouring ones in one call.
class RangeReader {
public:
  /// Nothing at or past `end` is read.
  RangeReader(const SafetensorsFile &file, int64_t end);
  void read(int64_t offset, void *target, int64_t bytes);

private:
  const SafetensorsFile &file;
  int64_t end, windowBegin = 0;
  std::vector<char> window;
};

/// A tensor to be written.
struct TensorHeader {
  std::string name;
  int32_t dtype;
  Shape shape;

  int64_t bytes() const;
};

/// The length and the header of a file whose values follow in this order. Values begin at a
/// multiple of 8.
std::string safetensorsHeader(const std::vector<TensorHeader> &tensors,
                              const std::map<std::string, std::string> &metadata);

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CHECKPOINT_SAFETENSORS_H
