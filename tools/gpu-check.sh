#!/usr/bin/env bash
# Checks and measures the CUDA target on one GPU, in at most 8 minutes, and prints a table for bench/README.md.
#
#   tools/gpu-check.sh           builds what is missing, then runs
#   tools/gpu-check.sh prepare   on a machine without a GPU: leaves all that the run needs in build/gpu-check,
#                                libraries included, to be carried with the tree to one that can't build
#
# Numerics: small models in f32 and bf16, steps as graphs and without, against losses of the CPU target; in bf16 with attention by
# cuDNN and epilogues by cuBLASLt, and ("own") with the program's own kernels for both. Speed: tokens per second, the share of the measured GEMM peak, and each kernel's time against the GPU's copies and products.
# ULSC_BUILD names another build folder than build/.
# ULSC_GPU_CHECK_SIMULATED=1 runs on the simulated device, with sizes for it: that checks this script, its times mean nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${ULSC_BUILD:-build}
folder=$build/gpu-check
simulated=${ULSC_GPU_CHECK_SIMULATED:-0}
end=$((SECONDS + 470))

say() { printf '%s\n' "$*"; }

# limited SECONDS COMMAND...: within what is left of the 8 minutes.
limited() {
  local seconds=$1 left=$((end - SECONDS))
  shift
  if ((left < 5)); then
    say "gpu-check: 8 minutes are over; left out: $*" >&2
    return 124
  fi
  timeout -k 5 "$((left < seconds ? left : seconds))" "$@"
}

# The programs: name, model, shape, further flags. The last ones are for speed.
programs() {
  local own="--attention=own --epilogues=off" shape="$folder/gpt2-124m --seq=1024 --batch=8"
  [ "$simulated" = 1 ] && shape="test/golden/gpt2 --seq=32 --batch=4"
  for kind in f32 bf16 "bf16 own"; do
    flags="--dtype=${kind% own}"
    [ "$kind" = "bf16 own" ] && flags="$flags $own"
    say "llama-${kind/ /-} examples/llama-small --seq=128 --batch=4 $flags"
    say "gpt2-${kind/ /-} test/golden/gpt2 --seq=32 --batch=8 $flags"
  done
  say "speed $shape --dtype=bf16"
  say "speed-own $shape --dtype=bf16 $own"
}

