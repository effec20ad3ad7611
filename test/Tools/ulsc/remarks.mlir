// What shardings gave up against each other is shown to who asks.
// RUN: ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --mesh tp=2 --shard 'model.layers.*.mlp.down_proj.weight=tp,-' --emit=sharded -o /dev/null 2>&1 | FileCheck %s --check-prefix=HIDDEN
// HIDDEN-NOT: gives up
// HIDDEN: 6 remarks not shown; --remarks shows them
// RUN: ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --mesh tp=2 --shard 'model.layers.*.mlp.down_proj.weight=tp,-' --emit=sharded -o /dev/null --remarks 2>&1 | FileCheck %s --check-prefix=SHOWN
// RUN: ulsc explain %S/../../../examples/llama-small --seq 32 --batch 8 --mesh tp=2 --shard 'model.layers.*.mlp.down_proj.weight=tp,-' 2>&1 | FileCheck %s --check-prefix=SHOWN
// SHOWN: model.layers.*.mlp.down_proj: remark: operand 0 dimension 2 gives up tp (rule mlp→tp (strategy tp)); predicted time decided
// SHOWN-NOT: not shown
// Without a conflict there is nothing to say.
// RUN: ulsc compile %S/../../../examples/llama-small --seq 32 --batch 8 --mesh dp=2 --emit=sharded -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE-NOT: remark
