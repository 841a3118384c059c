#!/usr/bin/env bash
# run-tests.sh BUILD VENV SUITE...: runs the suites (cpp, example, guard, lit, python, site), all of them even when one
# fails, then repeats the closing lines of each runner, so that the counts stand together at the end. Fails when any of them failed.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
venv=$(cd "$2" && pwd)
shift 2
logs=$build/test-logs
mkdir -p "$logs"
cd "$root" || exit 1
# A disk cache of their own: what the user has kept neither helps nor is changed.
TOKAMAK_CACHE_DIR=$(mktemp -d)
export TOKAMAK_CACHE_DIR
trap 'rm -rf "$TOKAMAK_CACHE_DIR"' EXIT
export TOKAMAK_VERIFY=1  # the compiler checks its own work after every stage

run_cpp() {
  ctest --test-dir "$build" --parallel "${JOBS:-2}" --output-on-failure --no-tests=error
}

run_example() {
  scripts/check-example.sh "$build"
}

run_guard() {
  TOKAMAK_VERIFY=0 "$venv/bin/python" bench/guard.py
}

run_lit() {
  "$venv/bin/lit" --verbose "$build/tests"
}

run_python() {
  "$venv/bin/python" -m pytest tests/python
}

run_site() {
  scripts/build-site.sh "$build" "$venv" .venv-site && "$venv/bin/python" -m pytest tests/site
}

# Of a runner's output, the lines that are its own counts.
closing_lines() {
  case $1 in
    cpp) grep -E '^([0-9]+% tests passed|Total Test time|The following tests FAILED|No tests were found)' ;;
    lit) grep -E '^(Testing Time|Total Discovered Tests|  [A-Z][A-Za-z ]+:)' ;;
    *) tail -n 1 | grep . ;;
  esac
}

failed=()
for suite in "$@"; do
  echo "==== $suite"
  "run_$suite" </dev/null 2>&1 | tee "$logs/$suite.log"
  [[ ${PIPESTATUS[0]} -eq 0 ]] || failed+=("$suite")
done

echo
for suite in "$@"; do
  echo "---- $suite"
  # A runner that counted nothing ran nothing.
  closing_lines "$suite" <"$logs/$suite.log" || failed+=("$suite (no counts)")
done
if [[ ${#failed[@]} -gt 0 ]]; then
  echo "FAILED: ${failed[*]} (logs in $logs)" >&2
  exit 1
fi
