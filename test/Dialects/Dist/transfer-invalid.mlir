// RUN: ulsc-opt %s --split-input-file --verify-diagnostics

dist.mesh @mesh <["pp"=2]>
uls.block @send_of_nothing(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{has no values}}
  "dist.send"() {peer = 1 : i64, mesh = @mesh, axes = ["pp"]} : () -> ()
  uls.yield %x : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp"=2]>
uls.block @receive_of_nothing(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{has no values}}
  "dist.receive"() {peer = 1 : i64, mesh = @mesh, axes = ["pp"]} : () -> ()
  uls.yield %x : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp"=2]>
uls.block @send_to_nobody(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{names position -1; positions count from 0}}
  dist.send %x to -1 over @mesh ["pp"] : tensor<4xf32>
  uls.yield %x : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp"=2]>
uls.block @receive_from_nobody(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{names position -2; positions count from 0}}
  %y = dist.receive from -2 over @mesh ["pp"] : tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp"=2]>
uls.block @send_over_an_axis_twice(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{names axis "pp" twice}}
  dist.send %x to 1 over @mesh ["pp", "pp"] : tensor<4xf32>
  uls.yield %x : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp"=2]>
uls.block @receive_over_an_axis_twice(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{names axis "pp" twice}}
  %y = dist.receive from 1 over @mesh ["pp", "pp"] : tensor<4xf32>
  uls.yield %y : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp"=2]>
uls.block @handle_of_a_send_with_results(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{that does not match the collective's results}}
  %h = dist.start {
    dist.send %x to 1 over @mesh ["pp"] : tensor<4xf32>
    dist.yield
  } : <tensor<4xf32>>
  uls.yield %x : tensor<4xf32>
}
