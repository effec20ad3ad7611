// A built-in schedule, written as a table and read again, makes the same program.
// RUN: split-file %s %t
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --pp-schedule zbv --schedule-out %t/zbv.json
// RUN: FileCheck %s --check-prefix=TABLE --match-full-lines --strict-whitespace < %t/zbv.json
//      TABLE:{
// TABLE-NEXT:  "ranks": 2,
// TABLE-NEXT:  "microbatches": 4,
// TABLE-NEXT:  "chunks_per_rank": 2,
// TABLE-NEXT:  "rank_of": [0,1,1,0],
// TABLE-NEXT:  "table": [
// TABLE-NEXT:    [
// TABLE-NEXT:      ["forward",0,0],
//      TABLE:      ["backward_input",3,0],
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --pp-schedule zbv --emit=staged -o %t/built-in.mlir
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --pp-schedule %t/zbv.json --emit=staged -o %t/from-file.mlir
// All but its name.
// RUN: sed -i 's/schedule = "[^"]*"/schedule/' %t/built-in.mlir %t/from-file.mlir
// RUN: diff %t/built-in.mlir %t/from-file.mlir
// A recipe names it beside itself; the command line wins.
// RUN: ulsc compile %S/../../golden/llama --recipe %t/recipe.json --seq 16 --batch 8 --microbatches 4 --emit=staged -o - | sed 's/schedule = "[^"]*"/schedule/' | diff %t/built-in.mlir -
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --emit=staged -o %t/1f1b.mlir
// RUN: ulsc compile %S/../../golden/llama --recipe %t/recipe.json --seq 16 --batch 8 --microbatches 4 --pp-schedule 1f1b --pp-chunks 1 --emit=staged -o - | diff %t/1f1b.mlir -
// The pass reads the same file.
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --locations --emit=sharded -o %t/sharded.mlir
// RUN: ulsc-opt %t/sharded.mlir --ulsc-stage-pipeline="schedule=%t/zbv.json chunks=2" | sed 's/schedule = "[^"]*"/schedule/' | diff %t/built-in.mlir -
// Of interleaved there are two chunks a rank if nobody says how many.
// RUN: ulsc explain %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 4 --pp-schedule interleaved --schedule-out - 2>&1 | FileCheck %s --check-prefix=INTERLEAVED
// INTERLEAVED: "chunks_per_rank": 2,
// INTERLEAVED: stage 0 chunk 0: embed; chunk 2: layer.1
// INTERLEAVED-NEXT: stage 1 chunk 1: layer.0; chunk 3: head

// RUN: not ulsc explain %S/../../golden/llama --mesh dp=2 --seq 16 --batch 8 --schedule-out %t/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --schedule-out: there is no schedule without pipeline stages; add pp=2 or more to --mesh
// The program knows how it was cut.
// RUN: ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 2 --emit=llvm -o - | FileCheck %s --check-prefix=MANIFEST
// MANIFEST: llvm.mlir.global external constant @ulsc_manifest
// MANIFEST-SAME: pipeline\22:{\22chunks\22:[{\22blocks\22:[\22embed\22,\22layer.0\22],\22stage\22:0},{\22blocks\22:[\22layer.1\22,\22head\22],\22stage\22:1}],\22schedule\22:\221f1b\22}
// Nothing about stages is let pass where there are none; pp=1 is a mesh of one stage.
// RUN: not ulsc compile %S/../../golden/llama --mesh dp=2 --seq 16 --batch 8 --costs %t/none.json --pp-schedule zbv --pp-chunks 2 --emit=staged 2>&1 | FileCheck %s --check-prefix=FLAT
// FLAT: error: --pp-schedule is "zbv", but the mesh has no axis pp, so that there are no pipeline stages; add pp=2 or more to --mesh, or take it out
// FLAT: error: --pp-chunks is "2", but the mesh has no axis pp
// FLAT: error: --costs is "{{.*}}none.json", but the mesh has no axis pp
// RUN: ulsc compile %S/../../golden/llama --mesh dp=2,pp=1 --seq 16 --batch 8 --pp-schedule zbv --emit=staged -o %t/one.mlir

// What is wrong with a name or with the numbers.
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule 1f1 --emit=staged 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: command line: error: schedule "1f1" is not known; expected one of gpipe, 1f1b, interleaved, zb-h1, zb-h2, zbv, or the path of a JSON file; did you mean 1f1b
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 6 --microbatches 3 --pp-schedule interleaved --pp-chunks 2 --emit=staged 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// MULTIPLE: command line: error: schedule interleaved needs a number of microbatches that is a multiple of the 2 pipeline ranks, not 3; the nearest is 4
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule zbv --pp-chunks 1 --emit=staged 2>&1 | FileCheck %s --check-prefix=ZBV
// ZBV: command line: error: schedule zbv has 2 chunks a rank, not 1; take 2
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-chunks 2 --emit=staged 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: command line: error: schedule 1f1b has 1 chunk a rank, not 2; take 1, or the schedule interleaved
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --recipe %t/name.json --emit=staged 2>&1 | FileCheck %s --check-prefix=RECIPE
// RECIPE: name.json:1:15: error: schedule "zb-h3" is not known; expected one of gpipe, 1f1b, {{.*}}; did you mean zb-h1
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --recipe %t/keys.json --emit=staged 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS-DAG: keys.json:1:15: error: "shedule" is no key of a pipeline; expected one of schedule, chunks, stages; did you mean schedule
// KEYS-DAG: keys.json:2:3: error: "chunks" is 0, expected a whole number from 1, the chunks of each rank along pp
// KEYS-DAG: keys.json:2:27: error: "stages" has 4, expected the name of a block in quotes, as "model.layers.4"

