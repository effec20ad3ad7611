// RUN: sed 's/STORAGE/optimizer = ["dp"], gradients = [], parameters = []/' %s | ulsc-opt --ulsc-propagate-shardings --ulsc-shard-storage | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: sed 's/STORAGE/optimizer = ["dp"], gradients = ["dp"], parameters = []/' %s | ulsc-opt --ulsc-propagate-shardings --ulsc-shard-storage | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: sed 's/STORAGE/optimizer = ["dp"], gradients = ["dp"], parameters = ["dp"]/' %s | ulsc-opt --ulsc-propagate-shardings --ulsc-shard-storage | FileCheck %s --check-prefixes=CHECK,THREE

// States come first, then gradients, then parameters. What dp cuts already stays; what is not trained is stored split, too.
module attributes {uls.storage = {STORAGE, origin = "strategy"},
    uls.batch = {global = 4 : i64, micro = 2 : i64, microbatches = 1 : i64, seq = 4 : i64, data_axes = ["dp"]}} {
  dist.mesh @mesh <["dp"=2, "tp"=2]>
  // ONE: uls.param @w {{.*}}sharding <@mesh, [{"tp"}, {}]>
  // THREE: uls.param @w {{.*}}sharding <@mesh, [{"tp"}, {}], flat={"dp"}>
  uls.param @w : tensor<8x4xf32> axes ["vocab", "embed"] init <normal, 0.02> sharding <@mesh, [{"tp"}, {}]>
  // CHECK: uls.state @w.moment1 {{.*}}sharding <@mesh, [{"tp"}, {}], flat={"dp"}>
  uls.state @w.moment1 of @w role "moment1" : tensor<8x4xf32> sharding <@mesh, [{"tp"}, {}]>
  // CHECK: uls.param @cut {{.*}}sharding <@mesh, [{"dp"}]>
  uls.param @cut : tensor<8xf32> axes ["embed"] init <ones> sharding <@mesh, [{"dp"}]>
  // CHECK: uls.state @cut.moment1 {{.*}}sharding <@mesh, [{"dp"}]>
  uls.state @cut.moment1 of @cut role "moment1" : tensor<8xf32> sharding <@mesh, [{"dp"}]>
  // THREE: uls.param @frozen {{.*}}flat={"dp"}
  uls.param @frozen : tensor<8xf32> axes ["embed"] init <ones> sharding <@mesh, [{}]> {frozen}
  uls.update_rule @sgd(%p: tensor<?xf32>, %g: tensor<?xf32>, %m: tensor<?xf32>, %clip: tensor<f32>) -> (tensor<?xf32>, tensor<?xf32>)
      attributes {roles = ["parameter", "gradient", "moment1"], updates = ["parameter", "moment1"]} {
    uls.yield %p, %g : tensor<?xf32>, tensor<?xf32>
  }
  uls.step @step(%tokens: tensor<1x4x4xi32>, %targets: tensor<1x4x4xi32>) {
    %zero = uls.constant dense<0.0> : tensor<8x4xf32>
    %none = uls.constant dense<0.0> : tensor<8xf32>
    // CHECK: %[[LOOP:.*]]:2 = uls.microbatches
    %sum:2 = uls.microbatches 1 iter(%zero, %none) : (tensor<8x4xf32>, tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8xf32>) {
    ^bb0(%i: i64, %a: tensor<8x4xf32>, %b: tensor<8xf32>):
      %w = uls.materialize @w : tensor<8x4xf32>
      // ONE: uls.accumulate {{.*}}[#dist.sharding<@mesh, [{"tp"}, {}]
      // TWO: uls.accumulate {{.*}}[#dist.sharding<@mesh, [{"tp"}, {}], flat={"dp"}>]
      %next = uls.accumulate %a, %w : tensor<8x4xf32>, tensor<8x4xf32>
      uls.yield %next, %b : tensor<8x4xf32>, tensor<8xf32>
    }
    // ONE: %[[PART:.*]] = dist.reshard %[[LOOP]]#0 to <@mesh, [{"tp"}, {}], flat={"dp"}>
    // ONE: uls.global_norm %[[PART]], %[[LOOP]]#1
    // TWO-NOT: dist.reshard
    // TWO: uls.global_norm %[[LOOP]]#0, %[[LOOP]]#1
    %norm = uls.global_norm %sum#0, %sum#1 : tensor<8x4xf32>, tensor<8xf32> -> tensor<f32>
    // ONE: uls.update @sgd(%[[PART]], %[[LOOP]]#1)
    uls.update @sgd(%sum#0, %sum#1) scalars (%norm) parameters ["w", "cut"] : (tensor<8x4xf32>, tensor<8xf32>), (tensor<f32>)
    uls.yield
  }
}
