// RUN: not ulsc-opt %s --ulsc-annotate="mesh=pp=2,dp=2" 2>&1 | FileCheck %s --check-prefix=PP
// PP: error: {{.*}}mesh axis pp (pipeline parallelism) is not supported yet; supported are dp, dp_replicate, dp_shard and tp
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=cp=2" 2>&1 | FileCheck %s --check-prefix=CP
// CP: error: {{.*}}mesh axis cp (context parallelism) is not supported yet
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=sp=2" 2>&1 | FileCheck %s --check-prefix=SP
// SP: error: {{.*}}mesh axis sp: sp is never an axis of its own, it shares tp; as mesh tp=2 with strategy tp+sp
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=2,dp=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: {{.*}}mesh axis dp is given twice
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: {{.*}}mesh axis dp has size "0", expected a whole number from 1 to 16777216, or * for the remaining devices
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp" 2>&1 | FileCheck %s --check-prefix=PART
// PART: error: {{.*}}mesh "dp" has the part "dp", expected AXIS=SIZE as in dp=2,tp=2
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=*" 2>&1 | FileCheck %s --check-prefix=REST
// REST: error: {{.*}}mesh axis dp has size *, which needs --devices
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=*,tp=2 devices=7" 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: error: {{.*}}--devices 7 is no multiple of the other axes' product 2; the nearest that is one is 6
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=4 devices=8" 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: error: {{.*}}the mesh has 4 devices, but --devices says 8
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=2,tp=2 mesh-order=tp" 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: {{.*}}the mesh order "tp" must name each axis of the mesh once, as in dp,tp
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=2 strategy=cp" 2>&1 | FileCheck %s --check-prefix=LATER
// LATER: error: {{.*}}strategy cp (context parallelism) is not supported yet; supported are fsdp, ddp, hsdp, sp, tp, zero1, zero2, zero3, joined by +
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=2 strategy=ddp+" 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: {{.*}}a strategy joined by + is empty; as in ddp+tp
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=2 strategy=dpp" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: {{.*}}strategy "dpp" is unknown; supported are fsdp, ddp, hsdp, sp, tp, zero1, zero2, zero3, joined by +; did you mean ddp
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=2 strategy=ddp+tp" 2>&1 | FileCheck %s --check-prefix=NEEDS
// NEEDS: error: {{.*}}strategy tp needs the mesh axis tp, which the mesh lacks
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=2,tp=2 strategy=tp" 2>&1 | FileCheck %s --check-prefix=UNUSED
// UNUSED: error: {{.*}}mesh axis dp=2 is used by no rule and no pin, so that its ranks would all do the same; add ddp to the strategy
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp_replicate=2,dp_shard=2" 2>&1 | FileCheck %s --check-prefix=HYBRID
// HYBRID: error: {{.*}}mesh axis dp_replicate=2 is used by no rule and no pin, so that its ranks would all do the same; add hsdp to the strategy
// HYBRID: error: {{.*}}mesh axis dp_shard=2 is used by no rule and no pin, so that its ranks would all do the same; add hsdp to the strategy
// RUN: not ulsc-opt %s --ulsc-annotate="mesh=dp=2 strategy=hsdp" 2>&1 | FileCheck %s --check-prefix=HSDP
// HSDP: error: {{.*}}strategy hsdp needs the mesh axis dp_replicate, which the mesh lacks

uls.param @up.weight : tensor<8x8xf32> axes ["mlp", "embed"] init <normal, 0.02>
