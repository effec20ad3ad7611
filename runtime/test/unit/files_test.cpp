// Safetensors files, checkpoints and token files: sound ones, damaged ones, and failures while
// writing.
#include "checkpoint/checkpoint.h"
#include "checkpoint/files.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/save_directory.h"
#include "checkpoint/weights.h"
#include "core/error.h"
#include "data/token_file.h"
#include "file_shim.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

using namespace ulsc::runtime;
namespace fs = std::filesystem;

namespace {

// A job of one rank, without MPI.
class LoneCommunicator final : public Communicator {
public:
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  int localRanks() const override { return 1; }
  int localRank() const override { return 0; }
  void barrier() override {}
  int64_t minimum(int64_t value) override { return value; }
  double maximum(double value) override { return value; }
  std::vector<uint64_t> gather(uint64_t value) override { return {value}; }
  void send(const void *, int64_t, int) override {}
  void receive(void *, int64_t, int) override {}
  void broadcast(std::string &) override {}
  void finish() override {}
};

class Files : public ::testing::Test {
protected:
  void SetUp() override {
    // Syncing a real disk thousands of times takes long.
    fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    std::string name = parent / "ulsc-files-XXXXXX";
    directory = mkdtemp(name.data());
  }
  void TearDown() override {
    failAt(0);
    fs::remove_all(directory);
  }
  /// Has the n-th operation on files from now on fail; 0: none.
  void failAt(long number) const {
    setenv("ULSC_FILE_BELOW", directory.c_str(), 1);
    setenv("ULSC_FILE_FAIL_AT", std::to_string(number).c_str(), 1);
    ulsc_file_shim_restart();
  }
  std::string path(const std::string &name) const { return directory + "/" + name; }
  void write(const std::string &name, const std::string &content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  std::string directory;
};

const char *smallManifest =
    R"({"schema": "ulsc.manifest/1", "model": {"name": "m", "vocabulary": 70000},
  "mesh": {"axes": []}, "batch": {"global": 2, "micro": 1, "microbatches": 2, "seq": 3},
  "arena": {"bytes": 4096}, "inputs": {"tokens": {"offset": 0, "shape": [2, 1, 3], "dtype": "i32"},
  "targets": {"offset": 64, "shape": [2, 1, 3], "dtype": "i32"}},
  "tensors": [{"name": "a", "role": "parameter", "dtype": "f32", "offset": 128, "shape": [4, 8],
  "logical_shape": [3, 8]}, {"name": "a", "role": "moment1", "dtype": "f32", "offset": 256, "shape": [4, 8],
  "logical_shape": [3, 8]}]})";

std::string safetensors(const std::string &header, size_t data) {
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + std::string(data, 'x');
}

} // namespace

TEST_F(Files, every_truncation_of_a_safetensors_file_is_an_error) {
  std::string whole = safetensors(
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24);
  write("whole", whole);
  SafetensorsFile file(path("whole"));
  EXPECT_EQ(file.tensors().at("w").bytes, 24);
  EXPECT_EQ(file.metadata().at("a"), "b");
  for (size_t size = 0; size < whole.size(); ++size) {
    write("cut", whole.substr(0, size));
    EXPECT_THROW(SafetensorsFile(path("cut")), Error) << size;
  }
}

TEST_F(Files, changed_headers_never_crash) {
  std::string whole =
      safetensors(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = whole;
    for (int j = random() % 3; j >= 0; --j)
      changed[random() % (whole.size() - 24)] = static_cast<char>(random());
    write("changed", changed);
    try {
      SafetensorsFile file(path("changed"));
      for (const auto &entry : file.tensors())
        EXPECT_LE(entry.second.begin + entry.second.bytes, int64_t(changed.size()));
    } catch (const Error &) {
    }
  }
}

