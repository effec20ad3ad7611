// Where a job's secret comes from, and that the cryptography is what it is said to be.
#include "comm/job_secret.h"
#include "core/error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace ulsc::runtime;

namespace {

class JobSecret : public testing::Test {
protected:
  void SetUp() override {
    unsetenv(secretVariable);
    unsetenv(secretFileVariable);
    char name[] = "/tmp/ulsc-secret-XXXXXX";
    int file = mkstemp(name);
    ASSERT_GE(file, 0);
    close(file);
    path = name;
  }
  void TearDown() override {
    unlink(path.c_str());
    unsetenv(secretVariable);
    unsetenv(secretFileVariable);
  }

  void write(const std::string &text, mode_t mode) {
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), mode);
    setenv(secretFileVariable, path.c_str(), 1);
  }

  void expectError(const std::string &part) {
    try {
      readJobSecret();
      ADD_FAILURE() << "no error with '" << part << "'";
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  std::string path;
};

TEST_F(JobSecret, NoneIsEmpty) { EXPECT_EQ(readJobSecret(), ""); }

TEST_F(JobSecret, OfAVariable) {
  setenv(secretVariable, "0123456789abcdef", 1);
  EXPECT_EQ(readJobSecret(), "0123456789abcdef");
  setenv(secretVariable, "0123456789abcde", 1);
  expectError("ULSC_JOB_SECRET holds 15 bytes, but a job's secret has 16 to 4096; 'openssl rand");
  setenv(secretVariable, "", 1);
  expectError("ULSC_JOB_SECRET holds 0 bytes");
}

TEST_F(JobSecret, OfAFile) {
  write("0123456789abcdef\n", 0600);
  EXPECT_EQ(readJobSecret(), "0123456789abcdef");
  write("short\n", 0400);
  expectError("' holds 5 bytes, but a job's secret has 16 to 4096");
  write(std::string(5000, 'x'), 0600);
  expectError("bytes, but a job's secret has 16 to 4096");
  setenv(secretVariable, "0123456789abcdef", 1);
  expectError("both ULSC_JOB_SECRET and ULSC_JOB_SECRET_FILE are set; set one of them");
}

TEST_F(JobSecret, OfAFileThatOthersCanRead) {
  for (mode_t mode : {0644, 0604, 0620, 0602}) {
    write("0123456789abcdef\n", mode);
    expectError("so that others can read or change it; run 'chmod 600 " + path + "'");
  }
  // Kubernetes mounts secrets so: root's, and readable by the group of the program.
  if (geteuid() == 0) {
    write("0123456789abcdef\n", 0440);
    EXPECT_EQ(readJobSecret(), "0123456789abcdef");
  }
}

TEST_F(JobSecret, OfWhatIsNoFile) {
  setenv(secretFileVariable, "/nowhere/secret", 1);
  expectError("ULSC_JOB_SECRET_FILE is '/nowhere/secret', which can't be read: No such file");
  for (const char *special : {"/dev/zero", "/tmp"}) {
    setenv(secretFileVariable, special, 1);
    expectError("which is no regular file");
  }
}

std::string hexOfBytes(const std::string &text) { return hexOf(digestOf(text)); }

TEST_F(JobSecret, Sha256AndHmac) {
  // FIPS 180-2 and RFC 4231, test case 2.
  EXPECT_EQ(hexOfBytes("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexOf(authenticate("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_FALSE(areEqual(drawNonce(), drawNonce()));
  EXPECT_TRUE(areEqual(digestOf("a"), digestOf("a")));
}

} // namespace
