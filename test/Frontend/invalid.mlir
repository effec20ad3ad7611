// Each key is used, neutral or refused by its value; every error names file, place, key, what was found and what is legal.
// RUN: split-file %s %t

// RUN: not ulsc compile %t/values.json --seq 8 --batch 1 --emit=graph -o %t/out 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not ls %t/out
// VALUES-DAG: values.json:11:3: error: "hidden_act" is "relu", which asks for another activation in the MLP and is not supported; expected "silu" or "swish" or null
// VALUES-DAG: values.json:13:3: error: "sliding_window" is 4096, which asks for attention to a window and is not supported; expected null
// VALUES-DAG: values.json:14:3: warning: "num_hiden_layers" is not a key this importer knows, and is ignored; did you mean num_hidden_layers
// VALUES-DAG: values.json:3:3: error: "vocab_size" is "256", expected a whole number from 1 to 268435456; write 256 without quotes
// VALUES-DAG: values.json:4:3: error: "hidden_size" is -128, expected a whole number from 1 to 1048576; the nearest is 1
// VALUES-DAG: values.json:5:3: error: "intermediate_size" is 0, expected a whole number
// VALUES-DAG: values.json:6:3: error: "num_hidden_layers" is 2.5, expected a whole number
// VALUES-DAG: values.json:7:3: error: "num_attention_heads" is 9.99{{.*}}e+22, expected a whole number from 1 to 65536; the nearest is 65536
// VALUES-DAG: values.json:8:3: error: "rms_norm_eps" is "1e-5", expected a number from 0 to 1; write 1e-5 without quotes
// VALUES-DAG: values.json:9:3: error: "initializer_range" is -1, expected a number from 0 to 100
// VALUES-DAG: values.json:10:3: error: "tie_word_embeddings" is "yes", expected true or false
// VALUES-DAG: error: "rope_scaling/rope_type" is "yarn", expected one of "default", "linear", "llama3"

// RUN: not ulsc compile %t/family.json --seq 8 --batch 1 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=FAMILY
// FAMILY: error: "model_type" is "lama", which is not supported; supported are gpt2, llama; did you mean llama

// RUN: not ulsc compile %t/lacks.json --seq 8 --batch 1 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=LACKS
// LACKS-DAG: error: lacks "hidden_size", expected a whole number from 1 to 1048576; is "hidden_siz" meant for it?
// LACKS-DAG: error: lacks "num_hidden_layers"

// RUN: not ulsc compile %t/heads.json --seq 8 --batch 1 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=HEADS
// HEADS-DAG: error: "num_key_value_heads" is 3, which does not divide "num_attention_heads" = 4; the nearest that does is 2
// HEADS-DAG: error: "hidden_size" is 30, which "num_attention_heads" = 4 does not divide; the nearest that it does is 32, or give "head_dim"

// RUN: not ulsc compile %t/odd.json --seq 8 --batch 1 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=ODD
// ODD-DAG: error: "head_dim" is 3, expected an even size
// ODD-DAG: error: "rope_theta" is 0, expected a number above 0
// ODD-DAG: error: "torch_dtype" is "float16" but "dtype" is "float32"; keep one of them
// ODD-DAG: error: lacks "original_max_position_embeddings"
// ODD-DAG: error: "rope_scaling/high_freq_factor" is 1{{.*}}, expected more than "low_freq_factor", which is 4

// RUN: not ulsc compile %t/huge.json --seq 8 --batch 1 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=HUGE
// HUGE: error: describes a model of {{.*}} parameters; at most 1E+15 are supported

// RUN: not ulsc compile %t/gpt2.json --seq 65 --batch 1 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=GPT2
// GPT2-DAG: error: "n_head" is 2, which does not divide "n_embd" = 9; the nearest hidden size that it does is 10
// GPT2-DAG: error: "activation_function" is "gelu_fast", expected one of "gelu_new", "gelu_pytorch_tanh", "gelu"; did you mean
// GPT2-DAG: error: "scale_attn_by_inverse_layer_idx" is true, which asks for scores divided by the layer's index
// GPT2-DAG: error: "attn_pdrop" is 1.5, expected a number from 0 to 0.999
// GPT2-DAG: error: "n_positions" is 64, and positions are learned: the sequence length 65 has no embedding for its end; use --seq 64 or less

// Rotary positions go on beyond what the model was trained for: that is only a warning.
// RUN: ulsc compile %S/../golden/llama/config.json --seq 256 --batch 1 --emit=graph -o %t/long 2>&1 | FileCheck %s --check-prefix=LONG
// LONG: warning: "max_position_embeddings" is 128 and the sequence length 256; rotary positions go on, but the model was not made for it

//--- values.json
{
  "model_type": "llama",
  "vocab_size": "256",
  "hidden_size": -128,
  "intermediate_size": 0,
  "num_hidden_layers": 2.5,
  "num_attention_heads": 99999999999999999999999,
  "rms_norm_eps": "1e-5",
  "initializer_range": -1,
  "tie_word_embeddings": "yes",
  "hidden_act": "relu",
  "rope_scaling": {"rope_type": "yarn", "factor": 2},
  "sliding_window": 4096,
  "num_hiden_layers": 3
}
//--- family.json
{"model_type": "lama"}
//--- lacks.json
{"model_type": "llama", "vocab_size": 16, "hidden_siz": 8}
//--- heads.json
{"model_type": "llama", "vocab_size": 16, "hidden_size": 30, "intermediate_size": 16, "num_hidden_layers": 1,
 "num_attention_heads": 4, "num_key_value_heads": 3}
//--- odd.json
{"model_type": "llama", "vocab_size": 16, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
 "num_attention_heads": 2, "head_dim": 3, "rope_theta": 0, "torch_dtype": "float16", "dtype": "float32",
 "rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1}}
//--- huge.json
{"model_type": "llama", "vocab_size": 200000000, "hidden_size": 1000000, "intermediate_size": 8000000,
 "num_hidden_layers": 10000, "num_attention_heads": 2}
//--- gpt2.json
{"model_type": "gpt2", "vocab_size": 16, "n_embd": 9, "n_layer": 1, "n_head": 2, "n_positions": 64,
 "activation_function": "gelu_fast", "scale_attn_by_inverse_layer_idx": true, "attn_pdrop": 1.5}
