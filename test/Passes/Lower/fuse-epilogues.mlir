// RUN: ulsc-opt %s --split-input-file --ulsc-legalize-products --ulsc-fuse-epilogues | FileCheck %s

// What is before gelu is a second result. The bias' conversion moves to where the product is.
// CHECK-LABEL: uls.block @bias_gelu
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x8x16xbf16>, %[[W:[^:]*]]: tensor<16x32xbf16>, %[[B:[^:]*]]: tensor<32xf32>
// CHECK-NEXT: %[[C:.*]] = uls.convert %[[B]] : tensor<32xf32> -> tensor<32xbf16>
// CHECK-NEXT: %[[Y:.*]], %[[Z:.*]] = exec.contract "bse,em->bsm" %[[X]], %[[W]] sizes [1, 16, 32, 16]
// CHECK-SAME: strides [0, 16, 1], [0, 32, 1], [0, 32, 1] epilogue gelu(%[[C]] : tensor<32xbf16>)
// CHECK-SAME: -> tensor<2x8x32xbf16>, tensor<2x8x32xbf16>
// CHECK-NEXT: uls.yield %[[Y]], %[[Z]]
uls.block @bias_gelu(%x: tensor<2x8x16xbf16>, %w: tensor<16x32xbf16>, %b: tensor<32xf32>) -> (tensor<2x8x32xbf16>, tensor<2x8x32xbf16>) {
  %p = uls.einsum "bse,em->bsm" %x, %w : tensor<2x8x16xbf16>, tensor<16x32xbf16> -> tensor<2x8x32xbf16>
  %c = uls.convert %b : tensor<32xf32> -> tensor<32xbf16>
  %wide = uls.broadcast %c dims [2] : tensor<32xbf16> -> tensor<2x8x32xbf16>
  %z = uls.add %p, %wide : tensor<2x8x32xbf16>, tensor<2x8x32xbf16>
  %y = uls.gelu tanh %z : tensor<2x8x32xbf16>
  uls.yield %y, %z : tensor<2x8x32xbf16>, tensor<2x8x32xbf16>
}

// -----

