// RUN: ulsc-opt %s --ulsc-train-pipeline -o %t.mlir
// RUN: ulsc-interpret %t.mlir --steps 3 --compare %t.mlir | FileCheck %s
// RUN: not ulsc-interpret %t.mlir --compare %t.mlir --steps 2 --dropout 1.5 2>&1 | FileCheck %s --check-prefix=RATE

// A forward-only program computes the same loss.
// RUN: ulsc-opt %t.mlir --ulsc-derive-evaluation -o %t.eval.mlir
// RUN: ulsc-interpret %t.mlir --dropout 0 | cut -d" " -f1-4 > %t.loss
// RUN: ulsc-interpret %t.eval.mlir | cut -d" " -f1-4 | diff - %t.loss

// Random targets: the loss starts near log 16 = 2.77.
// CHECK: step 0 loss 2.7
// CHECK-SAME: grad_norm
// CHECK: step 1 loss 2.7
// CHECK: step 2 loss 2.7
// CHECK: agrees on 1 ranks
// RATE: dropout rate 1.5{{0*}} is outside [0, 1)

module attributes {uls.batch = {global = 8 : i64, micro = 4 : i64, microbatches = 2 : i64, seq = 6 : i64, data_axes = []},
                   uls.gradient_dtype = f32} {
  uls.param @table : tensor<16x4xf32> axes ["vocab", "embed"] init <normal, 0.02>
  uls.param @norm : tensor<4xf32> axes ["embed"] init <ones>
  uls.block @embed(%tokens: tensor<4x6xi32>, %table: tensor<16x4xf32> {uls.parameter}) -> (tensor<4x6x4xf32>) {
    %x = uls.embedding %tokens, %table : tensor<4x6xi32>, tensor<16x4xf32> -> tensor<4x6x4xf32>
    uls.yield %x : tensor<4x6x4xf32>
  }
  uls.block @layer(%x: tensor<4x6x4xf32>, %c: !uls.context, %w: tensor<4xf32> {uls.parameter}) -> (tensor<4x6x4xf32>) {
    %n, %rstd = uls.rms_norm %x, %w epsilon 1.0e-5 : tensor<4x6x4xf32>, tensor<4xf32> -> tensor<4x6xf32>
    %d = uls.dropout %n, %c key "resid" rate 0.1 : tensor<4x6x4xf32>
    %y = uls.add %x, %d : tensor<4x6x4xf32>, tensor<4x6x4xf32>
    uls.yield %y : tensor<4x6x4xf32>
  }
  uls.block @head(%x: tensor<4x6x4xf32>, %targets: tensor<4x6xi32>, %table: tensor<16x4xf32> {uls.parameter}) -> (tensor<f32>) {
    %logits = uls.einsum "bse,ve->bsv" %x, %table : tensor<4x6x4xf32>, tensor<16x4xf32> -> tensor<4x6x16xf32>
    %loss, %lse = uls.cross_entropy %logits, %targets vocabulary 16 : tensor<4x6x16xf32>, tensor<4x6xi32> -> tensor<4x6xf32>
    %sum = uls.reduce sum %loss dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
    uls.yield %sum : tensor<f32>
  }
  uls.forward @forward(%tokens: tensor<4x6xi32>, %targets: tensor<4x6xi32>, %c: !uls.context) -> (tensor<f32>) {
    %table = uls.materialize @table : tensor<16x4xf32>
    %norm = uls.materialize @norm : tensor<4xf32>
    %x = uls.call @embed(%tokens, %table) : (tensor<4x6xi32>, tensor<16x4xf32>) -> tensor<4x6x4xf32>
    %y = uls.call @layer(%x, %c, %norm) {layer = 0 : i64} : (tensor<4x6x4xf32>, !uls.context, tensor<4xf32>) -> tensor<4x6x4xf32>
    %z = uls.call @layer(%y, %c, %norm) {layer = 1 : i64} : (tensor<4x6x4xf32>, !uls.context, tensor<4xf32>) -> tensor<4x6x4xf32>
    %loss = uls.call @head(%z, %targets, %table) : (tensor<4x6x4xf32>, tensor<4x6xi32>, tensor<16x4xf32>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
}