TEST_F(Files, impossible_headers_are_errors) {
  for (const char *tensor :
       {R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", R"({"dtype":"F32","shape":[2]})",
        R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", "5", "[]",
        R"({"dtype":"F99","shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[96,100]})",
        R"({"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":["a"],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0.5,4]})"}) {
    write("bad", safetensors(std::string("{\"w\":") + tensor + "}", 64));
    EXPECT_THROW(SafetensorsFile(path("bad")), Error) << tensor;
  }
  EXPECT_THROW(SafetensorsFile(directory.c_str()), Error);
  EXPECT_THROW(SafetensorsFile(path("none")), Error);
}

TEST_F(Files, tensors_fill_their_file_one_after_the_other) {
  auto header = [](const char *second, const char *begin, const char *end) {
    return std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},")") + second +
           R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" + begin + "," + end + "]}}";
  };
  write("whole", safetensors(header("b", "8", "12"), 12));
  EXPECT_EQ(SafetensorsFile(path("whole")).tensors().size(), 2u);
  const std::pair<std::string, const char *> cases[] = {
      {safetensors(header("b", "4", "8"), 8), "tensors 'a' and 'b' overlap"},
      {safetensors(header("b", "12", "16"), 16), "4 bytes before tensor 'b' belong to none"},
      {safetensors(header("b", "8", "12"), 15), "3 bytes past its last tensor"},
      {safetensors(header("a", "0", "4"), 4), "'a' twice"}};
  for (const auto &[content, part] : cases) {
    write("bad", content);
    try {
      SafetensorsFile file(path("bad"));
      ADD_FAILURE() << part;
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST_F(Files, hash_does_not_depend_on_how_bytes_arrive) {
  std::string bytes = "some bytes that are not a multiple of eight";
  StreamHash whole, pieces;
  whole.update(bytes.data(), bytes.size());
  for (size_t begin = 0, size = 1; begin < bytes.size(); begin += size, size = size % 11 + 1)
    pieces.update(bytes.data() + begin, std::min(size, bytes.size() - begin));
  EXPECT_EQ(whole.value(), pieces.value());
  bytes[20] ^= 1;
  StreamHash changed;
  changed.update(bytes.data(), bytes.size());
  EXPECT_NE(whole.value(), changed.value());
}

// Whatever operation fails, the newest complete save can be resumed, and nothing half-written
// stays.
TEST_F(Files, a_save_that_fails_leaves_the_one_before) {
  Manifest manifest = parseManifest(smallManifest);
  LoneCommunicator communicator;
  std::string saves = path("saves");
  std::vector<char> arena(4096), loaded(4096);
  DirectArenaView view(arena.data()), loadedView(loaded.data());
  long operations = 20;
  for (long number = 1; number <= operations; ++number) {
    failAt(0);
    fs::remove_all(saves);
    for (int64_t step = 1; step <= 2; ++step) {
      std::fill(arena.begin() + 128, arena.begin() + 384, static_cast<char>(step));
      saveCheckpoint(communicator, manifest, {}, view, {step, step * 6, 9, 1, {}}, saves);
    }
    bool hasFailed = false;
    failAt(number);
    try {
      std::fill(arena.begin() + 128, arena.begin() + 384, char(3));
      saveCheckpoint(communicator, manifest, {}, view, {3, 18, 9, 1, {}}, saves);
    } catch (const Error &) {
      hasFailed = true;
    }
    operations = ulsc_file_shim_operations();
    failAt(0);
    std::string newest = findCheckpoint(saves);
    std::fill(loaded.begin(), loaded.end(), char(0));
    RunState state = loadCheckpoint(newest, manifest, {}, loadedView, 0, 1);
    EXPECT_EQ(newest, saves + "/step-" + std::to_string(state.step));
    EXPECT_GE(state.step, hasFailed ? 2 : 3);
    EXPECT_EQ(state.tokensConsumed, state.step * 6);
    EXPECT_EQ(loaded[128], static_cast<char>(state.step));
    EXPECT_EQ(loaded[128 + 95], static_cast<char>(state.step));
    EXPECT_EQ(loaded[128 + 96], 0) << "padding";
    prepareSaveDirectory(saves, state.step);
    for (const std::string &name : directoryEntries(saves))
      EXPECT_EQ(name.find("partial"), std::string::npos);
  }
}

TEST_F(Files, saving_a_step_again_replaces_it) {
  Manifest manifest = parseManifest(smallManifest);
  LoneCommunicator communicator;
  std::vector<char> arena(4096);
  DirectArenaView view(arena.data());
  for (char fill : {1, 2}) {
    std::fill(arena.begin(), arena.end(), fill);
    saveCheckpoint(communicator, manifest, {}, view, {1, 6, 9, 1, {}}, path("s"));
  }
  std::vector<char> loaded(4096);
  DirectArenaView loadedView(loaded.data());
  loadCheckpoint(path("s/step-1"), manifest, {}, loadedView, 0, 1);
  EXPECT_EQ(loaded[128], 2);
  EXPECT_EQ(directoryEntries(path("s")), std::vector<std::string>{"step-1"});
}

TEST(Export, files_stay_below_the_limit) {
  EXPECT_EQ(planFiles({3, 3, 3, 9, 1}, 6), (std::vector<size_t>{2, 1, 1, 1}));
  EXPECT_EQ(planFiles({1, 2}, 6), (std::vector<size_t>{2}));
}

TEST_F(Files, batches_follow_the_file_and_wrap) {
  Manifest manifest = parseManifest(smallManifest);
  std::string bytes;
  for (uint32_t id : {0, 1, 2, 3, 4, 5, 69999})
    for (int i = 0; i < 4; ++i)
      bytes += static_cast<char>(id >> (8 * i));
  write("tokens", bytes);
  TokenFile file(path("tokens"), 70000, 3);
  EXPECT_EQ(file.tokens(), 7);
  std::vector<int32_t> arena(1024);
  DirectArenaView view(reinterpret_cast<char *>(arena.data()));
  copyBatch(file, manifest, {}, 6, view);
  EXPECT_EQ(std::vector<int32_t>(arena.begin(), arena.begin() + 6),
            (std::vector<int32_t>{69999, 0, 1, 2, 3, 4}));
  EXPECT_EQ(std::vector<int32_t>(arena.begin() + 16, arena.begin() + 22),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(Files, rows_belong_to_microbatch_and_data_rank) {
  Manifest manifest = parseManifest(smallManifest);
  manifest.mesh = Mesh{{{"dp", 2}, {"tp", 2}}};
  manifest.batch = {8, 2, 2, 1, {"dp"}};
  std::string bytes;
  for (char id = 0; id < 9; ++id)
    bytes += {id, 0};
  write("tokens", bytes);
  TokenFile file(path("tokens"), 9, 1);
  std::vector<int32_t> arena(1024);
  DirectArenaView view(reinterpret_cast<char *>(arena.data()));
  copyBatch(file, manifest, {1, 0}, 0, view);
  // r = (m * 2 + 1) * 2 + i
  EXPECT_EQ(std::vector<int32_t>(arena.begin(), arena.begin() + 4),
            (std::vector<int32_t>{2, 3, 6, 7}));
}

TEST_F(Files, a_token_file_cut_during_the_run_is_an_error) {
  write("tokens", std::string(4096 * 4, '\0'));
  TokenFile file(path("tokens"), 3, 4);
  int32_t tokens[4], targets[4];
  file.copyRow(8000, 4, tokens, targets);
  fs::resize_file(path("tokens"), 16002);
  try {
    file.copyRow(8000, 4, tokens, targets);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("tokens' ends at byte 16002"), std::string::npos)
        << error.what();
  }
}

TEST_F(Files, ids_outside_the_vocabulary_name_their_place) {
  write("tokens", std::string("\1\0\2\0\3\0", 6));
  TokenFile file(path("tokens"), 3, 2);
  int32_t tokens[2], targets[2];
  try {
    file.copyRow(0, 2, tokens, targets);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("id 3 at byte 4"), std::string::npos);
  }
}
