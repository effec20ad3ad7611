// RUN: ulsc-opt %s --split-input-file --ulsc-shard-pipeline --ulsc-partition-pipeline | FileCheck %s

module {
dist.mesh @mesh <["a"=2, "b"=2]>
// CHECK-LABEL: uls.block @slice
uls.block @slice(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> (tensor<8x16xf32>) {
  // CHECK: dist.local_slice %{{.*}} dim 0 over @mesh ["a"]
  %0 = dist.reshard %x to <@mesh, [{"a"}, {}]> : tensor<8x16xf32>
  uls.yield %0 : tensor<8x16xf32>
}
// CHECK-LABEL: uls.block @gather
uls.block @gather(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"}, {}]>}) -> (tensor<8x16xf32>) {
  // CHECK: dist.all_gather %{{.*}} dims [0] over @mesh ["a", "b"] cause {{.*}} : (tensor<2x16xf32>) -> tensor<8x16xf32>
  %0 = dist.reshard %x to <@mesh, [{}, {}]> : tensor<8x16xf32>
  uls.yield %0 : tensor<8x16xf32>
}
// CHECK-LABEL: uls.block @exchange
uls.block @exchange(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<8x16xf32>) {
  // CHECK: dist.all_to_all %{{.*}} split [1] concat [0] over @mesh ["a"]
  %0 = dist.reshard %x to <@mesh, [{}, {"a"}]> : tensor<8x16xf32>
  uls.yield %0 : tensor<8x16xf32>
}
// CHECK-LABEL: uls.block @reorder
uls.block @reorder(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"}, {}]>}) -> (tensor<8x16xf32>) {
  // CHECK: dist.permute %{{.*}} pairs [0, 0, 2, 1, 1, 2, 3, 3] over @mesh ["a", "b"]
  %0 = dist.reshard %x to <@mesh, [{"b", "a"}, {}]> : tensor<8x16xf32>
  uls.yield %0 : tensor<8x16xf32>
}
// A pending sum that is wanted in pieces is scattered.
// CHECK-LABEL: uls.block @scatter
uls.block @scatter(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>},
                   %w: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<8x32xf32>) {
  // CHECK: dist.reduce_scatter sum %{{.*}} dims [0] over @mesh ["a"]
  %0 = uls.einsum "be,em->bm" %x, %w : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %1 = dist.reshard %0 to <@mesh, [{"a"}, {}]> : tensor<8x32xf32>
  uls.yield %1 : tensor<8x32xf32>
}
// Two users that want the same get one collective.
// CHECK-LABEL: uls.block @once
uls.block @once(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>}, %w: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  // CHECK-COUNT-1: dist.all_gather
  // CHECK-NOT: dist.all_gather
  %0, %1 = uls.rms_norm %x, %w epsilon 1.0e-5 : tensor<8x16xf32>, tensor<16xf32> -> tensor<8xf32>
  %2 = uls.softmax %x : tensor<8x16xf32>
  uls.yield %0, %2 : tensor<8x16xf32>, tensor<8x16xf32>
}
}
