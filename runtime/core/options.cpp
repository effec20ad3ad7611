#include "core/options.h"

#include "core/error.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>

namespace ulsc::runtime {

std::string nearest(const std::string &word, const std::vector<std::string> &candidates) {
  std::string best;
  size_t bestDistance = SIZE_MAX;
  for (const std::string &candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j)
      row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        size_t replace = diagonal + (word[i - 1] != candidate[j - 1]);
        diagonal = row[j];
        row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < bestDistance) {
      bestDistance = row.back();
      best = candidate;
    }
  }
  return best;
}

namespace {

void addRunOptions(CLI::App &app, Options &options) {
  app.add_option("--data", options.data,
                 "token file: raw little-endian u16 (u32 for vocabularies over 65,536)");
  app.add_option("--steps", options.steps,
                 "optimizer steps from the beginning of the run, those before a resume included");
  app.add_option("--seed", options.seed, "seed of initial values and dropout (default 0)");
  app.add_option("--threads", options.threads,
                 "threads of each rank (default: cores of the machine / its ranks)");
  app.add_option("--weights", options.weights,
                 "initial weights: a safetensors file, or a Hugging Face directory");
  app.add_option("--export-hf", options.exportDirectory,
                 "write config.json and model.safetensors there after the last step");
  app.add_option(
      "--metrics", options.metrics,
      "append a JSON object per step to this file; a run that goes on from a checkpoint first "
      "drops those of the steps that it does again");
  app.add_option("--trace", options.trace,
                 "write a Chrome trace of the last steps of all ranks there (for Perfetto)");
  app.add_option("--trace-steps", options.traceSteps, "steps that --trace keeps")
      ->capture_default_str();
  app.add_option("--save", options.save, "directory of checkpoints; the last 2 are kept");
  app.add_option("--save-every", options.saveEvery, "save after every so many steps");
  app.add_option("--resume", options.resume,
                 "a checkpoint, a directory of checkpoints, or auto: the newest in --save");
  app.add_option("--dropout", options.dropout, "replaces every dropout rate of the model");
  app.add_option("--dump-gradients", options.gradients,
                 "write each step's gradient slices there (for tests)");
  app.add_option("--cuda-graph", options.cudaGraph,
                 "on, off or auto (on without --trace): whether steps are launches of one CUDA "
                 "graph; of programs compiled with --target cuda");
  app.add_option("--join-timeout", options.joinTimeout,
                 "target cuda without MPI: seconds until ranks that have not come count as missing")
      ->capture_default_str();
  app.add_option("--collective-timeout", options.collectiveTimeout,
                 "target cuda: seconds until a collective counts as stuck; 0: never")
      ->capture_default_str();
  app.add_flag("--describe", options.describe, "print the program's manifest and exit");
}

void addHyperparameters(CLI::App &app, Options &options) {
  const char *group = "Hyperparameters";
  app.add_option("--lr", options.learningRate, "peak learning rate")
      ->capture_default_str()
      ->group(group);
  app.add_option("--lr-schedule", options.schedule, "constant, cosine or linear")
      ->capture_default_str()
      ->group(group);
  app.add_option("--warmup-steps", options.warmupSteps, "steps of linear warmup")
      ->capture_default_str()
      ->group(group);
  app.add_option("--min-lr", options.leastLearningRate, "end of cosine and linear")
      ->capture_default_str()
      ->group(group);
  app.add_option("--weight-decay", options.weightDecay, "decoupled weight decay")
      ->capture_default_str()
      ->group(group);
  app.add_option("--weight-decay-on", options.weightDecayOn,
                 "matrices (tensors of rank 2 and more in the model's files) or all")
      ->capture_default_str()
      ->group(group);
  app.add_option("--betas", options.betas, "AdamW: two decay rates, such as 0.9,0.95")
      ->delimiter(',')
      ->expected(1, 2)
      ->capture_default_str()
      ->group(group);
  app.add_option("--eps", options.epsilon, "AdamW: added to the denominator")
      ->capture_default_str()
      ->group(group);
  app.add_option("--momentum", options.momentum, "SGD")->capture_default_str()->group(group);
  app.add_option("--clip-grad", options.clipGrad, "largest global gradient norm; 0: no clipping")
      ->capture_default_str()
      ->group(group);
  app.add_option("--loss-scale", options.lossScale,
                 "f16: factor of the loss at the beginning; an overflow halves it")
      ->capture_default_str()
      ->group(group);
  app.add_option("--loss-scale-growth-interval", options.lossScaleGrowthInterval,
                 "f16: steps without an overflow after which the scale doubles; 0: never")
      ->capture_default_str()
      ->group(group);
}

// A value as a number, read as a whole: the parser would saturate, wrap or stop in the midst.
template <typename Number>
void requireWhole(const std::string &flag, const std::string &text, Number low, Number high) {
  Number value{};
  const char *begin = text.data(), *end = begin + text.size();
  size_t sign = text.rfind("-", 0) == 0 ? 1 : 0;
  if (text.size() == sign || text.find_first_not_of("0123456789", sign) != std::string::npos)
    raise("flag '", flag, "' is '", text, "', but takes a whole number in decimal digits, such as ",
          std::max<Number>(low, 8));
  auto [stop, code] = std::from_chars(begin, end, value);
  if (code != std::errc() || stop != end || value < low || value > high)
    raise("flag '", flag, "' is ", text, ", but has to lie in [", low, ", ", high,
          "]; the nearest is ", sign ? low : high);
}

void requireNumber(const std::string &flag, const std::string &text) {
  char *stop = nullptr;
  double value = std::strtod(text.c_str(), &stop);
  if (text.empty() || *stop || !std::isfinite(value))
    raise("flag '", flag, "' is '", text, "', but takes a finite number, such as 0.1 or 3e-4");
}

constexpr int64_t mostSeconds = 1000000;

// Checks values before they are converted, in our words.
void addChecks(CLI::App &app) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  auto check = [&](const std::string &flag, const auto &work) {
    app.get_option(flag)->check(
        [=](const std::string &text) {
          work(flag, text);
          return std::string();
        },
        "");
  };
  for (const char *flag :
       {"--steps", "--save-every", "--warmup-steps", "--loss-scale-growth-interval"})
    check(flag, [=](const std::string &flag, const std::string &text) {
      requireWhole<int64_t>(flag, text, 0, most);
    });
  check("--join-timeout", [](const std::string &flag, const std::string &text) {
    requireWhole<int64_t>(flag, text, 1, mostSeconds);
  });
  check("--collective-timeout", [](const std::string &flag, const std::string &text) {
    requireWhole<int64_t>(flag, text, 0, mostSeconds);
  });
  check("--trace-steps", [](const std::string &flag, const std::string &text) {
    requireWhole<int64_t>(flag, text, 1, 1000);
  });
  check("--threads", [](const std::string &flag, const std::string &text) {
    requireWhole<int64_t>(flag, text, 0, 4096);
  });
  check("--seed", [](const std::string &flag, const std::string &text) {
    requireWhole<uint64_t>(flag, text, 0, std::numeric_limits<uint64_t>::max());
  });
  for (const char *flag : {"--lr", "--min-lr", "--weight-decay", "--betas", "--eps", "--momentum",
                           "--clip-grad", "--dropout", "--loss-scale"})
    check(flag, requireNumber);
}

