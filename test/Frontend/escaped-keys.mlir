// A key means what it decodes to, however it is written.
// RUN: split-file %s %t

// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 2 --recipe %t/mesh.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: dist.mesh @mesh <["dp"=2]>
// RUN: ulsc compile %S/../golden/llama/config.json --seq 8 --batch 2 --recipe %t/dims.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=DIMS
// DIMS: uls.param @model.embed_tokens.weight {{.*}} sharding <@mesh, [{}, {"tp"}]>

// RUN: not ulsc compile %t/twice.json --seq 8 --batch 2 --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: twice.json:3:2: error: "hidden_size" is given twice; keep one of them

// A slash in a key makes no path.
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 2 --recipe %t/slash.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=SLASH
// SLASH: slash.json:1:{{[0-9]+}}: error: "sharding/0/dims" is no key of a recipe

//--- mesh.json
{"mesh": {"d\u0070": 2}}
//--- dims.json
{"mesh": {"tp": 2}, "sharding": [{"match": "model.embed_tokens.weight", "dims": {"em\u0062ed": "tp"}}]}
//--- twice.json
{"model_type": "llama",
 "hidden_size": 48,
 "hidden\u005fsize": 96}
//--- slash.json
{"sharding/0/dims": {"x": 1}, "sharding": [{"match": "*", "dims": {}}]}
