"""Reductions of arrays larger than the caches: every row and every block once, with the same bits for any number of threads."""

import numpy as np
import pytest
import tokamak as tk
from support import with_threads

rng = np.random.default_rng(7)

REDUCTIONS = [np.sum, np.max, np.min, np.argmax, np.argmin, np.any, np.mean]


def moments(x, axis):
    return x.mean(axis=axis), x.std(axis=axis)


def close(result, right, dtype, terms):
    if np.issubdtype(dtype, np.integer) or np.asarray(result).dtype.kind in "bi":
        np.testing.assert_array_equal(result, right)
    else:
        step = np.finfo(dtype).eps
        np.testing.assert_allclose(result, right, rtol=100 * step, atol=10 * step * np.sqrt(terms) * 50)


# Numbers of rows that leave none over, and some, whatever the number of threads.
@pytest.mark.parametrize("shape", [(8192, 256), (8197, 300), (4099, 513), (9001, 250), (3, 1031, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_every_row_is_reduced_once(dtype, shape):
    x = (rng.standard_normal(shape) * 50).astype(dtype)  # of integers there are equal ones
    for reduction in REDUCTIONS:
        result = tk.jit(lambda x, f=reduction: f(x, axis=-1))(x)
        right = reduction(x.astype(np.float64) if reduction in (np.sum, np.mean) else x, axis=-1)
        close(result, right, dtype, shape[-1])


@pytest.mark.parametrize("size", [1 << 20, 3_000_000, (1 << 22) + 12345])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_every_block_is_added_once(dtype, size):
    # Small numbers, whose sums are exact in every order.
    x, y = (rng.integers(-2, 3, size).astype(dtype) for _ in range(2))
    assert tk.jit(lambda x: x.sum())(x) == x.astype(np.int64).sum()
    assert tk.jit(lambda x, y: np.maximum(x * 2 + y, 0).sum())(x, y) == np.maximum(x * 2 + y, 0).sum()
    assert tk.jit(np.max)(x) == x.max() and tk.jit(np.argmax)(x) == x.argmax()


@pytest.mark.parametrize("shape", [(64, 250, 300), (40, 333, 256), (7, 1001, 513)])
def test_rows_inside_of_blocks(shape):
    x = rng.standard_normal(shape).astype(np.float32)
    close(tk.jit(lambda x: x.sum(axis=1))(x), x.sum(axis=1, dtype=np.float64), np.float32, shape[1])
    np.testing.assert_array_equal(tk.jit(lambda x: x.argmax(axis=1))(x), x.argmax(axis=1))
    np.testing.assert_array_equal(tk.jit(lambda x: np.cumsum(x, axis=1))(x), np.cumsum(x, axis=1))


@pytest.mark.parametrize(
    "function",
    [lambda x: x.sum(), lambda x: x.sum(axis=1), lambda x: x.sum(axis=0), lambda x: moments(x, 1)],
)
def test_bits_do_not_depend_on_threads(function):
    x = rng.standard_normal((8197, 300)).astype(np.float32)
    results = [with_threads(count, lambda: tk.jit(function)(x)) for count in (1, 2, 3, 7)]
    for other in results[1:]:
        np.testing.assert_array_equal(np.asarray(other), np.asarray(results[0]))


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 17, 31, 33, 40, 48, 65, 72, 80, 100, 129, 130, 200, 255, 257, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_element_of_two_axes_is_added_once(dtype, columns):
    """Axes that are not one run in memory, in parts that tasks share: as many ones as there are elements."""
    functions = [
        lambda x: x[1:-1, 1:-1].sum(),
        lambda x: (x * x[0]).sum(),
        lambda x: x[::-1, ::2].mean() * 1024,
        lambda x: np.stack([x, x])[:, :, 1:].sum(axis=(1, 2)),
    ]
    compiled = [tk.jit(f) for f in functions]
    for rows in (200, 1002, 4097, 9001, 20_000):
        x = np.ones((rows, columns + 2), dtype)
        for f, jitted in zip(functions, compiled, strict=True):
            np.testing.assert_array_equal(jitted(x), f(x.astype(np.float64)).astype(dtype), err_msg=f"{x.shape}")


def test_sums_of_blocks_of_three_axes():
    rng = np.random.default_rng(8)
    for _ in range(40):
        columns, deep = int(rng.integers(1, 300)), int(rng.integers(1, 5))
        x = rng.integers(0, 3, (deep, 160_000 // columns + int(rng.integers(50)), columns + 1)).astype(np.float64)
        for f in (lambda x: x[:, 1:, 1:].sum(), lambda x: x[:, :, 1:].sum(axis=(0, 1)), lambda x: x[:, 1:].var()):
            np.testing.assert_allclose(tk.jit(f)(x), f(x), rtol=1e-13, err_msg=f"{x.shape}")
