// RUN: ulsc-opt %s -split-input-file -verify-diagnostics

exec.function @misaligned_buffer() attributes {entry} {
  // expected-error @below {{offset 100 is not a non-negative multiple of 64}}
  %b = exec.buffer temporaries offset(100) : memref<4xf32>
  exec.return
}

// -----

exec.function private @buffer_past_frame() attributes {frame_bytes = 64 : i64} {
  // expected-error @below {{ends at byte 128 of a frame of 64 bytes}}
  %b = exec.buffer temporaries offset(64) : memref<16xf32>
  exec.return
}

// -----

exec.function private @slot_of_other_shape(%b: memref<4x8xf32>, %i: index) {
  // expected-error @below {{result type 'memref<4xf32>' is not an entry of 'memref<4x8xf32>'}}
  %s = exec.slot %b[%i] : memref<4x8xf32> to memref<4xf32>
  exec.return
}

// -----

exec.function private @view_past_source(%b: memref<4x8xf32>) {
  // expected-error @below {{result 'memref<8xf32>' at element 25 does not lie within 'memref<4x8xf32>'}}
  %s = exec.view %b offset(25) : memref<4x8xf32> to memref<8xf32>
  exec.return
}

// -----

exec.function private @callee(%a: memref<4xf32>) attributes {frame_bytes = 64 : i64} {
  exec.return
}
exec.function private @call_with_other_type(%a: memref<8xf32>) {
  // expected-error @below {{passes 'memref<8xf32>' as argument 0 of @callee, which takes 'memref<4xf32>'}}
  exec.call @callee(%a) : memref<8xf32>
  exec.return
}

// -----

exec.function private @gemm_past_buffer(%a: memref<4x8xf32>) {
  // expected-error @below {{'exec.gemm' op a reaches element 39 of 'memref<4x8xf32>'}}
  exec.gemm "x" %a, %a outs(%a) sizes [1, 5, 4, 8] strides [0, 8, 1], [0, 1, 8], [0, 4, 1]
      : memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>
  exec.return
}

// -----

exec.function private @permute_without_destinations(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error @below {{needs destinations}}
  exec.collective_start permute group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<4xf32>
  exec.return
}

// -----

exec.function private @permute_to_one(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error @below {{sends to positions [0, 0], which is no permutation}}
  exec.collective_start permute destinations [0, 0] group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<4xf32>
  exec.return
}

// -----

exec.function private @gather_with_destinations(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{takes no destinations}}
  exec.collective_start all_gather destinations [1, 0] group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<8xf32>
  exec.return
}

// -----

exec.function private @gather_with_reduction(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{takes no reduction}}
  exec.collective_start all_gather reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<8xf32>
  exec.return
}

// -----

exec.function private @unknown_control_field(%a: memref<f32>) {
  // expected-error @below {{the control block has no field 'lr'; legal are seed step learning_rate}}
  exec.read_control "lr" to %a : memref<f32>
  exec.return
}

// -----

exec.function private @write_of_input_field(%a: memref<f32>) {
  // expected-error @below {{no field 'learning_rate' that a step writes; legal are loss grad_norm valid_count stop_count}}
  exec.write_control "learning_rate" from %a : memref<f32>
  exec.return
}

// -----

exec.kernel private @row_reduction(%x: tensor<8x4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> attributes {row_dims = 1 : i64} {
  // expected-error @below {{reduces row dimension 0 in a kernel that is split by rows}}
  %m = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %0 = arith.addf %a, %acc : f32
      linalg.yield %0 : f32
  } -> tensor<4xf32>
  exec.yield %m : tensor<4xf32>
}

// -----

exec.kernel private @bf16_sum(%x: tensor<8x4xbf16>, %z: tensor<8xbf16>) -> tensor<8xbf16> attributes {row_dims = 1 : i64} {
  // expected-error @below {{reduces into 'bf16'; f32, i32 and i64 are legal}}
  %m = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xbf16>) outs(%z : tensor<8xbf16>) {
    ^bb0(%a: bf16, %acc: bf16):
      %0 = arith.addf %a, %acc : bf16
      linalg.yield %0 : bf16
  } -> tensor<8xbf16>
  exec.yield %m : tensor<8xbf16>
}

// -----

exec.kernel private @copy(%x: tensor<8xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %unused: f32):
      linalg.yield %a : f32
  } -> tensor<8xf32>
  exec.yield %m : tensor<8xf32>
}
exec.function private @launch_with_other_type(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{input 0 is 'memref<4xf32>', but @copy has 'tensor<8xf32>' there}}
  exec.launch @copy ins(%a : memref<4xf32>) outs(%b : memref<8xf32>)
  exec.return
}

// -----

exec.kernel private @copy(%x: tensor<8xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %unused: f32):
      linalg.yield %a : f32
  } -> tensor<8xf32>
  exec.yield %m : tensor<8xf32>
}
exec.function private @launch_of_less_than_nothing(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{has extent -1 and grain 1; from 0 and from 1 are legal}}
  exec.launch @copy ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {extent = -1 : i64}
  exec.return
}

// -----

exec.function private @send_without_peer(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{needs peer}}
  exec.collective_start send group(0) identifier(0) slot(0) ins(%a) outs() : memref<4xf32>
  exec.return
}

// -----

exec.function private @receive_without_peer(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{needs peer}}
  exec.collective_start receive group(0) identifier(0) slot(0) ins() outs(%a) to memref<4xf32>
  exec.return
}

