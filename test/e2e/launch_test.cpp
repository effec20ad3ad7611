//===- launch_test.cpp - CUDA programs whose ranks find each other without MPI --------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
//
// Processes get the environment that torchrun, srun or a pod gives them, and run on the simulated
// device; what they compute is what the same program computes under mpirun.
//
//===---------------------------------------------------------------------------------------===//

#include "harness.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <regex>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace ulsc::test;
namespace fs = std::filesystem;

namespace {

/// A port that belongs to the test as long as the object lives, as MASTER_PORT belongs to
/// torchrun's agent: ranks meet at one of those that follow.
class AgentPort {
public:
  AgentPort() : descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr *>(&address), size), 0);
    EXPECT_EQ(::listen(descriptor, 1), 0);
    ::getsockname(descriptor, reinterpret_cast<sockaddr *>(&address), &size);
    port = ntohs(address.sin_port);
  }
  ~AgentPort() { ::close(descriptor); }
  AgentPort(const AgentPort &) = delete;
  AgentPort &operator=(const AgentPort &) = delete;

  int port = 0;

private:
  int descriptor;
};

class Launch : public testing::Test {
protected:
  void SetUp() override {
    directory = fs::canonical(scratchDirectory(
        std::string("launch-") + testing::UnitTest::GetInstance()->current_test_info()->name()));
    model = goldenDirectory("llama");
  }

  fs::path compileFor(const std::string &mesh, const std::string &target = "cuda") const {
    return compile(model, {"--seq", "32", "--batch", "8", "--target", target, "--mesh", mesh});
  }

  /// What torchrun's agent gives a rank.
  Environment torchrun(int rank, int ranks) const {
    Environment all = onSimulatedDevice();
    all.insert({{"RANK", std::to_string(rank)},
                {"WORLD_SIZE", std::to_string(ranks)},
                {"LOCAL_RANK", std::to_string(rank)},
                {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
                {"MASTER_ADDR", "localhost"},
                {"MASTER_PORT", std::to_string(agent.port)},
                {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                {"TORCHELASTIC_RUN_ID", "none"}});
    return all;
  }

  Words command(const fs::path &program, Words flags) const {
    Words words = {program, "--threads", "1", "--data", model / "tokens.bin", "--lr", "1e-3"};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }

  std::vector<Outcome> runRanks(const fs::path &program, int ranks, const Words &flags,
                                const Environment &more = {}) const {
    std::vector<std::unique_ptr<Process>> processes;
    for (int rank = 0; rank < ranks; ++rank) {
      Environment environment = torchrun(rank, ranks);
      for (const auto &[name, value] : more)
        environment[name] = value;
      processes.push_back(std::make_unique<Process>(command(program, flags), environment));
    }
    std::vector<Outcome> outcomes;
    for (auto &process : processes)
      outcomes.push_back(process->wait());
    return outcomes;
  }

  /// The numbers of a run under mpirun.
  std::vector<StepMetrics> underMpi(const fs::path &program, int ranks) const {
    return train(program, ranks, {"--data", model / "tokens.bin", "--lr", "1e-3", "--steps", "2"},
                 onSimulatedDevice());
  }

  static void expectSame(const std::vector<StepMetrics> &a, const std::vector<StepMetrics> &b) {
    ASSERT_EQ(a.size(), b.size());
    ASSERT_FALSE(a.empty());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].loss, b[i].loss);
      EXPECT_EQ(a[i].gradNorm, b[i].gradNorm);
    }
  }

  static void expectPart(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in\n" << text;
  }

  AgentPort agent;
  fs::path directory, model;
};

//===---------------------------------------------------------------------------------------===//
// Runs
//===---------------------------------------------------------------------------------------===//

TEST_F(Launch, TrainsWithoutMpiAsWithIt) {
  for (auto [mesh, ranks] : {std::pair("dp=2", 2), {"dp=2,tp=2", 4}, {"pp=2", 2}}) {
    SCOPED_TRACE(mesh);
    fs::path program = compileFor(mesh), metrics = directory / (std::string(mesh) + ".jsonl");
    fs::path exported = directory / (std::string(mesh) + "-export"),
             saves = directory / (std::string(mesh) + "-saves");
    for (const Outcome &outcome :
         runRanks(program, ranks,
                  {"--steps", "2", "--metrics", metrics, "--export-hf", exported, "--save", saves,
                   "--trace", directory / "trace.json"}))
      EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    expectSame(readMetrics(metrics), underMpi(program, ranks));
    EXPECT_TRUE(fs::exists(exported / "model.safetensors"));
    EXPECT_TRUE(fs::exists(saves / "step-2" / "state.json"));
  }
}