// A script's unset variable is not a flag left out.
void refuseEmpty(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options())
    for (const std::string &value : option->results())
      if (value.empty())
        raise("flag '", option->get_name(),
              "' is empty; give it a value, or leave the flag out (is a variable unset?)");
}

// "--data=" too: the parser would take the next word for its value.
void refuseEmptyWords(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.rfind("--", 0) == 0 && word.find('=') + 1 == word.size() && word.size() > 3)
      raise("flag '", word.substr(0, word.size() - 1),
            "' is empty; give it a value, or leave the flag out (is a variable unset?)");
  }
}

// What else the parser refuses: the wrong number of values.
[[noreturn]] void refuseParse(const CLI::App &app, const CLI::ParseError &error) {
  std::string text = error.what();
  if (text.find("--describe") != std::string::npos)
    raise("flag '--describe' takes no value; write it alone");
  for (const CLI::Option *option : app.get_options()) {
    std::string name = option->get_name();
    if (text.rfind(name + ":", 0) != 0 && text.rfind(name + " ", 0) != 0)
      continue;
    if (option->count() == 0)
      raise("flag '", name, "' has no value; write '", name, " VALUE', and --help tells which");
    raise("flag '", name, "' has ", option->count(), " values, but takes ",
          name == "--betas" ? "two, such as 0.9,0.95" : "one", "; give it once");
  }
  raise("the command line can't be read: ", text, "; --help lists the flags and their values");
}

