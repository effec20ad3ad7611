#!/usr/bin/env bash
# Prints the registers and the shared memory of each kernel of a small llama's and a small gpt2's step, as ptxas counts
# them for three architectures, as a table in Markdown for each dtype. Ends with 1 when a kernel spills.
#   bench/registers.sh [BUILD_FOLDER [DTYPE...]]
# PTXAS names the assembler; by default that of PATH, or of /usr/local/cuda.
set -euo pipefail
cd "$(dirname "$0")/.."
ulsc=${1:-build}/bin/ulsc
dtypes=${*:2}
ptxas=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
[ -x "$ptxas" ] || { echo "registers: no ptxas; install a CUDA toolkit or name one in PTXAS" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
architectures="sm_80 sm_90 sm_100"
status=0
for step in {llama,gpt2}.{f32,bf16,f16}; do
  model=${step%.*} dtype=${step#*.}
  [[ " ${dtypes:-$dtype} " == *" $dtype "* ]] || continue
  for arch in $architectures; do
    "$ulsc" compile "test/golden/$model" --seq 64 --batch 4 --dropout on --dtype "$dtype" --target cuda --attention own \
      --arch "$arch" --emit=ptx -o "$work/$step.$arch.ptx" 2>"$work/log" || { cat "$work/log" >&2; exit 2; }
    "$ptxas" -arch="$arch" -v "$work/$step.$arch.ptx" -o "$work/cubin" 2>"$work/$step.$arch.txt"
    # "KERNEL REGISTERS SHARED SPILLS", one a line.
    awk '/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
         /bytes spill/ { spills = $5 + $9 }
         /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
           shared = 0; if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART, RLENGTH) + 0
           print name, registers, shared, spills }' "$work/$step.$arch.txt" | sort >"$work/$step.$arch"
    if awk -v arch="$step, $arch" '$4 > 0 { print "registers: " $1 " spills " $4 " bytes on " arch > "/dev/stderr"; found = 1 } END { exit !found }' \
      "$work/$step.$arch"; then
      status=1
    fi
  done
  echo "| $model, $dtype: kernel | ${architectures// / | } | shared bytes |"
  echo "|---|---:|---:|---:|---:|"
  join <(join "$work/$step.sm_80" "$work/$step.sm_90") "$work/$step.sm_100" |
    awk '{ print "| `" $1 "` | " $2 " | " $5 " | " $8 " | " $9 " |" }'
  echo
done
exit $status