TEST_F(Launch, OneRankNeedsNoLauncher) {
  Outcome outcome = run(command(compileFor("dp=1"), {"--steps", "1"}), onSimulatedDevice());
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
}

/// Here the machine's libmpi is none.
TEST_F(Launch, OpenMpiIsLoadedForItsLauncherAlone) {
  std::ofstream(directory / "libmpi.so.40");
  std::string libraries = directory.string() + ":" + onSimulatedDevice().at("LD_LIBRARY_PATH");
  for (const Outcome &outcome :
       runRanks(compileFor("dp=2"), 2, {"--steps", "1"}, {{"LD_LIBRARY_PATH", libraries}}))
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  Outcome outcome = run(command(compileFor("dp=1"), {"--steps", "1"}),
                        {{"LD_LIBRARY_PATH", libraries}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "error: can't load 'libmpi.so.40' (");
  expectPart(outcome.output, "start the program without MPI, by 'torchrun --no-python' or 'srun "
                             "--mpi=none' (docs/program.md)");
}

/// The scripts of examples/clusters, with stand-ins for the launchers.
class LaunchExamples : public Launch {
protected:
  Environment scriptEnvironment(const fs::path &program) const {
    Environment all = onSimulatedDevice();
    std::string path = std::getenv("PATH");
    all["PATH"] = (fs::path(ULSC_SOURCE_DIR) / "test" / "clusters" / "bin").string() + ":" + path;
    all.insert({{"PROGRAM", program},
                {"DATA", model / "tokens.bin"},
                {"SAVE", directory / "saves"},
                {"STEPS", "2"}});
    return all;
  }

  static fs::path example(const char *name) {
    return fs::path(ULSC_SOURCE_DIR) / "examples" / "clusters" / name;
  }
};

TEST_F(LaunchExamples, Torchrun) {
  Environment environment = scriptEnvironment(compileFor("dp=2,tp=2"));
  environment["RANKS_PER_NODE"] = "4";
  Outcome outcome = run({"bash", example("torchrun/train.sh")}, environment);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_TRUE(fs::exists(directory / "saves" / "step-2" / "state.json"));
}

/// A job's number whose port, as the script makes it, is free.
int findJobNumber() {
  for (int number = ::getpid() % 10000;; number = (number + 1) % 10000) {
    int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(20000 + number));
    bool isFree = ::bind(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
    ::close(descriptor);
    if (isFree)
      return number;
  }
}

TEST_F(LaunchExamples, Slurm) {
  Environment environment = scriptEnvironment(compileFor("dp=2,tp=2"));
  environment.insert({{"SLURM_JOB_NODELIST", "node[0-1]"},
                      {"SLURM_JOB_ID", std::to_string(findJobNumber())},
                      {"SLURM_NTASKS", "4"},
                      {"SLURM_NTASKS_PER_NODE", "2"},
                      {"SLURM_NNODES", "2"}});
  Outcome outcome = run({"bash", example("slurm/train.sbatch")}, environment);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_TRUE(fs::exists(directory / "saves" / "step-2" / "state.json"));
}

/// Two pods with two ranks each.
TEST_F(LaunchExamples, Kubernetes) {
  Environment environment = onSimulatedDevice();
  environment.insert({{"MACHINES", "2"},
                      {"RANKS_PER_MACHINE", "2"},
                      {"MASTER_ADDR", "localhost"},
                      {"MASTER_PORT", std::to_string(agent.port)},
                      {"TORCHELASTIC_USE_AGENT_STORE", "True"}, // the test's port is taken
                      {"ULSC_JOB_SECRET", "the secret of a Secret object"}});
  Words words = {"bash", example("start-ranks.sh")};
  for (const std::string &word :
       command(compileFor("dp=2,tp=2"), {"--steps", "2", "--save", directory / "saves"}))
    words.push_back(word);
  std::vector<std::unique_ptr<Process>> pods;
  for (const char *machine : {"0", "1"}) {
    environment["MACHINE"] = machine;
    pods.push_back(std::make_unique<Process>(words, environment));
  }
  for (auto &pod : pods) {
    Outcome outcome = pod->wait();
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  }
  EXPECT_TRUE(fs::exists(directory / "saves" / "step-2" / "state.json"));
}

//===---------------------------------------------------------------------------------------===//
// Refusals and ends
//===---------------------------------------------------------------------------------------===//

TEST_F(Launch, AnotherProgramIsRefused) {
  Process first(command(compileFor("dp=2"), {"--steps", "1"}), torchrun(0, 2));
  Outcome other = run(command(compileFor("tp=2"), {"--steps", "1"}), torchrun(1, 2));
  EXPECT_EQ(other.exitCode, 1);
  expectPart(other.output, "error: rank 1: rank 0 (");
  expectPart(other.output, "its program is not that of rank 0: it trains ");
  expectPart(other.output, " on mesh tp=2, manifest ");
  ASSERT_TRUE(first.waitFor("was refused: its program is not that of rank 0"));
  Outcome right = run(command(compileFor("dp=2"), {"--steps", "1"}), torchrun(1, 2));
  EXPECT_EQ(right.exitCode, 0) << right.output;
  EXPECT_EQ(first.wait().exitCode, 0);
}

TEST_F(Launch, MissingRanksAreNamed) {
  Outcome outcome =
      run(command(compileFor("dp=2"), {"--steps", "1", "--join-timeout", "1"}), torchrun(0, 2));
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "error: rank 0: rank 1 has not joined within 1 s; there are rank 0 (");
}

