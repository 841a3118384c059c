"""Memory, threads."""

from __future__ import annotations

from . import _native

__all__ = ["memory_stats", "num_threads", "set_num_threads", "trim_memory"]


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
