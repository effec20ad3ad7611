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

// Nothing takes the place of what is read, nor of something else that is written, however a path is spelled.
// RUN: cp -r %S/../../golden/llama %t/model && cp %S/../../golden/llama/config.json %t/before && cd %t && echo '{"mesh": {"pp": 2}}' > recipe.json
// RUN: ulsc explain model --mesh pp=2 --seq 8 --batch 4 --microbatches 2 --schedule-out table.json
// RUN: not ulsc explain model --mesh pp=2 --seq 8 --batch 4 --timeline model/../model/config.json 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: error: --timeline would write over model/../model/config.json, which MODEL reads; give it a file of its own
// RUN: not ulsc explain model --mesh pp=2 --seq 8 --batch 4 --schedule-out model/config.json 2>&1 | FileCheck %s --check-prefix=TABLE
// TABLE: error: --schedule-out would write over model/config.json, which MODEL reads
// RUN: not ulsc compile model/config.json --seq 8 --batch 4 -o %t/model/config.json 2>&1 | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: error: -o would write over {{.*}}model/config.json, which MODEL reads
// RUN: not ulsc explain model --recipe recipe.json --seq 8 --batch 4 --report recipe.json 2>&1 | FileCheck %s --check-prefix=RECIPE
// RECIPE: error: --report would write over recipe.json, which --recipe reads
// RUN: not ulsc explain model --mesh pp=2 --pp-schedule ./table.json --seq 8 --batch 4 --microbatches 2 --timeline table.json 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: error: --timeline would write over table.json, which the schedule reads
// RUN: not ulsc explain model --mesh pp=2 --seq 8 --batch 4 --report new.json --timeline %t/new.json 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: --report and --timeline both write {{.*}}new.json; give each a file of its own
// RUN: not ulsc compile model --seq 8 --batch 4 -o program --report program 2>&1 | FileCheck %s --check-prefix=SELF
// SELF: error: -o and --report both write program
// RUN: not ulsc memory model --seq 8 --batch 4 --json model/config.json 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: --json would write over model/config.json, which MODEL reads
// RUN: not ulsc data before -o before 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: -o would write over before, which TEXT reads
// RUN: diff before model/config.json && not ls new.json program
// One that is on the command line by mistake ends with 2, wherever it is found.
// RUN: sh -c 'ulsc explain model --seq 8 --batch 4 --micro-batch 3; test $? = 2'
// RUN: sh -c 'ulsc explain before.absent --seq 8 --batch 4; test $? = 1'

// Paths that are no UTF-8 come into documents with their bytes replaced.
// RUN: %python -c "import shutil; shutil.copy(b'table.json', b't\xffb.json'); shutil.copytree(b'model', b'm\xff')"
// RUN: sh -c 'ulsc explain m$(printf "\377") --mesh pp=2 --seq 8 --batch 4 --microbatches 2 --pp-schedule ./t$(printf "\377")b.json --report r.json --timeline t.html' > explained
// RUN: FileCheck %s --check-prefix=BYTES --input-file=explained
// BYTES: with 2 stages, schedule
// RUN: %python -c "import json; r = json.load(open('r.json', encoding='utf-8')); print(r['pipeline']['schedule'], r['model']['name'])" | FileCheck %s --check-prefix=REPLACED
// REPLACED: ./t{{.+}}b.json m{{.+}}
// RUN: sh -c 'ulsc compile m$(printf "\377") --seq 8 --batch 4 -o program --report r.json'
