// RUN: ulsc-opt %s --ulsc-write-update-rule --ulsc-write-step="master-dtype=none moment-dtype=bf16 stochastic-rounding" | FileCheck %s
// RUN: not ulsc-opt %s --ulsc-write-update-rule --ulsc-write-step="master-dtype=bf16" 2>&1 | FileCheck %s --check-prefix=MASTER
// RUN: not ulsc-opt %s --ulsc-write-update-rule --ulsc-write-step="moment-dtype=f16" 2>&1 | FileCheck %s --check-prefix=MOMENT
// RUN: not ulsc-opt %s --ulsc-write-update-rule --ulsc-write-step="stochastic-rounding" 2>&1 | FileCheck %s --check-prefix=ROUND
// MASTER: error: master-dtype is "bf16", expected f32 or none
// MOMENT: error: moment-dtype is "f16", expected f32 or bf16
// ROUND: error: stochastic rounding is of state in bf16, and there is none: every state is f32; keep moments in bf16 (--moment-dtype bf16), or parameters in bf16 without a master value (--dtype bf16 --master-dtype none)

// The rule computes in f32 whatever is kept.
// CHECK: uls.param @w : tensor<16x4xbf16>
// CHECK-NEXT: uls.state @w.moment1 of @w role "moment1" : tensor<16x4xbf16>
// CHECK-NEXT: uls.state @w.moment2 of @w role "moment2" : tensor<16x4xbf16>
// CHECK-NOT: role "master"
// CHECK: uls.update_rule @adamw(%{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?xf32>
// CHECK: uls.update @adamw({{.*}}) scalars({{.*}}) stochastic parameters ["w"]
module attributes {uls.batch = {global = 2 : i64, micro = 2 : i64, microbatches = 1 : i64, seq = 8 : i64, data_axes = []}} {
  uls.param @w : tensor<16x4xbf16> axes ["vocab", "embed"] init <normal, 0.02>
  uls.block @model(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>, %w: tensor<16x4xbf16> {uls.parameter}, %dl: tensor<f32>) -> (tensor<f32>, tensor<16x4xf32>)
      attributes {primal_arguments = 3, primal_results = 1, gradients = array<i64: 2>, cotangents = array<i64: 0>} {
    %wide = uls.convert %w : tensor<16x4xbf16> -> tensor<16x4xf32>
    %s = uls.reduce sum %wide dims [0, 1] : tensor<16x4xf32> -> tensor<f32>
    uls.result %s : tensor<f32>
    %d = uls.broadcast %dl dims [] : tensor<f32> -> tensor<16x4xf32>
    uls.yield %d : tensor<16x4xf32>
  }
  uls.forward @forward(%tokens: tensor<2x8xi32>, %targets: tensor<2x8xi32>) -> (tensor<f32>) {
    %w = uls.materialize @w : tensor<16x4xbf16>
    %loss = uls.call @model(%tokens, %targets, %w) : (tensor<2x8xi32>, tensor<2x8xi32>, tensor<16x4xbf16>) -> tensor<f32>
    uls.yield %loss : tensor<f32>
  }
}
