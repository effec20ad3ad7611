// RUN: ulsc-opt %s --ulsc-lower-pipeline | FileCheck %s
// RUN: ulsc-opt %s --ulsc-lower-pipeline --ulsc-attach-manifest | FileCheck %s --check-prefix=MANIFEST

// A whole step of three microbatches with a tied table, from the scheduled stage to offsets and the manifest.
// CHECK-LABEL: exec.function private @head.bwd.acc
// CHECK: exec.gemm "bsv,bse->ve" {{.*}} accumulate
// CHECK: exec.launch @rms_norm_grad_accumulate
// CHECK-LABEL: exec.function private @embed.bwd.acc
// CHECK-NOT: exec.buffer
// CHECK: exec.launch @embedding_grad
// CHECK-NEXT: exec.return
// CHECK-LABEL: exec.function @ulsc_step()
// CHECK-SAME: entry
// CHECK-SAME: frame_bytes
// CHECK: exec.buffer {{.*}} "tokens" offset(0) {exec.persistent}
// CHECK: scf.for
// CHECK: exec.slot
// CHECK: exec.call @head.bwd.acc({{.*}}) frame(
// CHECK: exec.write_control "loss"
// CHECK: exec.launch @sgd_128
// CHECK-NOT: exec.copy

// MANIFEST: exec.manifest = "{
// MANIFEST-SAME: ulsc.manifest/1
// MANIFEST-NOT: uls.param
module attributes {
  uls.model = {family = "toy", name = "toy", config = "{}", vocabulary = 16 : i64, weight_prefix = "", parameters = 384 : i64, flops_per_step = 1.0 : f64},
  uls.batch = {global = 6 : i64, micro = 2 : i64, microbatches = 3 : i64, seq = 8 : i64, data_axes = []},
  uls.gradient_dtype = f32} {
  uls.param @"emb" : tensor<16x8xf32> axes ["vocab", "embed"] init <normal, 0.02>
  uls.param @"norm" : tensor<8xf32> axes ["embed"] init <ones>
  uls.param @"up" : tensor<32x8xf32> axes ["mlp", "embed"] init <normal, 0.02>
  uls.state @"emb.moment1" of @"emb" role "moment1" : tensor<16x8xf32>
  uls.state @"norm.moment1" of @"norm" role "moment1" : tensor<8xf32>
  uls.block @embed.fwd(%tokens: tensor<2x8xi32>, %table: tensor<16x8xf32>) -> (tensor<2x8x8xf32>) {
    %0 = uls.embedding %tokens, %table : tensor<2x8xi32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    uls.yield %0 : tensor<2x8x8xf32>
  }
  uls.block @head.fwd(%x: tensor<2x8x8xf32>, %targets: tensor<2x8xi32>, %norm: tensor<8xf32>, %table: tensor<16x8xf32>)
      -> (tensor<f32>, tensor<2x8xf32>, tensor<2x8x8xf32>, tensor<2x8x16xf32>, tensor<2x8xf32>) {
    %y, %rstd = uls.rms_norm %x, %norm epsilon 1.0e-5 : tensor<2x8x8xf32>, tensor<8xf32> -> tensor<2x8xf32>
    %l = uls.einsum "bse,ve->bsv" %y, %table : tensor<2x8x8xf32>, tensor<16x8xf32> -> tensor<2x8x16xf32>
    %loss, %lse = uls.cross_entropy %l, %targets vocabulary 16 : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
    %sum = uls.reduce sum %loss dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    uls.yield %sum, %rstd, %y, %l, %lse : tensor<f32>, tensor<2x8xf32>, tensor<2x8x8xf32>, tensor<2x8x16xf32>, tensor<2x8xf32>
  }
  uls.block @head.bwd(%x: tensor<2x8x8xf32>, %targets: tensor<2x8xi32>, %norm: tensor<8xf32>, %table: tensor<16x8xf32>, %rstd: tensor<2x8xf32>, %y: tensor<2x8x8xf32>, %l: tensor<2x8x16xf32>, %lse: tensor<2x8xf32>, %d: tensor<f32>)
      -> (tensor<2x8x8xf32>, tensor<8xf32>, tensor<16x8xf32>) {
    %dl = uls.broadcast %d dims [] : tensor<f32> -> tensor<2x8xf32>
    %dlogits = uls.cross_entropy_grad %l, %targets, %lse, %dl vocabulary 16 : tensor<2x8x16xf32>, tensor<2x8xi32>, tensor<2x8xf32>
    %dy = uls.einsum "bsv,ve->bse" %dlogits, %table : tensor<2x8x16xf32>, tensor<16x8xf32> -> tensor<2x8x8xf32>
    %dt = uls.einsum "bsv,bse->ve" %dlogits, %y : tensor<2x8x16xf32>, tensor<2x8x8xf32> -> tensor<16x8xf32>
    %dx, %dn = uls.rms_norm_grad %x, %norm, %rstd, %dy : tensor<2x8x8xf32>, tensor<8xf32>, tensor<2x8xf32> -> tensor<8xf32>
    uls.yield %dx, %dn, %dt : tensor<2x8x8xf32>, tensor<8xf32>, tensor<16x8xf32>
  }
  uls.block @embed.bwd(%tokens: tensor<2x8xi32>, %dx: tensor<2x8x8xf32>) -> (tensor<16x8xf32>) {
    %0 = uls.embedding_grad %tokens, %dx : tensor<2x8xi32>, tensor<2x8x8xf32> -> tensor<16x8xf32>
    uls.yield %0 : tensor<16x8xf32>
  }
  uls.update_rule @sgd(%p: tensor<?xf32>, %g: tensor<?xf32>, %m: tensor<?xf32>, %clip: tensor<f32>) -> (tensor<?xf32>, tensor<?xf32>)
      attributes {roles = ["parameter", "gradient", "moment1"], updates = ["parameter", "moment1"]} {
    %lr = uls.control "learning_rate" : tensor<f32>
    %mu = uls.control "momentum" : tensor<f32>
    %scale = uls.control "parameter_lr_scale" : tensor<f32>
    %rate = uls.mul %lr, %scale : tensor<f32>, tensor<f32>
    %0 = uls.mul %g, %clip : tensor<?xf32>, tensor<f32>
    %1 = uls.mul %m, %mu : tensor<?xf32>, tensor<f32>
    %m1 = uls.add %1, %0 : tensor<?xf32>, tensor<?xf32>
    %2 = uls.mul %m1, %rate : tensor<?xf32>, tensor<f32>
    %3 = uls.sub %p, %2 : tensor<?xf32>, tensor<?xf32>
    uls.yield %3, %m1 : tensor<?xf32>, tensor<?xf32>
  }
  uls.step @step(%tokens: tensor<3x2x8xi32>, %targets: tensor<3x2x8xi32>) {
    %table = uls.materialize @"emb" : tensor<16x8xf32>
    %norm = uls.materialize @"norm" : tensor<8xf32>
    %count = uls.count_valid %targets : tensor<3x2x8xi32> -> tensor<f32>
    uls.report "valid_count" %count : tensor<f32>
    %stop = uls.control "stop_requested" : tensor<f32>
    uls.report "stop_count" %stop : tensor<f32>
    %one = uls.constant dense<1.0> : tensor<f32>
    %atleast = uls.maximum %count, %one : tensor<f32>, tensor<f32>
    %scale = uls.div %one, %atleast : tensor<f32>, tensor<f32>
    %z0 = uls.constant dense<0.0> : tensor<f32>
    %z1 = uls.constant dense<0.0> : tensor<16x8xf32>
    %z2 = uls.constant dense<0.0> : tensor<8xf32>
    %sum, %gt, %gn = uls.microbatches 3 iter (%z0, %z1, %z2) : (tensor<f32>, tensor<16x8xf32>, tensor<8xf32>) -> (tensor<f32>, tensor<16x8xf32>, tensor<8xf32>) {
    ^bb0(%m: i64, %s: tensor<f32>, %a: tensor<16x8xf32>, %b: tensor<8xf32>):
      %tok = uls.microbatch %tokens at %m : tensor<3x2x8xi32> -> tensor<2x8xi32>
      %tgt = uls.microbatch %targets at %m : tensor<3x2x8xi32> -> tensor<2x8xi32>
      %x = uls.call @embed.fwd(%tok, %table) : (tensor<2x8xi32>, tensor<16x8xf32>) -> tensor<2x8x8xf32>
      %loss, %rstd, %y, %l, %lse = uls.call @head.fwd(%x, %tgt, %norm, %table) : (tensor<2x8x8xf32>, tensor<2x8xi32>, tensor<8xf32>, tensor<16x8xf32>) -> (tensor<f32>, tensor<2x8xf32>, tensor<2x8x8xf32>, tensor<2x8x16xf32>, tensor<2x8xf32>)
      %dx, %dn, %dt = uls.call @head.bwd(%x, %tgt, %norm, %table, %rstd, %y, %l, %lse, %scale) : (tensor<2x8x8xf32>, tensor<2x8xi32>, tensor<8xf32>, tensor<16x8xf32>, tensor<2x8xf32>, tensor<2x8x8xf32>, tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8x8xf32>, tensor<8xf32>, tensor<16x8xf32>)
      %b1 = uls.accumulate %b, %dn : tensor<8xf32>, tensor<8xf32>
      %a1 = uls.accumulate %a, %dt : tensor<16x8xf32>, tensor<16x8xf32>
      %de = uls.call @embed.bwd(%tok, %dx) : (tensor<2x8xi32>, tensor<2x8x8xf32>) -> tensor<16x8xf32>
      %a2 = uls.accumulate %a1, %de : tensor<16x8xf32>, tensor<16x8xf32>
      %s1 = uls.accumulate %s, %loss : tensor<f32>, tensor<f32>
      uls.yield %s1, %a2, %b1 : tensor<f32>, tensor<16x8xf32>, tensor<8xf32>
    }
    %mean = uls.mul %sum, %scale : tensor<f32>, tensor<f32>
    uls.report "loss" %mean : tensor<f32>
    %sq = uls.square_sum %gt, %gn : tensor<16x8xf32>, tensor<8xf32> -> tensor<f32>
    %n = uls.sqrt %sq : tensor<f32>
    uls.report "grad_norm" %n : tensor<f32>
    %limit = uls.control "clip_grad" : tensor<f32>
    %clip = uls.clip_coefficient %n, %limit : tensor<f32>
    uls.update @sgd(%gt, %gn) scalars (%clip) parameters ["emb", "norm"] : (tensor<16x8xf32>, tensor<8xf32>), (tensor<f32>)
    uls.yield
  }
}
