// Old and new spellings of the same model give the same module but for the configuration's text.
// RUN: split-file %s %t
// RUN: ulsc compile %t/old.json --seq 8 --batch 1 --emit=graph -o - 2>/dev/null | grep -v uls.model > %t/old.mlir
// RUN: ulsc compile %t/new.json --seq 8 --batch 1 --emit=graph -o - 2>/dev/null | grep -v uls.model > %t/new.mlir
// RUN: cmp %t/old.mlir %t/new.mlir
// RUN: FileCheck %s --input-file=%t/old.mlir
// Linear scaling halves every frequency: 1 and 100^(-1/2).
// CHECK: frequencies [5.000000e-01, 5.000000e-02]
//--- old.json
{"model_type": "llama", "vocab_size": 16, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
 "num_attention_heads": 2, "head_dim": 4, "max_position_embeddings": 32, "rope_theta": 100.0, "torch_dtype": "float32",
 "rope_scaling": {"type": "linear", "factor": 2.0}}
//--- new.json
{"model_type": "llama", "vocab_size": 16, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
 "num_attention_heads": 2, "head_dim": 4, "max_position_embeddings": 32, "dtype": "float32",
 "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0}}
