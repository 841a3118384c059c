#!/usr/bin/env bash
# check-example.sh BUILD: installs the C++ package under BUILD, then builds and runs the example project against it,
# as another project would: it knows nothing but the prefix.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
prefix=$build/prefix

rm -rf "$prefix" "$build/example"
cmake --install "$build" --component cpp --prefix "$prefix" >/dev/null
cmake -S "$root/examples/cmake_project" -B "$build/example" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$build/example"
"$build/example/fused"
echo "example project: built against the installed package and ran"
