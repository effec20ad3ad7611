// RUN: ulsc-opt %s --split-input-file --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline | FileCheck %s

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

// -----

// What lies flat is split by elements, not by dimensions: a block of 15 elements in four chunks of 4.
module {
dist.mesh @mesh <["r"=2, "s"=4]>
// CHECK-LABEL: uls.block @flat_slice
uls.block @flat_slice(%x: tensor<3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> (tensor<3x5xf32>) {
  // CHECK: %[[FLAT:.*]] = uls.reshape %{{.*}} : tensor<3x5xf32> -> tensor<15xf32>
  // CHECK: %[[PADDED:.*]] = uls.pad %[[FLAT]] dim 0 low 0 : tensor<15xf32> -> tensor<16xf32>
  // CHECK: %[[CHUNK:.*]] = dist.local_slice %[[PADDED]] dim 0 over @mesh ["s"] : tensor<16xf32> -> tensor<4xf32>
  // CHECK: %[[GATHERED:.*]] = dist.all_gather %[[CHUNK]] dims [0] over @mesh ["s"] cause {{.*}} : (tensor<4xf32>) -> tensor<16xf32>
  // CHECK: %[[CUT:.*]] = uls.slice %[[GATHERED]] dim 0 offset 0 : tensor<16xf32> -> tensor<15xf32>
  // CHECK: uls.reshape %[[CUT]] : tensor<15xf32> -> tensor<3x5xf32>
  %0 = dist.reshard %x to <@mesh, [{}, {}], flat={"s"}> : tensor<3x5xf32>
  %1 = dist.reshard %0 to <@mesh, [{}, {}]> : tensor<3x5xf32>
  uls.yield %1 : tensor<3x5xf32>
}
// A sum over more axes than the chunks lie along: scattered first, then a chunk is reduced.
// CHECK-LABEL: uls.block @flat_scatter
uls.block @flat_scatter(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"r", "s"}]>},
                        %w: tensor<16x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"r", "s"}, {}]>}) -> (tensor<8x2xf32>) {
  // CHECK: uls.einsum
  // CHECK: dist.reduce_scatter sum %{{.*}} dims [0] over @mesh ["s"] cause {{.*}} : (tensor<16xf32>) -> tensor<4xf32>
  // CHECK: dist.all_reduce sum %{{.*}} over @mesh ["r"] cause {{.*}} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: dist.all_gather %{{.*}} dims [0] over @mesh ["s"] cause {{.*}} : (tensor<4xf32>) -> tensor<16xf32>
  %0 = uls.einsum "be,em->bm" %x, %w : tensor<8x16xf32>, tensor<16x2xf32> -> tensor<8x2xf32>
  %1 = dist.reshard %0 to <@mesh, [{}, {}], flat={"s"}> : tensor<8x2xf32>
  %2 = dist.reshard %1 to <@mesh, [{}, {}]> : tensor<8x2xf32>
  uls.yield %2 : tensor<8x2xf32>
}
}
