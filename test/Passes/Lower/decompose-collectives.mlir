// RUN: ulsc-opt %s --ulsc-decompose-model-ops | FileCheck %s
// RUN: ulsc-opt %s --ulsc-decompose-model-ops --ulsc-form-kernels --ulsc-assign-buffers | FileCheck %s --check-prefix=EXEC

module attributes {dist.partitioned} {
dist.mesh @mesh <["tp"=2]>
// The runtime exchanges contiguous blocks: what leaves along an inner dimension is transposed, and so is what arrives.
// CHECK-LABEL: uls.block @inner
// CHECK: %[[PARTS:.*]] = uls.reshape %arg0 : tensor<4x3x6xf32> -> tensor<4x3x2x3xf32>
// CHECK: linalg.generic {{.*}} ins(%[[PARTS]] : tensor<4x3x2x3xf32>)
// CHECK: %[[BLOCKS:.*]] = uls.reshape %{{.*}} : tensor<2x4x3x3xf32> -> tensor<2x1x4x3x3xf32>
// CHECK: %[[MOVED:.*]] = dist.all_to_all %[[BLOCKS]] split [0] concat [1] over @mesh ["tp"] : (tensor<2x1x4x3x3xf32>) -> tensor<1x2x4x3x3xf32>
// CHECK: %[[FRONT:.*]] = uls.reshape %[[MOVED]] : tensor<1x2x4x3x3xf32> -> tensor<2x4x3x3xf32>
// CHECK: linalg.generic {{.*}} ins(%[[FRONT]] : tensor<2x4x3x3xf32>)
// CHECK: uls.reshape %{{.*}} : tensor<4x2x3x3xf32> -> tensor<4x6x3xf32>
// CHECK: uls.yield
uls.block @inner(%x: tensor<4x3x6xf32>) -> (tensor<4x6x3xf32>) {
  %y = dist.all_to_all %x split [2] concat [1] over @mesh ["tp"] : (tensor<4x3x6xf32>) -> tensor<4x6x3xf32>
  uls.yield %y : tensor<4x6x3xf32>
}
// Outermost dimensions stay as they are.
// CHECK-LABEL: uls.block @outermost
// CHECK-NEXT: dist.all_to_all %arg0 split [1] concat [0]
// CHECK-NEXT: uls.yield
uls.block @outermost(%x: tensor<1x6x3xf32>) -> (tensor<2x3x3xf32>) {
  %y = dist.all_to_all %x split [1] concat [0] over @mesh ["tp"] : (tensor<1x6x3xf32>) -> tensor<2x3x3xf32>
  uls.yield %y : tensor<2x3x3xf32>
}
// EXEC-LABEL: exec.function private @swap
// EXEC: exec.collective_start permute destinations [1, 0] group(
// EXEC: exec.collective_wait
uls.block @swap(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>) {
  %y = dist.permute %x pairs [1, 0, 0, 1] over @mesh ["tp"] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  uls.yield %y : tensor<4x3xf32>
}
}
