#!/usr/bin/env bash
# make-bench-venv.sh VENV: makes the virtual environment of the benchmark, with the peers of requirements-bench.txt and
# torch. The stamp VENV/.ready says that it is whole.
#
# The torch of PyPI for x86-64 is built for CUDA, and names gigabytes of libraries that no call on a processor enters.
# They are not installed: cuda_stand_ins.py makes some that do nothing, so that it loads.
set -euo pipefail

venv=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

"$here/make-venv.sh" "$venv" "$here/../requirements-bench.txt"
rm -f "$venv/.ready"

pip_install() {
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-input "$@"
}

torch_loads() {
  "$venv/bin/python" -c "import torch" 2>/dev/null
}

echo "setup: installing torch into $venv"
pip_install --no-deps torch
torch_loads || "$venv/bin/python" "$here/cuda_stand_ins.py"
if ! torch_loads; then
  echo "setup: torch does not load without CUDA's libraries: installing them too"
  pip_install --force-reinstall torch
fi
torch_loads || echo "setup: torch does not load; the benchmark will say so" >&2
touch "$venv/.ready"
