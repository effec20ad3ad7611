// A program for GPUs runs where there is neither Open MPI nor oneDNN: it is linked with neither.
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 16 --batch 2 --mesh dp=2 --target cuda -o %t 2> %t.log
// RUN: readelf --dynamic %t | FileCheck %s --implicit-check-not=libmpi --implicit-check-not=libdnnl --implicit-check-not=libcu
// RUN: ulsc compile %S/../../golden/llama/config.json --seq 16 --batch 2 --mesh dp=2 -o %t 2> %t.log
// RUN: readelf --dynamic %t | FileCheck %s --check-prefix=CPU --implicit-check-not=libcrypto

// CHECK: Shared library: [libcrypto.so
// CHECK: Shared library: [libgomp.so

// CPU: Shared library: [libmpi.so
// CPU: Shared library: [libdnnl.so
