// RUN: split-file %s %t
// RUN: not ulsc-opt %t/module.mlir --ulsc-graph-pipeline="recipe=%t/bad.json" 2>&1 | FileCheck %s --check-prefix=BAD
// BAD-DAG: bad.json:2:3: error: "meshes" is no key of a recipe; expected one of {{.*}}; did you mean mesh
// BAD-DAG: bad.json:3:3: error: "allow", the communication contract, is not supported yet
// BAD-DAG: error: is {"match":"up.weight"}, expected an object with "match" and "dims"
// BAD-DAG: error: "dims" is "tp", expected a list with an entry a dimension
// BAD-DAG: error: "weight_decay" is 0.2{{.*}}, expected 0; for another decay give "weight_decay_scale"
// BAD-DAG: error: "lr_scale" is -1, expected a number from 0 to 1e6
// BAD-DAG: error: "decay" is no key of a parameter group
// BAD-DAG: error: "frozen" is "up.weight", expected a list of name patterns

// RUN: not ulsc-opt %t/module.mlir --ulsc-graph-pipeline="recipe=%t/rules.json" 2>&1 | FileCheck %s --check-prefix=RULES
// RULES-DAG: error: "mpl" is no logical axis; expected one of {{.*}}; did you mean mlp
// RULES-DAG: error: is 3, expected a mesh axis such as "tp", a list of them, or null

// RUN: not ulsc-opt %t/module.mlir --ulsc-graph-pipeline="recipe=%t/both.json" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: both.json:1:{{[0-9]+}}: error: the rules shard two dimensions of up.weight [mlp, embed] over tp; pin the tensor or take one rule out

// RUN: not ulsc-opt %t/module.mlir --ulsc-graph-pipeline="recipe=%t/unmatched.json" 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// UNMATCHED-DAG: error: "nothing.*" matches no parameter
// UNMATCHED-DAG: error: "up.weigth" matches no parameter; did you mean up.weight
// UNMATCHED-DAG: error: "u.weight" matches no parameter; did you mean up.weight

// RUN: not ulsc-opt %t/module.mlir --ulsc-graph-pipeline="recipe=%t/frozen.json" 2>&1 | FileCheck %s --check-prefix=FROZEN
// FROZEN: frozen.json:2:13: error: every parameter is frozen by "*" (recipe line 2); train at least one
// RUN: not ulsc-opt %t/module.mlir --ulsc-graph-pipeline="recipe=%t/decay.json" 2>&1 | FileCheck %s --check-prefix=DECAY
// DECAY: decay.json:2:{{[0-9]+}}: error: "weight_decay_scale" is given beside "weight_decay", and both say what the decay is; keep one of them

//--- bad.json
{
  "meshes": {"tp": 2},
  "allow": ["all_reduce:tp"],
  "sharding": [{"match": "up.weight"}, {"match": "up.weight", "dims": "tp"}],
  "groups": [{"match": "*", "weight_decay": 0.2}, {"match": "*", "lr_scale": -1, "decay": 0}],
  "frozen": "up.weight"
}
//--- rules.json
{"mesh": {"tp": 2}, "rules": {"mpl": "tp", "embed": 3}}
//--- both.json
{"mesh": {"tp": 2}, "rules": {"mlp": "tp", "embed": "tp"}}
//--- frozen.json
{"mesh": {"dp": 1},
 "frozen": ["*"]}
//--- decay.json
{"groups": [
 {"match": "*", "weight_decay": 0, "weight_decay_scale": 2}]}
//--- unmatched.json
{"mesh": {"tp": 2}, "sharding": [{"match": "u.weight", "dims": ["tp", null]}], "frozen": ["up.weigth"], "groups": [{"match": "nothing.*"}]}
//--- module.mlir
uls.param @up.weight : tensor<8x8xf32> axes ["mlp", "embed"] init <normal, 0.02>
