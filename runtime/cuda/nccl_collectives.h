// Collectives on buffers of GPUs through NCCL, on streams of their own.
//
// A group has a communicator and a stream; what it starts waits, by an event, for what the compute
// stream had before it, and the compute stream waits, by another, where the program waits. Messages
// from one rank to another have a communicator and a stream for each of these pairs: on one of all,
// NCCL would run them in the order of their launches, and two ranks that send to each other first
// would wait for ever.
//
// While the host waits, a thread watches: an error that NCCL reports later, or a collective that
// does not end, ends the job and says which it was and which ranks have not come to it.
#ifndef ULSC_RUNTIME_CUDA_NCCL_COLLECTIVES_H
#define ULSC_RUNTIME_CUDA_NCCL_COLLECTIVES_H

#include "comm/communicator.h"
#include "cuda/collective_log.h"
#include "cuda/driver.h"
#include "cuda/nccl_api.h"
#include "cuda/nccl_watch.h"

#include <map>
#include <tuple>

namespace ulsc::runtime {

class NcclCollectives final : public Collectives {
public:
  /// `compute` is the stream of everything else; `host` serves the beginning, and the end.
  NcclCollectives(const CudaDriver &driver, cuda::Stream compute, Communicator &host,
                  double timeoutSeconds);
  ~NcclCollectives() override;

  void createGroups(const Manifest &manifest, char *arena) override;
  void start(const ulsc_collective_desc &desc, void *const *inputs, void *const *outputs,
             int slot) override;
  void wait(int slot) override;
  void progress() override {}

  void beginStep(int64_t step);
  /// The step starts what the last one did, by a graph, when `beginning` has happened.
  void repeatStep(cuda::Event beginning) { log.repeatStep(beginning); }
  void endStep();

private:
  struct Library;
  /// Ranks that work together, and where they do.
  struct Channel {
    nccl::Comm comm = nullptr;
    cuda::Stream stream = nullptr;
    int rank = 0, ranks = 1;
    std::string name;         // the same on all its ranks
    std::vector<int> members; // ranks of the job
  };
  struct Slot {
    cuda::Event ready = nullptr, done = nullptr;
    bool isBusy = false;
  };

  /// The channel of the ranks that give the same color, which is negative for none; all ranks of
  /// the job call it.
  Channel split(int color, int key);
  void createMessages(const Manifest &manifest, const Shape &coordinates, int group);
  Channel &channelOf(const ulsc_collective_desc &desc, const std::string &name);
  void enqueue(const ulsc_collective_desc &desc, const Channel &channel, const void *input,
               void *output, int64_t elements, int32_t dtype);
  void exchange(const ulsc_collective_desc &desc, const Channel &channel, const char *input,
                char *output, int64_t elements, int32_t dtype);
  std::string nameOf(int64_t identifier) const;
  std::vector<int> membersOf(const std::vector<std::string> &axes) const;

  void startWatch();
  void checkErrors();
  void checkErrorOf(nccl::Comm comm, const Channel *channel);
  [[noreturn]] void endStuck(const CollectiveLog::Unfinished &stuck);
  std::string describeAbsent(const CollectiveLog::Unfinished &stuck);
  const Channel *findChannel(const std::string &name) const;

  const CudaDriver &driver;
  cuda::Stream compute;
  Communicator &host;
  double timeoutSeconds;
  const Manifest *manifest = nullptr;
  std::unique_ptr<Library> library;
  nccl::Comm world = nullptr;
  std::vector<Channel> groups;
  /// By group and positions of the sender and the receiver.
  std::map<std::tuple<int, int64_t, int64_t>, Channel> messages;
  std::vector<Slot> slots;
  CollectiveLog log;
  std::unique_ptr<NcclWatch> watch; // the last one: it uses all others
};

} // namespace ulsc::runtime

#endif // ULSC_RUNTIME_CUDA_NCCL_COLLECTIVES_H
