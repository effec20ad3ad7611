#!/usr/bin/env bash
# From a fresh machine to a trained model: installs dependencies, builds, makes tokens from the licence texts that every
# Debian machine carries, compiles a small llama for four ranks and trains it. Compares the loss with a bigram model's.
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${STEPS:-300}

tools/dependencies.sh
cmake -G Ninja -B build >/dev/null
ninja -C build ulsc ulsc_runtime >build/ninja.log || { grep -A 20 FAILED build/ninja.log; exit 1; }

work=build/quickstart
mkdir -p $work
# One copy of each text: some names are links to others.
texts=$(find /usr/share/common-licenses -maxdepth 1 -type f | sort)
build/bin/ulsc data $texts -o $work/tokens.bin --holdout 0.1 2>&1 | tee $work/data.log
bigram=$(sed -n 's/.*bigram model counted on them has a loss of \([0-9.]*\).*/\1/p' $work/data.log)

build/bin/ulsc compile examples/llama-small --mesh dp=2,tp=2 --seq 128 --batch 16 -o $work/llama-small

# More ranks than cores, and root in a container, are both normal here.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
rm -f $work/metrics.jsonl
start=$(date +%s)
mpirun -np 4 --oversubscribe $work/llama-small --data $work/tokens.bin --steps "$steps" --threads 1 \
  --lr 2e-3 --lr-schedule cosine --warmup-steps 20 --metrics $work/metrics.jsonl
echo "trained $steps steps in $(($(date +%s) - start)) s"

grep '"loss":' $work/metrics.jsonl | tail -n 20 | sed -n 's/.*"loss": *\([0-9.eE+-]*\).*/\1/p' |
  awk -v bigram="$bigram" '{ sum += $1; count += 1 }
    END {
      if (count == 0) { print "no losses were written"; exit 1 }
      mean = sum / count
      printf "mean of the last %d losses: %.4f; bigram model of the same tokens: %.4f\n", count, mean, bigram
      if (mean >= bigram) { print "the model has not overtaken the bigram model"; exit 1 }
    }'
