// What is read of a launcher's environment, and what is said where it can't be read.
#include "comm/launcher.h"
#include "core/error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

using namespace ulsc::runtime;

namespace {

using Variables = std::map<std::string, std::string>;

class Launcher : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
          "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RUN_ID", "SLURM_PROCID", "SLURM_NTASKS",
          "SLURM_LOCALID", "SLURM_STEP_NUM_NODES", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"})
      unsetenv(name);
  }
  void TearDown() override { SetUp(); }

  std::optional<Launch> read(const Variables &variables) {
    SetUp();
    for (const auto &[name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
    return readLaunch();
  }

  void expectError(const Variables &variables, const std::string &part) {
    try {
      read(variables);
      ADD_FAILURE() << "no error with '" << part << "'";
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
};

const Variables torchrun = {{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"MASTER_ADDR", "node0"},
                            {"MASTER_PORT", "29500"}};
const Variables slurm = {{"SLURM_PROCID", "3"},    {"SLURM_NTASKS", "4"},
                         {"SLURM_LOCALID", "1"},   {"SLURM_STEP_NUM_NODES", "2"},
                         {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};

Variables with(Variables variables, const std::string &name, const std::string &value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string &name) {
  variables.erase(name);
  return variables;
}

TEST_F(Launcher, NothingIsAProgramOnItsOwn) {
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({{"MASTER_ADDR", "node0"}}));
  // A batch script's own environment.
  EXPECT_FALSE(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
}

TEST_F(Launcher, Torchrun) {
  std::optional<Launch> launch = read(torchrun);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->rank, 5);
  EXPECT_EQ(launch->ranks, 8);
  EXPECT_EQ(launch->localRank, 1);
  EXPECT_EQ(launch->localRanks, 4);
  EXPECT_EQ(launch->master.text(), "node0:29500");
  EXPECT_FALSE(launch->isOnOneMachine());
  EXPECT_EQ(launch->ports(), std::vector<int>{29500});
}

TEST_F(Launcher, TheAgentsPortIsLeftToTheAgent) {
  Variables agent =
      with(with(torchrun, "TORCHELASTIC_USE_AGENT_STORE", "True"), "TORCHELASTIC_RUN_ID", "run7");
  std::vector<int> ports = read(agent)->ports();
  ASSERT_EQ(ports.size(), size_t(portsTried));
  EXPECT_EQ(ports.front(), 29501);
  EXPECT_EQ(ports.back(), 29516);
  EXPECT_EQ(read(with(agent, "MASTER_PORT", "65535"))->ports().front(), 65534);
  EXPECT_EQ(read(with(agent, "TORCHELASTIC_USE_AGENT_STORE", "False"))->ports().front(), 29500);
  std::string job = read(agent)->job;
  EXPECT_NE(job, read(with(agent, "TORCHELASTIC_RUN_ID", "run8"))->job);
  EXPECT_NE(job, read(with(agent, "MASTER_PORT", "29501"))->job);
}

TEST_F(Launcher, Slurm) {
  std::optional<Launch> launch = read(slurm);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->ranks, 4);
  EXPECT_EQ(launch->localRank, 1);
  EXPECT_EQ(launch->localRanks, -1);
  EXPECT_TRUE(read(with(slurm, "SLURM_STEP_NUM_NODES", "1"))->isOnOneMachine());
}

TEST_F(Launcher, TorchrunCountsBeforeOthers) {
  Variables both = slurm;
  both.insert(torchrun.begin(), torchrun.end());
  EXPECT_EQ(read(both)->rank, 5);
  EXPECT_FALSE(isMpiLaunch());
  // srun with PMIx started torchrun, or mpirun the program in a shell that has RANK.
  read(with(with(torchrun, "PMIX_RANK", "0"), "TORCHELASTIC_RUN_ID", "none"));
  EXPECT_FALSE(isMpiLaunch());
  read(with(torchrun, "PMIX_RANK", "0"));
  EXPECT_TRUE(isMpiLaunch());
  read({{"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_TRUE(isMpiLaunch());
}

TEST_F(Launcher, OneRankNeedsNoPlace) {
  std::optional<Launch> launch = read({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->ranks, 1);
}

TEST_F(Launcher, ErrorsNameTheVariable) {
  expectError(without(torchrun, "WORLD_SIZE"),
              "the environment has RANK but not WORLD_SIZE, the number of ranks; set it");
  expectError(without(torchrun, "RANK"),
              "the environment has WORLD_SIZE but not RANK, this process's rank; set it");
  expectError(with(torchrun, "RANK", "8"),
              "the environment has RANK='8', but this process's rank is a whole number in [0, 7]");
  for (const char *bad : {"-1", "x", "1x", "1.5", "99999999999999999999", " 1"})
    expectError(with(torchrun, "RANK", bad), std::string("RANK='") + bad + "'");
  expectError(with(torchrun, "WORLD_SIZE", "0"), "WORLD_SIZE='0'");
  expectError(with(torchrun, "LOCAL_RANK", "4"), "LOCAL_RANK='4'");
  expectError(with(torchrun, "LOCAL_WORLD_SIZE", "9"), "LOCAL_WORLD_SIZE='9'");
  expectError(without(torchrun, "MASTER_ADDR"),
              "there are 8 ranks, but not where rank 0 is; set MASTER_ADDR");
  expectError(with(torchrun, "MASTER_ADDR", ""), "set MASTER_ADDR");
  expectError(
      without(torchrun, "MASTER_PORT"),
      "the environment has MASTER_ADDR but not MASTER_PORT, the port on which rank 0 waits");
  expectError(with(torchrun, "MASTER_PORT", "65536"), "MASTER_PORT='65536'");
  expectError(without(slurm, "SLURM_NTASKS"), "but not SLURM_NTASKS");
  expectError(with(slurm, "SLURM_PROCID", "4"), "SLURM_PROCID='4'");
}

} // namespace
