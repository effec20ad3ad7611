// RUN: split-file %s %t
// RUN: not ulsc-interpret %t/nan.mlir --entry b 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: not ulsc-interpret %t/row.mlir --entry b 2>&1 | FileCheck %s --check-prefix=ROW
// RUN: not ulsc-interpret %t/reshard.mlir --entry b 2>&1 | FileCheck %s --check-prefix=RESHARD
// RUN: not ulsc-interpret %t/nan.mlir --entry c 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ulsc-interpret %t/nan.mlir 2>&1 | FileCheck %s --check-prefix=STEP
// NAN: 'uls.log' op gives a NaN in result 0 on rank 0
// ROW: 'uls.embedding' op looks up row {{[2-7]}} of a table of 2
// RESHARD: 'dist.reshard' op is left in a partitioned module
// NAME: has no function @c
// STEP: has no uls.step

//--- nan.mlir
uls.block @b(%x: tensor<8xf32>) -> (tensor<8xf32>) {
  %y = uls.log %x : tensor<8xf32>
  uls.yield %y : tensor<8xf32>
}

//--- row.mlir
uls.block @b(%i: tensor<8xi32> {uls.range = 8 : i64}, %t: tensor<2x3xf32>) -> (tensor<8x3xf32>) {
  %y = uls.embedding %i, %t : tensor<8xi32>, tensor<2x3xf32> -> tensor<8x3xf32>
  uls.yield %y : tensor<8x3xf32>
}

//--- reshard.mlir
module attributes {dist.partitioned} {
  dist.mesh @mesh <["tp"=2]>
  uls.block @b(%x: tensor<8xf32>) -> (tensor<8xf32>) {
    %y = dist.reshard %x to <@mesh, [{}]> : tensor<8xf32>
    uls.yield %y : tensor<8xf32>
  }
}
