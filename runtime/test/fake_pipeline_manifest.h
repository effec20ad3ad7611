// The manifest of fake_pipeline.c and the places of its buffers. PP and DP are the mesh's sizes;
// with PP=1 the program is not pipelined, and one arena holds what two stages would.
//
// The table is on both stages, each of which has it at another place of an arena of another size.
// Parameters are whole on every data rank, their moments are chunks over "dp".
#ifndef ULSC_RUNTIME_TEST_FAKE_PIPELINE_MANIFEST_H
#define ULSC_RUNTIME_TEST_FAKE_PIPELINE_MANIFEST_H

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

#define TOKENS_AT 0
#define TARGETS_AT 1024
#define TABLE_AT 2048
#define TABLE_MOMENT_AT 3072
#define TABLE_GRADIENT_AT 4096
#define FIRST_AT 5120
#define FIRST_MOMENT_AT 5184
#define FIRST_GRADIENT_AT 5248
#define LAST_AT 5312
#define LAST_MOMENT_AT 5376
#define LAST_GRADIENT_AT 5440
#define SCRATCH_AT 5504
#define ACTIVATIONS_AT 8192
#define COTANGENTS_AT 12288
#define HEAD_TABLE_AT 16384
#define HEAD_TABLE_MOMENT_AT 17408
#define HEAD_TABLE_GRADIENT_AT 18432
#define STAGING_AT 20480
#define STAGING_BYTES 65536
#define ARENA_BYTES 86016
#define LAST_ARENA_BYTES 90112

#if DP == 1
#define MICRO "4"
#else
#define MICRO "2"
#endif

// clang-format off
#define INPUT(name, offset) \
  "\"" name "\":{\"offset\":" TEXT(offset) ",\"shape\":[2," MICRO ",16],\"dtype\":\"i32\"}"
#define TENSOR(name, role, offset, shape, settings, flat) \
  "{\"name\":\"" name "\",\"role\":\"" role "\",\"parameter\":\"" name "\",\"dtype\":\"f32\"," \
  "\"offset\":" TEXT(offset) ",\"trainable\":true,\"shape\":" shape "," settings ",\"flat\":[" flat "]}"
#define PARAMETER(name, value, moment, gradient, shape, settings) \
  TENSOR(name, "parameter", value, shape, settings, "") "," \
  TENSOR(name, "moment1", moment, shape, settings, "\"dp\"") "," \
  TENSOR(name, "gradient", gradient, shape, settings, "")
#define TABLE(value, moment, gradient) \
  PARAMETER("table.weight", value, moment, gradient, "[50,4]", \
            "\"init\":{\"kind\":\"normal\",\"std\":0.5},\"group\":0")
#define FIRST \
  PARAMETER("first.bias", FIRST_AT, FIRST_MOMENT_AT, FIRST_GRADIENT_AT, "[4]", \
            "\"init\":{\"kind\":\"ones\"},\"group\":1")
#define LAST \
  PARAMETER("last.bias", LAST_AT, LAST_MOMENT_AT, LAST_GRADIENT_AT, "[4]", \
            "\"init\":{\"kind\":\"normal\",\"std\":1},\"group\":2")
#define EMBEDDING TABLE(TABLE_AT, TABLE_MOMENT_AT, TABLE_GRADIENT_AT)
#define HEAD TABLE(HEAD_TABLE_AT, HEAD_TABLE_MOMENT_AT, HEAD_TABLE_GRADIENT_AT)
#define HELD(arena, inputs, tensors, slots) \
  "\"arena\":{\"bytes\":" TEXT(arena) ",\"threads\":4,\"categories\":{\"parameters\":4096}}," \
  "\"inputs\":{" inputs "},\"tensors\":[" tensors "],\"collective_slots\":" slots "," \
  "\"staging\":{\"offset\":" TEXT(STAGING_AT) ",\"bytes\":" TEXT(STAGING_BYTES) "},"
#if PP == 1
#define PP_AXIS ""
#define PP_NAME ""
#define PP_AND_DP "\"dp\""
#define STAGES \
  HELD(ARENA_BYTES, INPUT("tokens", TOKENS_AT) "," INPUT("targets", TARGETS_AT), \
       EMBEDDING "," FIRST "," LAST, "3")
#else
#define PP_AXIS "{\"name\":\"pp\",\"size\":2},"
#define PP_NAME "\"pp\""
#define PP_AND_DP "\"pp\",\"dp\""
#define STAGES \
  "\"pipeline\":{\"schedule\":\"gpipe\",\"chunks\":[{\"stage\":0,\"blocks\":[\"first\"]}," \
  "{\"stage\":1,\"blocks\":[\"last\"]}]}," \
  "\"stages\":[{" HELD(ARENA_BYTES, INPUT("tokens", TOKENS_AT), EMBEDDING "," FIRST, "3") \
  "\"note\":\"embedding\"},{" \
  HELD(LAST_ARENA_BYTES, INPUT("targets", TARGETS_AT), LAST "," HEAD, "4") \
  "\"note\":\"head\"}],"
#endif
#define COLLECTIVE(kind, source) \
  "{\"kind\":\"" kind "\",\"source\":\"" source "\",\"phase\":\"step\",\"predicted_us\":2.5}"

#define FAKE_MANIFEST \
  "{\"schema\":\"ulsc.manifest/1\"," \
  "\"model\":{\"name\":\"fake\",\"family\":\"fake\",\"config\":\"{\\\"model_type\\\": \\\"fake\\\"}\"," \
  "\"parameters\":208,\"flops_per_step\":1,\"vocabulary\":50,\"weight_prefix\":\"model.\"}," \
  "\"compile\":{\"dtype\":\"f32\",\"optimizer\":\"sgd\",\"dropout\":false}," \
  "\"mesh\":{\"axes\":[" PP_AXIS "{\"name\":\"dp\",\"size\":" TEXT(DP) "}]}," \
  "\"batch\":{\"global\":8,\"micro\":" MICRO ",\"microbatches\":2,\"seq\":16,\"data_axes\":[\"dp\"]}," \
  STAGES \
  "\"groups_optimizer\":[{\"match\":\"*\",\"lr_scale\":1},{\"match\":\"first.*\",\"lr_scale\":0.5}," \
  "{\"match\":\"last.*\",\"lr_scale\":0.25}]," \
  "\"groups\":[{\"axes\":[" PP_NAME "]},{\"axes\":[\"dp\"]},{\"axes\":[" PP_AND_DP "]}]," \
  "\"collectives\":[" COLLECTIVE("send", "activations") "," COLLECTIVE("receive", "activations") "," \
  COLLECTIVE("send", "cotangents") "," COLLECTIVE("receive", "cotangents") "," \
  COLLECTIVE("all_reduce", "count") "," COLLECTIVE("all_reduce", "gradients") "," \
  COLLECTIVE("all_reduce", "table") "," COLLECTIVE("all_reduce", "numbers") "," \
  COLLECTIVE("all_gather", "parameters") "]," \
  "\"hyperparameters\":{\"lr\":0.5,\"momentum\":0.9,\"weight_decay\":0,\"clip_grad\":0}}"
// clang-format on

#endif // ULSC_RUNTIME_TEST_FAKE_PIPELINE_MANIFEST_H
