// RUN: ulsc-opt %s --split-input-file --verify-diagnostics

dist.mesh @mesh <["tp"=4]>
uls.block @outside(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{names position 3 of 2}}
  %y = dist.permute %x pairs [0, 3, 3, 0] over @mesh ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}

// -----

dist.mesh @mesh <["tp"=2]>
uls.block @twice(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{names position 1 or 0 twice}}
  %y = dist.permute %x pairs [0, 0, 1, 0] over @mesh ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}
