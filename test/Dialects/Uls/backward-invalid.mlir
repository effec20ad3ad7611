// RUN: ulsc-opt %s --split-input-file --verify-diagnostics

uls.block @joint(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
uls.forward @gradient_that_is_none(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y, %r = uls.call @joint(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // expected-error @+1 {{gives gradient 2 of 2}}
  %0, %s = uls.backward @joint %r (%y) gives [2] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  uls.yield %y : tensor<4xf32>
}

// -----

uls.block @joint(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
uls.forward @gradient_twice(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y, %r = uls.call @joint(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // expected-error @+1 {{gives gradient 1 twice}}
  %0:2, %s = uls.backward @joint %r (%y) gives [1, 1] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, !uls.residuals)
  uls.yield %y : tensor<4xf32>
}

// -----

uls.block @joint(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
uls.forward @gradient_of_the_first_half(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y, %r = uls.call @joint(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %0, %s = uls.backward @joint %r (%y) gives [0] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // expected-error @+1 {{gives gradient 0, which its first half gives}}
  %1 = uls.backward @joint %s () gives [0] : () -> tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}

// -----

uls.block @joint(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
uls.forward @second_half_without_a_list(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y, %r = uls.call @joint(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %0, %s = uls.backward @joint %r (%y) gives [0] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // expected-error @+1 {{is one half of a backward; name the gradients that it gives}}
  %1:2 = uls.backward @joint %s () : () -> (tensor<4xf32>, tensor<4xf32>)
  uls.yield %y : tensor<4xf32>
}

// -----

uls.block @joint(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
uls.forward @first_half_without_a_list(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y, %r = uls.call @joint(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // expected-error @+1 {{is one half of a backward; name the gradients that it gives}}
  %1:2, %s = uls.backward @joint %r (%y) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, !uls.residuals)
  uls.yield %y : tensor<4xf32>
}

// -----

uls.block @joint(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
uls.forward @second_half_that_leaves(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y, %r = uls.call @joint(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %0, %s = uls.backward @joint %r (%y) gives [0] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // expected-error @+1 {{is a second half, which leaves nothing}}
  %1, %t = uls.backward @joint %s () gives [1] : () -> (tensor<4xf32>, !uls.residuals)
  uls.yield %y : tensor<4xf32>
}

// -----

uls.block @joint(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
uls.forward @second_half_with_cotangents(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y, %r = uls.call @joint(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %0, %s = uls.backward @joint %r (%y) gives [0] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // expected-error @+1 {{has 1 cotangent, expected 0}}
  %1 = uls.backward @joint %s (%y) gives [1] : (tensor<4xf32>) -> tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}

// -----

uls.block @joint(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
uls.forward @second_half_of_another(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>, %c: !uls.context, %x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y, %r = uls.call @joint(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  %0, %s = uls.backward @joint %r (%y) gives [0] : (tensor<4xf32>) -> (tensor<4xf32>, !uls.residuals)
  // expected-error @+1 {{goes on with what the first half of @joint left, not that of @other}}
  %1 = uls.backward @other %s () gives [1] : () -> tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}
uls.block @other(%x: tensor<4xf32>, %w: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {primal_arguments = 2, primal_results = 1, gradients = array<i64: 0, 1>, cotangents = array<i64: 0>} {
  %y = uls.mul %x, %w : tensor<4xf32>, tensor<4xf32>
  uls.result %y : tensor<4xf32>
  uls.yield %dy, %dy : tensor<4xf32>, tensor<4xf32>
}