prepare() {
  if [ ! -x "$build/bin/ulsc" ] || [ ! -x "$build/bin/ulsc-gpu-peaks" ]; then
    tools/dependencies.sh
    cmake -G Ninja -B "$build"
    ninja -C "$build" ulsc ulsc_runtime ulsc-gpu-peaks
  fi
  rm -rf "$folder"
  mkdir -p "$folder/gpt2-124m" "$folder/lib"
  cat >"$folder/gpt2-124m/config.json" <<'JSON'
{"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
 "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "tie_word_embeddings": true}
JSON
  "$build/bin/ulsc" data /usr/share/common-licenses/GPL-3 -o "$folder/tokens.bin" >/dev/null
  cp "$build/bin/ulsc-gpu-peaks" "$folder/"
  while read -r name model sequence batch flags; do
    compile "$name" cuda "$model" "$sequence" "$batch" $flags
    [[ $name = speed* ]] && continue
    compile "$name" cpu "$model" "$sequence" "$batch" "${flags%% *}" # what follows --dtype is the GPU's
    train "$folder/$name.cpu" "$folder/$name.expected" >/dev/null
  done < <(programs)
  # All that is not of the C library: the other machine may have none of it.
  ldd "$folder/speed.cuda" "$folder/ulsc-gpu-peaks" | awk '$3 ~ /^\// { print $3 }' | sort -u |
    grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so' | xargs cp -Lt "$folder/lib"
  say "gpu-check: prepared $folder ($(du -sh "$folder" | cut -f1))"
}

# compile NAME TARGET MODEL FLAGS...
compile() {
  local name=$1 target=$2
  shift 2
  "$build/bin/ulsc" compile "$@" --target "$target" --report "$folder/$name.report" \
    -o "$folder/$name.$target" 2>"$folder/compile.log" >&2 || { cat "$folder/compile.log" >&2; exit 1; }
}

# train PROGRAM METRICS FLAGS...: a few steps.
train() {
  local program=$1 metrics=$2
  shift 2
  rm -f "$metrics"
  "$program" --data "$folder/tokens.bin" --steps "${steps:-5}" --lr 1e-3 --seed 7 --metrics "$metrics" "$@"
}

# The values of a key, line by line.
values() { sed -n "s/.*\"$1\":\([-+.0-9e]*\).*/\1/p" "$2"; }

# The largest relative difference of the losses of two metrics files.
difference() {
  paste <(values loss "$1") <(values loss "$2") |
    awk 'function abs(x) { return x < 0 ? -x : x }
         NF != 2 { bad = 1 } { d = abs($1 - $2) / abs($2); if (d > most) most = d } END { print NR && !bad ? most : "inf" }'
}

check_numerics() {
  local failures=0 limit found
  say "| program | graph | largest difference of a loss | allowed |"
  say "|---|---|---:|---:|"
  while read -r name model sequence batch flags; do
    [[ $name = speed* ]] && continue
    limit=1e-4
    [[ $flags = *bf16* ]] && limit=5e-3
    for graph in on off; do
      if ! limited 120 "$0" train-one "$name" --cuda-graph "$graph"; then
        say "| $name | $graph | did not run | $limit |"
        failures=$((failures + 1))
        continue
      fi
      found=$(difference "$folder/$name.metrics" "$folder/$name.expected")
      say "| $name | $graph | $found | $limit |"
      awk -v a="$found" -v b="$limit" 'BEGIN { exit !(a + 0 == a && a <= b) }' || failures=$((failures + 1))
    done
  done < <(programs)
  return "$failures"
}

# The median of a key of a metrics file, without the first steps, which warm up and capture.
median() {
  values "$1" "$2" | tail -n "$((steps - 2))" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

measure_peaks() {
  limited 60 env LD_LIBRARY_PATH="$libraries" "$folder/ulsc-gpu-peaks" $([ "$simulated" = 1 ] && echo 64) >"$folder/peaks.json"
}

# measure_speed NAME TITLE
measure_speed() {
  local name=$1 title=$2 flops tokens milliseconds
  steps=$([ "$simulated" = 1 ] && echo 3 || echo 30)
  export steps
  limited 100 "$0" train-one "$name" --cuda-graph on || return 1
  tokens=$(median tokens_per_s "$folder/$name.metrics")
  milliseconds=$(median step_ms "$folder/$name.metrics")
  flops=$(sed -n 's/.*"flops_per_step": *\([0-9.e+]*\).*/\1/p' "$folder/$name.report" | head -n 1)
  say
  awk -v title="$title" -v tokens="$tokens" -v ms="$milliseconds" -v flops="$flops" -v peak="$(values gemm_bf16_tflop_per_s "$folder/peaks.json")" \
    -v copy="$(values copy_gb_per_s "$folder/peaks.json")" 'BEGIN {
      printf "| gpt2-124M, bf16, 8 x 1024 tokens, %s | |\n|---|---:|\n", title
      printf "| tokens/s | %.0f |\n| step | %.2f ms |\n", tokens, ms
      printf "| of the measured bf16 GEMM peak (%.0f TFLOP/s) | %.1f %% |\n", peak, flops / ms * 1e-9 / peak * 100
      printf "| copies inside of the memory | %.0f GB/s |\n", copy }'
}

# Kernels and products of one step by time, from a trace: one event a line.
measure_kernels() {
  steps=4
  export steps
  limited 90 "$0" train-one speed --trace "$folder/trace.json" --trace-steps 1 || return 1
  say
  say "| kernel or product | calls | us | share | of the peak |"
  say "|---|---:|---:|---:|---:|"
  awk -v copy="$(values copy_gb_per_s "$folder/peaks.json")" -v peak="$(values gemm_bf16_tflop_per_s "$folder/peaks.json")" '
    function field(key,   at) { return match($0, "\"" key "\":[-+.0-9e]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : 0 }
    /"cat":"(kernel|gemm)"/ {
      match($0, /"name":"[^"]*"/); name = substr($0, RSTART + 8, RLENGTH - 9)
      if ($0 ~ /"cat":"gemm"/) name = "product " name
      us[name] += field("dur"); calls[name]++; bytes[name] += field("bytes"); flops[name] += field("flops"); all += field("dur") }
    END { for (name in us) {
        of = flops[name] ? flops[name] / us[name] * 1e-6 / peak : bytes[name] / us[name] * 1e-3 / copy
        printf "| %s | %d | %.1f | %.1f %% | %.0f %% |\n", name, calls[name], us[name], us[name] / all * 100, of * 100 } }' \
    "$folder/trace.json" | sort -t '|' -k 4 -gr | head -n 25
}

measure_peer() {
  python3 -c 'import torch, transformers, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null || return 0
  say
  say "PyTorch, the same step:"
  limited 120 python3 bench/peers/torch_step.py --device cuda --dtype bf16 --batch 8 --seq 1024 --steps 20 --warmup 5
}

libraries="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ "$simulated" = 1 ] && libraries="$build/lib/simulator:$libraries"

case "${1:-run}" in
prepare)
  prepare
  ;;
train-one)
  name=$2
  shift 2
  export LD_LIBRARY_PATH="$libraries"
  train "$folder/$name.cuda" "$folder/$name.metrics" "$@" >"$folder/$name.log" 2>&1 || { cat "$folder/$name.log" >&2; exit 1; }
  ;;
run)
  [ -x "$folder/speed.cuda" ] || prepare
  say "GPU: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo 'no nvidia-smi'); commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  say
  bad=0
  check_numerics || bad=1
  if measure_peaks; then
    measure_speed speed "attention by cuDNN, epilogues" || bad=1
    measure_speed speed-own "kernels of its own" || bad=1
    measure_kernels || bad=1
  else
    bad=1
  fi
  [ "$simulated" = 1 ] || measure_peer || true
  say
  say "gpu-check: $([ "$bad" = 0 ] && echo 'all numbers agree' || echo 'FAILED, see above'), $SECONDS s"
  exit "$bad"
  ;;
*)
  say "usage: tools/gpu-check.sh [prepare]" >&2
  exit 2
  ;;
esac
