"""Runs what the pages of the documentation show, and compares what comes out.

    python docs/check.py [--update] [PAGE ...]

In a page:
  ```python ... ```            is run, as a file example.py; all of a page is one program
  <!-- run ... -->             is run too, but not shown
  ```text ... ```              right after either is what it prints, an uncaught error included
  <!-- from FILE --> ```...``` is an excerpt of a file: consecutive lines of it, whatever their indentation

Times differ from run to run, so numbers before "ms" may; so may the rows of a block, which depend on the
cache. --update writes what came out into the pages. The code is made for x86-64-v3 and two threads whatever
the machine, so that the pages are the same everywhere.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import linecache
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
VARYING = re.compile(
    r"\d[\d.e+-]*(?= ms\b)|(?<=\b(?:code|plan) )[\d.e-]+|(?<=trace )[\d.e-]+|(?<=passes )[\d.e-]+|(?<=fusion )[\d.e-]+"
    r"|(?<=^blocks of )\d+"
)


@dataclass
class Block:
    kind: str  # "run", "output" or "excerpt"
    first: int  # of its lines, counted from 0
    last: int  # one behind
    lines: list[str]
    source: str = ""  # of an excerpt


def blocks_of(lines: list[str]) -> list[Block]:
    blocks: list[Block] = []
    source = ""
    after_code = False  # nothing but blank lines since code that is run
    i = 0
    while i < len(lines):
        line = lines[i]
        ends = "-->" if line.startswith("<!-- run") else "```" if line.startswith("```") else ""
        if not ends:
            named = re.fullmatch(r"<!-- from (\S+) -->", line)
            source = named[1] if named else source if not line.strip() else ""
            after_code = after_code and not line.strip()
            i += 1
            continue
        end = next(k for k in range(i + 1, len(lines)) if lines[k] == ends)
        kind = ""
        if ends == "-->" or line == "```python":
            kind = "run"
        elif line == "```text" and after_code:
            kind = "output"
        elif source:
            kind = "excerpt"
        if kind:
            blocks.append(Block(kind, i + 1, end, lines[i + 1 : end], source))
        after_code = kind == "run"
        source = ""
        i = end + 1
    return blocks


def run(block: Block, names: dict[str, object]) -> list[str]:
    """As a file of its own, in the folder that it is run in: errors look at the line that they name."""
    printed = io.StringIO()
    text = "\n".join(block.lines) + "\n"
    Path("example.py").write_text(text)
    linecache.clearcache()
    code = compile(text, "example.py", "exec", dont_inherit=True)
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, names)
        except Exception as error:  # what a page shows may be an error
            print(f"{type(error).__name__}: {error}")
    return [line.rstrip() for line in printed.getvalue().rstrip().splitlines()]


def without_varying(lines: list[str]) -> list[str]:
    return [VARYING.sub("#", line) for line in lines]


def is_excerpt(lines: list[str], file: str) -> bool:
    wanted = [line.strip() for line in lines if line.strip()]
    there = [line.strip() for line in (ROOT / file).read_text().splitlines() if line.strip()]
    return any(there[i : i + len(wanted)] == wanted for i in range(len(there)))


def check_page(path: Path, update: bool) -> list[str]:
    """What is wrong with the page; with `update` it is put right where that can be done."""
    import tokamak  # here, because it reads the environment that main() sets

    tokamak.set_num_threads(2)  # the page before may have changed it
    lines = path.read_text().splitlines()
    names: dict[str, object] = {"__name__": "example"}
    problems: list[str] = []
    printed: list[str] = []
    changes: list[tuple[Block, list[str]]] = []
    for block in blocks_of(lines):
        where = f"{path.relative_to(ROOT)}:{block.first + 1}"
        if block.kind == "excerpt" and not is_excerpt(block.lines, block.source):
            problems.append(f"{where}: not in {block.source}")
        elif block.kind == "run":
            printed = run(block, names)
            if printed and printed[-1].startswith("NameError"):
                problems.append(f"{where}: {printed[-1]}")
        elif block.kind == "output" and without_varying(printed) != without_varying(block.lines):
            changes.append((block, printed))
            difference = "\n".join(difflib.unified_diff(block.lines, printed, "page", "printed", lineterm=""))
            problems.append(f"{where}: prints something else\n{difference}")
    if update and changes:
        for block, new in reversed(changes):
            lines[block.first : block.last] = new
        path.write_text("\n".join(lines) + "\n")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write what came out into the pages")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="all pages otherwise")
    options = parser.parse_args()
    os.environ["TOKAMAK_CPU"] = "x86-64-v3"
    os.environ.pop("TOKAMAK_LOGS", None)
    os.environ["TOKAMAK_CACHE_SIZE"] = "0"  # what the pages say of compiling is about the first time
    problems: list[str] = []
    pages = [page.resolve() for page in options.pages or PAGES]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # for the files that pages write
        for page in pages:
            problems += check_page(page, options.update)
        os.chdir(ROOT)
    print("\n".join(problems))
    print(f"{len(problems)} problems" + (", outputs updated" if options.update and problems else ""))
    return 1 if problems and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
