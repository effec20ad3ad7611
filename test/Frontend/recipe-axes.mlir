// What a recipe says about mesh axes is refused where it stands.
// RUN: split-file %s %t

// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/repeated.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=REPEATED
// REPEATED-DAG: repeated.json:2:12: error: the rule for batch names the mesh axis dp twice; keep it once
// REPEATED-DAG: repeated.json:2:12: error: the rule for batch names the mesh axis tp 3 times; keep it once
// REPEATED-DAG: repeated.json:3:16: error: the pin of model.embed* names the mesh axis tp twice; keep it once
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh tp=2 --shard 'lm_head.weight=tp+tp,-' --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=SHARD
// SHARD: command line: error: the pin of lm_head.weight names the mesh axis tp twice; keep it once

// Ranks that would all do the same are refused, whatever rule names their axis.
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/seq.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=SEQ
// SEQ: seq.json:1:{{[0-9]+}}: error: rule seq→tp (recipe line 1) cuts the sequence over tp, which no rule for heads, mlp or vocab names; sequence parallelism goes with tensor parallelism: add tp to the strategy, as in tp+sp
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2,tp=2 --strategy ddp+sp --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: error: rule seq→tp (strategy sp) cuts the sequence over tp, which no rule for heads, mlp or vocab names; sequence parallelism goes with tensor parallelism: add tp to the strategy, as in tp+sp
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2,tp=2 --recipe %t/seq-data.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=DATA
// DATA: seq-data.json:1:{{[0-9]+}}: error: rule seq→dp (recipe line 1) and rule batch→dp (strategy ddp) both cut the activations over dp; take one of them out
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 9 --batch 8 --mesh tp=2 --strategy tp+sp --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=LENGTH
// LENGTH: error: 1 size is not divisible by the mesh: seq = 9 by tp=2 (--seq, rule seq→tp (strategy sp)); legal for tp: 1
// A mesh without tensor parallelism has no use for it.
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh dp=2 --strategy ddp+sp --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=NEEDS
// NEEDS: error: strategy sp needs the mesh axis tp, which the mesh lacks; add tp=1 or more to the mesh, or take sp out
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/experts.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=EXPERTS
// EXPERTS: experts.json:1:{{[0-9]+}}: warning: the rule for experts touches nothing
// EXPERTS: experts.json:1:{{[0-9]+}}: error: mesh axis tp=2 cuts no parameter and not the batch (rule experts→tp (recipe line 1)), so that its ranks would all do the same
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/whole.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: error: mesh axis tp=2 cuts no parameter and not the batch (rule heads→tp (recipe line 1))

// What a recipe says is named at its place there, not as the command line's.
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/strategy.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=STRATEGY
// STRATEGY: strategy.json:2:2: error: strategy cp (context parallelism) is not supported yet
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/mesh.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: mesh.json:2:2: error: mesh axis cp (context parallelism) is not supported yet
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/order.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: order.json:2:2: error: the mesh order "dp" must name each axis of the mesh once, as in dp,tp
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh DP=2,tpp=2 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=NEAREST
// NEAREST: command line: error: mesh axis DP=2 is used by no rule and no pin, {{.*}}, or did you mean dp{{$}}
// NEAREST: command line: error: mesh axis tpp=2 is used by no rule and no pin, {{.*}}, or did you mean tp{{$}}
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh pipe=2,PP=1 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=PIPE
// PIPE: command line: error: mesh axis pipe=2 is used by no rule and no pin, {{.*}}, or did you mean pp{{$}}
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh DP=2 --strategy ddp --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=MEANT
// MEANT: error: strategy ddp needs the mesh axis dp, which the mesh lacks; is DP meant for it? add dp=1 or more to the mesh, or take ddp out

// Of two pins that match one tensor the later one holds.
// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/pins.json --remarks --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=PINS
// PINS: pins.json:2:{{[0-9]+}}: remark: of pin model.embed* (recipe line 2) and pin model.*tokens.weight (recipe line 3), which both match, the later one holds for 1 parameter
// PINS: uls.param @model.embed_tokens.weight {{.*}} sharding <@mesh, [{}, {"tp"}]>

// Patterns that match nothing are shown all at once, with what is near.
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/unmatched.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// UNMATCHED: unmatched.json:2:{{[0-9]+}}: error: "model.embed_token.weight" matches no parameter; did you mean model.embed_tokens.weight
// UNMATCHED: unmatched.json:3:{{[0-9]+}}: error: "*.wieght" matches no parameter; did you mean *.weight
// UNMATCHED: unmatched.json:4:{{[0-9]+}}: error: "model.layers.*.mlp.up.weight" matches no parameter; did you mean model.layers.*.mlp.up_proj.weight

//--- seq-data.json
{"strategy": "ddp+tp", "rules": {"seq": "dp"}}

//--- unmatched.json
{"mesh": {"tp": 2},
 "sharding": [{"match": "model.embed_token.weight", "dims": ["tp", null]}],
 "groups": [{"match": "*.wieght"}],
 "frozen": ["model.layers.*.mlp.up.weight"]}
//--- seq.json
{"mesh": {"tp": 2}, "rules": {"seq": "tp"}}
//--- experts.json
{"mesh": {"tp": 2}, "rules": {"experts": "tp"}}
//--- whole.json
{"mesh": {"tp": 2}, "rules": {"heads": "tp"}, "sharding": [{"match": "*", "dims": {}}]}
//--- strategy.json
{"mesh": {"dp": 2},
 "strategy": "cp"}
//--- mesh.json
{"description": "context",
 "mesh": {"cp": 2}}
//--- order.json
{"mesh": {"dp": 2, "tp": 2},
 "mesh_order": "dp"}
//--- pins.json
{"mesh": {"tp": 2}, "sharding": [
 {"match": "model.embed*", "dims": ["tp", null]},
 {"match": "model.*tokens.weight", "dims": [null, "tp"]}]}
//--- repeated.json
{"mesh": {"dp": 2, "tp": 2},
 "rules": {"batch": ["dp", "tp", "dp", "tp", "tp"]},
 "sharding": [{"match": "model.embed*", "dims": [["tp", "tp"], null]}]}
