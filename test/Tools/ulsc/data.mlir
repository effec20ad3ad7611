// RUN: printf 'abcdefghij' > %t.txt && ulsc data %t.txt %t.txt -o %t.bin --holdout 0.2 2>&1 | FileCheck %s
// CHECK: {{.*}}.bin: 16 tokens, vocabulary 256
// CHECK: {{.*}}.holdout.bin: 4 tokens
// RUN: od -An -tu2 -w32 %t.bin | FileCheck %s --check-prefix=TRAIN
// TRAIN: 97 98 99 100 101 102 103 104 97 98 99 100 101 102 103 104
// RUN: od -An -tu2 %t.holdout.bin | FileCheck %s --check-prefix=HELD
// HELD: 105 106 105 106
// RUN: not ulsc data -o %t.bin 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: ulsc data needs at least one TEXT
// RUN: not ulsc data %t.txt 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: ulsc data needs -o FILE
// RUN: not ulsc data %t.absent -o %t.bin 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: absent can't be read: No such file or directory
// RUN: not ulsc data %t.txt -o %t.bin --holdout 1.5 2>&1 | FileCheck %s --check-prefix=FRACTION
// FRACTION: error: --holdout is "1.5", expected a fraction from 0 to below 1