void takeDefaults(const nlohmann::json &defaults, Options &options) {
  try {
    options.learningRate = defaults.value("lr", options.learningRate);
    options.leastLearningRate = defaults.value("min_lr", options.leastLearningRate);
    options.schedule = defaults.value("lr_schedule", options.schedule);
    options.warmupSteps = defaults.value("warmup_steps", options.warmupSteps);
    options.betas = defaults.value("betas", options.betas);
    options.epsilon = defaults.value("eps", options.epsilon);
    options.weightDecay = defaults.value("weight_decay", options.weightDecay);
    options.weightDecayOn = defaults.value("weight_decay_on", options.weightDecayOn);
    options.momentum = defaults.value("momentum", options.momentum);
    options.clipGrad = defaults.value("clip_grad", options.clipGrad);
  } catch (const nlohmann::json::exception &error) {
    raise("the program's manifest has bad hyperparameters: ", error.what());
  }
}

// Words that the parser did not take: features of later versions, and misspellings.
void refuseExtras(const std::vector<std::string> &extras, const CLI::App &app) {
  if (extras.empty())
    return;
  std::string word = extras.front().substr(0, extras.front().find('='));
  for (const char *later : {"--eval-data", "--eval-every", "--shuffle"})
    if (word == later)
      raise("flag '", word, "' is not supported by this version; leave it out");
  if (word.rfind("-", 0) != 0)
    raise("unexpected argument '", word, "'; everything is given by flags, such as --data FILE");
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    names.push_back(option->get_name());
  raise("unknown flag '", word, "'; the nearest is '", nearest(word, names),
        "', and --help lists all");
}

void requireRange(const char *flag, double value, double low, double high) {
  if (!(value >= low && value <= high))
    raise("flag '", flag, "' is ", value, ", but has to lie in [", low, ", ", high, "]");
}

void checkWord(const char *flag, const std::string &value, std::vector<std::string> legal) {
  if (std::find(legal.begin(), legal.end(), value) != legal.end())
    return;
  std::string list;
  for (const std::string &word : legal)
    list += (list.empty() ? "" : ", ") + word;
  raise("flag '", flag, "' is '", value, "', but has to be one of ", list, "; the nearest is '",
        nearest(value, legal), "'");
}

void checkNumbers(const Options &options) {
  const double large = 1e30;
  requireRange("--lr", options.learningRate, 0, large);
  requireRange("--min-lr", options.leastLearningRate, 0, large);
  requireRange("--weight-decay", options.weightDecay, 0, large);
  requireRange("--eps", options.epsilon, 0, large);
  requireRange("--momentum", options.momentum, 0, 1);
  requireRange("--clip-grad", options.clipGrad, 0, large);
  requireRange("--loss-scale", options.lossScale, 1, large);
  requireRange("--warmup-steps", static_cast<double>(options.warmupSteps), 0, large);
  requireRange("--save-every", static_cast<double>(options.saveEvery), 0, large);
  requireRange("--trace-steps", static_cast<double>(options.traceSteps), 1, 1000);
  requireRange("--threads", options.threads, 0, 4096);
  if (options.betas.size() != 2)
    raise("flag '--betas' has one number, but needs two, such as 0.9,0.95");
  for (double beta : options.betas)
    if (!(beta >= 0 && beta < 1))
      raise("flag '--betas' holds ", beta, ", but both numbers have to lie in [0, 1)");
  checkWord("--lr-schedule", options.schedule, {"constant", "cosine", "linear"});
  checkWord("--weight-decay-on", options.weightDecayOn, {"matrices", "all"});
  checkWord("--cuda-graph", options.cudaGraph, {"on", "off", "auto"});
}

