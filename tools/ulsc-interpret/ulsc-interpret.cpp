//===- ulsc-interpret.cpp - Runs modules on simulated ranks and compares them
//------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/InitAllDialects.h"
#include "ulsc/Interpreter/Compare.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "nlohmann/json.hpp"

#include <fstream>

using namespace mlir;
using namespace ulsc;
using namespace ulsc::interpreter;

namespace cl = llvm::cl;

static cl::opt<std::string> modulePath(cl::Positional, cl::Required, cl::desc("MODULE"));
static cl::opt<std::string>
    comparePath("compare", cl::desc("module that must compute the same, on the mesh it is "
                                    "partitioned for; MODULE is the source with global types"));
static cl::opt<double> tolerance("tolerance", cl::init(1e-9),
                                 cl::desc("largest relative difference (default 1e-9)"));
static cl::opt<std::string>
    entry("entry", cl::desc("function to run instead of the step, on drawn arguments"));
static cl::opt<int64_t> steps("steps", cl::init(1), cl::desc("number of steps (default 1)"));
static cl::opt<std::string>
    tokensPath("tokens", cl::desc("file of little-endian u16 tokens; drawn without it"));
static cl::opt<std::string>
    dumpPath("dump", cl::desc("write gradients and parameters after the last step (f64 "
                              "safetensors, \"gradients/NAME\" and \"parameters/NAME\")"));
static cl::opt<uint64_t> seed("seed", cl::init(0),
                              cl::desc("seed of initial values, dropout and drawn inputs"));
static cl::opt<bool> roundResults("round", cl::desc("round each result to its declared type"));
static cl::opt<double> learningRate("lr", cl::init(3e-4), cl::desc("learning rate"));
static cl::opt<double> weightDecay("weight-decay", cl::init(0.1), cl::desc("weight decay"));
static cl::opt<double> momentum("momentum", cl::init(0.9), cl::desc("momentum of sgd"));
static cl::opt<double> clipGrad("clip-grad", cl::init(1.0),
                                cl::desc("largest global norm, 0: no clipping"));
static cl::opt<double> dropoutRate("dropout", cl::init(-1.0),
                                   cl::desc("replaces every dropout rate"));

static Options getOptions() {
  Options options;
  options.control.seed = seed;
  options.control.learningRate = learningRate;
  options.control.weightDecay = weightDecay;
  options.control.momentum = momentum;
  options.control.clipGrad = clipGrad;
  options.control.dropoutRate = dropoutRate;
  options.round = roundResults;
  return options;
}

static LogicalResult fail(const llvm::Twine &message) {
  llvm::errs() << "ulsc-interpret: " << message << "\n";
  return failure();
}

/// Tokens of `--tokens`; none without it.
static FailureOr<std::vector<uint16_t>> readTokens() {
  std::vector<uint16_t> tokens;
  if (tokensPath.empty())
    return tokens;
  auto buffer = llvm::MemoryBuffer::getFile(tokensPath);
  if (!buffer)
    return fail("cannot read '" + tokensPath + "': " + buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  for (size_t i = 0; i + 1 < bytes.size(); i += 2)
    tokens.push_back(uint16_t(uint8_t(bytes[i]) | uint8_t(bytes[i + 1]) << 8));
  if (tokens.empty())
    return fail("'" + tokensPath + "' holds no tokens");
  return tokens;
}

static void appendTensors(StringRef prefix, const std::map<std::string, Tensor> &tensors,
                          nlohmann::json &header, std::string &data) {
  for (const auto &[name, tensor] : tensors) {
    size_t begin = data.size();
    data.append(reinterpret_cast<const char *>(tensor.getFloats().data()),
                tensor.getNumElements() * sizeof(double));
    header[(prefix + name).str()] = {
        {"dtype", "F64"},
        {"shape", std::vector<int64_t>(tensor.getShape().begin(), tensor.getShape().end())},
        {"data_offsets", {begin, data.size()}}};
  }
}

static LogicalResult dump(const StepResult &result) {
  nlohmann::json header;
  std::string data;
  appendTensors("gradients/", result.gradients, header, data);
  appendTensors("parameters/", result.parameters, header, data);
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t size = text.size();
  std::ofstream file(dumpPath, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&size), sizeof(size));
  file << text << data;
  return file.good() ? success() : fail("cannot write '" + dumpPath + "'");
}

