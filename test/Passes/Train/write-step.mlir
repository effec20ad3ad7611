// RUN: ulsc-opt %s --ulsc-train-pipeline=optimizer=sgd | FileCheck %s

// A tied table, a frozen norm, a parameter stored in bf16, two layers of one block.
module attributes {uls.batch = {global = 12 : i64, micro = 2 : i64, microbatches = 3 : i64, seq = 8 : i64, data_axes = ["dp"]}} {
  // CHECK: uls.param @embed
  // CHECK-NEXT: uls.state @embed.moment1 of @embed role "moment1" : tensor<16x4xf32>
  // CHECK-NEXT: uls.param @norm
  // CHECK-NEXT: uls.param @w0 : tensor<4x4xbf16>
  // CHECK-NEXT: uls.state @w0.master of @w0 role "master" : tensor<4x4xf32>
  // CHECK-NEXT: uls.state @w0.moment1 of @w0 role "moment1" : tensor<4x4xf32>
  uls.param @embed : tensor<16x4xf32> axes ["vocab", "embed"] init <normal, 0.02>
  uls.param @norm : tensor<4xf32> axes ["embed"] init <ones> {frozen}
  uls.param @w0 : tensor<4x4xbf16> axes ["embed", "mlp"] init <normal, 0.02>
  uls.param @w1 : tensor<4x4xbf16> axes ["embed", "mlp"] init <normal, 0.02> {group = 1 : i64}
  uls.block @embed_tokens(%tokens: tensor<4x8xi32>, %table: tensor<16x4xf32> {uls.parameter}) -> (tensor<4x8x4xf32>) {
    %0 = uls.embedding %tokens, %table : tensor<4x8xi32>, tensor<16x4xf32> -> tensor<4x8x4xf32>
    uls.yield %0 : tensor<4x8x4xf32>
  }
  uls.block @layer(%x: tensor<4x8x4xf32>, %positions: tensor<4x8xi32>, %c: !uls.context, %w: tensor<4x4xf32> {uls.parameter}) -> (tensor<4x8x4xf32>) {
    %a = uls.einsum "bse,em->bsm" %x, %w : tensor<4x8x4xf32>, tensor<4x4xf32> -> tensor<4x8x4xf32>
    %d = uls.dropout %a, %c key "resid" rate 0.1 : tensor<4x8x4xf32>
    %y = uls.add %x, %d : tensor<4x8x4xf32>, tensor<4x8x4xf32>
    uls.yield %y : tensor<4x8x4xf32>
  }
  uls.block @head(%x: tensor<4x8x4xf32>, %targets: tensor<4x8xi32>, %norm: tensor<4xf32> {uls.parameter}, %table: tensor<16x4xf32> {uls.parameter}) -> (tensor<f32>) {
    %h, %rstd = uls.rms_norm %x, %norm epsilon 1.0e-5 : tensor<4x8x4xf32>, tensor<4xf32> -> tensor<4x8xf32>
    %logits = uls.einsum "bse,ve->bsv" %h, %table : tensor<4x8x4xf32>, tensor<16x4xf32> -> tensor<4x8x16xf32>
    %l, %lse = uls.cross_entropy %logits, %targets vocabulary 16 : tensor<4x8x16xf32>, tensor<4x8xi32> -> tensor<4x8xf32>
    %sum = uls.reduce sum %l dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    uls.yield %sum : tensor<f32>
  }
  uls.forward @forward(%tokens: tensor<4x8xi32> {uls.axes = ["batch", "seq"]}, %targets: tensor<4x8xi32> {uls.axes = ["batch", "seq"]}, %c: !uls.context) -> (tensor<f32>) {
    %positions = uls.iota dim 1 : tensor<4x8xi32>
    %e = uls.materialize @embed : tensor<16x4xf32>
    %n = uls.materialize @norm : tensor<4xf32>
    %w0 = uls.materialize @w0 : tensor<4x4xf32>
    %w1 = uls.materialize @w1 : tensor<4x4xf32>
    %x0 = uls.call @embed_tokens(%tokens, %e) : (tensor<4x8xi32>, tensor<16x4xf32>) -> tensor<4x8x4xf32>
    %x1 = uls.call @layer(%x0, %positions, %c, %w0) {layer = 0 : i64} : (tensor<4x8x4xf32>, tensor<4x8xi32>, !uls.context, tensor<4x4xf32>) -> tensor<4x8x4xf32>
    %x2 = uls.call @layer(%x1, %positions, %c, %w1) {layer = 1 : i64} : (tensor<4x8x4xf32>, tensor<4x8xi32>, !uls.context, tensor<4x4xf32>) -> tensor<4x8x4xf32>
    %loss = uls.call @head(%x2, %targets, %n, %e) : (tensor<4x8x4xf32>, tensor<4x8xi32>, tensor<4xf32>, tensor<16x4xf32>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
  // CHECK-LABEL: uls.step @step(
  // CHECK-SAME: %[[TOKENS:.*]]: tensor<3x4x8xi32> {uls.axes = ["microbatch", "batch", "seq"]}, %[[TARGETS:.*]]: tensor<3x4x8xi32>
  // CHECK: %[[E:.*]] = uls.materialize @embed
  // CHECK: %[[N:.*]] = uls.materialize @norm
  // CHECK: %[[COUNT:.*]] = uls.count_valid %[[TARGETS]]
  // CHECK-NEXT: uls.report "valid_count" %[[COUNT]]
  // CHECK: %[[ONE:.*]] = uls.constant dense<1.0
  // CHECK-NEXT: %[[MAX:.*]] = uls.maximum %[[COUNT]], %[[ONE]]
  // CHECK-NEXT: %[[SCALE:.*]] = uls.div %[[ONE]], %[[MAX]]
  // CHECK: %[[LOOP:.*]]:4 = uls.microbatches 3
  // CHECK-NEXT: ^bb0(%[[M:.*]]: i64, %[[SUM:.*]]: tensor<f32>, %[[GE:.*]]: tensor<16x4xf32>, %[[G0:.*]]: tensor<4x4xf32>, %[[G1:.*]]: tensor<4x4xf32>):
  // CHECK: uls.make_context %[[M]] rows 4
  // CHECK: uls.iota dim 1
  // CHECK: %[[X0:.*]]:2 = uls.call @embed_tokens({{.*}} -> (tensor<4x8x4xf32>, !uls.residuals)
  // CHECK: %[[X1:.*]]:2 = uls.call @layer(%[[X0]]#0{{.*}} {layer = 0 : i64}
  // CHECK: %[[X2:.*]]:2 = uls.call @layer(%[[X1]]#0{{.*}} {layer = 1 : i64}
  // CHECK: %[[LOSS:.*]]:2 = uls.call @head(%[[X2]]#0
  // CHECK: %[[NEXTSUM:.*]] = uls.add %[[SUM]], %[[LOSS]]#0
  // CHECK: %[[DH:.*]]:2 = uls.backward @head %[[LOSS]]#1(%[[SCALE]])
  // CHECK-NEXT: %[[GE1:.*]] = uls.accumulate %[[GE]], %[[DH]]#1
  // CHECK-NEXT: %[[D1:.*]]:2 = uls.backward @layer %[[X2]]#1(%[[DH]]#0)
  // CHECK-NEXT: %[[G1N:.*]] = uls.accumulate %[[G1]], %[[D1]]#1
  // CHECK-NEXT: %[[D0:.*]]:2 = uls.backward @layer %[[X1]]#1(%[[D1]]#0)
  // CHECK-NEXT: %[[G0N:.*]] = uls.accumulate %[[G0]], %[[D0]]#1
  // CHECK-NEXT: %[[DE:.*]] = uls.backward @embed_tokens %[[X0]]#1(%[[D0]]#0)
  // CHECK-NEXT: %[[GEN:.*]] = uls.accumulate %[[GE1]], %[[DE]]
  // CHECK-NEXT: uls.yield %[[NEXTSUM]], %[[GEN]], %[[G0N]], %[[G1N]]
  // CHECK: %[[NORM:.*]] = uls.global_norm %[[LOOP]]#1, %[[LOOP]]#2, %[[LOOP]]#3
  // CHECK: %[[CLIP:.*]] = uls.clip_coefficient %[[NORM]]
  // CHECK: uls.update @sgd(%[[LOOP]]#1, %[[LOOP]]#2, %[[LOOP]]#3) scalars(%[[CLIP]]) parameters ["embed", "w0", "w1"]
  // CHECK: uls.report "grad_norm" %[[NORM]]
  // CHECK: %[[MEAN:.*]] = uls.mul %[[LOOP]]#0, %[[SCALE]]
  // CHECK: uls.report "loss" %[[MEAN]]
  // CHECK-NEXT: %[[STOP:.*]] = uls.control "stop_requested"
  // CHECK-NEXT: %[[STOPS:.*]] = uls.sum_ranks %[[STOP]]
  // CHECK-NEXT: uls.report "stop_count" %[[STOPS]]
}
