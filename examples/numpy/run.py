"""Runs the programs of this folder as NumPy runs them and compiled, and prints the times.

python examples/numpy/run.py [NAME ...] [--small | --large] [--json FILE]

NumPy and Tokamak take turns, and the best time of each counts. Arguments are copied before every call, outside
the timed part, since programs write to them. The first call traces, compiles and runs.
"""

import argparse
import copy
import importlib.util
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
TURNS = 5
SECONDS_OF_A_TURN = 0.06


def load(name):
    """The module, as new: its function has compiled nothing."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call_time(function, arguments):
    fresh = copy.deepcopy(arguments)
    start = time.perf_counter()
    function(*fresh)
    return time.perf_counter() - start


def turn(function, arguments):
    """The best time of the calls that fit into a turn: one at least."""
    end = time.perf_counter() + SECONDS_OF_A_TURN
    best = call_time(function, arguments)
    while time.perf_counter() < end:
        best = min(best, call_time(function, arguments))
    return best


def measure(name, size):
    module = load(name)
    arguments = module.arguments(np.random.default_rng(0), large=size == "large")
    compiled, plain = module.program, module.program.__wrapped__
    first = call_time(compiled, arguments)
    times = [(turn(plain, arguments), turn(compiled, arguments)) for _ in range(TURNS)]
    numpy, ours = (1e3 * min(one) for one in zip(*times, strict=True))
    return {
        "name": name,
        "size": size,
        "numpy": numpy,
        "ours": ours,
        "faster": numpy / ours,
        "first": 1e3 * first,
    }


def row(rows):
    line = f"{rows[0]['name']:24}"
    for one in rows:
        line += f"{one['numpy']:11.4f}{one['ours']:10.4f}{one['faster']:7.1f}x{one['first']:8.0f} "
    return line


def summary(size, rows):
    mean = np.exp(np.mean([np.log(one["faster"]) for one in rows]))
    first = np.median([one["first"] for one in rows])
    slower = [one["name"] for one in rows if one["faster"] < 1]
    print(f"{size}: {mean:.2f}x in geometric mean, first call {first:.0f} ms in the median")
    print(f"  slower than NumPy: {len(slower)} of {len(rows)}  {' '.join(slower)}")


def main():
    os.environ["TOKAMAK_CACHE_SIZE"] = "0"  # a first call compiles, also when this runs again
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--small", action="store_true", help="only small arrays")
    parser.add_argument("--large", action="store_true", help="only large arrays")
    parser.add_argument("--json", metavar="FILE", help="write the times, in milliseconds, to a file")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run")
    sizes = [size for size in ("small", "large") if getattr(options, size)] or ["small", "large"]

    columns = f"{'NumPy':>11}{'ours':>10}{'faster':>8}{'first':>8} "
    print(f"{'milliseconds':24}" + "".join(f"{size:>{len(columns) - 1}} " for size in sizes))
    print(f"{'program':24}" + columns * len(sizes))
    everything = []
    warnings.simplefilter("ignore", RuntimeWarning)
    with np.errstate(all="ignore"):
        for name in names:
            rows = [measure(name, size) for size in sizes]
            print(row(rows), flush=True)
            everything += rows
    for size in sizes:
        summary(size, [one for one in everything if one["size"] == size])
    if len(sizes) > 1:
        first = np.median([one["first"] for one in everything])
        print(f"first call of all: {first:.0f} ms in the median")
    if options.json:
        Path(options.json).write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
