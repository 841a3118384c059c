"""How long the kernels of a program take, and how near that is to what the machine can do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native
from ._format import bytes_text, plural, rate_text
from ._progress import Progress

__all__ = ["KernelTime", "Measured", "Runner", "bound_of", "measure", "predicted_seconds"]

_MOST_TRIES = 3  # of the roofline, where kernels are faster than it


@dataclass(frozen=True)
class KernelTime:
    """What a kernel took."""

    seconds: float  # in the call that was the fastest
    bound_seconds: float  # the least that the machine takes: by the roofline, or what this kernel took where that is less
    limit: str  # what sets the bound: "memory", "L3", "L2" (reading and writing) or "arithmetic"
    rate: float  # of the roofline there: bytes or operations a second

    @property
    def share(self) -> float:
        """Of the roofline: 1 is as fast as the machine goes, and the most that it can be."""
        return self.bound_seconds / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Measured:
    """What `Explanation.measure` found."""

    runs: int
    seconds: float  # of the fastest call, all of it
    kernels: list[KernelTime | None]  # in the same call; None: a kernel with nothing to do
    roofline: _native.Roofline

    @property
    def kernel_seconds(self) -> float:
        """Of the call, in kernels."""
        return sum(one.seconds for one in self.kernels if one)

    @property
    def share(self) -> float:
        """Of the roofline, for a whole call with all that happens between its kernels."""
        bound = sum(one.bound_seconds for one in self.kernels if one)
        return bound / self.seconds if self.seconds > 0 else 0.0

    def how(self) -> str:
        """How all this was measured, in words."""
        roof = self.roofline
        reading = ", ".join(
            f"{rate_text(level.bytes_per_second, 'B')} of {bytes_text(level.bytes)} ({level.name})"
            for level in roof.levels
        )
        return (
            f"Times are those of the fastest of {plural(self.runs, 'run')} on the arguments given to explain. The roofline was measured in "
            f"this process with {plural(roof.threads, 'thread')}, the best of several tries: multiplying and adding in registers, "
            f"{rate_text(roof.f32_flops, 'FLOP')} in f32 and {rate_text(roof.f64_flops, 'FLOP')} in f64; reading arrays of "
            f"{plural(len(roof.levels), 'size')}, {reading}. A kernel's bound is what its arithmetic takes at the first rate (every "
            "operation on an element counts as one), or its reading and writing at the rate of the largest of these arrays that is no "
            "larger than all it touches, whichever is more. Where a kernel is faster, the roofline is measured again; one that still "
            "is shows what the machine can do, and is at 100 %."
        )


class Runner:
    """Runs a program again on the arguments it was explained for, and leaves these as they are."""

    def __init__(self, table: Any, leaves: list[Any], changes_arguments: bool) -> None:
        self._table = table
        self._leaves = leaves
        self._changes_arguments = changes_arguments

    def prepare(self) -> Callable[[], Any]:
        """What to call once."""
        leaves = list(map(_copy, self._leaves)) if self._changes_arguments else self._leaves

        def run() -> Any:
            result = self._table.call(leaves, False)
            if result is NotImplemented:
                raise RuntimeError("the program is gone, or what the function captures has changed")
            self._table.hits -= 1  # nobody called the function
            return result

        return run


def _copy(leaf: Any) -> Any:
    """Other memory with the same elements at the same distances: another layout would be another program."""
    if not isinstance(leaf, np.ndarray):
        return leaf.copy() if hasattr(leaf, "copy") else leaf
    if leaf.size == 0 or leaf.flags.c_contiguous:
        return leaf.copy()
    low, high = np.lib.array_utils.byte_bounds(leaf)
    memory = np.empty(high - low, np.uint8)
    made: Any = np.ndarray(leaf.shape, leaf.dtype, memory, leaf.ctypes.data - low, leaf.strides)
    made[...] = leaf
    return made


def measure(kernels: list[_native.KernelReport], runner: Runner, seconds: float) -> Measured:
    """Runs the program for about that long, three times at least. Profiles that are being recorded have nothing of it."""
    session = _native.ProfileSession(aside=True) if _native.profiling() else None
    try:
        return _measure(kernels, runner, seconds)
    finally:
        if session is not None:
            session.finish()


def _measure(kernels: list[_native.KernelReport], runner: Runner, seconds: float) -> Measured:
    names = {kernel.step: kernel.name for kernel in kernels if kernel.step >= 0}
    runner.prepare()()  # memory is there then, and caches are as they will be
    calls: list[tuple[float, dict[int, int]]] = []
    end = time.perf_counter() + seconds
    while len(calls) < 3 or time.perf_counter() < end:
        calls.append(_times_of(runner.prepare(), names))
    whole, best = min(
        calls, key=lambda call: (not call[1], call[0])
    )  # one whose kernels were told apart, if any was
    taken = [best[kernel.step] / 1e9 if kernel.step in best else None for kernel in kernels]
    roofline = _roofline_above(kernels, taken)
    times = []
    for kernel, took in zip(kernels, taken, strict=True):
        bound, limit, rate = bound_of(kernel, roofline)
        times.append(None if took is None else KernelTime(took, min(bound, took), limit, rate))
    return Measured(len(calls), whole, times, roofline)


def _roofline_above(kernels: list[_native.KernelReport], taken: list[float | None]) -> _native.Roofline:
    """The roofline; measured again where kernels are faster, or f64 than f32, of which a register has twice as many: it was something
    else that had the machine then."""
    with Progress("measuring what the machine can do"):
        roofline = _native.measure_roofline()
        for _ in range(_MOST_TRIES):
            is_above = roofline.f32_flops >= roofline.f64_flops and all(
                took is None or bound_of(kernel, roofline)[0] <= took
                for kernel, took in zip(kernels, taken, strict=True)
            )
            if is_above:
                break
            roofline = _native.measure_roofline(again=True)
    return roofline


def _times_of(run: Callable[[], Any], names: dict[int, str]) -> tuple[float, dict[int, int]]:
    """Seconds of one call, and nanoseconds by step of the program in it; none of these if what else goes on in the process cannot be
    told apart."""
    session = _native.ProfileSession(aside=True)
    try:
        start = time.perf_counter()
        run()
        whole = time.perf_counter() - start
    finally:
        recorded = session.finish()
    by_thread: dict[int, list[Any]] = {}
    for event in recorded.events:
        if event.category in ("kernel", "library"):
            by_thread.setdefault(event.thread, []).append(event)
    for events in by_thread.values():
        # Steps that only check arguments have events, too.
        if all(step < len(events) and events[step].name == name for step, name in names.items()):
            return whole, {step: events[step].end_ns - events[step].start_ns for step in names}
    return whole, {}


def predicted_seconds(kernel: _native.KernelReport, measured: Measured | None) -> float:
    """What the kernel was to take by what it does, where the machine is as fast as it was measured to be, or as others of its kind are."""
    if measured is None or kernel.step < 0:
        return kernel.predicted_ns / 1e9
    return _native.predicted_seconds(kernel, measured.roofline)


def bound_of(kernel: _native.KernelReport, roofline: _native.Roofline) -> tuple[float, str, float]:
    """The least time the machine could take, what limits it and at which rate. No array that is smaller than what the kernel touches is read
    more slowly than that."""
    touched = kernel.bytes_read + kernel.bytes_written
    level = next((level for level in reversed(roofline.levels) if level.bytes <= touched), roofline.levels[0])
    moving = touched / level.bytes_per_second
    peak = roofline.f64_flops if kernel.dtype in ("f64", "i64", "u64") else roofline.f32_flops
    computing = kernel.flops / peak
    if computing > moving:
        return computing, "arithmetic", peak
    return moving, level.name, level.bytes_per_second
