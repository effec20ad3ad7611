// Under bf16, matrices are stored and used in bf16; norm weights and biases stay f32. f16 alike.
// RUN: ulsc compile %S/../golden/llama-bias-tied/config.json --seq 32 --batch 2 --dtype float16 --emit=graph -o - 2>/dev/null | FileCheck %s --check-prefix=F16
// F16: uls.param @model.embed_tokens.weight : tensor<251x64xf16>
// F16: uls.param @model.layers.0.input_layernorm.weight : tensor<64xf32>
// RUN: ulsc compile %S/../golden/llama-bias-tied/config.json --seq 32 --batch 2 --dtype bfloat16 --emit=graph -o - 2>/dev/null | FileCheck %s
// CHECK: uls.param @model.embed_tokens.weight : tensor<251x64xbf16>
// CHECK: uls.param @model.layers.0.input_layernorm.weight : tensor<64xf32>
// CHECK-LABEL: uls.block @layer
// CHECK-SAME: tensor<2x32x64xbf16>
// CHECK-SAME: tensor<64xf32>
// CHECK: uls.rms_norm {{.*}} : tensor<2x32x64xbf16>, tensor<64xf32> -> tensor<2x32xf32>
// CHECK: uls.convert {{.*}} : tensor<2x2x24xf32> -> tensor<2x2x24xbf16>
// CHECK: uls.materialize @model.embed_tokens.weight : tensor<251x64xbf16>
// CHECK: uls.materialize @model.layers.0.input_layernorm.weight : tensor<64xf32>
