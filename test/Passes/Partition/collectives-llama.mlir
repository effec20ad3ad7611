// Exactly these collectives: per layer two all-reduces of activations forward and two backward, one more each way for embedding and head, the
// loss's row statistics; in the step the count of targets, each gradient over dp once, and in one all-reduce the norm, the loss and the stop flags.
// RUN: ulsc-opt %S/Inputs/llama.ir --ulsc-train-pipeline --ulsc-shard-pipeline --ulsc-stage-pipeline --ulsc-partition-pipeline | FileCheck %s

// CHECK-LABEL: uls.block @embed
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["tp"] cause "model.embed_tokens: sum over vocab, sharded by rule vocab{{[^"]*}}tp" : (tensor<4x8x16xf32>)
// CHECK-NOT: dist.
// CHECK-LABEL: uls.block @layer
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["tp"] cause "model.layers.*.self_attn.o_proj: contraction of heads, sharded by rule heads{{[^"]*}}tp" : (tensor<4x8x16xf32>)
// CHECK-NOT: dist.all
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["tp"] cause "model.layers.*.mlp.down_proj: contraction of mlp, sharded by rule mlp{{[^"]*}}tp" : (tensor<4x8x16xf32>)
// CHECK-NOT: dist.all
// CHECK: uls.result
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["tp"] cause "model.layers.*.mlp.{{up|gate}}_proj: contraction of mlp, sharded by rule mlp{{[^"]*}}tp" : (tensor<4x8x16xf32>)
// CHECK-NOT: dist.all
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["tp"] cause "model.layers.*.self_attn.{{[qkv]}}_proj: contraction of heads, sharded by rule heads{{[^"]*}}tp" : (tensor<4x8x16xf32>)
// CHECK-NOT: dist.all
// CHECK: uls.yield
// CHECK-LABEL: uls.block @head
// CHECK: dist.all_reduce max %{{.*}} over @mesh ["tp"] cause "loss: row statistics of the loss, vocabulary sharded by rule vocab{{[^"]*}}tp"
// CHECK: dist.all_reduce sum %{{.*}}, %{{.*}} over @mesh ["tp"]
// CHECK-NOT: dist.all
// CHECK: uls.result
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["tp"] cause "lm_head: contraction of vocab, sharded by rule vocab{{[^"]*}}tp" : (tensor<4x8x16xf32>)
// CHECK-NOT: dist.all
// CHECK-LABEL: uls.forward @forward
// CHECK: dist.all_reduce sum %{{.*}} over @mesh ["dp"] cause "loss: sum over batch, sharded by rule batch{{[^"]*}}dp" : (tensor<f32>)
// CHECK-LABEL: uls.step @step
// CHECK-SAME: tensor<2x4x8xi32>
// CHECK: %[[COUNT:.*]] = uls.count_valid
// CHECK-NEXT: dist.all_reduce sum %[[COUNT]] over @mesh ["dp"]
// CHECK-NOT: dist.
// CHECK: uls.microbatches
// CHECK-NOT: dist.
// CHECK: uls.yield
// 21 gradients.
// CHECK-COUNT-21: dist.all_reduce sum %{{.*}} over @mesh ["dp"]
// What is complete over one axis is contributed by the first rank along the other.
// CHECK: %[[SQUARES:.*]] = uls.square_sum
// CHECK: %[[STOP:.*]] = uls.control "stop_requested"
// CHECK: %[[T:.*]] = dist.axis_index @mesh ["tp"]
// CHECK: %[[LOSS:.*]] = uls.mask le %[[T]]
// CHECK: %[[D:.*]] = dist.axis_index @mesh ["dp"]
// CHECK: %[[NORM:.*]] = uls.mask le %[[D]], %{{.*}}, %[[SQUARES]]
// CHECK: %[[SUMS:.*]]:3 = dist.all_reduce sum %[[NORM]], %[[LOSS]], %[[STOP]] over @mesh ["dp", "tp"] cause "norm of the gradients that are sharded over tp; loss: sum over batch, sharded by rule batch{{[^"]*}}dp{{[^"]*}}; {{[^"]*}}: a sum over ranks"
// CHECK-NOT: dist.all
// CHECK: uls.update
// CHECK-NOT: dist.all
// CHECK: uls.report "loss" %[[SUMS]]#1
// CHECK-NEXT: uls.report "stop_count" %[[SUMS]]#2
// CHECK-NOT: dist.all
