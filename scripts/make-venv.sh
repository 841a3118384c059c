#!/usr/bin/env bash
# make-venv.sh VENV REQUIREMENTS...: makes the virtual environment with those packages, out of $PYTHON (python3).
# The stamp VENV/.ready says that it is whole; the Makefile calls this only when the stamp is missing or older.
set -euo pipefail

venv=$1
shift
python=${PYTHON:-python3}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

command -v "$python" >/dev/null || fail "there is no '$python'; install Python 3.10 or later, or name one: make PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  fail "$("$python" --version) is too old: 3.10 or later is needed; name another: make PYTHON=..."

# A Python of the system lacks pip and headers until their packages are there; any other must bring its own.
is_system_python() {
  [[ $("$python" -c 'import sys; print(sys.base_prefix)') == /usr ]]
}

has_ensurepip() {
  "$python" -c 'import ensurepip' 2>/dev/null
}

has_headers() {
  "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

needed=()
has_ensurepip || needed+=(python3-venv)
has_headers || needed+=(python3-dev)
if [[ ${#needed[@]} -gt 0 ]]; then
  is_system_python || fail "$("$python" -c 'import sys; print(sys.executable)') lacks ensurepip or its C headers"
  "$here/install-packages.sh" "${needed[@]}"
fi

version_of() {
  "$1" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null
}

# A virtual environment left by another Python, broken by its removal or only half made is made again.
if [[ $(version_of "$venv/bin/python") != "$(version_of "$python")" ]] ||
  ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  echo "setup: making $venv with $("$python" --version)"
  rm -rf "$venv"
  "$python" -m venv "$venv"
fi

arguments=()
for file in "$@"; do
  arguments+=(--requirement "$file")
done
echo "setup: installing Python packages into $venv"
"$venv/bin/python" -m pip install --disable-pip-version-check --no-input "${arguments[@]}"
touch "$venv/.ready"
