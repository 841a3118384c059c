#!/usr/bin/env bash
# make-bench-venv.sh VENV: makes the virtual environment of the benchmark, with the peers of requirements-bench.txt and
# torch. The stamp VENV/.ready says that it is whole.
#
# The torch of PyPI for x86-64 is built for CUDA, and names gigabytes of libraries that no call on a processor enters.
# They are not installed: empty ones of the same names stand in, so that it loads.
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

# The libraries that those of torch need, by name.
needed_libraries() {
  for library in "$1"/*.so; do
    readelf --dynamic "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
  done | sort -u
}

put_stand_ins() {
  local folder=$1 name
  for name in $(needed_libraries "$folder" | grep -E '^lib(cu|nccl|nv)'); do
    [[ -e $folder/$name ]] || gcc -shared -x c /dev/null -Wl,-soname,"$name" -o "$folder/$name"
  done
}

echo "setup: installing torch into $venv"
pip_install --no-deps torch
if ! torch_loads; then
  folder=$("$venv/bin/python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')/lib
  put_stand_ins "$folder"
fi
if ! torch_loads; then
  echo "setup: torch does not load without CUDA's libraries: installing them too"
  pip_install torch --force-reinstall --no-cache-dir
fi
torch_loads || echo "setup: torch does not load; the benchmark will say so" >&2
touch "$venv/.ready"
