// Each rank of the pipeline gets a step with its chunks, and what others give or take is received and sent.
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 4 --microbatches 2 --emit=sharded --locations -o %t.mlir
// RUN: ulsc-opt %t.mlir --ulsc-stage-pipeline="schedule=gpipe" | FileCheck %s
// CHECK: uls.param @model.embed_tokens.weight {{.*}} {dist.stages = array<i64: 0>}
// CHECK: uls.param @lm_head.weight {{.*}} {dist.stages = array<i64: 1>}
// CHECK: uls.step @step.0({{.*}} attributes {dist.stage = 0 : i64
// CHECK-NOT: uls.microbatches
// CHECK: uls.call @embed(
// CHECK: %[[X:.*]]:2 = uls.call @layer(
// CHECK: %[[S:.*]] = dist.start
// CHECK-NEXT: dist.send %[[X]]#0 to 1 over @mesh ["pp"] cause "activation at layer.0 for stage 1"
// CHECK: uls.call @embed(
// CHECK: uls.call @layer(
// CHECK: dist.receive from 1 over @mesh ["pp"] cause "gradient at
// CHECK: uls.backward @layer
// CHECK: uls.backward @embed
// CHECK: dist.all_reduce {{.*}} over @mesh ["pp"]
// CHECK: uls.step @step.1({{.*}} attributes {dist.stage = 1 : i64
// CHECK: %[[R:.*]] = dist.start
// CHECK-NEXT: dist.receive from 0 over @mesh ["pp"] cause "activation at layer.0 from stage 0"
// CHECK: %[[Y:.*]] = dist.wait %[[R]]
// CHECK: uls.call @layer(%[[Y]],
// CHECK: uls.call @head(
// CHECK: uls.backward @head
// CHECK: dist.send {{.*}} to 0 over @mesh ["pp"] cause "gradient at
