// What is written is whole or not there, and never takes the place of a device.
// RUN: rm -rf %t && mkdir %t && mkfifo %t/pipe && ln -s /dev/null %t/null

// A program is linked beside its place and moved there.
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 8 --batch 2 -o %t/pipe 2>&1 | FileCheck %s --check-prefix=PIPE
// PIPE: error: {{.*}}pipe can't be written: it is a device or a pipe, whose place the program would take; give a file's path
// RUN: test -p %t/pipe
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 8 --batch 2 -o %t/null 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: {{.*}}null can't be written: it is a device or a pipe
// RUN: test -L %t/null
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 8 --batch 2 -o - 2>&1 | FileCheck %s --check-prefix=STDOUT
// STDOUT: error: stdout can't be written: a program needs a file of its own; give a file's path

// A module may go to a device.
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 8 --batch 2 --emit=graph -o %t/null
// RUN: test -L %t/null

// A full disk is an error with its reason.
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 8 --batch 2 --emit=graph -o - 2>%t/error >/dev/full
// RUN: FileCheck %s --check-prefix=FULL --input-file=%t/error
// RUN: not ulsc explain %S/../../golden/llama/config.json --seq 8 --batch 2 --mesh dp=2 2>%t/error >/dev/full
// RUN: FileCheck %s --check-prefix=FULL --input-file=%t/error
// RUN: not ulsc --help 2>%t/error >/dev/full
// RUN: FileCheck %s --check-prefix=FULL --input-file=%t/error
// FULL: error: stdout can't be written: No space left on device
// FULL-NOT: LLVM ERROR
// RUN: not ulsc data %s -o /dev/full 2>&1 | FileCheck %s --check-prefix=DATA
// DATA: error: /dev/full can't be written: No space left on device

// A report that can't be written takes the output along, which would look as if all had gone well.
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 8 --batch 2 --emit=graph -o %t/graph --report /dev/full 2>&1 | FileCheck %s --check-prefix=DATA
// RUN: not ls %t/graph
// RUN: not ulsc compile %S/../../golden/llama/config.json --seq 8 --batch 2 -o %t/program --report /dev/full 2>&1 | FileCheck %s --check-prefix=DATA
// RUN: not ls %t/program
