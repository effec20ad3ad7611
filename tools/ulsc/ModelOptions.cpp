//===- ModelOptions.cpp - Options of what is compiled
//------------------------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===-------------------------------------------------------------------------------------------===//

#include "tools/ulsc/Compilation.h"

using namespace ulsc::tool;

llvm::ArrayRef<OptionSpec> ulsc::tool::getModelOptions() {
  static const OptionSpec options[] = {
      {"mesh", "AXIS=SIZE,...", "the mesh of devices, as dp=2,tp=2; one size may be *"},
      {"mesh-order", "AXIS,...",
       "axes from outermost to innermost, instead of the canonical order"},
      {"devices", "N", "number of devices, which resolves *"},
      {"seq", "N", "length of a sequence (required)"},
      {"batch", "N", "global batch in sequences (required)"},
      {"micro-batch", "N", "sequences of a data rank in a microbatch"},
      {"microbatches", "N", "microbatches of a step (default 1)"},
      {"strategy", "NAME+...",
       "presets: ddp, zero1, zero2, zero3 (fsdp), hsdp, tp, sp (default: what the mesh implies)"},
      {"reshard-after-forward", "true|false|N",
       "whether the backward of zero3 gathers parameters again, or N ranks that keep them in parts "
       "until then (default true; false with pipeline stages)"},
      {"recipe", "FILE",
       "JSON recipe: mesh, strategy, rules, storage, pipeline, sharding, groups, frozen"},
      {"shard", "PATTERN=DIMS",
       "pin of tensors: mesh axes per dimension (-,tp) or per logical axis (heads:tp)", "", true},
      {"dtype", "f32|bf16|f16",
       "dtype of compute and of stored matrices (default f32); f16 trains with loss scaling"},
      {"grad-dtype", "f32|bf16", "dtype in which gradients are accumulated (default f32)"},
      {"reduce-dtype", "f32|bf16",
       "dtype in which gradients are reduced over ranks (default: that of --grad-dtype)"},
      {"master-dtype", "f32|none",
       "dtype of the master values of parameters stored in less than f32 (default f32)"},
      {"moment-dtype", "f32|bf16", "dtype of the optimizer's moments (default f32)"},
      {"stochastic-rounding", "on|off",
       "whether state in bf16 is rounded up or down at random (default off)"},
      {"optimizer", "adamw|sgd", "the optimizer (default adamw)"},
      {"dropout", "on|off",
       "whether the program drops elements (default: if the model has a rate)"},
      {"recompute", "POLICY",
       "what the backward computes again instead of keeping it: none, selective, "
       "selective:attn,norm,act,gather, full, full:group=K,layers=N (default "
       "selective:norm,act,gather)"},
      {"pp-schedule", "NAME|FILE",
       "in which order the stages along mesh axis pp work: gpipe, 1f1b, interleaved, zb-h1, zb-h2, "
       "zbv, or a JSON table (default 1f1b)"},
      {"pp-chunks", "N",
       "chunks of blocks that each stage holds (default: the schedule's; of interleaved as many as "
       "a recipe's stages make, or 2)"},
      {"costs", "FILE",
       "measured times of blocks, by which stages are balanced: a program's --trace, or a JSON "
       "file"},
      {"memory-limit", "SIZE",
       "the most memory of a device, as 70GB or 512MiB: the cheapest recomputation that fits is "
       "chosen"},
      {"threads", "N", "most threads of a rank that the program may use (default 16)"},
      {"target", "cpu|cuda", "what the program runs on (default cpu)"},
      {"arch", "sm_80|sm_90|sm_100",
       "of the target cuda: the oldest GPUs that run it (default sm_90)"},
      {"attention", "auto|own|cudnn",
       "of the target cuda: who computes attention, kernels of the program's own, cudnn alone, or "
       "auto, cudnn where it can and they elsewhere (default auto)"},
      {"epilogues", "on|off",
       "of the target cuda: whether cuBLASLt does what follows a product, such as to add a bias "
       "(default on)"},
      {"dump-dir", "DIR", "write the module after each stage, numbered"},
      {"locations", "", "print locations with modules"},
      {"verify-each", "", "verify the module after each pass, not only after each stage"},
      {"load-pass-plugin", "FILE", "load passes from a shared library", "", true},
      {"load-dialect-plugin", "FILE", "load dialects from a shared library", "", true},
      {"pass-pipeline-at", "STAGE:PIPELINE", "run a pass pipeline after a stage", "", true},
      {"help", "", "this help"},
      {"allow", "WHICH", "", "see the collectives with ulsc explain"},
      {"cluster", "FILE", "", "costs are those of one machine now"},
      {"params", "N", "", "compile a model's config.json; ulsc memory takes it"},
      {"param-dtype", "DTYPE", "", "parameters are stored in the dtype of compute"},
  };
  return options;
}
