// One mistake is told once: nothing that would only follow from a made-up value.
// RUN: split-file %s %t
// RUN: %python %t/check.py ulsc %t | FileCheck %s --implicit-check-not=error

// CHECK-LABEL: hidden_size=-1
// CHECK: error: "hidden_size" is -1, expected a whole number from 1 to 1048576; the nearest is 1
// CHECK-LABEL: num_attention_heads=0
// CHECK: error: "num_attention_heads" is 0, expected
// CHECK-LABEL: vocab_size=null
// CHECK: error: "vocab_size" is null, expected a whole number from 1 to 268435456
// CHECK-LABEL: hidden_size=42
// CHECK: error: "hidden_size" is 42, which over "num_attention_heads" = 6 makes heads of 7, expected an even size, since rotary positions turn pairs; the nearest is 48, or give "head_dim"
// CHECK-LABEL: num_hidden_layers=100000
// CHECK: error: "num_hidden_layers" is 100000, expected a whole number from 1 to 10000; the nearest is 10000
// CHECK-LABEL: rope_scaling={"type": "llama3"}
// CHECK: error: lacks "factor"
// CHECK: error: lacks "low_freq_factor"
// CHECK: error: lacks "high_freq_factor"
// CHECK: error: lacks "original_max_position_embeddings"
// CHECK-LABEL: n_embd=-1
// CHECK: error: "n_embd" is -1, expected
// CHECK-LABEL: n_positions=0
// CHECK: error: "n_positions" is 0, expected
// CHECK-LABEL: n_head="6"
// CHECK: error: "n_head" is "6", expected a whole number from 1 to 65536; write 6 without quotes

//--- check.py
import json, subprocess, sys

ulsc, folder = sys.argv[1:]
LLAMA = {"model_type": "llama", "vocab_size": 251, "hidden_size": 48, "intermediate_size": 96,
         "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2}
GPT2 = {"model_type": "gpt2", "vocab_size": 251, "n_embd": 48, "n_layer": 2, "n_head": 6, "n_positions": 64}
CASES = [(LLAMA, "hidden_size", -1), (LLAMA, "num_attention_heads", 0), (LLAMA, "vocab_size", None),
         (LLAMA, "hidden_size", 42), (LLAMA, "num_hidden_layers", 100000),
         (LLAMA, "rope_scaling", {"type": "llama3"}), (GPT2, "n_embd", -1), (GPT2, "n_positions", 0),
         (GPT2, "n_head", "6")]
for base, key, value in CASES:
    print(f"{key}={json.dumps(value)}")
    with open(folder + "/config.json", "w") as file:
        json.dump({**base, key: value}, file)
    command = [ulsc, "compile", folder, "--seq", "8", "--batch", "1", "--emit=graph", "-o", "/dev/null"]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    print(result.stderr, end="")
    if result.returncode != 1:
        print("error: exit code", result.returncode)
