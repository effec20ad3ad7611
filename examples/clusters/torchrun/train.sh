#!/usr/bin/env bash
# Trains a program that was compiled with --target cuda, started by torchrun; the same command on each machine:
#   PROGRAM=./llama DATA=tokens.bin SAVE=saves NNODES=2 RANKS_PER_NODE=8 RDZV_ENDPOINT=node0:29400 ULSC_JOB_SECRET_FILE=~/.ulsc-secret ./train.sh
# On one machine RDZV_ENDPOINT and the secret may be left out.
set -euo pipefail
: "${PROGRAM:?the compiled program}" "${DATA:?its token file}" "${SAVE:?a directory that all machines share}"
: "${RANKS_PER_NODE:?the number of ranks of each machine}"
rendezvous=(--standalone)
if [ -n "${RDZV_ENDPOINT:-}" ]; then
  rendezvous=(--rdzv-backend c10d --rdzv-endpoint "$RDZV_ENDPOINT" --rdzv-id "${RUN_ID:-ulsc}")
fi
# --no-python: the program is an executable. A rank that fails ends the others, and --max-restarts starts all again from the
# newest save.
exec torchrun --no-python --nnodes "${NNODES:-1}" --nproc-per-node "$RANKS_PER_NODE" --max-restarts "${RESTARTS:-0}" \
  "${rendezvous[@]}" "$PROGRAM" --data "$DATA" --steps "${STEPS:-1000}" \
  --save "$SAVE" --save-every "${SAVE_EVERY:-500}" --resume auto
