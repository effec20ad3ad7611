// What a recipe says about mesh axes is refused where it stands.
// RUN: split-file %s %t

// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --recipe %t/repeated.json --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=REPEATED
// REPEATED-DAG: repeated.json:2:12: error: the rule for batch names the mesh axis dp twice; keep it once
// REPEATED-DAG: repeated.json:2:12: error: the rule for batch names the mesh axis tp 3 times; keep it once
// REPEATED-DAG: repeated.json:3:16: error: the pin of model.embed* names the mesh axis tp twice; keep it once
// RUN: not ulsc compile %S/../golden/llama/config.json --seq 8 --batch 8 --mesh tp=2 --shard 'lm_head.weight=tp+tp,-' --emit=graph -o - 2>&1 | FileCheck %s --check-prefix=SHARD
// SHARD: command line: error: the pin of lm_head.weight names the mesh axis tp twice; keep it once

//--- repeated.json
{"mesh": {"dp": 2, "tp": 2},
 "rules": {"batch": ["dp", "tp", "dp", "tp", "tp"]},
 "sharding": [{"match": "model.embed*", "dims": [["tp", "tp"], null]}]}
