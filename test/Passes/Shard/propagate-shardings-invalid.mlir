// RUN: ulsc-opt %s --split-input-file --verify-diagnostics --ulsc-shard-pipeline

module {
dist.mesh @mesh <["tp"=4]>
// expected-error @below {{2 annotation(s) do not fit the mesh #dist.mesh<["tp"=4]>}}
// expected-note @below {{pin of argument 0 of @odd: dimension 1 of size 6 does not divide into 4 shards; legal sizes are multiples of 4}}
uls.block @odd(%x: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
               // expected-note @below {{pin of argument 1 of @odd: axis "dp" is not on the mesh}}
               %y: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}) -> (tensor<8x6xf32>) {
  %0 = uls.add %x, %y : tensor<8x6xf32>, tensor<8x6xf32>
  uls.yield %0 : tensor<8x6xf32>
}
}

// -----

module {
dist.mesh @mesh <["dp"=2]>
// expected-error @below {{sharding: axis "dp" is used twice in one sharding}}
uls.param @w : tensor<4x4xf32> axes ["a", "b"] init <zeros> sharding <@mesh, [{"dp"}, {}], flat={"dp"}>
}

// -----

// A sharding names whole axes.
module {
dist.mesh @mesh <["dp"=4]>
// expected-error @below {{sharding: axis "dp:(2)2" is not on the mesh #dist.mesh<["dp"=4]>}}
uls.param @w : tensor<4x4xf32> axes ["a", "b"] init <zeros> sharding <@mesh, [{"dp:(2)2"}, {}]>
}
