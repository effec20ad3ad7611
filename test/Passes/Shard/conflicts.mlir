// RUN: ulsc-opt %s --verify-diagnostics --ulsc-shard-pipeline | FileCheck %s

// Both the contracted and a kept factor claim tp. Gathering the small operand is predicted to be faster than gathering the large one and reducing the
// result; the loser is recorded.
module {
dist.mesh @mesh <["tp"=2]>
// CHECK-LABEL: uls.block @contested
uls.block @contested(%x: tensor<8x1024xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
                     %w: tensor<1024x4096xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<8x4096xf32>) {
  // CHECK: uls.einsum {{.*}}dist.conflicts = ["operand 0 dimension 1 gives up tp (pin of argument 0 of @contested)"]{{.*}}{{\[}}{}, {"tp"}]
  // expected-remark @below {{operand 0 dimension 1 gives up tp (pin of argument 0 of @contested); predicted time decided}}
  %0 = uls.einsum "be,em->bm" %x, %w : tensor<8x1024xf32>, tensor<1024x4096xf32> -> tensor<8x4096xf32>
  uls.yield %0 : tensor<8x4096xf32>
}
}
