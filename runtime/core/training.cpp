#include "core/training.h"

#include "checkpoint/checkpoint.h"
#include "checkpoint/files.h"
#include "checkpoint/rank_file.h"
#include "checkpoint/weights.h"
#include "core/backend.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/initial_values.h"
#include "core/numeric.h"
#include "core/signals.h"
#include "core/slice.h"
#include "device/thread_pool.h"

#include <cmath>
#include <csignal>
#include <limits>

namespace ulsc::runtime {

Training::Training(const Manifest &manifest, const Program &program, const Options &options,
                   Communicator &communicator, const Backend &backend)
    : manifest(manifest), program(program), options(options), communicator(communicator),
      backend(backend), coordinates(manifest.mesh.coordinates(communicator.rank())),
      stage(manifest.stageOf(coordinates)), exposure(manifest, stage) {}

void Training::createDevice() {
  ThreadCount choice = chooseThreads(options.threads, communicator.localRanks());
  int64_t most = stage.arenaThreads; // the arena holds workspaces for no more
  if (most > 0 && choice.threads > most) {
    if (options.threads)
      raise("flag '--threads' is ", options.threads, ", but the program was compiled for at most ",
            most, " threads a rank; compile with --threads ", options.threads);
    choice.threads = static_cast<int>(most);
    choice.origin += "; at most " + std::to_string(most) + " as compiled";
  }
  threadText = concat(choice.threads, " per rank (", choice.origin, ")");
  device = backend.createDevice(communicator, program, options, choice.threads);
}

void Training::prepare() {
  onAllRanks(communicator, [&] {
    createDevice();
    context.arena = device->allocateArena(stage.arenaBytes);
    if (!options.data.empty())
      data = std::make_unique<TokenFile>(options.data, manifest.vocabulary, manifest.batch.seq);
  });
  collectives = &device->collectives(communicator);
  collectives->createGroups(manifest, context.arena);
  context.control = &control;
  context.device_control = device->deviceControl(control);
  context.device = device.get();
  context.collectives = collectives;
  context.exposure = &exposure;
  if (isFirst())
    printHeader(manifest, threadText);
  seed = options.seed;
  fillState();
  fillControl();
  onAllRanks(communicator, [&] {
    if (isFirst())
      metrics = std::make_unique<Metrics>(manifest, options.metrics, step);
  });
  if (!options.trace.empty()) {
    onAllRanks(communicator, [&] {
      if (!isFirst())
        return;
      requireRegularFile("trace file", options.trace);
      writeFile(options.trace, "{\"traceEvents\": []}\n"); // an unwritable path is an error now
    });
    trace = std::make_unique<Trace>(manifest, communicator, options.traceSteps);
    context.trace = trace.get();
  }
}

std::string Training::checkpointToResume() const {
  if (options.resume.empty())
    return "";
  bool isAuto = options.resume == "auto";
  std::string found = findCheckpoint(isAuto ? options.save : options.resume);
  if (found.empty() && !isAuto)
    raise("'", options.resume,
          "' is neither a checkpoint nor a directory of checkpoints; give the "
          "directory that '--save' had, or a step-N in it");
  if (!isAuto && !options.weights.empty())
    raise("flags '--weights' and '--resume' exclude each other: a checkpoint holds the weights");
  if (!isFirst())
    return found;
  std::string directory = isAuto ? options.save : options.resume;
  if (found != directory)
    for (const std::string &name : incompleteSaves(directory, found))
      std::fprintf(stderr, "note: '%s/%s' is incomplete, it has no state.json; it is left alone\n",
                   directory.c_str(), name.c_str());
  std::printf("resume   %s\n", found.empty() ? "nothing saved yet, beginning anew" : found.c_str());
  return found;
}

void Training::resumeFrom(const std::string &checkpoint) {
  RunState state = loadCheckpoint(checkpoint, manifest, coordinates, device->view(),
                                  communicator.rank(), communicator.ranks());
  if (options.hasSeed && options.seed != state.seed)
    raise("flag '--seed' is ", options.seed, ", but the run of checkpoint '", checkpoint,
          "' has seed ", state.seed, "; leave the flag out");
  step = state.step;
  tokensConsumed = state.tokensConsumed;
  seed = state.seed;
  control.loss_scale = static_cast<float>(state.lossScale);
  control.good_steps = static_cast<float>(state.goodSteps);
  skippedSteps = state.skippedSteps;
  if (isFirst() && step >= options.steps && options.steps > 0)
    std::printf("note     the checkpoint already has step %lld of %lld; raise --steps to go on\n",
                static_cast<long long>(step), static_cast<long long>(options.steps));
}

void Training::fillState() {
  control.loss_scale = manifest.hasLossScaling ? static_cast<float>(options.lossScale) : 1.0f;
  control.loss_scale_growth_interval = options.lossScaleGrowthInterval
                                           ? static_cast<float>(options.lossScaleGrowthInterval)
                                           : std::numeric_limits<float>::max();
  std::string checkpoint;
  onAllRanks(communicator, [&] { checkpoint = checkpointToResume(); });
  onAllRanks(communicator, [&] {
    if (!checkpoint.empty())
      resumeFrom(checkpoint);
    else if (!options.weights.empty())
      loadWeights(options.weights, manifest, coordinates, device->view());
    else
      drawInitialValues(manifest, coordinates, seed, device->view(), device->threads());
  });
  onAllRanks(communicator, [&] {
    if (isFirst() && !options.save.empty())
      prepareSaveDirectory(options.save, step);
    if (isFirst() && !options.gradients.empty())
      makeDirectories(options.gradients);
  });
  lastSaved = checkpoint.empty() ? -1 : step;
}

void Training::fillControl() {
  schedule = {options.schedule, options.learningRate, options.leastLearningRate,
              options.warmupSteps, options.steps};
  control.seed = seed;
  for (size_t i = 0; i < coordinates.size(); ++i)
    control.coordinates[i] = coordinates[i];
  control.beta1 = static_cast<float>(options.betas[0]);
  control.beta2 = static_cast<float>(options.betas[1]);
  control.epsilon = static_cast<float>(options.epsilon);
  control.weight_decay = static_cast<float>(options.weightDecay);
  control.momentum = static_cast<float>(options.momentum);
  control.clip_grad = static_cast<float>(options.clipGrad);
  control.dropout_rate = options.dropout ? static_cast<float>(*options.dropout) : -1.0f;
  fillParameterScales();
}

void Training::fillParameterScales() {
  for (const StateTensor &tensor : stage.tensors) {
    if (tensor.role != "parameter" || !tensor.trainable)
      continue;
    ParameterGroup group{1.0, 1.0};
    if (tensor.group >= 0 && tensor.group < static_cast<int64_t>(manifest.parameterGroups.size()))
      group = manifest.parameterGroups[tensor.group];
    bool decays = options.weightDecayOn == "all" || tensor.externalShape.size() >= 2;
    parameterScales.push_back(static_cast<float>(group.learningRateScale));
    parameterScales.push_back(decays ? static_cast<float>(group.weightDecayScale) : 0.0f);
  }
  control.parameter_scales = device->placeScales(parameterScales);
}

void Training::prepareStep() {
  control.step = step;
  control.learning_rate = static_cast<float>(schedule.at(step));
  double exponent = static_cast<double>(step + 1 - skippedSteps);
  control.bias_correction1 = static_cast<float>(1.0 - std::pow(options.betas[0], exponent));
  control.bias_correction2 = static_cast<float>(1.0 - std::pow(options.betas[1], exponent));
  control.stop_requested = stopSignal() ? 1.0f : 0.0f;
  control.stop_count = 0;
  exposure.beginStep(step + 1);
  try {
    copyBatch(*data, manifest, coordinates, tokensConsumed, device->view());
  } catch (const Error &error) {
    endJob(concat("step ", step + 1), error.what());
  }
}

void Training::checkStep() const {
  // Smaller cotangents may fit next time; at scale 1 there is nothing left to try.
  if (manifest.hasLossScaling && control.overflowed != 0) {
    if (control.loss_scale > 1)
      return;
    endJob(concat("step ", step + 1),
           concat("grad norm is ", control.grad_norm, " on rank ", communicator.rank(),
                  " even at loss scale ", control.loss_scale,
                  "; lower --lr, add --warmup-steps, or compile with --dtype bf16"));
  }
  for (auto [name, value] : {std::pair("loss", control.loss), {"grad norm", control.grad_norm}})
    if (!std::isfinite(value))
      endJob(concat("step ", step + 1),
             concat(name, " is ", value, " on rank ", communicator.rank(),
                    "; lower --lr, add --warmup-steps or lower --clip-grad"));
}

// What the step decided about the next one.
void Training::takeLossScale() {
  if (!manifest.hasLossScaling)
    return;
  usedLossScale = control.loss_scale;
  skippedSteps += control.overflowed != 0;
  control.loss_scale = control.next_loss_scale;
  control.good_steps = control.next_good_steps;
}

int Training::run() {
  installSignalHandlers();
  while (step < options.steps) {
    double begin = secondsNow();
    if (trace)
      trace->beginStep(step + 1);
    prepareStep();
    double inputSeconds = secondsNow() - begin;
    device->beginStep(control);
    if (!device->runStep([&] { program.step(&context); }))
      exposure.repeatSpans();
    device->endStep(control);
    exposure.settle(device->clock());
    if (trace)
      trace->endStep(inputSeconds, device->clock());
    checkStep();
    takeLossScale();
    ++step;
    tokensConsumed += manifest.batch.global * manifest.batch.seq;
    double seconds = secondsNow() - begin;
    exposure.endStep(seconds);
    afterStep(seconds, inputSeconds);
    if (mustStop())
      return stop();
  }
  if (isFirst() && metrics)
    metrics->endLine();
  reportExposure();
  writeTrace();
  if (!options.save.empty() && lastSaved != step)
    save();
  if (!options.exportDirectory.empty())
    exportModel();
  return 0;
}

void Training::afterStep(double seconds, double inputSeconds) {
  try {
    if (metrics)
      metrics->record({step, options.steps, tokensConsumed,
                       manifest.batch.global * manifest.batch.seq, control.loss, control.grad_norm,
                       control.learning_rate, seconds, inputSeconds, exposure.secondsByKind(),
                       usedLossScale, control.overflowed != 0});
  } catch (const Error &error) { // on the first rank alone, while the others go on
    endJob(concat("step ", step), error.what());
  }
  if (!options.gradients.empty())
    dumpGradients();
  if (options.saveEvery > 0 && step % options.saveEvery == 0)
    save();
}

// A lone rank's own signal counts even if its step had begun before it came.
bool Training::mustStop() const {
  return control.stop_count > 0 || (communicator.ranks() == 1 && stopSignal());
}

int Training::stop() {
  int signal = static_cast<int>(communicator.maximum(stopSignal()));
  bool saves = !options.save.empty();
  writeTrace();
  if (saves && lastSaved != step)
    save();
  reportExposure();
  if (isFirst()) {
    metrics->endLine();
    std::string kept =
        saves ? "its state is saved in '" + options.save + "'" : "nothing is saved without --save";
    std::fprintf(stderr, "stopped by %s after step %lld; %s\n",
                 signal == SIGTERM ? "SIGTERM" : "SIGINT", static_cast<long long>(step),
                 kept.c_str());
  }
  return 128 + (signal ? signal : SIGINT);
}

// They are of the scaled loss, and nothing reads them any more.
void Training::unscaleGradients() {
  for (const StateTensor &tensor : stage.tensors) {
    if (tensor.role != "gradient")
      continue;
    int64_t count = localElements(tensor, manifest.mesh), size = dtypeSize(tensor.dtype);
    char *data = device->view().edit(tensor.offset, count * size);
    for (int64_t i = 0; i < count; ++i) {
      float value;
      toFloat(data + i * size, tensor.dtype, &value, 1);
      value = static_cast<float>(value / usedLossScale);
      fromFloat(&value, data + i * size, tensor.dtype, 1);
    }
  }
  device->view().flush();
}

void Training::dumpGradients() {
  if (manifest.hasLossScaling)
    unscaleGradients();
  std::string name = concat("step-", step, "-rank-", communicator.rank(), ".safetensors");
  onAllRanks(communicator, [&] {
    FileWriter writer(options.gradients + "/" + name);
    writeRankFile(writer, manifest, coordinates, device->view(),
                  [](const StateTensor &tensor) { return tensor.role == "gradient"; });
    writer.finish();
  });
}

void Training::save() {
  RunState state{step, tokensConsumed, seed, control.loss_scale, control.good_steps, skippedSteps,
                 {}};
  state.hyperparameters = {{"lr", options.learningRate},
                           {"lr_schedule", options.schedule},
                           {"warmup_steps", options.warmupSteps},
                           {"min_lr", options.leastLearningRate},
                           {"steps", options.steps},
                           {"weight_decay", options.weightDecay},
                           {"weight_decay_on", options.weightDecayOn},
                           {"betas", options.betas},
                           {"eps", options.epsilon},
                           {"momentum", options.momentum},
                           {"clip_grad", options.clipGrad}};
  saveCheckpoint(communicator, manifest, coordinates, device->view(), state, options.save);
  lastSaved = step;
}

void Training::writeTrace() {
  if (trace)
    onAllRanks(communicator, [&] { trace->write(options.trace); });
}

// A lone rank waits for nobody.
void Training::reportExposure() {
  if (communicator.ranks() == 1 || manifest.collectives.empty() || !exposure.hasSteps())
    return;
  ExposureSamples samples = exposure.gather(communicator);
  onAllRanks(communicator, [&] {
    if (isFirst())
      metrics->recordExposure(samples);
  });
}

void Training::exportModel() {
  exportWeights(communicator, manifest, coordinates, device->view(), options.exportDirectory);
}

} // namespace ulsc::runtime
