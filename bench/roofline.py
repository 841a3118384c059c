"""The limits of the machine, measured between the workloads of the same run: bandwidth and arithmetic.

A call cannot take less time than its bytes at the bandwidth of memory, nor than its arithmetic at the rate of
fused multiply-adds in registers. What it only reads is held against a loop that only reads, at several places
at once; what it writes too, against the better of a copy and an addition of arrays, both with non-temporal
stores, which spare the reading of what is overwritten. Work on data that stays in the cache is held against
arithmetic alone.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from turns import TURN, rest

SOURCE = Path(__file__).with_name("roofline.cpp")
FLOATS = 32 << 20  # of an array: 128 MB, beyond any cache
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
        if reads + writes > self.cache_bytes / 2:  # what is larger does not stay there from call to call
            bandwidth = self.read if reads >= MOSTLY * (reads + writes) else self.mixed
            limits.append((reads + writes) / bandwidth)
        return max(limits) or None


def last_cache_bytes() -> int:
    sizes = [0]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0))
    return max(sizes)


def aligned_floats(count: int) -> np.ndarray:
    raw = np.ones(count + 16, np.float32)  # written: pages of zeros that nobody wrote are all the same one
    first = (-raw.ctypes.data // 4) % 16
    return raw[first : first + count]


@dataclass
class Roofline:
    """Takes samples, of which the best count."""

    threads: int
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self.limits.cache_bytes = last_cache_bytes()
        try:
            self.library = build()
        except (OSError, RuntimeError) as error:
            self.limits.missing = str(error)
            return
        self.arrays = [aligned_floats(FLOATS) for _ in range(3)]

    def sample(self) -> None:
        if self.limits.missing:
            return
        a, b, out = self.arrays
        size = a.nbytes
        rest(time.perf_counter() + 1)
        for name, function, arrays in (
            ("read", self.library.read_only, [a]),
            ("write", self.library.write_only, [out]),
            ("copy", self.library.copy, [a, out]),
            ("add", self.library.add, [a, b, out]),
        ):
            part = FLOATS // self.threads // 128 * 128
            seconds = self.together(function, lambda i, arrays=arrays, part=part: self.part(arrays, i, part))
            self.keep(name, len(arrays) * size / FLOATS * part * self.threads / seconds)
        self.keep("flops", self.arithmetic(self.library.multiply_add))
        self.keep("bf16_flops", self.arithmetic(self.library.multiply_add_bf16))

    def arithmetic(self, function: Any) -> float:
        """Operations a second of all threads together."""
        rounds = 1_000_000
        seconds = self.together(function, lambda i: [ctypes.c_int64(rounds)])
        rounds = int(rounds * TURN / seconds)  # as long as a turn: waking threads is not to count
        seconds = self.together(function, lambda i: [ctypes.c_int64(rounds)])
        return self.threads * function(1) * rounds / seconds

    def keep(self, name: str, value: float) -> None:
        setattr(self.limits, name, max(value, getattr(self.limits, name)))

    @staticmethod
    def part(arrays: list[np.ndarray], index: int, part: int) -> list[Any]:
        pointers = [ctypes.c_void_p(array.ctypes.data + index * part * 4) for array in arrays]
        return [*pointers, ctypes.c_int64(part)]

    def together(self, function: Any, arguments: Callable[[int], list[Any]]) -> float:
        """Seconds of the function on all threads at once: the best of a few."""
        best = float("inf")
        for _ in range(5):
            workers = [threading.Thread(target=function, args=arguments(i)) for i in range(1, self.threads)]
            own = arguments(0)
            start = time.perf_counter()
            for worker in workers:
                worker.start()
            function(*own)
            for worker in workers:
                worker.join()
            best = min(best, time.perf_counter() - start)
        return best


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
    for function in (loaded.read_only, loaded.write_only, loaded.copy, loaded.add):
        function.restype = None
    return loaded
