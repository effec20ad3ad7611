#include "device/thread_pool.h"

#include "core/error.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>

// libgomp's stable entry points, called by name because clang's -fopenmp would bring libomp's pool.
extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
int omp_get_thread_num(void);
int omp_in_parallel(void);
}

namespace ulsc::runtime {

namespace {
int allowedCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

// Launchers bind each rank to a core or socket unless told otherwise; a lone process was bound by
// its user.
bool wasLaunched() {
  return std::getenv("OMPI_COMM_WORLD_LOCAL_RANK") || std::getenv("SLURM_LOCALID") ||
         std::getenv("PMIX_RANK");
}
} // namespace

ThreadCount chooseThreads(int requested, int localRanks) {
  if (requested > 0)
    return {requested, "--threads"};
  int cores = wasLaunched() ? static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) : allowedCores();
  int threads = std::max(1, cores / std::max(1, localRanks));
  std::string origin = concat(cores, cores == 1 ? " core / " : " cores / ", localRanks,
                              localRanks == 1 ? " local rank" : " local ranks");
  const char *environment = std::getenv("OMP_NUM_THREADS");
  if (environment && std::to_string(threads) != environment)
    origin += concat("; OMP_NUM_THREADS=", environment, " is not used, pass --threads to choose");
  return {threads, origin};
}

void configureThreads(int threads) {
  if (threads > allowedCores() && wasLaunched()) {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (long core = 0; core < sysconf(_SC_NPROCESSORS_CONF) && core < CPU_SETSIZE; ++core)
      CPU_SET(core, &all);
    sched_setaffinity(0, sizeof(all), &all); // the kernel cuts it to what the job may use
  }
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

void runOnThreads(int threads, void (*body)(void *), void *data) {
  GOMP_parallel(body, data, static_cast<unsigned>(threads), 0);
}

int threadIndex() { return omp_get_thread_num(); }

bool insideThreads() { return omp_in_parallel() != 0; }

} // namespace ulsc::runtime
