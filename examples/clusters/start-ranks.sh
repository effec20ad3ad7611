#!/usr/bin/env bash
# Starts the ranks of one machine and waits for them: for systems that start one process per machine, as Kubernetes does.
#   start-ranks.sh PROGRAM [FLAGS…]
# MACHINES, MACHINE (from 0) and RANKS_PER_MACHINE say which ranks these are; MASTER_ADDR and MASTER_PORT say where rank 0 is.
set -euo pipefail
: "${MACHINES:?the number of machines}" "${MACHINE:?the number of this machine, from 0}"
: "${RANKS_PER_MACHINE:?the number of ranks, as many as a machine has GPUs}"
export WORLD_SIZE=$((MACHINES * RANKS_PER_MACHINE)) LOCAL_WORLD_SIZE=$RANKS_PER_MACHINE
pids=()
# Ranks end in order at the first signal, with a save where --save is given.
trap 'kill -TERM "${pids[@]}" 2>/dev/null || true' TERM INT
for ((i = 0; i < RANKS_PER_MACHINE; i++)); do
  RANK=$((MACHINE * RANKS_PER_MACHINE + i)) LOCAL_RANK=$i "$@" &
  pids+=($!)
done
code=0
for pid in "${pids[@]}"; do
  status=0
  wait "$pid" || status=$?
  # A signal ends a wait before the process has ended.
  while kill -0 "$pid" 2>/dev/null; do
    status=0
    wait "$pid" || status=$?
  done
  [ "$status" -eq 0 ] || code=$status
done
exit "$code"