TEST_F(Launch, TheNumberOfRanksIsThatOfTheMesh) {
  std::vector<Outcome> outcomes = runRanks(compileFor("dp=4"), 2, {"--steps", "1"});
  for (const Outcome &outcome : outcomes)
    EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
  expectPart(outcomes[0].output, "4 ranks, but was started with 2; run 'mpirun -np 4 PROGRAM ...' "
                                 "(torchrun --no-python and srun work, too: docs/program.md)");
}

/// The environment doesn't tell whether mpirun is inside of torchrun.
TEST_F(Launch, TorchrunCountsBeforeMpirun) {
  Environment both = torchrun(0, 1);
  both["OMPI_COMM_WORLD_SIZE"] = "2";
  Outcome outcome = run(command(compileFor("dp=2"), {"--steps", "1"}), both);
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "mpirun started 2 processes, but torchrun's variables, which count "
                             "before mpirun's, make each a job of its own");
  both["OMPI_COMM_WORLD_SIZE"] = "1";
  outcome = run(command(compileFor("dp=2"), {"--steps", "1"}), both);
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "was started with 1; run 'mpirun -np 2 PROGRAM ...' where "
                             "TORCHELASTIC_RUN_ID is unset");
}

/// Ranks that nobody started are not waited for.
TEST_F(Launch, TooManyRanksAreNotWaitedFor) {
  Outcome outcome = run(command(compileFor("dp=2"), {"--steps", "1"}), torchrun(0, 3));
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "2 ranks, but was started with 3; run 'mpirun -np 2 PROGRAM ...'");
}

TEST_F(Launch, AnOlderGpuIsNamedWithTheFlagThatServesIt) {
  Outcome outcome = run(command(compileFor("dp=1"), {"--steps", "1"}),
                        onSimulatedDevice({{"ULSC_SIMULATOR_ARCH", "8.0"}}));
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "the program's kernels are for sm_90 and newer, but this GPU is "
                             "sm_80; compile with --arch sm_80");
}

TEST_F(Launch, TheEnvironmentSaysWhatIsMissing) {
  fs::path program = compileFor("dp=2");
  Environment environment = torchrun(0, 2);
  environment["MASTER_PORT"] = "here";
  Outcome outcome = run(command(program, {"--steps", "1"}), environment);
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "error: the environment has MASTER_PORT='here', but the port");
  outcome = run(command(program, {"--steps", "1"}), {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "error: srun started 2 processes without PMIx, and the environment "
                             "does not say where rank 0 is; set MASTER_ADDR");
  environment = torchrun(0, 2);
  environment["ULSC_JOB_SECRET"] = "short";
  outcome = run(command(program, {"--steps", "1"}), environment);
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "ULSC_JOB_SECRET holds 5 bytes");
}

TEST_F(Launch, ProgramsOfTheCpuNeedMpi) {
  fs::path program = compileFor("dp=2", "cpu");
  Outcome outcome = run(command(program, {"--steps", "1"}), torchrun(0, 2));
  EXPECT_EQ(outcome.exitCode, 1);
  expectPart(outcome.output, "torchrun started 2 processes, but the ranks of this program find "
                             "each other through MPI; run 'mpirun -np 2 PROGRAM ...'");
  outcome = run(command(program, {"--steps", "1", "--join-timeout", "5"}));
  EXPECT_EQ(outcome.exitCode, 2);
  expectPart(outcome.output, "flag '--join-timeout' belongs to --target cuda");
}

