// RUN: ulsc-opt %s --split-input-file --verify-diagnostics

uls.block @mask_shape(%x: tensor<4xf32>, %y: tensor<3xf32>) -> (tensor<4xf32>) {
  // expected-error@+1 {{compares 'tensor<3xf32>' to mask 'tensor<4xf32>'; shapes must agree, or it be a scalar}}
  %a = uls.mask lt %x, %y, %x : tensor<4xf32>, tensor<3xf32>, tensor<4xf32>
  uls.yield %a : tensor<4xf32>
}

// -----

uls.block @select_condition(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error@+1 {{has condition 'tensor<4xf32>'; it must be a rank-0 float}}
  %a = uls.select %x, %x, %x : tensor<4xf32>, tensor<4xf32>
  uls.yield %a : tensor<4xf32>
}

// -----

uls.block @mask_types(%x: tensor<4xf32>, %y: tensor<4xbf16>) -> (tensor<4xf32>) {
  // expected-error@+1 {{compares element types 'f32' and 'bf16'; convert one of them}}
  %a = uls.mask lt %x, %y, %x : tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>
  uls.yield %a : tensor<4xf32>
}

// -----

uls.block @max_grad(%x: tensor<4x8xf32>, %m: tensor<8xf32>) -> (tensor<4x8xf32>) {
  // expected-error@+1 {{has maxima of type 'tensor<8xf32>', expected 'tensor<4xf32>'}}
  %b = uls.reduce_max_grad %x, %m, %m dims [1] : tensor<4x8xf32>, tensor<8xf32>
  uls.yield %b : tensor<4x8xf32>
}

// -----

// expected-error@+1 {{external dimensions are lists of integers, found [1.000000e+00]}}
uls.param @p : tensor<4x8xf32> axes ["mlp", "embed"] init <zeros> external [[0], [1.0]]
