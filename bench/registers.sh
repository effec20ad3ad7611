#!/usr/bin/env bash
# Prints the registers and the shared memory of each kernel of a small llama's and a small gpt2's step, as ptxas counts
# them for three architectures, as a table in Markdown. Ends with 1 when a kernel spills.
#   bench/registers.sh [BUILD_FOLDER]
# PTXAS names the assembler; by default that of PATH, or of /usr/local/cuda.
set -euo pipefail
cd "$(dirname "$0")/.."
ulsc=${1:-build}/bin/ulsc
ptxas=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
[ -x "$ptxas" ] || { echo "registers: no ptxas; install a CUDA toolkit or name one in PTXAS" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
architectures="sm_80 sm_90 sm_100"
status=0
for model in llama gpt2; do
  for arch in $architectures; do
    "$ulsc" compile "test/golden/$model" --seq 64 --batch 4 --dropout on --target cuda --arch "$arch" --emit=ptx \
      -o "$work/$model.$arch.ptx" 2>"$work/log" || { cat "$work/log" >&2; exit 2; }
    "$ptxas" -arch="$arch" -v "$work/$model.$arch.ptx" -o "$work/cubin" 2>"$work/$model.$arch.txt"
    # "KERNEL REGISTERS SHARED SPILLS", one a line.
    awk '/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
         /bytes spill/ { spills = $5 + $9 }
         /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
           shared = 0; if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART, RLENGTH) + 0
           print name, registers, shared, spills }' "$work/$model.$arch.txt" | sort >"$work/$model.$arch"
    if awk -v arch="$model, $arch" '$4 > 0 { print "registers: " $1 " spills " $4 " bytes on " arch > "/dev/stderr"; found = 1 } END { exit !found }' \
      "$work/$model.$arch"; then
      status=1
    fi
  done
  echo "| $model: kernel | ${architectures// / | } | shared bytes |"
  echo "|---|---:|---:|---:|---:|"
  join <(join "$work/$model.sm_80" "$work/$model.sm_90") "$work/$model.sm_100" |
    awk '{ print "| `" $1 "` | " $2 " | " $5 " | " $8 " | " $9 " |" }'
  echo
done
exit $status
