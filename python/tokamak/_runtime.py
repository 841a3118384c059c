"""Memory, threads, checks."""

from __future__ import annotations

from . import _native

__all__ = ["memory_stats", "num_threads", "set_checks", "set_num_threads", "trim_memory"]


def memory_stats() -> dict[str, int]:
    """What the pool that results and temporaries come from holds, in bytes."""
    return _native.memory_stats()


def trim_memory() -> int:
    """Gives all memory that is kept for reuse back to the system; returns how many bytes that were."""
    return _native.trim_memory()


def num_threads() -> int:
    """Threads that run kernels, the caller included."""
    return _native.num_threads()


def set_num_threads(count: int) -> None:
    """Results do not depend on it. At first it is what TOKAMAK_NUM_THREADS, OMP_NUM_THREADS, affinity and cgroup
    limits allow."""
    _native.set_num_threads(count)


def set_checks(checks: str) -> None:
    """Lets programs check themselves: "bounds,nan,shadow", some of them, "all" or "". Also the environment variable
    TOKAMAK_CHECK.

    `bounds`: generated code looks at every element that it reads or writes, before it does, and raises InternalError
    for one outside of its array. `nan`: the first operation that makes a NaN of numbers that are none raises
    UserFloatingPointError. `shadow`: every kernel and every result is compared with the interpreter; InternalError names
    the first that differs. All make programs slow. Functions are compiled anew for the checks that they are called with.
    """
    _native.set_checks(checks)
