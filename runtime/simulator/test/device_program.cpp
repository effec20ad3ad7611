// Programs of tests, in this process or a child.
#include "device_program.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace ulsc::simulator::test {

void check(Result result) {
  if (result != cuda::Success)
    throw std::runtime_error("the driver returned " + std::to_string(result));
}

void begin() {
  cuda::Context context = nullptr;
  check(cuInit(0));
  check(cuDevicePrimaryCtxRetain(&context, 0));
  check(cuCtxSetCurrent(context));
}

Program::Program(const std::string &ptx) { check(cuModuleLoadData(&module, ptx.c_str())); }

cuda::Function Program::function(const char *name) const {
  cuda::Function result = nullptr;
  check(cuModuleGetFunction(&result, module, name));
  return result;
}

std::string fixture(const std::string &name) {
  std::ifstream file(std::string(ULSC_PTX_FIXTURES) + "/" + name);
  if (!file)
    throw std::runtime_error("no fixture " + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string kernelText(const std::string &body, const std::string &declarations,
                       const std::string &moduleText) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + moduleText +
         "\n.visible .entry k(.param .u64 p)\n{\n"
         ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n" +
         declarations + "\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n" + body + "\nret;\n}\n";
}

Outcome runInChild(const std::function<void()> &program,
                   const std::vector<std::pair<std::string, std::string>> &environment) {
  int ends[2];
  if (pipe(ends) != 0)
    throw std::runtime_error("no pipe");
  std::fflush(nullptr); // or the child writes the same again
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    for (const auto &[name, value] : environment)
      setenv(name.c_str(), value.c_str(), 1);
    int code = 0;
    try {
      program();
    } catch (const std::exception &error) {
      dprintf(2, "%s\n", error.what());
      code = 1;
    }
    _exit(code);
  }
  close(ends[1]);
  Outcome outcome;
  char block[4096];
  for (ssize_t count; (count = read(ends[0], block, sizeof block)) > 0;)
    outcome.errors.append(block, size_t(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Outcome runWithSeed(int seed, const std::function<void()> &program) {
  return runInChild(program, {{"ULSC_SIMULATOR_SEED", std::to_string(seed)}});
}

} // namespace ulsc::simulator::test
