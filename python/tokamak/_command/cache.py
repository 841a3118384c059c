"""tokamak cache: what is compiled and kept."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _jit
from .._format import plural
from . import output, target
from .failure import usage_error

NAME = "cache"
SUMMARY = "show the programs that a script compiles and keeps"
ABOUT = """Programs are kept in the process that compiled them, a table for every jitted function, and are gone with it: nothing is kept on
disk. This runs a script and lists what the jitted functions of its module hold in the end, how often it was used, and why each program was compiled.

  tokamak cache script.py -- words that the script gets"""

_NOWHERE = "Programs are kept in the process that compiled them; nothing is kept on disk."


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="a Python script to run")
    output.add_json(parser)


def run(options: argparse.Namespace) -> None:
    functions: list[dict[str, Any]] = []
    if options.script is not None:
        if not options.script.endswith(".py"):
            raise usage_error(f"'{options.script}' is no script: its name ends in .py")
        names = target.run_script(options.script, options.words, quiet=options.json)
        functions = [entry for entry in map(_entry, list(_jit._cores)) if entry["programs"]]
        functions.sort(key=lambda entry: entry["name"])
        names.clear()  # which kept the functions alive until they were asked
    if options.json:
        output.print_json({"on_disk": None, "functions": functions})
        return
    print(_NOWHERE)
    for entry in functions:
        programs = plural(entry["programs"], "program")
        print(
            f"\n{entry['name']}: {programs}, {plural(entry['hits'], 'call')} served, {entry['misses']} compiled"
        )
        for reason in entry["reasons"]:
            print(f"  {reason}")
    if options.script is not None and not functions:
        print(f"\n{options.script} compiled nothing.")


def _entry(core: Any) -> dict[str, Any]:
    info = core.cache_info()
    return {
        "name": core.name,
        "programs": info.programs,
        "hits": info.hits,
        "misses": info.misses,
        "reasons": list(info.reasons),
    }
