#!/usr/bin/env bash
# Makes the golden values again: a virtual environment with PyTorch and transformers, then make_golden.py.
# Only needed to change them; the tests read the committed files and need no Python.
#
#   make_golden.sh [--models DIR] [--only NAME]...      arguments go to make_golden.py
#
# The environment is $ULSC_GOLDEN_VENV, by default .venv-golden at the top of the tree (not in git; about
# 5.6 GB with PyPI's torch). pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS) choose where wheels come from.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${ULSC_GOLDEN_VENV:-$(cd "$here/../.." && pwd)/.venv-golden}

if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
fi
if ! cmp -s "$here/requirements.txt" "$venv/requirements.installed"; then
  "$venv/bin/python" -m pip install --quiet -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$venv/requirements.installed"
fi
exec "$venv/bin/python" "$here/make_golden.py" "$@"
