"""tokamak cache: what is compiled and kept. What is kept on disk is shown by the native program."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _jit
from .._format import plural
from . import output, target
from .failure import usage_error

NAME = "cache"
SUMMARY = "show or remove what is kept on disk; show the programs that a script compiles"
ABOUT = """Compiled programs and kernels are kept on disk, for the processes that come later:

  tokamak cache         how much there is, where, and how much there may be
  tokamak cache list    each of them, the last used first
  tokamak cache path    the folder
  tokamak cache clear   removes all

Whole programs are kept in the process that compiled them, a table for every jitted function, and are gone with it. With a script, this
runs it and lists what the jitted functions of its module hold in the end, how often it was used, and why each program was compiled:

  tokamak cache script.py -- words that the script gets"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "script", metavar="size|list|path|clear|SCRIPT", help="what to show or do; or a Python script to run"
    )
    output.add_json(parser)


def run(options: argparse.Namespace) -> None:
    if not options.script.endswith(".py"):
        raise usage_error(
            f"'{options.script}' is no script, whose name ends in .py, nor size, list, path or clear"
        )
    names = target.run_script(options.script, options.words)
    functions = [entry for entry in map(_entry, list(_jit._cores)) if entry["programs"]]
    functions.sort(key=lambda entry: str(entry["name"]))
    names.clear()  # which kept the functions alive until they were asked
    if options.json:
        output.print_json({"functions": functions})
        return
    for i, entry in enumerate(functions):
        programs = plural(entry["programs"], "program")
        before = "\n" if i > 0 else ""
        output.print_text(
            f"{before}{entry['name']}: {programs}, {plural(entry['hits'], 'call')} served, {entry['misses']} compiled"
        )
        for reason in entry["reasons"]:
            output.print_text(f"  {reason}")
    if not functions:
        output.print_text(f"{options.script} compiled nothing.")


def _entry(core: Any) -> dict[str, Any]:
    info = core.cache_info()
    return {
        "name": core.name,
        "programs": info.programs,
        "hits": info.hits,
        "misses": info.misses,
        "reasons": list(info.reasons),
    }
