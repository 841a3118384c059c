#!/usr/bin/env bash
# run-sanitizer.sh asan|tsan [CTEST OPTIONS...]: builds the C++ tests and the random programs with a sanitizer, in
# build-asan or build-tsan, and runs them. What a sanitizer finds makes the test fail that it was found in.
set -euo pipefail

preset=$1
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --parallel "${JOBS:-2}"
ctest --preset "$preset" --parallel "${JOBS:-2}" "$@"
