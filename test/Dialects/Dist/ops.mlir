// RUN: ulsc-opt %s | ulsc-opt | FileCheck %s

// CHECK: dist.mesh @mesh <["dp"=2, "tp"=2]>
dist.mesh @mesh <["dp"=2, "tp"=2]>

// CHECK-LABEL: uls.block @collectives
uls.block @collectives(%x: tensor<2x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp", ?}p0], partial=[sum:{"pp"}]>}) -> (tensor<2x16xf32>) {
  // CHECK: dist.all_reduce sum %{{.*}} over @mesh ["tp"] cause "why"
  %0 = dist.all_reduce sum %x over @mesh ["tp"] cause "why" : (tensor<2x16xf32>) -> tensor<2x16xf32>
  // CHECK: dist.all_gather %{{.*}} dims [1] over @mesh ["tp"]
  %1 = dist.all_gather %0 dims [1] over @mesh ["tp"] : (tensor<2x16xf32>) -> tensor<2x32xf32>
  %2 = dist.reduce_scatter sum %1 dims [1] over @mesh ["tp"] : (tensor<2x32xf32>) -> tensor<2x16xf32>
  %3 = dist.all_to_all %2 split [1] concat [0] over @mesh ["tp"] : (tensor<2x16xf32>) -> tensor<4x8xf32>
  %4 = dist.permute %3 pairs [0, 1, 1, 0] over @mesh ["tp"] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: dist.start
  %h = dist.start {
    %5 = dist.all_reduce sum %0 over @mesh ["dp"] : (tensor<2x16xf32>) -> tensor<2x16xf32>
    dist.yield %5 : tensor<2x16xf32>
  } : !dist.handle<tensor<2x16xf32>>
  %6 = dist.wait %h : !dist.handle<tensor<2x16xf32>> -> tensor<2x16xf32>
  %7 = dist.local_slice %1 dim 1 over @mesh ["tp"] : tensor<2x32xf32> -> tensor<2x16xf32>
  %8 = dist.reshard %7 to <@mesh, [{"dp"}, {}]> : tensor<2x16xf32>
  uls.yield %8 : tensor<2x16xf32>
}

// CHECK-LABEL: uls.block @transfers
uls.block @transfers(%x: tensor<2x16xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>) {
  // CHECK: dist.send %{{.*}}, %{{.*}} to 1 over @mesh ["dp"] cause "activation" : tensor<2x16xf32>, tensor<4xf32>
  dist.send %x, %y to 1 over @mesh ["dp"] cause "activation" : tensor<2x16xf32>, tensor<4xf32>
  // CHECK: %{{.*}}:2 = dist.receive from 0 over @mesh ["dp"] : tensor<2x16xf32>, tensor<4xf32>
  %0:2 = dist.receive from 0 over @mesh ["dp"] : tensor<2x16xf32>, tensor<4xf32>
  // CHECK: %[[HANDLE:.*]] = dist.start {
  // CHECK-NEXT: dist.send %{{.*}} to 0 over @mesh ["dp"] : tensor<4xf32>
  // CHECK: } : <>
  %h = dist.start {
    dist.send %0#1 to 0 over @mesh ["dp"] : tensor<4xf32>
    dist.yield
  } : <>
  // CHECK: dist.wait %[[HANDLE]] : <>
  dist.wait %h : <>
  uls.yield %0#1 : tensor<4xf32>
}

// CHECK-LABEL: uls.block @flat
// CHECK-SAME: #dist.sharding<@mesh, [{"tp"}, {}], flat={"dp"}>
uls.block @flat(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}], flat={"dp"}>}) -> (tensor<4x6xf32>) {
  // CHECK: dist.reshard %{{.*}} to <@mesh, [{}, {}], replicated={"tp"}, flat={"dp"}>
  %0 = dist.reshard %x to <@mesh, [{}, {}], replicated={"tp"}, flat={"dp"}> : tensor<4x6xf32>
  uls.yield %0 : tensor<4x6xf32>
}
