// Bad files never crash: an error at the place, exit code 1.
// RUN: split-file %s %t

// RUN: not ulsc compile %t/absent.json --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: absent.json: error: can't be read: No such file or directory
// RUN: mkdir -p %t/empty && not ulsc compile %t/empty --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// DIRECTORY: empty/config.json: error: can't be read: No such file or directory
// RUN: touch %t/nothing.json && not ulsc compile %t/nothing.json --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: error: is empty, expected a JSON object
// RUN: not ulsc compile %t/comma.json --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=COMMA
// COMMA: comma.json:2:{{[0-9]+}}: error: is not valid JSON: expected
// RUN: not ulsc compile %t/list.json --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: error: is [1,2], expected a JSON object
// RUN: not ulsc compile %t/twice.json --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: twice.json:2:2: error: "model_type" is given twice; keep one of them
// RUN: %python -c "print('[' * 100000)" > %t/deep.json
// RUN: not ulsc compile %t/deep.json --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=DEEP
// DEEP: error: nests 100000 deep; at most 64 is read
// RUN: %python -c "import sys; sys.stdout.buffer.write(bytes([123, 34, 255, 34, 58, 49, 125]))" > %t/bytes.json
// RUN: not ulsc compile %t/bytes.json --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: error: is not UTF-8 text (byte 2)
// RUN: not ulsc compile %t/type.json --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: "model_type" is 7, expected a text in quotes
// RUN: not ulsc compile /dev/null --seq 8 --batch 1 --emit=graph 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: /dev/null: error: is not a regular file, expected a JSON file

// Cut anywhere and changed anywhere, a configuration is read or refused, never more.
// RUN: %python %S/mutate.py ulsc %S/../golden/llama-bias-tied/config.json %t/mutated

//--- comma.json
{"model_type": "llama"
 "vocab_size": 2}
//--- list.json
[1, 2]
//--- twice.json
{"model_type": "llama",
 "model_type": "gpt2"}
//--- type.json
{"model_type": 7}
