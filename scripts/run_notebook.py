"""Runs a notebook from top to bottom and writes it with what came out.

    python scripts/run_notebook.py NOTEBOOK [OUTPUT]

Without OUTPUT it is written in place. When a cell raises, its error is printed and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

PATIENCE = 120  # seconds for a cell


def run(source: Path, target: Path) -> None:
    """Raises CellExecutionError, which names the cell and what it raised."""
    notebook = nbformat.read(source, as_version=4)
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    done = 0

    def show(cell, cell_index):
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            print(f"\r\x1b[Kcell {done} of {cells}", end="", file=sys.stderr, flush=True)

    client = NotebookClient(
        notebook,
        timeout=PATIENCE,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(source.resolve().parent)}},
        on_cell_execute=show,
        record_timing=False,  # it would differ in every run,
        coalesce_streams=True,  # and so would where the output of a cell is cut into pieces
    )
    client.execute()
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}  # not the version that happened to be there
    nbformat.validate(notebook)
    nbformat.write(notebook, target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("output", type=Path, nargs="?")
    options = parser.parse_args()
    start = time.perf_counter()
    try:
        run(options.notebook, options.output or options.notebook)
    except FileNotFoundError as error:
        print(f"run_notebook: there is no {error.filename}", file=sys.stderr)
        return 1
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{options.output or options.notebook}: all cells ran, in {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
