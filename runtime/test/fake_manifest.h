// The manifest of fake_program.c and the places of its buffers. DP and TP are the mesh's sizes.
//
// With FLAT, state is split as ZeRO would: the table's parameter, moment and gradient are chunks of
// the block over "dp", the bias's master, moment and gradient chunks over both axes. On the mesh
// 2x2 a chunk of the table ends within a row, and the last rank's chunk of the bias is all padding.
#ifndef ULSC_RUNTIME_TEST_FAKE_MANIFEST_H
#define ULSC_RUNTIME_TEST_FAKE_MANIFEST_H

#ifndef DP
#define DP 1
#endif
#ifndef TP
#define TP 1
#endif
#ifdef FLAT
#define TABLE_FLAT "\"flat\":[\"dp\"],\"replicated_over\":[]"
#define BIAS_FLAT "\"flat\":[\"dp\",\"tp\"],\"replicated_over\":[]"
#else
#define TABLE_FLAT "\"replicated_over\":[\"dp\"]"
#define BIAS_FLAT BIAS_WHOLE
#endif
#define BIAS_WHOLE "\"replicated_over\":[\"dp\",\"tp\"]"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// Places in the arena. The first 32 KiB hold the program's own buffers, the rest is where
// reductions are received.
#define TOKENS_AT 0
#define TARGETS_AT 8192
#define TABLE_AT 16384
#define TABLE_MOMENT_AT 20480
#define TABLE_GRADIENT_AT 24576
#define BIAS_AT 28672
#define BIAS_MASTER_AT 28736
#define BIAS_MOMENT_AT 28800
#define BIAS_GRADIENT_AT 28864
#define SCRATCH_AT 28928
#define WHOLE_TABLE_AT 29184
#define WHOLE_GRADIENT_AT 30208
#define WHOLE_MASTER_AT 31232
#define STAGING_AT 32768
#define STAGING_BYTES 2097152
#define ARENA_BYTES 2129920

#define MICRO_OF(dp) MICRO_##dp
#define MICRO_1 "4"
#define MICRO_2 "2"
#define MICRO_4 "1"
#define MICRO_TEXT(dp) MICRO_OF(dp)

// clang-format off
#define AXIS(name, size) "{\"name\":\"" name "\",\"size\":" TEXT(size) "}"
#define INPUT(offset) \
  "{\"offset\":" TEXT(offset) ",\"shape\":[2," MICRO_TEXT(DP) ",16],\"dtype\":\"i32\"}"
#define TENSOR(name, role, dtype, offset, rest) \
  "{\"name\":\"" name "\",\"role\":\"" role "\",\"parameter\":\"" name "\",\"dtype\":\"" dtype "\"," \
  "\"offset\":" TEXT(offset) ",\"trainable\":true," rest "}"
#define TABLE(role, offset) \
  TENSOR("table.weight", role, "f32", offset, \
         "\"shape\":[54,4],\"logical_shape\":[50,4],\"external_shape\":[50,4]," \
         "\"sharding\":[[\"tp\"],[]],\"init\":{\"kind\":\"normal\",\"std\":0.5},\"group\":0," \
         TABLE_FLAT)
#define BIAS(role, dtype, offset, replicas) \
  TENSOR("bias", role, dtype, offset, \
         "\"shape\":[3],\"logical_shape\":[3],\"external_shape\":[3],\"sharding\":[[]]," \
         "\"init\":{\"kind\":\"ones\"},\"group\":1," replicas)
#define COLLECTIVE(kind, source) \
  "{\"kind\":\"" kind "\",\"source\":\"" source "\",\"phase\":\"step\",\"predicted_us\":2.5}"

#define FAKE_MANIFEST \
  "{\"schema\":\"ulsc.manifest/1\"," \
  "\"model\":{\"name\":\"fake\",\"family\":\"fake\",\"config\":\"{\\\"model_type\\\": \\\"fake\\\"}\"," \
  "\"parameters\":203,\"flops_per_step\":1,\"vocabulary\":50,\"weight_prefix\":\"model.\"}," \
  "\"compile\":{\"dtype\":\"f32\",\"optimizer\":\"sgd\",\"dropout\":false}," \
  "\"mesh\":{\"axes\":[" AXIS("dp", DP) "," AXIS("tp", TP) "]}," \
  "\"batch\":{\"global\":8,\"micro\":" MICRO_TEXT(DP) ",\"microbatches\":2,\"seq\":16," \
  "\"data_axes\":[\"dp\"]}," \
  "\"arena\":{\"bytes\":" TEXT(ARENA_BYTES) ",\"threads\":4,\"categories\":{\"parameters\":4096," \
  "\"gradients\":4096,\"optimizer\":4096,\"temporaries\":20480,\"communication\":2097152}}," \
  "\"inputs\":{\"tokens\":" INPUT(TOKENS_AT) ",\"targets\":" INPUT(TARGETS_AT) "}," \
  "\"tensors\":[" TABLE("parameter", TABLE_AT) "," TABLE("moment1", TABLE_MOMENT_AT) "," \
  TABLE("gradient", TABLE_GRADIENT_AT) "," BIAS("parameter", "bf16", BIAS_AT, BIAS_WHOLE) "," \
  BIAS("master", "f32", BIAS_MASTER_AT, BIAS_FLAT) "," \
  BIAS("moment1", "f32", BIAS_MOMENT_AT, BIAS_FLAT) "," \
  BIAS("gradient", "f32", BIAS_GRADIENT_AT, BIAS_FLAT) "]," \
  "\"groups_optimizer\":[{\"match\":\"*\",\"weight_decay_scale\":1,\"lr_scale\":1}," \
  "{\"match\":\"bias\",\"weight_decay_scale\":0.5,\"lr_scale\":0.5}]," \
  "\"groups\":[{\"axes\":[\"dp\",\"tp\"]},{\"axes\":[\"dp\"]},{\"axes\":[\"tp\"]}]," \
  "\"collectives\":[" COLLECTIVE("all_reduce", "loss") "," COLLECTIVE("all_reduce", "gradients") "," \
  COLLECTIVE("all_reduce", "norm") "," COLLECTIVE("all_gather", "table") "," \
  COLLECTIVE("all_gather", "bias") "]," \
  "\"collective_slots\":2,\"staging\":{\"offset\":" TEXT(STAGING_AT) ",\"bytes\":" TEXT(STAGING_BYTES) "}," \
  "\"hyperparameters\":{\"lr\":0.5,\"momentum\":0.9,\"weight_decay\":0,\"clip_grad\":0}}"
// clang-format on

#endif // ULSC_RUNTIME_TEST_FAKE_MANIFEST_H