void checkOptions(const Options &options, const CLI::App &app, const Manifest &manifest) {
  if (options.describe)
    return;
  checkNumbers(options);
  for (auto [flag, optimizer] :
       {std::pair("--momentum", "sgd"), {"--betas", "adamw"}, {"--eps", "adamw"}})
    if (app.count(flag) && manifest.optimizer != optimizer)
      raise("flag '", flag, "' belongs to ", optimizer,
            ", but the program was compiled with --optimizer ", manifest.optimizer);
  for (const char *flag : {"--loss-scale", "--loss-scale-growth-interval"})
    if (app.count(flag) && !manifest.hasLossScaling)
      raise("flag '", flag, "' belongs to --dtype f16, but the program was compiled with --dtype ",
            manifest.dtype, "; leave it out");
  if (app.count("--cuda-graph") && manifest.target != "cuda")
    raise("flag '--cuda-graph' belongs to --target cuda, but the program was compiled with "
          "--target ",
          manifest.target, "; leave it out");
  if (options.cudaGraph == "on" && !options.trace.empty())
    raise("flag '--cuda-graph on' and '--trace' exclude each other: kernels of a graph have no "
          "times of their own; leave one of them out");
  for (const char *flag : {"--join-timeout", "--collective-timeout"})
    if (app.count(flag) && manifest.target != "cuda")
      raise("flag '", flag,
            "' belongs to --target cuda, but the program was compiled with --target ",
            manifest.target, ", whose ranks MPI brings together; leave it out");
  bool onlyExports = options.steps == 0 && !options.exportDirectory.empty();
  if (options.data.empty() && !onlyExports)
    raise(
        "flag '--data' is missing; give a token file, which 'ulsc data TEXT -o tokens.bin' makes");
  if (options.steps < 1 && !onlyExports)
    raise("flag '--steps' is ", app.count("--steps") ? std::to_string(options.steps) : "missing",
          "; give the number of steps to train, at least 1");
  if (options.dropout) {
    if (!(*options.dropout >= 0 && *options.dropout < 1))
      raise("flag '--dropout' is ", *options.dropout, ", but has to lie in [0, 1)");
    if (*options.dropout > 0 && !manifest.hasDropout)
      raise("flag '--dropout' is ", *options.dropout,
            ", but the program was compiled without dropout; "
            "compile the model with dropout to use it");
  }
  if (options.saveEvery > 0 && options.save.empty())
    raise("flag '--save-every' needs '--save DIR'");
  if (options.resume == "auto" && options.save.empty())
    raise("flag '--resume auto' needs '--save DIR', where it looks for the newest checkpoint");
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, const Manifest &manifest, bool isQuiet,
                                    int &exitCode) {
  Options options;
  exitCode = 0;
  try {
    takeDefaults(manifest.hyperparameters, options);
    CLI::App app("trains " + manifest.modelName + " on " + manifest.mesh.text() +
                 "; compiled by ulsc");
    app.allow_extras();
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    addRunOptions(app, options);
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    addHyperparameters(app, options);
    addChecks(app);
    refuseEmptyWords(argc, argv);
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
      if (!isQuiet)
        std::cout << app.help();
      return std::nullopt;
    } catch (const CLI::ParseError &error) {
      refuseParse(app, error);
    }
    refuseEmpty(app);
    options.hasSeed = app.count("--seed") > 0;
    refuseExtras(app.remaining(), app);
    checkOptions(options, app, manifest);
    return options;
  } catch (const Error &error) {
    if (!isQuiet)
      std::cerr << "error: " << error.what() << std::endl;
    exitCode = 2;
    return std::nullopt;
  }
}

} // namespace ulsc::runtime
