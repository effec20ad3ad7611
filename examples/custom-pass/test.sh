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
  compile() { # PASS [OPTION...]
    "$ulsc_build/bin/ulsc" compile "$here/../llama-small/config.json" --seq 32 --batch 4 \
      --pass-pipeline-at="train:$1" --emit=train -o "$work/train.mlir" "${@:2}"
  }
  refused() { # TEXT PASS [OPTION...]
    if compile "${@:2}" 2>"$work/errors"; then
      echo "custom-pass: $2 was accepted" >&2
      exit 1
    fi
    grep -qF -- "$1" "$work/errors" || { cat "$work/errors" >&2; exit 1; }
  }
  compile 'builtin.module(example-clip-elements{limit=0.5})' --load-pass-plugin="$plugin"
  grep -q 'uls.minimum' "$work/train.mlir"
  # The pass is there with its plugin only, and refuses what it doesn't know.
  refused "'example-clip-elements' does not refer to a registered pass" example-clip-elements
  refused 'no such option limt' 'example-clip-elements{limt=0.5}' --load-pass-plugin="$plugin"
  refused 'value invalid for floating point argument' 'example-clip-elements{limit=half}' --load-pass-plugin="$plugin"
fi
echo "custom-pass: the plugin runs in ulsc-opt and in ulsc compile, and errors are told"