// KEYS-DAG: keys.json:3:3: error: "a{{[a]+}}…" is no key of a pipeline
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --recipe %t/no-name.json --emit=staged 2>&1 | FileCheck %s --check-prefix=NO-NAME
// NO-NAME: no-name.json:1:15: error: "schedule" is empty, expected one of gpipe, 1f1b, interleaved, zb-h1, zb-h2, zbv, or the path of a JSON file; give one or leave the key out
// The place is that of the chunks, whoever asked for the schedule.
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --recipe %t/chunks.json --pp-schedule 1f1b --emit=staged 2>&1 | FileCheck %s --check-prefix=THREE
// THREE: chunks.json:1:15: error: schedule 1f1b has 1 chunk a rank, not 3; take 1, or the schedule interleaved

// Numbers that nobody means are refused before a table of their size is made.
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule interleaved --pp-chunks 1000000000 --microbatches 2 --emit=staged 2>&1 | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: command line: error: schedule interleaved can't have 1000000000 chunks a rank, expected 1 to 65536
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --recipe %t/many.json --microbatches 2 --emit=staged 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: many.json:2:3: error: schedule interleaved can't have 4611686018427387905 chunks a rank, expected 1 to 65536
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=16777216 --seq 16 --batch 100 --microbatches 100 --emit=staged 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: command line: error: schedule 1f1b can't have 16777216 ranks along pp, expected 1 to 65536
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 100000000 --microbatches 100000000 --emit=staged 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: command line: error: schedule 1f1b can't have 100000000 microbatches, expected 1 to 65536
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=1024 --seq 16 --batch 8192 --microbatches 8192 --emit=staged 2>&1 | FileCheck %s --check-prefix=PAIRS
// PAIRS: command line: error: schedule 1f1b can't have 8388608 pairs of chunk and microbatch (1024 ranks × 1 chunks a rank × 8192 microbatches), expected at most 4194304; take fewer microbatches
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=400 --seq 16 --batch 800 --microbatches 800 --pp-schedule zbv --emit=staged 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: command line: error: the model is 4 blocks, embedding and head included, too few for 800 chunks (pp=400 × 2 a rank); the most that it can be cut into is 4