/// Steps of one module or of two side by side.
static LogicalResult runSteps(ModuleOp module, ModuleOp other) {
  if (dropoutRate >= 1.0)
    return fail("dropout rate " + std::to_string(dropoutRate) + " is outside [0, 1)");
  FailureOr<std::vector<uint16_t>> tokens = readTokens();
  FailureOr<Shape> shape = getGlobalInputShape(module);
  if (failed(tokens) || failed(shape))
    return failure();
  std::unique_ptr<Interpreter> machine = Interpreter::create(module, getOptions());
  std::unique_ptr<Interpreter> otherMachine =
      other ? Interpreter::create(other, getOptions()) : nullptr;
  if (!machine || (other && !otherMachine))
    return failure();
  bool agrees = true;
  for (int64_t step = 0; step < steps; ++step) {
    StepInputs inputs = tokens->empty() ? drawStepInputs(*shape, getVocabulary(module), seed, step)
                                        : readStepInputs(*tokens, *shape, step);
    FailureOr<StepResult> result = machine->runStep(inputs.tokens, inputs.targets);
    if (failed(result))
      return failure();
    llvm::outs() << "step " << step << " loss " << llvm::format("%.10g", result->loss)
                 << " grad_norm " << llvm::format("%.10g", result->gradNorm) << "\n";
    if (step + 1 == steps && !dumpPath.empty() && failed(dump(*result)))
      return failure();
    if (!other)
      continue;
    FailureOr<StepResult> otherResult = otherMachine->runStep(inputs.tokens, inputs.targets);
    if (failed(otherResult))
      return failure();
    for (const std::string &difference : compareSteps(*otherResult, *result, tolerance)) {
      (void)fail("step " + llvm::Twine(step) + ": " + difference);
      agrees = false;
    }
  }
  if (other && agrees)
    llvm::outs() << "agrees on " << otherMachine->getNumRanks() << " ranks\n";
  return success(agrees);
}

static LogicalResult runFunction(ModuleOp module, ModuleOp other) {
  FailureOr<std::vector<Tensor>> results = runEntry(module, module, entry, seed, getOptions());
  if (failed(results))
    return failure();
  for (auto [i, tensor] : llvm::enumerate(*results)) {
    double sum = 0;
    for (int64_t k = 0; k < tensor.getNumElements(); ++k)
      sum += tensor.getAsDouble(k);
    llvm::outs() << "result " << i << " of " << tensor.getNumElements() << " elements, sum "
                 << llvm::format("%.10g", sum) << "\n";
  }
  if (!other)
    return success();
  FailureOr<std::vector<Tensor>> others = runEntry(other, module, entry, seed, getOptions());
  if (failed(others))
    return failure();
  if (others->size() != results->size())
    return fail("@" + entry + " has " + llvm::Twine(others->size()) + " results, expected " +
                llvm::Twine(results->size()));
  bool agrees = true;
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(*others, *results))) {
    double difference = getRelativeDifference(std::get<0>(pair), std::get<1>(pair));
    if (difference <= tolerance)
      continue;
    (void)fail("result " + llvm::Twine(i) + " of @" + entry + " differs by " +
               llvm::formatv("{0:e3}", difference).str());
    agrees = false;
  }
  if (agrees)
    llvm::outs() << "agrees\n";
  return success(agrees);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "runs uls and dist modules on simulated ranks\n");
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(modulePath, &context), other;
  if (!comparePath.empty())
    other = parseSourceFile<ModuleOp>(comparePath, &context);
  if (!module || (!comparePath.empty() && !other))
    return 1;
  LogicalResult result =
      entry.empty() ? runSteps(*module, other.get()) : runFunction(*module, other.get());
  return failed(result);
}
