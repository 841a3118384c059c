#!/usr/bin/env bash
# link-package.sh VENV BUILD: lets VENV import the package, and call the command, that live in BUILD.
# Links, not copies: what is built next is what runs next.
set -euo pipefail

venv=$1
build=$(cd "$2" && pwd)

site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
path_file=$site/tokamak_build.pth
if [[ $(cat "$path_file" 2>/dev/null) != "$build/python" ]]; then
  echo "$build/python" >"$path_file"
fi

# The script that an installed package has.
command=$venv/bin/tokamak
script="#!$(cd "$venv" && pwd)/bin/python
import sys
from tokamak._command import main
sys.exit(main())"
if [[ -L $command || $(cat "$command" 2>/dev/null) != "$script" ]]; then
  rm -f "$command"
  echo "$script" >"$command"
  chmod +x "$command"
fi
