"""Products that are computed in halves, in parts, or a row at a time."""

import ml_dtypes
import numpy as np
import pytest
import tokamak as tk
from support import with_threads

rng = np.random.default_rng(11)

EPSILON = {np.float32: 2e-6, np.float64: 1e-14, ml_dtypes.bfloat16: 1e-2}


def r(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def wide(x):
    return x.astype(np.float64)


def check_close(found, expected, dtype):
    assert found.dtype == dtype
    assert np.abs(wide(found) - expected).max() <= EPSILON[dtype] * np.abs(expected).max()


SYMMETRIC = [
    (64, 256),
    (65, 700),
    (100, 9001),
    (191, 1500),
    (192, 256),
    (200, 1000),
    (300, 2047),
    (383, 300),
    (383, 2048),
    (384, 256),
    (385, 300),
    (400, 1100),
    (777, 513),
]


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("lines, depth", SYMMETRIC)
def test_a_matrix_and_its_transpose(lines, depth, dtype):
    x = r(depth, lines, dtype=dtype)
    expected = wide(x).T @ wide(x)
    for found in (tk.jit(lambda x: x.T @ x)(x), tk.jit(lambda x: x @ x.T)(np.ascontiguousarray(x.T))):
        check_close(found, expected, dtype)
        np.testing.assert_array_equal(found, found.T)


def test_half_of_a_symmetric_product_is_computed():
    x = r(300, 400)
    assert "mirrored" in tk.jit(lambda x: x.T @ x).explain(x).kernels[0].loops
    assert "mirrored" not in tk.jit(lambda x, y: x.T @ y).explain(x, x).kernels[0].loops
    assert "mirrored" not in tk.jit(lambda x: x[1:].T @ x[:-1]).explain(x).kernels[0].loops
    assert "mirrored" not in tk.jit(lambda x: x[:, :20].T @ x[:, :20]).explain(x).kernels[0].loops


def test_what_follows_a_symmetric_product():
    x, y = r(300, 400, dtype=np.float64), r(400, 30, dtype=np.float64)

    def follow(x, y):
        gram = x.T @ x
        return gram / 300 + 1, gram @ y, gram[:7, 3:], np.exp(gram.sum(axis=1) / 1000)

    for found, expected in zip(tk.jit(follow)(x, y), follow(x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("depth, lines", [(511, 601), (9001, 100), (1000, 100), (500, 250), (5000, 250)])
def test_symmetric_products_do_not_depend_on_threads(depth, lines):
    x = r(depth, lines)
    one, three = (with_threads(count, lambda: tk.jit(lambda x: x.T @ x)(x)) for count in (1, 3))
    np.testing.assert_array_equal(one, three)


DEEP = [
    (lambda x, y: x.T @ y, (9001, 100), (9001, 37)),
    (lambda x, y: x @ y, (3, 20000), (20000, 5)),
    (lambda x, y: x @ y.T, (70, 4099), (380, 4099)),
    (lambda x, y: x[::2].T @ y[::-1], (10000, 33), (5000, 65)),
    (lambda x, y: x.T @ y + 1, (9001, 100), (9001, 37)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("case", range(len(DEEP)))
def test_products_that_are_much_deeper_than_wide(case, dtype):
    function, left, right = DEEP[case]
    x, y = (10 * r(*shape) for shape in (left, right))
    x, y = x.astype(dtype), y.astype(dtype)
    jitted = tk.jit(function)
    found = jitted(x, y)
    if np.issubdtype(dtype, np.integer):
        np.testing.assert_array_equal(found, function(x, y))
    else:
        check_close(found, function(wide(x), wide(y)), dtype)
    np.testing.assert_array_equal(found, with_threads(1, lambda: jitted(x, y)))


def test_deep_products_are_cut_into_chunks():
    x = r(9001, 100)
    assert "in chunks of" in tk.jit(lambda x, y: x.T @ y).explain(x, x).kernels[0].loops
    loops = tk.jit(lambda x: x.T @ x).explain(x).kernels[0].loops
    assert "in chunks of" in loops and "one half computed, the other mirrored" in loops


@pytest.mark.parametrize("dtype, depth", [(np.float64, 16391), (np.float32, 32768)])
def test_deep_products_in_parts(dtype, depth):
    x, y = r(depth, 400, dtype=dtype), r(depth, 300, dtype=dtype)
    f = tk.jit(lambda x, y: x.T @ y)
    check_close(f(x, y), wide(x).T @ wide(y), dtype)
    halved = tk.jit(lambda x: x.T @ x)(x)
    check_close(halved, wide(x).T @ wide(x), dtype)
    np.testing.assert_array_equal(halved, halved.T)
    np.testing.assert_array_equal(f(x, y), with_threads(1, lambda: f(x, y)))


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("depth, columns", [(64, 1000), (77, 530), (1000, 65), (1537, 2305), (3000, 768)])
def test_a_row_times_constants(depth, columns, dtype):
    x, w = r(1, depth, dtype=dtype), r(depth, columns, dtype=dtype)
    expected = wide(x) @ wide(w)
    constant = tk.constant(w)
    check_close(tk.jit(lambda x: x @ constant)(x), expected, dtype)
    check_close(tk.jit(lambda x: x[0] @ constant)(x), expected[0], dtype)
    turned = tk.constant(np.ascontiguousarray(w.T))
    check_close(tk.jit(lambda x: turned @ x[0])(x), expected[0], dtype)
    check_close(tk.jit(lambda x, w: np.maximum(x @ w + 1, 0))(x, w), np.maximum(expected + 1, 0), dtype)


def test_constants_are_packed_for_a_row():
    w = tk.constant(r(768, 500))
    loops = tk.jit(lambda x: x @ w).explain(r(1, 768)).kernels[0].loops
    assert "first operand read in its rows, second packed when compiled" in loops
    assert "read in place" in tk.jit(lambda x, w: x @ w).explain(r(1, 768), r(768, 500)).kernels[0].loops


@pytest.mark.parametrize("columns", [2, 5, 8, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_matrix_by_few_columns(columns, dtype):
    """Nothing is gained by packing what is read once or twice."""
    a, b = r(1003, 1501, dtype=dtype), r(1501, columns, dtype=dtype)
    f = tk.jit(lambda a, b: a @ b + 1)
    check_close(f(a, b), wide(a) @ wide(b) + 1, dtype)
    check_close(f(a[::2], b), wide(a[::2]) @ wide(b) + 1, dtype)
    check_close(f(a.T, b[:1003]), wide(a.T) @ wide(b[:1003]) + 1, dtype)
    if columns == 16:
        assert "first operand read in its rows" in f.explain(a, b).kernels[0].loops


def test_rows_and_columns_of_a_large_matrix():
    a, x = r(2047, 3001), r(3001)
    check_close(tk.jit(lambda a, x: a @ x)(a, x), wide(a) @ wide(x), np.float32)
    check_close(tk.jit(lambda x, a: x @ a)(x[:2047], a), wide(x[:2047]) @ wide(a), np.float32)
    check_close(tk.jit(lambda x, a: x @ a)(x[::-1][:2047], a), wide(x[::-1][:2047]) @ wide(a), np.float32)


@pytest.mark.parametrize("shape", [(3000, 500), (65536, 24), (9, 200000)])
def test_large_columns_are_swept_again(shape):
    x = r(*shape, dtype=np.float64)
    f = tk.jit(lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1))
    np.testing.assert_allclose(f(x), (x - x.mean(axis=0)) / (x.std(axis=0) + 1), rtol=1e-9, atol=1e-11)
    if shape[0] > 1000 and shape[1] > 16:
        assert len(f.explain(x).kernels) > 1
