// Counts what a program really allocates. Preload the library and set ULSC_ALLOC_OUT (output.h); at
// its end each rank writes
//
//   {"rank": 0, "threshold": 655360, "peak_bytes": 6291456, "peak_rss_bytes": 40000000,
//    "callers": {"program": {"peak_bytes": 4194304, "allocations": 1}, "libmpi.so.40": {...}},
//    "regions": [{"bytes": 4194304, "caller": "program"}, ...]}
//
// Only allocations and anonymous mappings of at least the threshold are counted. A caller is the
// object file that the call returns to: the program itself (the runtime is linked into it), or a
// shared library. `regions` are the largest mappings ever made, as large as they were when made.
// Mappings that libc makes for itself (the heap, thread stacks) are not seen.
#include "output.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *pointer);
}

namespace {

constexpr size_t threshold = 5 << 17;
constexpr int mostBlocks = 8192, mostCallers = 64, mostRegions = 16;

// Fixed tables: this code must not allocate.
struct Caller {
  char name[96];
  size_t bytes, peak;
  long allocations;
};
struct Block {
  uintptr_t begin, end;
  int caller;
  bool isMapping;
};
struct Region {
  size_t bytes;
  int caller;
};

Caller callers[mostCallers];
Block blocks[mostBlocks];
Region regions[mostRegions];
int callerCount, blockCount;
size_t total, peak;
char programName[96];
std::atomic_flag lock = ATOMIC_FLAG_INIT;

struct Guard {
  Guard() {
    while (lock.test_and_set(std::memory_order_acquire))
      usleep(1);
  }
  ~Guard() { lock.clear(std::memory_order_release); }
};

const char *baseName(const char *path) {
  const char *slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int callerOf(const void *returnAddress) {
  Dl_info info = {};
  const char *name =
      dladdr(returnAddress, &info) && info.dli_fname ? baseName(info.dli_fname) : "unknown";
  if (!programName[0]) {
    char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[std::max<ssize_t>(length, 0)] = 0;
    std::strncpy(programName, baseName(path), sizeof(programName) - 1);
  }
  if (std::strcmp(name, programName) == 0)
    name = "program";
  for (int i = 0; i < callerCount; ++i)
    if (std::strcmp(callers[i].name, name) == 0)
      return i;
  if (callerCount == mostCallers)
    return mostCallers - 1;
  std::strncpy(callers[callerCount].name, name, sizeof(callers[0].name) - 1);
  return callerCount++;
}

void change(int caller, long bytes) {
  total += bytes;
  callers[caller].bytes += bytes;
  peak = std::max(peak, total);
  callers[caller].peak = std::max(callers[caller].peak, callers[caller].bytes);
}

void addBlock(uintptr_t begin, uintptr_t end, int caller, bool isMapping) {
  if (blockCount == mostBlocks)
    return;
  blocks[blockCount++] = {begin, end, caller, isMapping};
  change(caller, static_cast<long>(end - begin));
}

void noteRegion(size_t bytes, int caller) {
  Region *smallest =
      std::min_element(regions, regions + mostRegions,
                       [](const Region &a, const Region &b) { return a.bytes < b.bytes; });
  if (bytes > smallest->bytes)
    *smallest = {bytes, caller};
}

void add(void *pointer, size_t bytes, const void *returnAddress, bool isMapping) {
  if (!pointer || bytes < threshold)
    return;
  Guard guard;
  int caller = callerOf(returnAddress);
  ++callers[caller].allocations;
  auto begin = reinterpret_cast<uintptr_t>(pointer);
  addBlock(begin, begin + bytes, caller, isMapping);
  if (isMapping)
    noteRegion(bytes, caller);
}

// Takes [begin, end) away from the blocks, which may leave parts on both sides.
void take(uintptr_t begin, uintptr_t end, bool isMapping) {
  Guard guard;
  for (int i = 0; i < blockCount; ++i) {
    Block block = blocks[i];
    if (block.isMapping != isMapping || block.end <= begin || block.begin >= end)
      continue;
    change(block.caller, -static_cast<long>(block.end - block.begin));
    blocks[i--] = blocks[--blockCount];
    if (block.begin < begin)
      addBlock(block.begin, begin, block.caller, isMapping);
    if (block.end > end)
      addBlock(end, block.end, block.caller, isMapping);
  }
}

void takeHeap(void *pointer) {
  if (!pointer || malloc_usable_size(pointer) < threshold)
    return;
  auto begin = reinterpret_cast<uintptr_t>(pointer);
  take(begin, begin + malloc_usable_size(pointer), false);
}

size_t peakResident() {
  std::FILE *file = std::fopen("/proc/self/status", "r");
  char line[256];
  size_t kibibytes = 0;
  while (file && std::fgets(line, sizeof(line), file))
    if (std::sscanf(line, "VmHWM: %zu", &kibibytes) == 1)
      break;
  if (file)
    std::fclose(file);
  return kibibytes * 1024;
}

__attribute__((destructor)) void writeAll() {
  int rank = launcherRank();
  std::FILE *file = openOutput("ULSC_ALLOC_OUT", rank);
  if (!file)
    return;
  std::sort(regions, regions + mostRegions,
            [](const Region &a, const Region &b) { return a.bytes > b.bytes; });
  std::fprintf(file,
               "{\"rank\": %d, \"threshold\": %zu, \"peak_bytes\": %zu, \"peak_rss_bytes\": %zu,\n "
               "\"callers\": {",
               rank, threshold, peak, peakResident());
  for (int i = 0; i < callerCount; ++i)
    std::fprintf(file, "%s\n  \"%s\": {\"peak_bytes\": %zu, \"allocations\": %ld}", i ? "," : "",
                 callers[i].name, callers[i].peak, callers[i].allocations);
  std::fprintf(file, "},\n \"regions\": [");
  for (int i = 0; i < mostRegions && regions[i].bytes; ++i)
    std::fprintf(file, "%s\n  {\"bytes\": %zu, \"caller\": \"%s\"}", i ? "," : "", regions[i].bytes,
                 callers[regions[i].caller].name);
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

} // namespace

extern "C" {

void *malloc(size_t size) {
  void *result = __libc_malloc(size);
  add(result, size, __builtin_return_address(0), false);
  return result;
}

void *calloc(size_t count, size_t size) {
  void *result = __libc_calloc(count, size);
  add(result, count * size, __builtin_return_address(0), false);
  return result;
}

void *realloc(void *pointer, size_t size) {
  takeHeap(pointer);
  void *result = __libc_realloc(pointer, size);
  add(result, size, __builtin_return_address(0), false);
  return result;
}

void *memalign(size_t alignment, size_t size) {
  void *result = __libc_memalign(alignment, size);
  add(result, size, __builtin_return_address(0), false);
  return result;
}

void *aligned_alloc(size_t alignment, size_t size) {
  void *result = __libc_memalign(alignment, size);
  add(result, size, __builtin_return_address(0), false);
  return result;
}

int posix_memalign(void **target, size_t alignment, size_t size) {
  void *result = __libc_memalign(alignment, size);
  if (!result)
    return ENOMEM;
  add(result, size, __builtin_return_address(0), false);
  *target = result;
  return 0;
}

void free(void *pointer) {
  takeHeap(pointer);
  __libc_free(pointer);
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  auto result =
      reinterpret_cast<void *>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
  if (result == MAP_FAILED)
    return result;
  auto begin = reinterpret_cast<uintptr_t>(result);
  if (flags & MAP_FIXED)
    take(begin, begin + size, true);
  if ((flags & MAP_ANONYMOUS) && protection != PROT_NONE)
    add(result, size, __builtin_return_address(0), true);
  return result;
}

void *mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

int munmap(void *address, size_t size) {
  auto begin = reinterpret_cast<uintptr_t>(address);
  take(begin, begin + size, true);
  return static_cast<int>(syscall(SYS_munmap, address, size));
}

} // extern "C"

// Else every `new` of the program would seem to be libstdc++'s.
void *operator new(size_t size) {
  void *result = __libc_malloc(size);
  if (!result)
    throw std::bad_alloc();
  add(result, size, __builtin_return_address(0), false);
  return result;
}

void *operator new[](size_t size) {
  void *result = __libc_malloc(size);
  if (!result)
    throw std::bad_alloc();
  add(result, size, __builtin_return_address(0), false);
  return result;
}
