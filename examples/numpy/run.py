"""Runs the programs of this folder as NumPy runs them and compiled, and prints the times.

python examples/numpy/run.py [NAME ...]
"""

import importlib
import sys
import time
from pathlib import Path

import numpy as np


def copies(arguments):
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]


def best_time(function, arguments):
    best = float("inf")
    end = time.perf_counter() + 0.2
    while time.perf_counter() < end:
        fresh = copies(arguments)
        start = time.perf_counter()
        function(*fresh)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    folder = Path(__file__).parent
    sys.path.insert(0, str(folder))
    names = sys.argv[1:] or sorted(path.stem for path in folder.glob("*.py") if path.stem != "run")
    print(f"{'program':24}{'NumPy ms':>10}{'ms':>10}{'faster':>9}{'first call ms':>15}")
    ratios = []
    for name in names:
        module = importlib.import_module(name)
        arguments = module.arguments(np.random.default_rng(0))
        start = time.perf_counter()
        module.program(*copies(arguments))
        first = time.perf_counter() - start
        with np.errstate(all="ignore"):
            plain = best_time(module.program.__wrapped__, arguments)
        compiled = best_time(module.program, arguments)
        ratios.append(plain / compiled)
        print(
            f"{name:24}{plain * 1e3:10.3f}{compiled * 1e3:10.3f}{ratios[-1]:8.1f}x{first * 1e3:15.1f}",
            flush=True,
        )
    print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.1f}x")


if __name__ == "__main__":
    main()