// What is wrong with a file, with its place.
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/absent.json --emit=staged 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: absent.json: error: can't be read: No such file or directory
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --microbatches 2 --pp-chunks 1 --pp-schedule %t/zbv.json --emit=staged 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: zbv.json:3:3: error: the schedule is for microbatches = 4, but a step has 2 microbatches; take another table, or --microbatches 4
// SHAPE: zbv.json:4:3: error: the schedule is for chunks_per_rank = 2, but a rank has 1 chunk; take another table, or --pp-chunks 2
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=4 --seq 16 --batch 8 --microbatches 4 --pp-schedule %t/zbv.json --emit=staged 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: zbv.json:2:3: error: the schedule is for ranks = 2, but the mesh has pp=4; take another table, or --mesh pp=2
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/list.json --emit=staged 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: list.json:1:1: error: the schedule is [], expected an object with ranks, microbatches, chunks_per_rank, rank_of, table
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/counts.json --emit=staged 2>&1 | FileCheck %s --check-prefix=COUNTS
// COUNTS: counts.json:1:14: error: "rank" is no key of a schedule; expected one of ranks, microbatches, chunks_per_rank, rank_of, table; did you mean ranks
// COUNTS: counts.json:1:1: error: the schedule has no key "microbatches", expected a whole number from 1
// COUNTS: counts.json:1:25: error: "chunks_per_rank" is 1.5, expected a whole number from 1 to 65536
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/entries.json --emit=staged 2>&1 | FileCheck %s --check-prefix=ENTRIES
// ENTRIES: entries.json:4:6: error: rank 0, entry 0: the work is "foward", expected one of forward, backward, backward_input, backward_weight; did you mean forward
// ENTRIES: entries.json:4:39: error: rank 0, entry 1: the microbatch is 1, expected a whole number from 0 to 0; the nearest is 0
// ENTRIES: entries.json:5:5: error: rank 1, entry 0 is ["forward",1], expected work, chunk and microbatch, as in ["forward", 0, 0]
// ENTRIES: entries.json:5:34: error: rank 1, entry 1: the chunk is "1", expected a whole number from 0 to 1
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/rank-of.json --emit=staged 2>&1 | FileCheck %s --check-prefix=RANKOF
// RANKOF: rank-of.json:2:3: error: "rank_of" gives rank 0 2 chunks, expected chunks_per_rank, 1
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/rows.json --emit=staged 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: rows.json:2:3: error: "table" is a list of 1, expected a list of 2, each the work of one rank
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/cycle.json --microbatches 2 --emit=staged 2>&1 | FileCheck %s --check-prefix=CYCLE
// CYCLE: cycle.json:2:33: error: rank 0 cannot start backward of chunk 0, microbatch 0 before backward_input of chunk 1, microbatch 0, which rank 1 has later; rank 1 cannot start forward of chunk 1, microbatch 1 before forward of chunk 0, microbatch 1, which rank 0 has later
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/missing.json --emit=staged 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: missing.json:3:13: error: there is no backward of chunk 1, microbatch 0
// A table that is wrong throughout does not say so of each entry.
// RUN: %python -c "print('{\"ranks\": 2, \"microbatches\": 1, \"table\": [[' + ', '.join(['[\"forward\", 9, 0]'] * 100) + '], []]}')" > %t/throughout.json
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/throughout.json --emit=staged 2>&1 | FileCheck %s --check-prefix=THROUGHOUT
// THROUGHOUT-COUNT-20: error: rank 0, entry {{[0-9]+}}: the chunk is 9
// THROUGHOUT-NEXT: throughout.json:1:{{[0-9]+}}: error: and 80 more errors
// RUN: not ulsc-opt %t/sharded.mlir --ulsc-stage-pipeline="schedule=interleaved chunks=4611686018427387905" 2>&1 | FileCheck %s --check-prefix=WRAPS
// WRAPS: error: {{.*}}schedule interleaved can't have 4611686018427387905 chunks a rank, expected 1 to 65536
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/twice.json --emit=staged 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: twice.json:4:33: error: rank 1: forward of chunk 1, microbatch 0 is there twice
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/elsewhere.json --emit=staged 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: elsewhere.json:3:14: error: rank 0: forward of chunk 1, microbatch 0, but the chunk lies on rank 1
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/keyless.json --emit=staged 2>&1 | FileCheck %s --check-prefix=KEYLESS
// KEYLESS: keyless.json:1:1: error: the schedule has no key "table", expected a list with the work of each rank
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/comma.json --emit=staged 2>&1 | FileCheck %s --check-prefix=COMMA
// COMMA: comma.json:2:1: error: is not valid JSON: expected
// RUN: not ulsc compile %S/../../golden/llama --mesh pp=2 --seq 16 --batch 8 --pp-schedule %t/cut.json --emit=staged 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: cut.json:2:1: error: is not valid JSON:
// RUN: not ulsc-opt %t/sharded.mlir --ulsc-stage-pipeline="schedule=%t/cycle.json" 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: cycle.json:1:14: error: the schedule is for microbatches = 2, but a step has 4 microbatches

//--- recipe.json
{"mesh": {"pp": 2}, "pipeline": {"schedule": "zbv.json", "chunks": 2}}
//--- name.json
{"pipeline": {"schedule": "zb-h3"}}
//--- keys.json
{"pipeline": {"shedule": "zb-h1",
  "chunks": 0, "stages": [4],
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": 1}}
//--- no-name.json
{"pipeline": {"schedule": ""}}
//--- chunks.json
{"pipeline": {"chunks": 3}}
//--- many.json
{"pipeline": {"schedule": "interleaved",
  "chunks": 4611686018427387905}}
//--- list.json
[]
//--- counts.json
{"ranks": 2, "rank": 2, "chunks_per_rank": 1.5}
//--- entries.json
{"ranks": 2, "microbatches": 1, "chunks_per_rank": 1,
 "table": [
  [
    ["foward", 0, 0], ["backward", 0, 1]], [
    ["forward", 1], ["backward", "1", 0]]]}
//--- rank-of.json
{"ranks": 2, "microbatches": 1,
  "rank_of": [0, 0], "table": [[], []]}
//--- rows.json
{"ranks": 2, "microbatches": 1,
  "table": [[]]}
//--- cycle.json
{"ranks": 2, "microbatches": 2,
  "table": [[["forward", 0, 0], ["backward", 0, 0], ["forward", 0, 1], ["backward", 0, 1]],
            [["forward", 1, 0], ["forward", 1, 1], ["backward", 1, 0], ["backward", 1, 1]]]}
//--- twice.json
{"ranks": 2, "microbatches": 1,
  "table": [
    [["forward", 0, 0], ["backward", 0, 0]],
    [["forward", 1, 0],         ["forward", 1, 0], ["backward", 1, 0]]]}
//--- elsewhere.json
{"ranks": 2, "microbatches": 1,
  "table": [
    [        ["forward", 1, 0], ["backward", 0, 0]], [["forward", 0, 0], ["backward", 1, 0]]]}
//--- cut.json
{"ranks": 2,
//--- keyless.json
{"ranks": 2, "microbatches": 1}
//--- comma.json
{"ranks": 2,
}
//--- missing.json
{"ranks": 2, "microbatches": 1,
  "table": [[["forward", 0, 0], ["backward", 0, 0]],
            [["forward", 1, 0]]]}
