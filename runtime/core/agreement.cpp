#include "core/agreement.h"

#include "checkpoint/files.h"
#include "comm/communicator.h"
#include "core/error.h"

#include <algorithm>

namespace ulsc::runtime {

namespace {

using Json = nlohmann::ordered_json;

/// A place may differ from machine to machine; whether there is one may not.
Json given(const std::string &place) { return place.empty() ? "not given" : "given"; }

Json textOr(const std::string &text) { return text.empty() ? "not given" : text; }

/// The flags that all ranks must have alike, as they hold: a default and the same value given are
/// one. Not here: --threads, time-outs, and --metrics, which only rank 0 looks at.
Json describeFlags(const Options &options) {
  return {{"--steps", options.steps},
          {"--seed", options.seed},
          {"--data", given(options.data)},
          {"--weights", given(options.weights)},
          {"--resume", textOr(options.resume)},
          {"--save", textOr(options.save)},
          {"--save-every", options.saveEvery},
          {"--export-hf", given(options.exportDirectory)},
          {"--trace", given(options.trace)},
          {"--trace-steps", options.traceSteps},
          {"--dump-gradients", given(options.gradients)},
          {"--dropout", options.dropout ? Json(*options.dropout) : Json("as compiled")},
          {"--lr", options.learningRate},
          {"--lr-schedule", options.schedule},
          {"--warmup-steps", options.warmupSteps},
          {"--min-lr", options.leastLearningRate},
          {"--weight-decay", options.weightDecay},
          {"--weight-decay-on", options.weightDecayOn},
          {"--betas", options.betas},
          {"--eps", options.epsilon},
          {"--momentum", options.momentum},
          {"--clip-grad", options.clipGrad},
          {"--loss-scale", options.lossScale},
          {"--loss-scale-growth-interval", options.lossScaleGrowthInterval}};
}

/// A flag may hold bytes that are no UTF-8.
std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shorten(std::string text) {
  constexpr size_t most = 80;
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

/// The path of the first place where two values differ, and both sides there: what one side lacks
/// is null. Of objects, keys that say what a program is for come first.
struct Difference {
  std::string path, here, first;
};

std::vector<std::string> keysOf(const Json &a, const Json &b) {
  std::vector<std::string> keys = {"model", "mesh", "batch", "compile"};
  for (const Json *side : {&a, &b})
    for (const auto &item : side->items())
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
        keys.push_back(item.key());
  return keys;
}

Difference findDifference(const std::string &path, const Json &here, const Json &first) {
  auto at = [](const Json &object, const std::string &key) {
    return object.contains(key) ? object[key] : Json();
  };
  if (here.is_object() && first.is_object()) {
    for (const std::string &key : keysOf(here, first))
      if (Json a = at(here, key), b = at(first, key); a != b)
        return findDifference(path + "/" + key, a, b);
  } else if (here.is_array() && first.is_array() && here.size() == first.size()) {
    for (size_t i = 0; i < here.size(); ++i)
      if (here[i] != first[i])
        return findDifference(path + "/" + std::to_string(i), here[i], first[i]);
  }
  return {path, shorten(dump(here)), shorten(dump(first))};
}

std::string withoutQuotes(const std::string &text) {
  bool isQuoted = text.size() > 1 && text.front() == '"' && text.back() == '"';
  return isQuoted ? text.substr(1, text.size() - 2) : text;
}

[[noreturn]] void refuse(const Json &own, const Json &first) {
  if (own["program"] != first["program"]) {
    Difference found = findDifference("", own["program"], first["program"]);
    raise("this rank's program is not that of rank 0: in the manifest, ", found.path, " is ",
          found.here, " here and ", found.first,
          " on rank 0 (--describe prints it); start all ranks with one program");
  }
  for (const auto &flag : own["flags"].items())
    if (const Json &here = flag.value(), &there = first["flags"][flag.key()]; here != there)
      raise("flag '", flag.key(), "' is ", withoutQuotes(shorten(dump(here))), " here and ",
            withoutQuotes(shorten(dump(there))),
            " on rank 0; start all ranks with the same flags (only --threads, --metrics, time-outs "
            "and the "
            "places of files may differ)");
  raise("this rank was not started as rank 0 was; start all ranks with one program and the same "
        "flags");
}

} // namespace

void checkAgreement(const Manifest &manifest, const Options &options, Communicator &communicator) {
  if (communicator.ranks() == 1)
    return;
  Json own = {{"flags", describeFlags(options)}, {"program", manifest.document}};
  std::string text = dump(own);
  StreamHash hash;
  hash.update(text.data(), static_cast<int64_t>(text.size()));
  std::vector<uint64_t> hashes = communicator.gather(hash.value());
  if (std::count(hashes.begin(), hashes.end(), hashes[0]) == communicator.ranks())
    return;
  // Only now the whole text travels.
  std::string first = text;
  communicator.broadcast(first);
  onAllRanks(communicator, [&] {
    if (hash.value() != hashes[0])
      refuse(Json::parse(text), Json::parse(first));
  });
}

} // namespace ulsc::runtime
