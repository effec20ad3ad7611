// A step of f16 blocks: the cotangent is scaled, norm and clipping are not, an overflow changes no state.
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 2 --dtype f16 --emit=train -o - 2>/dev/null | FileCheck %s
// CHECK: uls.state @model.embed_tokens.weight.master of @model.embed_tokens.weight role "master" : tensor<{{.*}}xf32>
// CHECK-LABEL: uls.step @step
// CHECK: %[[PER_TARGET:.*]] = uls.div
// CHECK: %[[SCALE:.*]] = uls.control "loss_scale"
// CHECK: %[[COTANGENT:.*]] = uls.mul %[[PER_TARGET]], %[[SCALE]]
// CHECK: uls.backward @head %{{.*}}(%[[COTANGENT]])
// CHECK: %[[SCALED:.*]] = uls.global_norm
// CHECK: %[[NORM:.*]] = uls.div %[[SCALED]], %[[SCALE]]
// CHECK: %[[CLIP:.*]] = uls.clip_coefficient %[[NORM]]
// CHECK: %[[COEFFICIENT:.*]] = uls.div %[[CLIP]], %[[SCALE]]
// CHECK: %[[FINITE:.*]] = uls.mask {{ *}}le %[[NORM]]
// CHECK: uls.update @adamw({{.*}}) scalars(%[[COEFFICIENT]]) if(%[[FINITE]] : tensor<f32>) parameters
// CHECK: uls.report "grad_norm" %[[NORM]]
// CHECK: uls.report "next_loss_scale"
// CHECK: uls.report "next_good_steps"
// CHECK: uls.report "overflowed"
// The loss is reported without the scale.
// CHECK: %[[LOSS:.*]] = uls.mul %{{.*}}, %[[PER_TARGET]]
// CHECK: uls.report "loss" %[[LOSS]]

// RUN: ulsc compile %S/../../golden/llama/config.json --seq 32 --batch 2 --dtype bf16 --emit=train -o - 2>/dev/null | FileCheck %s --check-prefix=BF16
// BF16-NOT: loss_scale