TEST_F(Launch, AKilledRankEndsTheOthers) {
  fs::path program = compileFor("dp=2");
  Process first(command(program, {"--steps", "100000"}), torchrun(0, 2));
  Process second(command(program, {"--steps", "100000"}), torchrun(1, 2));
  ASSERT_TRUE(first.waitFor("step 2/"));
  ::kill(second.getPid(), SIGKILL);
  Outcome outcome = first.wait();
  EXPECT_NE(outcome.exitCode, 0);
  // Either the connection tells it first, or the simulated NCCL.
  bool isNamed = outcome.output.find("rank 1 (") != std::string::npos ||
                 outcome.output.find("rank 1 is missing") != std::string::npos;
  EXPECT_TRUE(isNamed) << outcome.output;
}

//===---------------------------------------------------------------------------------------===//
// Collectives that can't go on
//===---------------------------------------------------------------------------------------===//

TEST_F(Launch, AnErrorOfNcclEndsAllRanks) {
  fs::path program = compileFor("dp=2");
  Environment failing = torchrun(1, 2);
  failing["ULSC_SIMULATOR_NCCL_ERROR"] = "4";
  Process first(command(program, {"--steps", "100"}), torchrun(0, 2));
  Process second(command(program, {"--steps", "100"}), failing);
  Outcome outcome = second.wait();
  EXPECT_EQ(outcome.exitCode, 1);
  std::string place = "(all_reduce|all_gather|reduce_scatter)( of [^:]+)?: NCCL: [^:]+: an error "
                      "that ULSC_SIMULATOR_NCCL_ERROR asked for; in step [0-9]+; rank 0 waits in "
                      "it, too; cause: [a-z]";
  EXPECT_TRUE(std::regex_search(outcome.output, std::regex("error: rank 1: " + place)))
      << outcome.output;
  outcome = first.wait();
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_TRUE(std::regex_search(
      outcome.output,
      std::regex("error: rank 0: the job ends on all ranks: rank 1 \\([^)]+\\): " + place)))
      << outcome.output;
}

TEST_F(Launch, AnErrorOfNcclEndsAllRanksUnderMpirun) {
  Environment failing = onSimulatedDevice();
  failing["ULSC_SIMULATOR_NCCL_ERROR"] = "4";
  Outcome outcome = run(
      launch(compileFor("dp=2"), 2, {"--data", model / "tokens.bin", "--steps", "100"}, failing));
  EXPECT_NE(outcome.exitCode, 0);
  expectPart(outcome.output, "an error that ULSC_SIMULATOR_NCCL_ERROR asked for; in step ");
}

TEST_F(Launch, ACollectiveThatDoesNotEndNamesWhoIsMissing) {
  fs::path program = compileFor("dp=2");
  // On a slow machine a step may take as long as the time-out: then a longer one.
  for (int seconds = 3; seconds < 200; seconds *= 2) {
    Words words =
        command(program, {"--steps", "100000", "--collective-timeout", std::to_string(seconds)});
    Environment environments[] = {torchrun(0, 2), torchrun(1, 2)};
    for (Environment &environment : environments)
      environment["ULSC_SIMULATOR_TIMEOUT"] = "3600";
    Process first(words, environments[0]), second(words, environments[1]);
    if (!first.waitFor("step 2/"))
      continue;
    ::kill(second.getPid(), SIGSTOP);
    Outcome outcome = first.wait();
    ::kill(second.getPid(), SIGCONT);
    Outcome other = second.wait();
    EXPECT_EQ(outcome.exitCode, 1);
    if (outcome.output.find("rank 1 does not answer") == std::string::npos)
      continue;
    EXPECT_TRUE(std::regex_search(
        outcome.output,
        std::regex("error: rank 0: [a-z_]+( of [^:]+)?: has not ended within " +
                   std::to_string(seconds) +
                   " s \\(--collective-timeout\\); in step [0-9]+; rank 1 does not answer; "
                   "cause: [a-z]")))
        << outcome.output;
    EXPECT_NE(other.exitCode, 0);
    // By its connection, or where the simulated device notices first.
    EXPECT_TRUE(std::regex_search(other.output, std::regex("rank 0 (\\(|is missing)")))
        << other.output;
    return;
  }
  FAIL() << "no step ended in minutes";
}

} // namespace