// Nobody else uses what is before gelu, and the operands of the addition are the other way around.
// CHECK-LABEL: uls.block @gelu_alone
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = exec.contract {{.*}} epilogue gelu(
// CHECK-NEXT: uls.yield %[[Y]]
uls.block @gelu_alone(%x: tensor<16x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> (tensor<16x32xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %wide = uls.broadcast %b dims [1] : tensor<32xf32> -> tensor<16x32xf32>
  %z = uls.add %wide, %p : tensor<16x32xf32>, tensor<16x32xf32>
  %y = uls.gelu tanh %z : tensor<16x32xf32>
  uls.yield %y : tensor<16x32xf32>
}

// -----

// A sum that is read from memory: here by slices, as of queries, keys and values made at once.
// CHECK-LABEL: uls.block @bias
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x8x16xf32>, %[[W:[^:]*]]: tensor<16x3x2x4xf32>, %[[B:[^:]*]]: tensor<3x2x4xf32>
// CHECK-NEXT: %[[S:.*]] = exec.contract {{.*}} sizes [1, 16, 24, 16] {{.*}} epilogue bias(%[[B]] : tensor<3x2x4xf32>) {{.*}} -> tensor<2x8x3x2x4xf32>
// CHECK-NEXT: uls.slice %[[S]]
uls.block @bias(%x: tensor<2x8x16xf32>, %w: tensor<16x3x2x4xf32>, %b: tensor<3x2x4xf32>) -> (tensor<2x8x1x2x4xf32>) {
  %p = uls.einsum "bse,ethd->bsthd" %x, %w : tensor<2x8x16xf32>, tensor<16x3x2x4xf32> -> tensor<2x8x3x2x4xf32>
  %wide = uls.broadcast %b dims [2, 3, 4] : tensor<3x2x4xf32> -> tensor<2x8x3x2x4xf32>
  %s = uls.add %p, %wide : tensor<2x8x3x2x4xf32>, tensor<2x8x3x2x4xf32>
  %k = uls.slice %s dim 2 offset 1 : tensor<2x8x3x2x4xf32> -> tensor<2x8x1x2x4xf32>
  uls.yield %k : tensor<2x8x1x2x4xf32>
}

// -----

// A bias needs no rows of a multiple of 8, and a reshape before it is none of its business.
// CHECK-LABEL: uls.block @bias_of_odd_rows
// CHECK-NEXT: %[[S:.*]] = exec.contract {{.*}} sizes [1, 16, 5, 16] {{.*}} epilogue bias({{.*}} -> tensor<2x8x5xf32>
// CHECK-NEXT: uls.yield %[[S]]
uls.block @bias_of_odd_rows(%x: tensor<16x16xf32>, %w: tensor<16x5xf32>, %b: tensor<5xf32>) -> (tensor<2x8x5xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xf32>, tensor<16x5xf32> -> tensor<16x5xf32>
  %r = uls.reshape %p : tensor<16x5xf32> -> tensor<2x8x5xf32>
  %wide = uls.broadcast %b dims [2] : tensor<5xf32> -> tensor<2x8x5xf32>
  %s = uls.add %r, %wide : tensor<2x8x5xf32>, tensor<2x8x5xf32>
  uls.yield %s : tensor<2x8x5xf32>
}

// -----

// An addition that joins the kernel behind it costs nothing.
// CHECK-LABEL: uls.block @bias_that_joins_a_kernel
// CHECK: uls.einsum
// CHECK-NOT: exec.contract
uls.block @bias_that_joins_a_kernel(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> (tensor<16x16xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %wide = uls.broadcast %b dims [1] : tensor<16xf32> -> tensor<16x16xf32>
  %s = uls.add %p, %wide : tensor<16x16xf32>, tensor<16x16xf32>
  %y = uls.add %x, %s : tensor<16x16xf32>, tensor<16x16xf32>
  uls.yield %y : tensor<16x16xf32>
}

// -----

// The library's gelu is that of tanh, and what it stores beside has rows of a multiple of 8.
// CHECK-LABEL: uls.block @gelu_of_erf
// CHECK: uls.einsum
// CHECK: uls.gelu none
// CHECK-LABEL: uls.block @gelu_of_odd_rows
// CHECK: uls.einsum
// CHECK: uls.gelu tanh
// CHECK-LABEL: uls.block @gelu_of_another_type
// CHECK: uls.einsum
// CHECK: uls.gelu tanh
uls.block @gelu_of_erf(%x: tensor<16x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> (tensor<16x32xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %wide = uls.broadcast %b dims [1] : tensor<32xf32> -> tensor<16x32xf32>
  %z = uls.add %p, %wide : tensor<16x32xf32>, tensor<16x32xf32>
  %y = uls.gelu none %z : tensor<16x32xf32>
  uls.yield %y : tensor<16x32xf32>
}
uls.block @gelu_of_odd_rows(%x: tensor<16x16xf32>, %w: tensor<16x12xf32>, %b: tensor<12xf32>) -> (tensor<16x12xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xf32>, tensor<16x12xf32> -> tensor<16x12xf32>
  %wide = uls.broadcast %b dims [1] : tensor<12xf32> -> tensor<16x12xf32>
  %z = uls.add %p, %wide : tensor<16x12xf32>, tensor<16x12xf32>
  %y = uls.gelu tanh %z : tensor<16x12xf32>
  uls.yield %y : tensor<16x12xf32>
}
uls.block @gelu_of_another_type(%x: tensor<16x16xbf16>, %w: tensor<16x32xbf16>, %b: tensor<32xf32>) -> (tensor<16x32xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
  %wide = uls.broadcast %b dims [1] : tensor<32xf32> -> tensor<16x32xf32>
  %z = uls.add %p, %wide : tensor<16x32xf32>, tensor<16x32xf32>
  %y = uls.gelu tanh %z : tensor<16x32xf32>
  uls.yield %y : tensor<16x32xf32>
}

// -----

// CHECK-LABEL: uls.block @product_of_other_use
// CHECK: uls.einsum
// CHECK: uls.add
uls.block @product_of_other_use(%x: tensor<16x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %wide = uls.broadcast %b dims [1] : tensor<32xf32> -> tensor<16x32xf32>
  %s = uls.add %p, %wide : tensor<16x32xf32>, tensor<16x32xf32>
  uls.yield %s, %p : tensor<16x32xf32>, tensor<16x32xf32>
}

// CHECK-LABEL: uls.block @bias_of_columns
// CHECK: uls.einsum
uls.block @bias_of_columns(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> (tensor<16x16xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %wide = uls.broadcast %b dims [0] : tensor<16xf32> -> tensor<16x16xf32>
  %s = uls.add %p, %wide : tensor<16x16xf32>, tensor<16x16xf32>
  uls.yield %s : tensor<16x16xf32>
}

// CHECK-LABEL: uls.block @bias_of_part_of_a_row
// CHECK: uls.einsum
uls.block @bias_of_part_of_a_row(%x: tensor<16x16xf32>, %w: tensor<16x2x8xf32>, %b: tensor<8xf32>) -> (tensor<16x2x8xf32>) {
  %p = uls.einsum "se,ehd->shd" %x, %w : tensor<16x16xf32>, tensor<16x2x8xf32> -> tensor<16x2x8xf32>
  %wide = uls.broadcast %b dims [2] : tensor<8xf32> -> tensor<16x2x8xf32>
  %s = uls.add %p, %wide : tensor<16x2x8xf32>, tensor<16x2x8xf32>
  uls.yield %s : tensor<16x2x8xf32>
}

// CHECK-LABEL: uls.block @several_batches
// CHECK: uls.einsum
uls.block @several_batches(%x: tensor<2x16x16xf32>, %w: tensor<2x16x8xf32>, %b: tensor<8xf32>) -> (tensor<2x16x8xf32>) {
  %p = uls.einsum "bse,bem->bsm" %x, %w : tensor<2x16x16xf32>, tensor<2x16x8xf32> -> tensor<2x16x8xf32>
  %wide = uls.broadcast %b dims [2] : tensor<8xf32> -> tensor<2x16x8xf32>
  %s = uls.add %p, %wide : tensor<2x16x8xf32>, tensor<2x16x8xf32>
  uls.yield %s : tensor<2x16x8xf32>
}

// A bias that is made after the product can't be waited for there.
// CHECK-LABEL: uls.block @late_bias
// CHECK: uls.einsum
uls.block @late_bias(%x: tensor<16x16xf32>, %w: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> (tensor<16x8xf32>) {
  %p = uls.einsum "se,em->sm" %x, %w : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  %b = uls.reduce max %v dims [0] : tensor<16x8xf32> -> tensor<8xf32>
  %wide = uls.broadcast %b dims [1] : tensor<8xf32> -> tensor<16x8xf32>
  %s = uls.add %p, %wide : tensor<16x8xf32>, tensor<16x8xf32>
  uls.yield %s : tensor<16x8xf32>
}

// -----

// The gradient of the feed-forward part of a layer in one dtype: the bias' gradient comes with gelu's, and the weight's is a plain product.
// CHECK-LABEL: uls.block @mlp.bwd
// CHECK-SAME: %[[X:[^:]*]]: tensor<16x8xf32>, %[[DOWN:[^:]*]]: tensor<32x8xf32>, %[[Z:[^:]*]]: tensor<16x32xf32>, %[[DY:[^:]*]]: tensor<16x8xf32>
// CHECK-NEXT: %[[DZ:.*]], %[[DB:.*]] = exec.contract "se,me->sm" %[[DY]], %[[DOWN]] sizes [1, 16, 32, 8]
// CHECK-SAME: epilogue gelu_bias_grad(%[[Z]] : tensor<16x32xf32>) {{.*}} -> tensor<16x32xf32>, tensor<32xf32>
// CHECK-NEXT: %[[DW:.*]] = uls.einsum "se,sm->em" %[[X]], %[[DZ]]
// CHECK-NEXT: uls.yield %[[DZ]], %[[DB]], %[[DW]]
uls.block @mlp.bwd(%x: tensor<16x8xf32>, %down: tensor<32x8xf32>, %z: tensor<16x32xf32>, %dy: tensor<16x8xf32>)
    -> (tensor<16x32xf32>, tensor<32xf32>, tensor<8x32xf32>) {
  %dg = uls.einsum "se,me->sm" %dy, %down : tensor<16x8xf32>, tensor<32x8xf32> -> tensor<16x32xf32>
  %dz = uls.gelu_grad tanh %z, %dg : tensor<16x32xf32>
  %db = uls.reduce sum %dz dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  %dw = uls.einsum "se,sm->em" %x, %dz : tensor<16x8xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  uls.yield %dz, %db, %dw : tensor<16x32xf32>, tensor<32xf32>, tensor<8x32xf32>
}

// -----

// Gradients in f32 of a backward in bf16: the bias' gradient has the weight's dtype and comes with that.
// CHECK-LABEL: uls.block @mlp.bwd
// CHECK: %[[DZ:.*]] = exec.contract "bse,me->bsm" {{.*}} epilogue gelu_grad(%{{.*}} : tensor<2x8x32xbf16>) {{.*}} -> tensor<2x8x32xbf16>
// CHECK-NEXT: %[[DW:.*]], %[[DB:.*]] = exec.contract "bse,bsm->em" %{{.*}}, %[[DZ]] sizes [1, 8, 32, 16] {{.*}} epilogue bias_grad() {{.*}} -> tensor<8x32xf32>, tensor<32xf32>
// CHECK-NEXT: uls.yield %[[DZ]], %[[DB]], %[[DW]]
uls.block @mlp.bwd(%x: tensor<2x8x8xbf16>, %down: tensor<32x8xbf16>, %z: tensor<2x8x32xbf16>, %dy: tensor<2x8x8xbf16>)
    -> (tensor<2x8x32xbf16>, tensor<32xf32>, tensor<8x32xf32>) {
  %dg = uls.einsum "bse,me->bsm" %dy, %down : tensor<2x8x8xbf16>, tensor<32x8xbf16> -> tensor<2x8x32xbf16>
  %dz = uls.gelu_grad tanh %z, %dg : tensor<2x8x32xbf16>
  %db = uls.reduce sum %dz dims [0, 1] : tensor<2x8x32xbf16> -> tensor<32xf32>
  %dw = uls.einsum "bse,bsm->em" %x, %dz : tensor<2x8x8xbf16>, tensor<2x8x32xbf16> -> tensor<8x32xf32>
  uls.yield %dz, %db, %dw : tensor<2x8x32xbf16>, tensor<32xf32>, tensor<8x32xf32>
}

// -----

// gelu's gradient stays apart where someone else uses the cotangent, of the form with the error function, and of rows that are no multiple of 8.
// CHECK-LABEL: uls.block @cotangent_of_other_use
// CHECK: uls.einsum
// CHECK: uls.gelu_grad tanh
// CHECK-LABEL: uls.block @gradient_of_erf
// CHECK: uls.einsum
// CHECK: uls.gelu_grad none
// CHECK-LABEL: uls.block @gradient_of_odd_rows
// CHECK: uls.einsum
// CHECK: uls.gelu_grad tanh
uls.block @cotangent_of_other_use(%w: tensor<32x8xf32>, %z: tensor<16x32xf32>, %dy: tensor<16x8xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %dg = uls.einsum "se,me->sm" %dy, %w : tensor<16x8xf32>, tensor<32x8xf32> -> tensor<16x32xf32>
  %dz = uls.gelu_grad tanh %z, %dg : tensor<16x32xf32>
  uls.yield %dz, %dg : tensor<16x32xf32>, tensor<16x32xf32>
}
uls.block @gradient_of_erf(%w: tensor<32x8xf32>, %z: tensor<16x32xf32>, %dy: tensor<16x8xf32>) -> (tensor<16x32xf32>) {
  %dg = uls.einsum "se,me->sm" %dy, %w : tensor<16x8xf32>, tensor<32x8xf32> -> tensor<16x32xf32>
  %dz = uls.gelu_grad none %z, %dg : tensor<16x32xf32>
  uls.yield %dz : tensor<16x32xf32>
}
uls.block @gradient_of_odd_rows(%w: tensor<12x8xf32>, %z: tensor<16x12xf32>, %dy: tensor<16x8xf32>) -> (tensor<16x12xf32>) {
  %dg = uls.einsum "se,me->sm" %dy, %w : tensor<16x8xf32>, tensor<12x8xf32> -> tensor<16x12xf32>
  %dz = uls.gelu_grad tanh %z, %dg : tensor<16x12xf32>
  uls.yield %dz : tensor<16x12xf32>
}

// -----

// A weight with its output rows first has the transposed product, whose second operand is x.
// CHECK-LABEL: uls.block @output_rows_first
// CHECK: uls.reduce
// CHECK: uls.einsum
uls.block @output_rows_first(%x: tensor<16x8xf32>, %dy: tensor<16x32xf32>) -> (tensor<32xf32>, tensor<32x8xf32>) {
  %db = uls.reduce sum %dy dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  %dw = uls.einsum "se,so->oe" %x, %dy : tensor<16x8xf32>, tensor<16x32xf32> -> tensor<32x8xf32>
  uls.yield %db, %dw : tensor<32xf32>, tensor<32x8xf32>
}

// A product that adds to an accumulator has no epilogue.
// CHECK-LABEL: uls.block @accumulated
// CHECK: uls.reduce
// CHECK: uls.einsum
uls.block @accumulated(%x: tensor<16x8xf32>, %dy: tensor<16x32xf32>, %a: tensor<8x32xf32>) -> (tensor<32xf32>, tensor<8x32xf32>) {
  %db = uls.reduce sum %dy dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  %dw = uls.einsum "se,so->eo" %x, %dy : tensor<16x8xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %s = uls.accumulate %a, %dw : tensor<8x32xf32>, tensor<8x32xf32>
  uls.yield %db, %s : tensor<32xf32>, tensor<8x32xf32>
}

// CHECK-LABEL: uls.block @sum_of_another_type
// CHECK: uls.reduce
// CHECK: uls.einsum
uls.block @sum_of_another_type(%x: tensor<16x8xbf16>, %dy: tensor<16x32xbf16>) -> (tensor<32xbf16>, tensor<8x32xf32>) {
  %db = uls.reduce sum %dy dims [0] : tensor<16x32xbf16> -> tensor<32xbf16>
  %dw = uls.einsum "se,so->eo" %x, %dy : tensor<16x8xbf16>, tensor<16x32xbf16> -> tensor<8x32xf32>
  uls.yield %db, %dw : tensor<32xbf16>, tensor<8x32xf32>
}

// CHECK-LABEL: uls.block @sum_of_columns
// CHECK: uls.reduce
// CHECK: uls.einsum
uls.block @sum_of_columns(%x: tensor<32x8xf32>, %dy: tensor<32x32xf32>) -> (tensor<32xf32>, tensor<8x32xf32>) {
  %db = uls.reduce sum %dy dims [1] : tensor<32x32xf32> -> tensor<32xf32>
  %dw = uls.einsum "se,so->eo" %x, %dy : tensor<32x8xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
  uls.yield %db, %dw : tensor<32xf32>, tensor<8x32xf32>
}

// Someone wants the sum before the product is there.
// CHECK-LABEL: uls.block @early_sum
// CHECK: uls.reduce
// CHECK: uls.einsum
uls.block @early_sum(%x: tensor<16x8xf32>, %dy: tensor<16x32xf32>) -> (tensor<32xf32>, tensor<8x32xf32>) {
  %db = uls.reduce sum %dy dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  %n = uls.neg %db : tensor<32xf32>
  %dw = uls.einsum "se,so->eo" %x, %dy : tensor<16x8xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  uls.yield %n, %dw : tensor<32xf32>, tensor<8x32xf32>
}

// -----

// What the library multiplies into f32 alone is converted behind it, or added to the accumulator as it is.
// CHECK-LABEL: uls.block @types
// CHECK: %[[P:.*]] = uls.einsum "se,so->eo" %{{.*}} -> tensor<8x32xf32>
// CHECK-NEXT: %[[G:.*]] = uls.convert %[[P]] : tensor<8x32xf32> -> tensor<8x32xbf16>
// CHECK-NEXT: %[[Q:.*]] = uls.einsum "se,so->eo" %{{.*}} -> tensor<8x32xf32>
// CHECK-NEXT: %[[S:.*]] = uls.accumulate %{{.*}}, %[[Q]] : tensor<8x32xbf16>, tensor<8x32xf32>
// CHECK-NEXT: uls.einsum {{.*}} -> tensor<16x16xf16>
// CHECK-NEXT: uls.yield %[[G]], %[[S]]
uls.block @types(%x: tensor<16x8xf16>, %y: tensor<16x8xf16>, %dy: tensor<16x32xf16>, %a: tensor<8x32xbf16>)
    -> (tensor<8x32xbf16>, tensor<8x32xbf16>, tensor<16x16xf16>) {
  %g = uls.einsum "se,so->eo" %x, %dy : tensor<16x8xf16>, tensor<16x32xf16> -> tensor<8x32xbf16>
  %p = uls.einsum "se,so->eo" %y, %dy : tensor<16x8xf16>, tensor<16x32xf16> -> tensor<8x32xbf16>
  %s = uls.accumulate %a, %p : tensor<8x32xbf16>, tensor<8x32xbf16>
  %own = uls.einsum "se,te->st" %x, %y : tensor<16x8xf16>, tensor<16x8xf16> -> tensor<16x16xf16>
  uls.yield %g, %s, %own : tensor<8x32xbf16>, tensor<8x32xbf16>, tensor<16x16xf16>
}
