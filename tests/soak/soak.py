"""Many threads call many functions with changing shapes, while faults happen beside them.

Functions are compiled, evicted and compiled again all the time. Meanwhile the process forks and the child calls them,
Ctrl-C interrupts long calls, and calls ask for more memory than there is. Every result is compared with NumPy's, and
memory must not grow. How much there is, is printed twenty times on the way.

    soak.py --seconds 5          what every test run does
    soak.py --seconds 3600       make soak
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import resource
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import tokamak as tk

THREADS = 16
FUNCTIONS = 50
SHAPES = [(1, 1), (3, 7), (16, 16), (33, 65), (128, 20), (5, 4000), (400, 300)]
RECORDS = 20
LARGEST_GROWTH = 128 << 20  # of the process, once everything was compiled and evicted a few times


def function_of(number: int) -> Callable[[Any], Any]:
    """Functions of matrices, no two the same."""
    k = 1 + 0.5 * number
    kinds: list[Callable[[Any], Any]] = [
        lambda x: x * k + np.sin(x),
        lambda x: (np.exp(-x * x) * k).sum(axis=1),
        lambda x: x.T * k - 1,
        lambda x: x @ x.T + k,
        lambda x: np.where(x > 0, x, x[::-1]) * k,
        lambda x: x.max(axis=0) - k,
        lambda x: np.concatenate([x, x * k], axis=1),
        lambda x: np.cumsum(x, axis=0) * k,
        lambda x: np.sort(x * k, axis=1),
        lambda x: x[np.arange(len(x)) // 2] + k,
    ]
    return kinds[number % len(kinds)]


def argument(shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.arange(count) * 37 % 101 / 50 - 1).reshape(shape)


class Soak:
    def __init__(self) -> None:
        self.plain = [function_of(i) for i in range(FUNCTIONS)]
        self.jitted = [tk.jit(f, max_programs=2) for f in self.plain]
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.stop = threading.Event()
        self.calls = [0] * THREADS
        # Before the threads begin: OpenBLAS, with which NumPy multiplies matrices, stops its threads when the process
        # forks, and waits for ever if another thread is multiplying (with or without Tokamak).
        self.expected = [{shape: f(argument(shape)) for shape in SHAPES} for f in self.plain]
        # A module that another thread imports for the first time while the process forks stays locked in the child.
        for number in range(FUNCTIONS):
            self.check(number, (3, 7))

    def check(self, number: int, shape: tuple[int, ...]) -> None:
        result = self.jitted[number](argument(shape))
        np.testing.assert_allclose(result, self.expected[number][shape], rtol=1e-9, atol=1e-9)

    def call(self, choose: random.Random) -> None:
        self.check(choose.randrange(FUNCTIONS), choose.choice(SHAPES))

    def work(self, seed: int) -> None:
        choose = random.Random(seed)
        calls = 0
        try:
            while not self.stop.is_set():
                self.call(choose)
                calls += 1
                self.calls[seed] = calls
        except BaseException:  # noqa: BLE001
            self.failures.append(traceback.format_exc())
            self.stop.set()

    def fork(self, choose: random.Random) -> None:
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(60, exit=True)
            try:
                for _ in range(5):
                    self.call(choose)
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            self.failures.append(f"the child of a fork ended with {status}")

    def interrupt(self, choose: random.Random) -> None:
        """Ctrl-C in the middle of a long call; the next one works."""
        long = tk.jit(lambda x: np.sin(np.cos(np.tanh(x))).sum())
        x = np.ones(2_000_000)
        timer = threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            for _ in range(1000):
                long(x)
            self.failures.append("Ctrl-C had no effect")
        except KeyboardInterrupt:
            pass
        timer.join()
        self.call(choose)

    def exhaust(self, choose: random.Random) -> None:
        """More memory than there is: for a result, and for what is between the steps of a program."""
        result = tk.jit(lambda x: np.broadcast_to(x, (1 << 40, 1 << 8)) + 1)
        between = tk.jit(lambda x: np.sort(np.cumsum(np.broadcast_to(x, (1 << 38, 4)), axis=0), axis=0)[0])
        for f in (result, between):
            try:
                f(np.ones(1))
                self.failures.append("there was memory for everything")
            except MemoryError:
                pass
        self.call(choose)

    def record(self, passed: float) -> None:
        with open("/proc/self/maps") as file:
            mappings = len(file.readlines())
        print(
            f"{passed:6.0f} s: {resident_bytes() / 2**20:.0f} MB resident and {mappings} mappings "
            f"after {sum(self.calls)} calls of {self.programs()} programs",
            flush=True,
        )

    def programs(self) -> int:
        return sum(f.cache_info().misses for f in self.jitted)

    def run(self, seconds: float) -> dict[str, int]:
        threads = [threading.Thread(target=self.work, args=(seed,)) for seed in range(THREADS)]
        for thread in threads:
            thread.start()
        choose = random.Random(-1)
        start, settled = time.monotonic(), 0
        records = 0
        try:
            while time.monotonic() < start + seconds and not self.stop.is_set():
                for fault in (self.fork, self.interrupt, self.exhaust):
                    fault(choose)
                    self.counts[fault.__name__] += 1
                passed = time.monotonic() - start
                if passed >= (records + 1) * seconds / RECORDS:
                    records = int(passed / seconds * RECORDS)
                    self.record(passed)
                if settled == 0 and time.monotonic() > start + seconds / 3:
                    settled = resident_bytes()
                time.sleep(min(0.5, seconds / 20))
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()
        self.counts["grown_bytes"] = max(resident_bytes() - settled, 0)
        gc.collect()
        self.counts["bytes_in_use"] = tk.memory_stats()["in_use"]
        self.counts["programs"] = self.programs()
        self.counts["calls"] = sum(self.calls)
        return dict(self.counts)


def resident_bytes() -> int:
    gc.collect()
    tk.trim_memory()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5)
    seconds = parser.parse_args().seconds
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may lack it
    soak = Soak()
    counts = soak.run(seconds)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    if counts["grown_bytes"] > LARGEST_GROWTH:
        soak.failures.append(f"the process grew by {counts['grown_bytes']} bytes")
    for failure in soak.failures:
        print(failure, file=sys.stderr)
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
