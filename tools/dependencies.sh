#!/usr/bin/env bash
# Installs what a fresh Debian 12 machine lacks to build, test and run ulsc.
# Runs as root or with sudo, asks no questions, and is quick when nothing is missing.
set -euo pipefail

packages=(
  # The compiler: LLVM and MLIR 22 with FileCheck, not, split-file and lit; the sanitizer runtimes.
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools lld-22 libclang-rt-22-dev
  clang-22 clang-format-22
  # The build.
  cmake ninja-build g++ ccache pkg-config python3 python3-yaml
  # What compiled programs link: GEMMs, ranks, and what proves that a rank belongs to a job.
  libdnnl-dev libopenmpi-dev openmpi-bin libssl-dev
  # Files, command lines, tests, benchmarks.
  nlohmann-json3-dev libcli11-dev libgtest-dev libbenchmark-dev
)

missing=()
for package in "${packages[@]}"; do
  if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "dependencies: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "dependencies: need root or sudo to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "dependencies: installed ${missing[*]}"
