// RUN: ulsc-opt %s --ulsc-lower-state | FileCheck %s

uls.param @a : tensor<4x8xbf16> axes ["a", "b"] init <normal, 0.02>
uls.param @b : tensor<6x8xbf16> axes ["a", "b"] init <normal, 0.02>
uls.param @c : tensor<8x4xbf16> axes ["a", "b"] init <normal, 0.02>
uls.param @d : tensor<16xbf16> axes ["a"] init <ones>

// Which number of the random stream an element gets is in the kernel: it depends on all sizes of the parameter but the first.
// CHECK: exec.kernel private @sgd_32({{.*}}family = "sgd tensor<?xbf16>, tensor<?xf32>, tensor<f32> places ?x8 strides 8x1"
// CHECK: exec.kernel private @sgd_48({{.*}}family = "sgd tensor<?xbf16>, tensor<?xf32>, tensor<f32> places ?x8 strides 8x1"
// CHECK: exec.kernel private @sgd_32_{{.*}}family = "sgd tensor<?xbf16>, tensor<?xf32>, tensor<f32> places ?x4 strides 4x1"
// CHECK: exec.kernel private @sgd_16({{.*}}family = "sgd tensor<?xbf16>, tensor<?xf32>, tensor<f32> places ? strides 1"
uls.update_rule @sgd(%p: tensor<?xf32>, %g: tensor<?xf32>, %clip: tensor<f32>) -> (tensor<?xf32>)
    attributes {roles = ["parameter", "gradient"], updates = ["parameter"]} {
  %0 = uls.mul %g, %clip : tensor<?xf32>, tensor<f32>
  %1 = uls.sub %p, %0 : tensor<?xf32>, tensor<?xf32>
  uls.yield %1 : tensor<?xf32>
}

uls.step @step(%tokens: tensor<1x4x8xi32>, %targets: tensor<1x4x8xi32>) {
  %a = uls.materialize @a : tensor<4x8xf32>
  %b = uls.materialize @b : tensor<6x8xf32>
  %c = uls.materialize @c : tensor<8x4xf32>
  %d = uls.materialize @d : tensor<16xf32>
  %count = uls.count_valid %tokens : tensor<1x4x8xi32> -> tensor<f32>
  uls.update @sgd(%a, %b, %c, %d) scalars(%count) stochastic parameters ["a", "b", "c", "d"]
      : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<8x4xf32>, tensor<16xf32>), (tensor<f32>)
  uls.yield
}
