"""The limits of the machine, measured between the turns of each workload: bandwidth and arithmetic.

A call cannot take less time than its bytes at the bandwidth of memory, nor than its arithmetic at the rate of
fused multiply-adds in registers. What it only reads is held against loops that only read; what
it writes too, against the better of a copy and an addition of arrays, both with non-temporal stores, which
spare the reading of what is overwritten. Work on data that stays in the cache is held against
arithmetic alone.
"""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from turns import TURN, rest

SOURCE = Path(__file__).with_name("roofline.cpp")
FLOATS = 32 << 20  # of an array: 128 MB, beyond any cache
FEWEST_BYTES = 64 << 20  # of all arrays of a sample: of less, it would be how long it takes to wake threads
SHARE_OF_CACHE = 16 << 20  # bytes, of each processor, at most
MOSTLY = 0.95  # of the bytes are read: then the loop that only reads is the limit


@dataclass
class Limits:
    read: float = 0  # bytes a second
    write: float = 0
    copy: float = 0
    add: float = 0
    flops: float = 0  # in f32, a second
    bf16_flops: float = 0  # of products of bf16, 0 where the processor has none but those of f32
    cache_bytes: int = 0
    missing: str = ""  # why they are not known

    @property
    def mixed(self) -> float:
        return max(self.copy, self.add)

    def flops_in(self, arithmetic: str) -> float:
        """Operations a second in f32, f64, or bf16 (of products)."""
        return {"f64": self.flops / 2, "bf16": max(self.bf16_flops, self.flops)}.get(arithmetic, self.flops)

    def seconds(self, reads: float, writes: float, flops: float, arithmetic: str) -> float | None:
        """What a call takes at least."""
        if self.missing:
            return None
        limits = [flops / self.flops_in(arithmetic)]
        if self.comes_from_memory(reads, writes):
            limits.append((reads + writes) / (self.read if is_mostly_read(reads, writes) else self.mixed))
        return max(limits) or None

    def comes_from_memory(self, reads: float, writes: float) -> bool:
        return reads + writes > self.cache_bytes / 2  # what is larger does not stay there from call to call

    def keep(self, name: str, value: float) -> None:
        setattr(self, name, max(value, getattr(self, name)))


def is_mostly_read(reads: float, writes: float) -> bool:
    return reads >= MOSTLY * (reads + writes)


def last_cache_bytes() -> int:
    """Of this machine's own processors. A virtual machine is told of the whole cache of a socket, which the
    processors of others fill as well (support/cpu.cpp)."""
    sizes = [0]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0))
    return min(max(sizes), SHARE_OF_CACHE * (os.cpu_count() or 1))


def aligned_floats(count: int) -> np.ndarray:
    raw = np.ones(count + 16, np.float32)  # written: pages of zeros that nobody wrote are all the same one
    first = (-raw.ctypes.data // 4) % 16
    return raw[first : first + count]


class Roofline:
    """Takes samples, of which the best count: those of a workload for its limit, all for the page."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.best = self.now = Limits(cache_bytes=last_cache_bytes())
        self.rounds = {"flops": 1_000_000, "bf16_flops": 1_000_000}
        try:
            self.library = build()
        except (OSError, RuntimeError) as error:
            self.best.missing = str(error)
            return
        self.arrays = [aligned_floats(FLOATS) for _ in range(3)]

    def sample(self) -> None:
        """All of them, for the workload that comes."""
        if self.best.missing:
            return
        self.now = Limits(cache_bytes=self.best.cache_bytes)
        rest(time.perf_counter() + 1)
        for _ in range(3):
            for name in ("read", "write", "copy", "add", "flops", "bf16_flops"):
                self.take(name)

    def turn(self, reads: float, writes: float, arithmetic: str) -> None:
        """Those that a workload is held against, once more: the machine's speed changes between its turns."""
        if self.best.missing:
            return
        self.take("bf16_flops" if arithmetic == "bf16" and self.now.bf16_flops else "flops")
        if self.now.comes_from_memory(reads, writes):
            for name in ["read"] if is_mostly_read(reads, writes) else ["copy", "add"]:
                self.take(name, reads + writes)

    def take(self, name: str, size: float = math.inf) -> None:
        value = self.arithmetic(name) if name in self.rounds else self.bandwidth(name, size)
        self.best.keep(name, value)
        self.now.keep(name, value)

    def bandwidth(self, name: str, size: float) -> float:
        """Bytes a second of all threads together, in arrays of about so many bytes together: a part of what is
        not much larger than the caches stays there."""
        a, b, out = self.arrays
        functions, arrays = {
            "read": ([self.library.read_at_four_places, self.library.read_in_order], [a]),
            "write": ([self.library.write_only], [out]),
            "copy": ([self.library.copy], [a, out]),
            "add": ([self.library.add], [a, b, out]),
        }[name]
        floats = int(min(FLOATS, max(size, FEWEST_BYTES) / a.itemsize / len(arrays)))
        part = floats // self.threads // 128 * 128
        seconds = min(self.together(one, lambda i: self.part(arrays, i, part)) for one in functions)
        return len(arrays) * a.itemsize * part * self.threads / seconds

    def arithmetic(self, name: str) -> float:
        """Operations a second of all threads together. It lasts a turn: waking threads is not to count."""
        function = self.library.multiply_add if name == "flops" else self.library.multiply_add_bf16
        if function(1) == 0:  # the processor has none
            return 0
        seconds = 0.0
        while seconds < TURN / 2:
            rounds = ctypes.c_int64(self.rounds[name])
            seconds = self.together(function, lambda i, rounds=rounds: [rounds])
            self.rounds[name] = int(rounds.value * max(TURN / seconds, 1))
        return self.threads * function(1) * rounds.value / seconds

    @staticmethod
    def part(arrays: list[np.ndarray], index: int, part: int) -> list[Any]:
        pointers = [ctypes.c_void_p(array.ctypes.data + index * part * 4) for array in arrays]
        return [*pointers, ctypes.c_int64(part)]

    def together(self, function: Any, arguments: Callable[[int], list[Any]]) -> float:
        """Seconds of the function on all threads at once."""
        workers = [threading.Thread(target=function, args=arguments(i)) for i in range(1, self.threads)]
        own = arguments(0)
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        function(*own)
        for worker in workers:
            worker.join()
        return time.perf_counter() - start


def build() -> ctypes.CDLL:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise RuntimeError("there is no C++ compiler to measure it with")
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder) / "roofline.so")
        command = [
            compiler,
            "-O2",
            "-march=native",
            "-std=c++20",
            "-shared",
            "-fPIC",
            str(SOURCE),
            "-o",
            library,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"roofline.cpp does not compile here: {done.stderr.strip().splitlines()[-1]}")
        loaded = ctypes.CDLL(library)
    loaded.multiply_add.restype = ctypes.c_int64
    for name in ("read_at_four_places", "read_in_order", "write_only", "copy", "add"):
        getattr(loaded, name).restype = None
    return loaded
