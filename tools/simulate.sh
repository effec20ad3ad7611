#!/usr/bin/env bash
# Runs a CUDA program on the simulated device: the drop-in libraries come before the vendor's.
#   tools/simulate.sh [-n RANKS] [--seed S] PROGRAM [ARGUMENTS…]
# The libraries are those of the build folder (ULSC_BUILD, default build), or, where the script has been installed, those
# beside it. docs/simulator.md names the variables of the environment and explains the reports.
set -euo pipefail
usage="usage: simulate.sh [-n RANKS] [--seed S] PROGRAM [ARGUMENTS...]"
ranks=
while [ $# -gt 0 ]; do
  case "$1" in
    -n) ranks=${2:?$usage}; shift 2 ;;
    --seed) export ULSC_SIMULATOR_SEED=${2:?$usage}; shift 2 ;;
    -h | --help) echo "$usage"; exit 0 ;;
    -*) echo "simulate: unknown option '$1'; $usage" >&2; exit 2 ;;
    *) break ;;
  esac
done
if [ $# -eq 0 ]; then
  echo "$usage" >&2
  exit 2
fi

here=$(cd "$(dirname "$0")" && pwd)
for folder in "${ULSC_BUILD:-$here/../build}/lib/simulator" "$here/../lib/simulator"; do
  [ -e "$folder/libcuda.so.1" ] && libraries=$(cd "$folder" && pwd) && break
done
if [ -z "${libraries:-}" ]; then
  echo "simulate: no libcuda.so.1 in ${ULSC_BUILD:-$here/../build}/lib/simulator: build first (ninja ulsc_simulator_cuda), or name the build folder in ULSC_BUILD" >&2
  exit 1
fi
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

if [ -z "$ranks" ]; then
  exec "$@"
fi
# More ranks than cores, and root in a container, are both normal here.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
exec mpirun -np "$ranks" --oversubscribe -x LD_LIBRARY_PATH "$@"
