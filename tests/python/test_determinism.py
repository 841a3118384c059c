"""The same bits for any number of threads and any place of the arguments, every time, profiled or not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tokamak as tk

Arrays = tuple[np.ndarray, ...]
THREADS = (1, 2, 3, 7)
OFFSETS = (1, 4, 8, 20, 32, 60)  # bytes behind a multiple of 64
PROGRAMS: dict[str, tuple[Callable[..., Any], Arrays]] = {}


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def below(limit: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(limit).integers(0, limit, shape)


def program(name: str, *arguments: np.ndarray) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[name] = (function, arguments)
        return function

    return add


for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
    kind = np.dtype(dtype).name
    values = normal(333, 1001, dtype=dtype)
    PROGRAMS[f"sums of {kind}"] = (lambda x: (x.sum(), x.sum(0), x.sum(1), x.mean(), x.cumsum(1)), (values,))
    PROGRAMS[f"functions of {kind}"] = (lambda x: np.exp(-x * x) * np.sin(x) + np.tanh(x) / 3, (values,))
    PROGRAMS[f"product of {kind}"] = (
        lambda a, b: np.maximum(a @ b, 0) + 1,
        (normal(301, 257, dtype=dtype), normal(257, 333, dtype=dtype)),
    )


@program("long product", normal(100_003), normal(100_003))
def _(x, y):
    return x @ y, (x * y).prod(), np.abs(x).max(), (x * y).sum()


@program("softmax", normal(257, 2003))
def _(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@program("layer norm", normal(511, 1023), normal(1023), normal(1023))
def _(x, scale, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(spread + 1e-5) * scale + shift


@program("attention", normal(3, 4, 130, 32), normal(3, 4, 130, 32), normal(3, 4, 130, 32))
def _(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / 5
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ v


@program("two layers", normal(200, 128), normal(128, 300), normal(300), normal(300, 60))
def _(x, w, b, v):
    return np.tanh(x @ w + b) @ v


@program("convolution", normal(2, 16, 40, 40), normal(32, 16, 3, 3))
def _(x, w):
    return tk.relu(tk.conv(x, w))


@program("einsum", normal(20, 4, 129), normal(129, 4, 65))
def _(x, w):
    return np.einsum("bhd,dhe->bhe", x, w)


@program("matrix times vector", normal(700, 901), normal(901), normal(700))
def _(a, x, y):
    return a @ x, y @ a


@program("histogram", normal(150_001), below(1000, 150_001))
def _(weights, bins):
    return np.bincount(bins, weights, minlength=1000), np.histogram(weights, 50, (-3.0, 3.0))[0]


@program("additions at places", normal(80_000), below(300, 80_000))
def _(updates, places):
    total = np.zeros(300, np.float32)
    np.add.at(total, places, updates)
    return total


@program("sorting", normal(40, 5003), below(9, 70_001))
def _(x, keys):
    return np.sort(x, axis=1), np.argsort(keys, kind="stable"), np.median(x, axis=1)


@program("largest", normal(300, 2001))
def _(x):
    return x.argmax(axis=1), x.argmin(axis=0), np.maximum.accumulate(x, axis=1)


@program("covariance", normal(3001, 40, dtype=np.float64))
def _(x):
    centred = x - x.mean(axis=0)
    return centred.T @ centred / (len(x) - 1), x.var(axis=0), x.std()


@program("stencil", normal(601, 503))
def _(x):
    for _ in range(3):
        centre = x[1:-1, 1:-1]
        x = centre + 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * centre)
    return x, x.sum()


@program("transposed", normal(400, 500), normal(500, 400))
def _(a, b):
    return a.T * b + np.exp(b), (a.T * b).sum(axis=0)


@program("integers", below(200, 100_001).astype(np.int8), below(7, 100_001).astype(np.int8))
def _(a, b):
    return a // (b + 1) + a % (b + 1), a.astype(np.int64).sum(), np.cumsum(a * b)


def bits_of(result: Any) -> list[bytes]:
    parts = result if isinstance(result, tuple) else (result,)
    return [np.asarray(part).tobytes() for part in parts]


def moved(array: np.ndarray, offset: int) -> np.ndarray:
    """The same elements, so many bytes behind a multiple of 64."""
    room = np.empty(array.nbytes + 128, np.uint8)
    first = -room.ctypes.data % 64 + offset
    elsewhere = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    elsewhere[...] = array
    assert elsewhere.ctypes.data % 64 == offset
    return elsewhere


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = tk.num_threads()
    tk.set_num_threads(count)
    try:
        yield
    finally:
        tk.set_num_threads(before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_are_the_same(name):
    function, arguments = PROGRAMS[name]
    compiled = tk.jit(function)
    with threads(1):
        first = bits_of(compiled(*arguments))
        assert bits_of(tk.jit(lambda *x: function(*x))(*arguments)) == first, "compiled again"
    for count in THREADS:
        with threads(count):
            for call in range(3):
                assert bits_of(compiled(*arguments)) == first, f"{count} threads, call {call}"
            with tk.profile():
                assert bits_of(compiled(*arguments)) == first, f"{count} threads, with the profiler"
    for offset in OFFSETS:
        elsewhere = [moved(argument, offset) for argument in arguments]
        assert bits_of(compiled(*elsewhere)) == first, f"{offset} bytes further"
    mixed = [moved(argument, OFFSETS[i]) for i, argument in enumerate(arguments)]
    assert bits_of(compiled(*mixed)) == first, "each somewhere else"
