// Moving a sharding by all_to_all, turning a ring, slicing and the position on an axis; each result is the argument again.
// RUN: split-file %s %t
// RUN: ulsc-interpret %t/source.mlir --entry b --compare %t/local.mlir | FileCheck %s
// CHECK: agrees

//--- source.mlir
uls.block @b(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<i64>) {
  %zero = uls.constant dense<3> : tensor<i64>
  uls.yield %x, %x, %x, %zero : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<i64>
}

//--- local.mlir
module attributes {dist.partitioned} {
  dist.mesh @mesh <["dp"=2, "tp"=2]>
  uls.block @b(%x: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
      -> (tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}]>},
          tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
          tensor<2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>}, tensor<i64>) {
    %a = dist.all_to_all %x split [1] concat [0] over @mesh ["dp"] : (tensor<2x6xf32>) -> tensor<4x3xf32>
    %p = dist.permute %x pairs [0, 1, 1, 0] over @mesh ["dp"] : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %q = dist.permute %p pairs [0, 1, 1, 0] over @mesh ["dp"] : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %s = dist.local_slice %x dim 1 over @mesh ["tp"] : tensor<2x6xf32> -> tensor<2x3xf32>
    %i = dist.axis_index @mesh ["dp", "tp"] : tensor<i64>
    %largest = dist.all_reduce max %i over @mesh ["dp", "tp"] : (tensor<i64>) -> tensor<i64>
    uls.yield %a, %q, %s, %largest : tensor<4x3xf32>, tensor<2x6xf32>, tensor<2x3xf32>, tensor<i64>
  }
}
