// Slicing and gathering over parts of an axis, of which the minor one joins neighbours; each result is the argument again. The largest position
// over a part tells its size.
// RUN: split-file %s %t
// RUN: ulsc-interpret %t/source.mlir --entry b --compare %t/local.mlir | FileCheck %s
// CHECK: agrees

//--- source.mlir
uls.block @b(%x: tensor<24xf32>) -> (tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<i64>, tensor<i64>) {
  %one = uls.constant dense<1> : tensor<i64>
  %three = uls.constant dense<3> : tensor<i64>
  uls.yield %x, %x, %x, %one, %three : tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<i64>, tensor<i64>
}

//--- local.mlir
module attributes {dist.partitioned} {
  dist.mesh @mesh <["dp"=4, "tp"=2]>
  uls.block @b(%x: tensor<24xf32>) -> (tensor<24xf32>, tensor<24xf32>, tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>}, tensor<i64>, tensor<i64>) {
    %half = dist.local_slice %x dim 0 over @mesh ["dp:(2)2"] : tensor<24xf32> -> tensor<12xf32>
    %minor = dist.all_gather %half dims [0] over @mesh ["dp:(2)2"] : (tensor<12xf32>) -> tensor<24xf32>
    %quarter = dist.local_slice %x dim 0 over @mesh ["dp:(1)2", "tp"] : tensor<24xf32> -> tensor<6xf32>
    %major = dist.all_gather %quarter dims [0] over @mesh ["dp:(1)2", "tp"] : (tensor<6xf32>) -> tensor<24xf32>
    %first = dist.local_slice %x dim 0 over @mesh ["dp:(1)2"] : tensor<24xf32> -> tensor<12xf32>
    %second = dist.local_slice %first dim 0 over @mesh ["dp:(2)2"] : tensor<12xf32> -> tensor<6xf32>
    %i = dist.axis_index @mesh ["dp:(2)2"] : tensor<i64>
    %one = dist.all_reduce max %i over @mesh ["dp"] : (tensor<i64>) -> tensor<i64>
    %j = dist.axis_index @mesh ["dp:(1)2", "tp"] : tensor<i64>
    %three = dist.all_reduce max %j over @mesh ["dp", "tp"] : (tensor<i64>) -> tensor<i64>
    uls.yield %minor, %major, %second, %one, %three : tensor<24xf32>, tensor<24xf32>, tensor<6xf32>, tensor<i64>, tensor<i64>
  }
}