// -----

exec.function private @gather_with_peer(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{takes no peer}}
  exec.collective_start all_gather peer(1) group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<8xf32>
  exec.return
}

// -----

exec.function private @send_with_outputs(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{has 1 inputs and 1 outputs; a send takes inputs alone, a receive outputs alone}}
  exec.collective_start send peer(1) group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<8xf32>
  exec.return
}

// -----

exec.function private @send_of_nothing(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{has 0 inputs and 0 outputs; a send takes inputs alone, a receive outputs alone}}
  exec.collective_start send peer(1) group(0) identifier(0) slot(0) ins() outs()
  exec.return
}

// -----

exec.function private @receive_with_inputs(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{has 1 inputs and 0 outputs; a send takes inputs alone, a receive outputs alone}}
  exec.collective_start receive peer(1) group(0) identifier(0) slot(0) ins(%a) outs() : memref<4xf32>
  exec.return
}

// -----

exec.function private @send_with_reduction(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{takes neither a reduction nor destinations}}
  exec.collective_start send reduction(sum) peer(1) group(0) identifier(0) slot(0) ins(%a) outs() : memref<4xf32>
  exec.return
}

// -----

exec.function private @receive_with_destinations(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{takes neither a reduction nor destinations}}
  exec.collective_start receive destinations [1, 0] peer(1) group(0) identifier(0) slot(0) ins() outs(%a) to memref<4xf32>
  exec.return
}

// -----

exec.function private @send_to_nobody(%a: memref<4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{names position -1; positions count from 0}}
  exec.collective_start send peer(-1) group(0) identifier(0) slot(0) ins(%a) outs() : memref<4xf32>
  exec.return
}

// -----

// expected-error @below {{is one of family "scale" and of kind columns; families have kernels of kind rows}}
exec.kernel private @family_of_columns(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {kind = #exec.kernel_kind<columns>, row_dims = 0 : i64, family = "scale"} {
  %e = tensor.empty() : tensor<8xf32>
  exec.yield %e : tensor<8xf32>
}

// -----

// expected-error @below {{is one of family "scale", but its argument 0 is 'tensor<2x4xf32>'; tensors of rank 0 and 1 are legal in a family}}
exec.kernel private @family_of_matrices(%x: tensor<2x4xf32>) -> tensor<8xf32>
    attributes {row_dims = 1 : i64, family = "scale"} {
  %e = tensor.empty() : tensor<8xf32>
  exec.yield %e : tensor<8xf32>
}

// -----

// expected-error @below {{is one of family "scale", but its result 0 is 'tensor<8xf32>' after one of 4 elements; tensors of rank 1 have one size}}
exec.kernel private @family_of_two_sizes(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<8xf32>
    attributes {row_dims = 1 : i64, family = "scale"} {
  %e = tensor.empty() : tensor<8xf32>
  exec.yield %e : tensor<8xf32>
}

// -----

// expected-error @below {{is one of family "scale" and has no tensor of rank 1, whose size is what kernels of a family differ in}}
exec.kernel private @family_of_scalars(%x: tensor<f32>) -> tensor<f32>
    attributes {row_dims = 0 : i64, family = "scale"} {
  %e = tensor.empty() : tensor<f32>
  exec.yield %e : tensor<f32>
}

// -----

exec.function @before_the_arena() attributes {entry} {
  // expected-error @below {{offset -64 is not a non-negative multiple of 64}}
  %a = exec.buffer temporaries offset(-64) : memref<8xf32>
  exec.return
}

// -----

exec.function @past_any_memory() attributes {entry} {
  // expected-error @below {{offset 9223372036854775744 is past any memory}}
  %a = exec.buffer temporaries offset(9223372036854775744) : memref<8xf32>
  exec.return
}

// -----

exec.function private @before_its_source(%a: memref<8xf32>) {
  // expected-error @below {{at element -1 does not lie within}}
  %v = exec.view %a offset(-1) : memref<8xf32> to memref<4xf32>
  exec.return
}

// -----

exec.function private @wraps_around(%a: memref<8xf32>) {
  // expected-error @below {{at element 4611686018427387904 does not lie within}}
  %v = exec.view %a offset(4611686018427387904) : memref<8xf32> to memref<8xf32>
  exec.return
}

// -----

exec.function private @sizes_that_wrap(%a: memref<8x16xf32>, %b: memref<16x64xf32>, %c: memref<8x64xf32>) {
  // expected-error @below {{a_strides reach past any element}}
  exec.gemm "x" %a, %b outs(%c) sizes [1, 4611686018427387904, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
    : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>
  exec.return
}

// -----

exec.function private @results_on_one_another(%a: memref<8x16xf32>, %b: memref<16x64xf32>, %c: memref<8x64xf32>) {
  // expected-error @below {{c_strides has 0 for a size of 4}}
  exec.gemm "x" %a, %b outs(%c) sizes [4, 8, 64, 16] strides [0, 16, 1], [0, 64, 1], [0, 64, 1]
    : memref<8x16xf32>, memref<16x64xf32>, memref<8x64xf32>
  exec.return
}

// -----

// expected-error @below {{attribute 'family' failed to satisfy constraint: string attribute}}
exec.kernel private @number_for_a_family(%x: tensor<8xf32>) -> tensor<8xf32> attributes {row_dims = 1 : i64, family = 5} {
  exec.yield %x : tensor<8xf32>
}
