#!/usr/bin/env bash
# Installs dependencies, builds everything and runs every test. A second run is quick.
#   tools/test.sh [BUILD_FOLDER] [ctest arguments…]
set -euo pipefail
cd "$(dirname "$0")/.."
build=build
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
  build=$1
  shift
fi
tools/dependencies.sh
cmake -G Ninja -B "$build" >/dev/null
ninja -C "$build" -k 20 >"$build/ninja.log" || { grep -A 20 FAILED "$build/ninja.log"; exit 1; }
# Ranks are started with more processes than cores, and in containers as root: both are normal here.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
ctest --test-dir "$build" --output-on-failure --timeout 900 -j "$(nproc)" "$@"
