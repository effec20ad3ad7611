// RUN: ulsc-opt %s --split-input-file --verify-diagnostics

dist.mesh @mesh <["dp"=4]>
uls.block @twice(%x: tensor<4xf32>) -> (tensor<16xf32>) {
  // expected-error @+1 {{names axis "dp" twice}}
  %y = dist.all_gather %x dims [0] over @mesh ["dp", "dp:(2)2"] : (tensor<4xf32>) -> tensor<16xf32>
  uls.yield %y : tensor<16xf32>
}
