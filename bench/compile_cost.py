"""What compiling costs, in instructions: a number that other work on the machine does not touch.

A process under callgrind imports Tokamak, compiles another program, and then a dozen workloads, on one
thread. Only what happens between the call of `explain` and its result is counted: tracing in Python, and all
of the compiler.

    python bench/compile_cost.py [NAME ...] [--out FOLDER]

Numbers of the last run in the folder are shown beside the new ones.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import report
import workloads
from exchange import Folder, Shared
from workloads.model import Workload

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
USUAL = [
    "fused-sum",
    "activation",
    "black-scholes",
    "softmax-1024-f32",
    "softmax-1024-bf16",
    "layer-norm-1024-f32",
    "cross-entropy-1024-f32",
    "sum-first",
    "transpose",
    "stencil",
    "blur",
    "n-body",
    "k-means",
    "embedding-sum",
    "mlp-f32",
    "attention-512",
    "transformer",
    "residual",
]


# Under callgrind.


def count_all(names: list[str], library: str, inputs: dict[str, list[Shared]]) -> dict[str, Any]:
    """Compiles the workloads, and tells callgrind where each begins and ends."""
    import contestants

    counter = ctypes.CDLL(library)
    if not counter.is_counting():
        raise RuntimeError("this runs under valgrind only")
    tokamak = contestants.Tokamak(1, {})  # compiles another program
    found = {}
    for name in names:
        workload = workloads.find(name)
        arrays = [shared.load() for shared in inputs[name]]
        tokamak.prepare(workload, arrays, [])()
        counter.start_counting()
        explanation = tokamak.explain()
        counter.stop_counting(name.encode())
        found[name] = {"kernels": len(explanation.steps)}
        print(name, flush=True)
    return found


def serve(request: Path) -> None:
    asked = json.loads(request.read_text())
    inputs = {
        name: [Shared(path, dtype_of(dtype), tuple(shape)) for path, dtype, shape in arrays]
        for name, arrays in asked["inputs"].items()
    }
    found = count_all(asked["names"], asked["library"], inputs)
    request.with_name("reply.json").write_text(json.dumps(found))


def dtype_of(name: str) -> Any:
    return workloads.model.BF16 if name == "bfloat16" else workloads.model.np.dtype(name)


# The process that starts it.


def build_counter(folder: Path) -> Path:
    library = folder / "callgrind.so"
    command = ["gcc", "-O2", "-shared", "-fPIC", str(HERE / "callgrind.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def totals(folder: Path) -> dict[str, int]:
    """Instructions, by the name that each dump of callgrind was given."""
    found = {}
    for path in folder.glob("callgrind.out*"):
        text = path.read_text(errors="replace")
        name = re.search(r"^desc: Trigger: Client Request: (\S+)$", text, re.MULTILINE)
        total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if name and total:
            found[name[1]] = int(total[1])
    return found


def count(chosen: list[Workload]) -> dict[str, dict[str, int]]:
    shared = Folder()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            inputs = {
                one.name: [
                    (array.path, array.dtype.name, array.shape)
                    for array in shared.put(one.name, one.make_inputs())
                ]
                for one in chosen
            }
            asked = {
                "names": [one.name for one in chosen],
                "library": str(build_counter(folder)),
                "inputs": inputs,
            }
            request = folder / "request.json"
            request.write_text(json.dumps(asked))
            subprocess.run(
                [
                    "valgrind",
                    "--tool=callgrind",
                    "--instr-atstart=no",
                    f"--callgrind-out-file={folder}/callgrind.out",
                    f"--log-file={folder}/valgrind.log",
                    sys.executable,
                    __file__,
                    "--serve",
                    str(request),
                ],
                check=True,
                env=os.environ
                | {
                    "TOKAMAK_NUM_THREADS": "1",
                    "TOKAMAK_CACHE_SIZE": "0",
                    "PYTHONHASHSEED": "0",
                    "OMP_NUM_THREADS": "1",
                },
                stdout=None if sys.stdout.isatty() else subprocess.DEVNULL,
            )
            notes = json.loads((folder / "reply.json").read_text())
        finally:
            shared.remove()
        counted = totals(folder)
    return {one: {"instructions": counted[one], **notes[one]} for one in notes}


def show(found: dict[str, dict[str, int]], before: dict[str, dict[str, int]]) -> None:
    print(f"{'workload':26}{'instructions':>14}{'kernels':>9}{'before':>14}{'change':>9}")
    for name, one in found.items():
        line = f"{name:26}{one['instructions'] / 1e6:12.1f} M{one['kernels']:9}"
        if name in before:
            old = before[name]["instructions"]
            line += f"{old / 1e6:12.1f} M{one['instructions'] / old - 1:+9.1%}"
        print(line)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads; a dozen and a half unless given")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", metavar="FOLDER")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return 0
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: scripts/install-packages.sh valgrind", file=sys.stderr)
        return 1
    chosen = workloads.selected(options.names) if options.names else [workloads.find(name) for name in USUAL]
    if not chosen:
        parser.error(f"there is no {' or '.join(options.names)}")
    path = options.out / "benchmarks" / "compile.json"
    before = json.loads(path.read_text())["workloads"] if path.exists() else {}
    found = count(chosen)
    show(found, before)
    if not options.names:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"workloads": found}, indent=1) + "\n")
        if path.with_name("results.json").exists():
            report.write_page(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
