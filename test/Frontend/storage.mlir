// What splits stored state over data axes, and what is refused.
// RUN: split-file %s %t
// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2,tp=2 --strategy zero2+tp --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=ZERO2
// ZERO2: storage of optimizer over dp (strategy zero2)
// ZERO2-NEXT: storage of gradients over dp (strategy zero2)
// ZERO2-NOT: storage of parameters
// ZERO2: uls.storage = {gradients = ["dp"], optimizer = ["dp"], origin = "strategy zero2", parameters = []}
// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2 --strategy fsdp --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=FSDP
// FSDP: storage of parameters over dp (strategy fsdp)
// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp_replicate=2,dp_shard=2 --strategy hsdp --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=HSDP
// HSDP: rule batch→dp_replicate+dp_shard (strategy hsdp)
// HSDP: storage of parameters over dp_shard (strategy hsdp)

// A recipe's own, over a preset's: what it does not name stays.
// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/own.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: storage of optimizer over dp (recipe line 2)
// OWN-NOT: storage of
// OWN: uls.storage = {gradients = [], optimizer = ["dp"], origin = "recipe line 2", parameters = []}
// Nothing is split over an axis of one rank.
// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=1 --strategy zero3 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=ONE
// ONE-NOT: storage

// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2 --strategy zero3+zero1 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: strategy zero3 and strategy zero1 both say how state is split; keep one of them
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/kind.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: kind.json:1:{{[0-9]+}}: error: "optimiser" is no kind of storage; expected one of optimizer, gradients, parameters, units; did you mean optimizer
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/order.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: order.json:2:{{[0-9]+}}: error: "storage" splits gradients over dp and optimizer over nothing; optimizer must be split over the same axes: write "optimizer": "dp"
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/lists.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=LISTS
// LISTS: error: "storage" splits gradients over dp+x and optimizer over x+dp; optimizer must be split over the same axes: write "optimizer": ["dp", "x"]
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/axis.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: axis.json:2:{{[0-9]+}}: error: "storage" splits optimizer over tp, which does not distribute the batch (batch is over dp), so that its ranks hold no pending sums of gradients; take an axis of batch
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/missing.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: missing.json:2:{{[0-9]+}}: error: the storage of optimizer names the mesh axis cp, which the mesh lacks
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/list.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: list.json:1:{{[0-9]+}}: error: "storage" is {{.*}}, expected an object as in {"optimizer": "dp"}
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2 --strategy zero3 --reshard-after-forward maybe --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=RESHARD
// RESHARD: error: --reshard-after-forward is "maybe", expected true, false or a number of ranks
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2 --strategy zero3 --reshard-after-forward flase --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=NEAR
// NEAR: error: --reshard-after-forward is "flase", expected true, false or a number of ranks; did you mean false
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2 --strategy zero3 --reshard-after-forward=2.5 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=FRACTION
// FRACTION: error: --reshard-after-forward is "2.5", expected true, false or a number of ranks
// Numbers that are no part of the ranks: none, fewer, others, more.
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 12 --mesh dp=6 --strategy zero3 --reshard-after-forward 0 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --reshard-after-forward is 0, expected a number of neighbours among the ranks that store parameters (dp=6): one of 1, 2, 3, 6; the nearest is 1
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 12 --mesh dp=6 --strategy zero3 --reshard-after-forward=-2 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: --reshard-after-forward is -2, {{.*}}: one of 1, 2, 3, 6; the nearest is 1
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 12 --mesh dp=6 --strategy zero3 --reshard-after-forward 4 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=DIVISOR
// DIVISOR: error: --reshard-after-forward is 4, {{.*}}: one of 1, 2, 3, 6; the nearest is 3
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 12 --mesh dp_replicate=2,dp_shard=6 --strategy hsdp --reshard-after-forward 12 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: error: --reshard-after-forward is 12, expected a number of neighbours among the ranks that store parameters (dp_shard=6): one of 1, 2, 3, 6; the nearest is 6
// Over two axes the minor one comes first.
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 12 --recipe %t/axes.json --reshard-after-forward 2 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=AXES
// AXES: error: --reshard-after-forward is 2, expected a number of neighbours among the ranks that store parameters (a=2 × b=3): one of 1, 3, 6; the nearest is 1
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2 --strategy zero2 --reshard-after-forward 2 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: error: --reshard-after-forward is 2, but parameters are not split, so that nothing is gathered; store them split, as zero3 and hsdp do, or take it out

// Units.
// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/units.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=UNITS
// UNITS: storage of parameters over dp (strategy zero3)
// UNITS-NEXT: unit model.layers.*.mlp.* (recipe line 2)
// UNITS: uls.units = ["model.layers.*.mlp.*"]
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/unmatched.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// UNMATCHED: unmatched.json:2:{{[0-9]+}}: error: "model.layers.*.mpl.up_proj.*" matches no parameter; did you mean model.layers.*.mlp.up_proj.weight
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/malformed.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=MALFORMED
// MALFORMED: malformed.json:2:{{[0-9]+}}: error: is 3, expected a text in quotes
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/text.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=UNITTEXT
// UNITTEXT: text.json:2:{{[0-9]+}}: error: "units" is "model.*", expected a list of name patterns, as ["model.layers.*.mlp.*"]

//--- own.json
{"mesh": {"dp": 2}, "strategy": "zero3",
 "storage": {"optimizer": "dp", "gradients": null, "parameters": null}}
//--- kind.json
{"mesh": {"dp": 2}, "strategy": "ddp", "storage": {"optimiser": "dp"}}
//--- lists.json
{"mesh": "dp=2,x=2", "rules": {"batch": ["dp", "x"]},
 "storage": {"optimizer": ["x", "dp"], "gradients": ["dp", "x"]}}
//--- order.json
{"mesh": {"dp": 2}, "strategy": "ddp",
 "storage": {"gradients": "dp"}}
//--- axis.json
{"mesh": {"dp": 2, "tp": 2}, "strategy": "ddp+tp",
 "storage": {"optimizer": "tp"}}
//--- missing.json
{"mesh": {"dp": 2}, "strategy": "ddp",
 "storage": {"optimizer": "cp"}}
//--- list.json
{"mesh": {"dp": 2}, "strategy": "ddp", "storage": ["dp"]}
//--- axes.json
{"mesh": {"a": 2, "b": 3}, "rules": {"batch": ["a", "b"]},
 "storage": {"optimizer": ["a", "b"], "gradients": ["a", "b"], "parameters": ["a", "b"]}}
//--- units.json
{"mesh": {"dp": 2}, "strategy": "zero3",
 "storage": {"units": ["model.layers.*.mlp.*"]}}
//--- unmatched.json
{"mesh": {"dp": 2}, "strategy": "zero3",
 "storage": {"units": ["model.layers.*.mpl.up_proj.*"]}}
//--- malformed.json
{"mesh": {"dp": 2}, "strategy": "zero3",
 "storage": {"units": [3]}}
//--- text.json
{"mesh": {"dp": 2}, "strategy": "zero3",
 "storage": {"units": "model.*"}}
