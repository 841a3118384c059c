"""A program as a user with `mypy --strict` writes it. It is checked, not run: see test_typing.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import tokamak as tk
from typing_extensions import assert_type

Floats = npt.NDArray[np.float64]


@tk.jit
def scaled(x: Floats, factor: float = 2.0) -> Floats:
    return np.maximum(x * factor, 0)


@tk.jit(static_argnames="axis", fast_math=True)
def totals(x: Floats, axis: int) -> Floats:
    result: Floats = x.sum(axis=axis)
    return result


class Model:
    def __init__(self, weights: Floats) -> None:
        self.weights = weights

    @tk.jit
    def forward(self, x: Floats) -> Floats:
        return x @ self.weights


def normalized(x: tk.Array) -> tk.Array:
    centered = x - tk.mean(x, axis=0, keepdims=True)
    return tk.divide(centered, tk.std(x, axis=0, correction=1.0))


def main() -> None:
    x = np.linspace(0.0, 1.0, 6).reshape(2, 3)

    # Jitted functions keep their signatures.
    assert_type(scaled(x, factor=3.0), Floats)
    assert_type(totals(x, axis=0), Floats)
    assert_type(Model(x.T).forward(x), Floats)
    assert_type(scaled.cache_info(), tk.CacheInfo)
    compiled = tk.jit(lambda x: x)
    compiled.clear_cache()

    # What they compile to
    explained = scaled.explain(x)
    assert_type(explained, tk.Explanation)
    assert_type(len(explained.kernels), int)
    assert_type(explained.kernels[0].ops, list[str])
    assert_type(explained.memory.peak_bytes, int)
    print(explained.graph, explained.kernels[0].asm)
    with tk.profile() as measured:
        scaled(x)
    measured.save("trace.json")

    # Arrays, and the functions of the array API standard
    a = tk.asarray(x, dtype=tk.float32)
    assert_type(a, tk.Array)
    assert_type(tk.exp(a), tk.Array)
    assert_type(tk.add(a, 1), tk.Array)
    assert_type(tk.add(2.0, a), tk.Array)
    assert_type(tk.add(a, x), tk.Array)
    assert_type(tk.sum(a, axis=(0, 1)), tk.Array)
    assert_type(tk.concat([a, a], axis=1), tk.Array)
    assert_type(tk.unstack(a), tuple[tk.Array, ...])
    assert_type(tk.zeros((2, 3), dtype=tk.int8), tk.Array)
    assert_type(normalized(a), tk.Array)
    assert_type(tk.exp(x), np.ndarray[Any, Any])
    assert_type(tk.add(1, x), np.ndarray[Any, Any])
    assert_type(a.shape, tuple[int, ...])
    assert_type(float(tk.max(a)), float)
    assert_type(tk.finfo(a).eps, float)
    assert_type(tk.isdtype(a.dtype, "real floating"), bool)
    assert_type(tk.__array_namespace_info__().devices(), list[str])
    back: np.ndarray[Any, Any] = a.numpy()
    b: tk.Array = -a * 2 + a[0] / tk.pi
    b[1:] = 0
    weights = tk.constant(x)
    print(back, tk.softmax(b), tk.matmul(weights, b.T), tk.memory_stats(), tk.num_threads())

    try:
        scaled(x, factor=0.5)
    except tk.Error as error:
        print(error.where)


if __name__ == "__main__":
    main()
