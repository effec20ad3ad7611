#!/usr/bin/env bash
# Builds the plugin outside the tree and runs its pass with ulsc-opt and in a compilation.
#   test.sh ULSC_BUILD_FOLDER WORK_FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ulsc_build=$(cd "$1" && pwd)
work=$2
cmake -G Ninja -S "$here" -B "$work" -Dulsc_DIR="$ulsc_build/lib/cmake/ulsc" >/dev/null
ninja -C "$work" >/dev/null
plugin=$work/libcustom_pass.so
"$ulsc_build/bin/ulsc-opt" --load-pass-plugin="$plugin" \
  --pass-pipeline='builtin.module(example-clip-elements{limit=0.5})' "$here/rule.mlir" |
  "${FILECHECK:-/usr/lib/llvm-22/bin/FileCheck}" "$here/rule.mlir"
if [ -x "$ulsc_build/bin/ulsc" ]; then
  "$ulsc_build/bin/ulsc" compile "$here/../llama-small/config.json" --seq 32 --batch 4 \
    --load-pass-plugin="$plugin" \
    --pass-pipeline-at='train:builtin.module(example-clip-elements{limit=0.5})' --emit=train -o "$work/train.mlir"
  grep -q 'uls.minimum' "$work/train.mlir"
fi
echo "custom-pass: the plugin runs in ulsc-opt and in ulsc compile"
