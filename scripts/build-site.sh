#!/usr/bin/env bash
# build-site.sh BUILD VENV VENV_SITE: makes the documentation site, BUILD/site/html. VENV can import the package, whose docstrings
# become pages; VENV_SITE has Sphinx. Whatever Sphinx warns of is an error, a link that leads nowhere too.
set -euo pipefail

build=$(cd "$1" && pwd)
venv=$2
venv_site=$3
site=$build/site

rm -rf "$site"
"$venv/bin/python" docs/site/assemble.py "$site/pages"
"$venv_site/bin/sphinx-build" --quiet --fail-on-warning --keep-going --jobs auto \
  -c docs/site -d "$site/doctrees" -b html "$site/pages" "$site/html" ||
  { echo "site: mend the pages that $site/pages was made of: docs/, README.md, CONTRIBUTING.md, docstrings, headers" >&2; exit 1; }
echo "site: $site/html/index.html"
