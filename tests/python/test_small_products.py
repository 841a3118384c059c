"""Small products, which are read where they lie or written as sums."""

import numpy as np
import pytest
import tokamak as tk

rng = np.random.default_rng(17)

DTYPES = [np.float32, np.float64, np.int32, np.int64]
SHAPES = [
    (rows, depth, columns)
    for rows in (1, 2, 5, 8, 13, 20, 64)
    for depth in (1, 3, 20, 40)
    for columns in (1, 3, 4, 7, 8, 9, 15, 16, 17, 20, 24, 31, 33, 48, 64)
]


def r(*shape, dtype=np.float32):
    return (10 * rng.standard_normal(shape)).astype(dtype)


def wide(x):
    return x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x


def check(function, *arrays, size=1):
    found, expected = tk.jit(function)(*arrays), function(*map(wide, arrays))
    if np.issubdtype(found.dtype, np.floating):
        size = np.abs(expected).max(initial=size)
        atol = 2e-6 if found.dtype == np.float32 else 1e-14
        np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=atol)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_all_sizes(dtype):
    for rows, depth, columns in SHAPES:
        check(lambda a, b: a @ b, r(7, rows, depth, dtype=dtype), r(7, depth, columns, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [20, 21, 22, 43, 1001])
def test_of_any_number(count, dtype):
    """They are taken some at a time."""
    for rows, depth, columns in [(8, 8, 8), (4, 4, 4), (9, 3, 8), (2, 200, 4), (3, 3, 3)]:
        check(lambda a, b: a @ b, r(count, rows, depth, dtype=dtype), r(count, depth, columns, dtype=dtype))


def test_whose_columns_fill_a_register_are_no_sums():
    for size, dtype, expected in [(8, np.float32, "dot"), (4, np.float64, "dot"), (7, np.float32, "mul_sum")]:
        a = r(100, size, size, dtype=dtype)
        (kernel,) = tk.jit(lambda a: a @ a).explain(a).kernels
        assert kernel.name == expected


PROGRAMS = {
    "left_transposed": (lambda a, b: np.swapaxes(a, -1, -2) @ b, (5, 21, 20), (5, 21, 22)),
    "right_transposed": (lambda a, b: a @ np.swapaxes(b, -1, -2), (5, 21, 20), (5, 22, 20)),
    "with_epilogue": (lambda a, b: np.maximum(a @ b + 1, 0) * 2, (5, 21, 20), (5, 20, 22)),
    "with_sums": (lambda a, b: (a @ b).sum(axis=-1), (5, 21, 20), (5, 20, 22)),
    "result_transposed": (lambda a, b: np.swapaxes(a @ b, 0, 1), (5, 21, 20), (5, 20, 22)),
    "result_turned": (lambda a, b: np.swapaxes(a @ b, 1, 2), (5, 21, 20), (5, 20, 22)),
    "strided": (lambda a, b: a[::2, ::-1, 1::2] @ b[::-1, :, 3:-2], (9, 21, 40), (5, 20, 22)),
    "two_batch_axes": (lambda a, b: a @ b, (3, 4, 9, 20), (3, 4, 20, 11)),
    "batch_moved": (lambda a, b: np.einsum("hbik,bhkj->bhij", a, b), (4, 3, 9, 20), (3, 4, 20, 11)),
    "batch_inside": (lambda a, b: np.einsum("ibk,kbj->ibj", a, b), (9, 300, 20), (20, 300, 11)),
    "same_for_all": (lambda a, b: a @ b, (300, 9, 20), (1, 20, 11)),
    "same_first_for_all": (lambda a, b: a @ b, (1, 9, 20), (300, 20, 11)),
    "itself": (lambda a, b: a @ a @ a, (300, 16, 16), (1,)),
    "power": (lambda a, b: np.linalg.matrix_power(a, 3), (30, 7, 7), (1,)),
    "many": (lambda a, b: a @ b, (1000, 20, 20), (1000, 20, 20)),
    "sweep_after": (lambda a, b: (y := a @ b) - y.max(axis=-1, keepdims=True), (5, 21, 20), (5, 20, 22)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, dtype):
    function, left, right = PROGRAMS[name]
    check(function, r(*left, dtype=dtype), r(*right, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [3, 130, 5000, 20001])
def test_few_rows_and_columns_over_a_long_axis(dtype, depth):
    for rows, columns in [(2, 2), (4, 4), (3, 7), (8, 9), (16, 16), (20, 25), (5, 33)]:
        a, b = r(depth, rows, dtype=dtype), r(depth, columns, dtype=dtype)
        size = (np.abs(wide(a)).T @ np.abs(wide(b))).max()
        check(lambda a, b: a.T @ b, a, b, size=size)
        check(lambda a, b: a @ b.T, a.T.copy(), b.T.copy(), size=size)
        check(lambda a, b: np.maximum(a.T @ b + 1, 0), a, b, size=size)
        check(lambda a, b: a.T @ b, a[::-1], b[:, ::-1], size=size)


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_rows_times_a_tiny_matrix(dtype):
    for depth, columns in [(2, 2), (3, 3), (4, 16), (4, 17), (8, 8), (8, 4)]:
        a, b = r(3001, depth, dtype=dtype), r(depth, columns, dtype=dtype)
        check(lambda a, b: a @ b, a, b)
        check(lambda a, b: b.T @ a.T, a, b)
        check(lambda a, b: np.maximum(a, 1) @ b + b[0], a, b)


def test_arrays_with_other_strides():
    a, b = r(40, 7, 20), r(40, 20, 50)
    check(lambda a, b: a @ b, a[::2], b[1::2])
    check(lambda a, b: a @ b, np.asfortranarray(a)[:20], b[:20, :, 5:25])
    check(lambda a, b: a @ b, a, b[:, :, ::2])


def test_operands_are_read_where_they_lie():
    loops = tk.jit(lambda a, b: a @ b).explain(r(100, 20, 20), r(100, 20, 20)).kernels[0].loops
    assert "own f32 small; first operand read in place, second read in place" in loops
    loops = tk.jit(lambda a, b: a.T @ b).explain(r(2000, 4), r(2000, 4)).kernels[0].loops
    assert "own f32 small; first operand read in place, second read in place" in loops


def test_results_do_not_depend_on_threads():
    a, b = r(999, 13, 20), r(999, 20, 22)
    f = tk.jit(lambda a, b: a @ b)
    before = tk.num_threads()
    try:
        tk.set_num_threads(1)
        alone = f(a, b)
        tk.set_num_threads(3)
        np.testing.assert_array_equal(f(a, b), alone)
    finally:
        tk.set_num_threads(before)


@pytest.mark.parametrize("size", [5, 17, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_of_columns_that_are_all_the_same(size, dtype):
    """They lie nowhere next to each other."""
    x, w = r(size, size, dtype=dtype), r(size, 2 * size, dtype=dtype)[:, ::2]
    check(lambda x, s: x @ np.full((size, size), s), x, dtype(3))
    check(lambda x, s: x @ np.broadcast_to(s, x.shape), x, r(1, 1, dtype=dtype))
    check(lambda x, w: x @ np.broadcast_to(w[:, :1], w.shape), x, w)
    check(lambda x, w: x @ np.repeat(w[:, :1], size, axis=1), x, w)
    check(lambda x, w: np.broadcast_to(w[:, :1], w.shape) @ x, x, w)
    check(lambda x, w: x @ np.tile(w[::-1, :1], (1, 5)), x, w)
