"""Writes at places that are computed: x[i] = y, ufunc.at, np.put and the like, as NumPy does them."""

import itertools

import numpy as np
import pytest
import tokamak as tk
from hypothesis import example, given
from hypothesis import strategies as st

from support import DTYPES, assert_same, check, check_writes, random_array, seeds

SHAPES = [(7,), (1,), (4, 3), (3, 1, 5), (2, 3, 4)]
INDEX_SHAPES = [(), (0,), (1,), (5,), (40,), (2, 3), (3, 1)]


def indices(rng, shape, extent, dtype=np.int64):
    """Anywhere in an axis, counted from both ends where the dtype can, with many duplicates."""
    low = 0 if np.dtype(dtype).kind == "u" else -extent
    return rng.integers(low, extent, shape).astype(dtype)


@given(
    seeds,
    st.sampled_from(SHAPES),
    st.sampled_from(INDEX_SHAPES),
    st.sampled_from(DTYPES),
    st.sampled_from([np.int64, np.int32, np.int8, np.uint8, np.uint64]),
    st.data(),
)
def test_along_one_axis(seed, shape, index_shape, dtype, index_dtype, data):
    rng = np.random.default_rng(seed)
    axis = data.draw(st.integers(0, len(shape) - 1))
    a = random_array(rng, shape, dtype)
    index = indices(rng, index_shape, shape[axis], index_dtype)
    behind = data.draw(st.sampled_from(["number", "row", "all"]))
    whole = (*shape[:axis], *index_shape, *shape[axis + 1 :])
    value = random_array(rng, {"number": (), "row": whole[-1:], "all": whole}[behind], dtype)
    before = (slice(None),) * axis

    def write(a, index, value):
        a[(*before, index)] = value
        return a * 1, a

    check_writes(write, a, index, value)


def some_columns(a, i, j, v):
    a[:, i] = v
    return a


def points(a, i, j, v):
    a[i, j] = v
    return a


def points_in_front(a, i, j, v):
    a[i, :, j] = v
    return a


def points_with_a_number(a, i, j, v):
    a[0, i, j] = v
    return a


def points_of_a_view(a, i, j, v):
    b = a[::-1, ..., ::2]
    b[i % 2, j % 2] = v
    return a, b


def points_behind_new_axes(a, i, j, v):
    a[None, :, i, None] = v
    return a


def outer_points(a, i, j, v):
    a[i[:, None] % 2, j[None, :]] = v
    return a


def one_point(a, i, j, v):
    a[i[0], 1:, j[1]] = v
    return a


def added(a, i, j, v):
    a[i, j] += v
    a[:, i] -= 1
    return a


def read_while_writing(a, i, j, v):
    a[i] = a[j]
    return a


def written_twice(a, i, j, v):
    a[i] = v
    b = a.T
    b[..., j] = 2
    return a + b.T


@pytest.mark.parametrize(
    "write",
    [
        some_columns,
        points,
        points_in_front,
        points_with_a_number,
        points_of_a_view,
        points_behind_new_axes,
        outer_points,
        one_point,
        added,
        read_while_writing,
        written_twice,
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.int16])
def test_mixed_with_slices(write, dtype, rng):
    a = rng.integers(0, 100, (3, 3, 3)).astype(dtype)
    i, j = rng.integers(-3, 3, (2, 6))
    check_writes(write, a, i, j, np.array(5, dtype))
    known = rng.integers(0, 3, 6)

    def half_known(a, i, v):
        return write(a, i, known, v)

    check_writes(half_known, a, i, np.array(7, dtype))


def test_the_last_write_wins(rng):
    for count in (3, 600, 5000):
        index = rng.integers(0, 7, count)

        def write(a, index, v):
            a[index] = v
            return a

        check_writes(write, np.zeros(7), index, np.arange(float(count)))


def test_rows(rng):
    def write(a, index, v):
        a[index] = v
        a[:, index] += 1
        return a

    check_writes(write, np.zeros((50, 70)), rng.integers(-50, 50, 200), rng.random(70))


def test_out_of_range():
    @tk.jit
    def write(a, i):
        a[i] = 1
        return a

    @tk.jit
    def points(a, i):
        a[i, 0] = 1
        return a

    a = np.zeros((3, 4))
    for bad in (3, -4, 1 << 40, -(1 << 62)):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size"):
            write(a, np.array([0, bad]))
        with pytest.raises(IndexError, match="out of bounds"):
            points(a, np.array([0, bad]))
    assert not a.any()
    write(a, np.array([2, -3]))
    assert_same(a.sum(axis=1), np.array([4.0, 0.0, 4.0]))


def test_into_nothing():
    @tk.jit
    def write(a, i):
        a[i] = 1
        return a

    @tk.jit
    def add_columns(a, i):
        np.add.at(a, (slice(None), i), 1)
        return a

    assert write(np.zeros((0, 2)), np.zeros(0, int)).shape == (0, 2)
    with pytest.raises(IndexError):
        write(np.zeros((0, 2)), np.zeros(1, int))
    assert write(np.zeros((3, 0)), np.array([2, -3])).shape == (3, 0)
    assert add_columns(np.zeros((0, 3)), np.array([2, -3])).shape == (0, 3)
    for wrong in ([3], [0, -4]):
        with pytest.raises(IndexError):
            write(np.zeros((3, 0)), np.array(wrong))
        with pytest.raises(IndexError):
            add_columns(np.zeros((0, 3)), np.array(wrong))


def test_known_places_of_a_large_array(rng):
    index = rng.integers(-50000, 50000, 300)

    def write(a, v):
        a[index] = v
        a[index % 100, None] = 2
        return a

    check_writes(write, np.zeros(50000), rng.random(300))


def test_first_and_last_rows_of_a_large_array(rng):
    def write(a, v):
        a[[0, -1]] = v
        a[:, [2, 2, 0]] = [[1.0, 2.0, 3.0]]
        a[::2, None, [5]] = 7
        a[[1, 2]] = a[:2]
        return a

    check_writes(write, rng.random((150, 150)), rng.random(150))
    check_writes(write, rng.random((150, 150)), rng.random((2, 150)))
    with pytest.raises(IndexError, match="out of bounds"):
        tk.jit(lambda a: a.__setitem__([0, 150], 1))(rng.random((150, 150)))


def test_indices_that_are_not_integers():
    @tk.jit
    def write(a, i):
        a[i] = 1
        return a

    with pytest.raises(IndexError, match="integer"):
        write(np.zeros(3), np.zeros(3))


def test_values_that_do_not_fit():
    @tk.jit
    def write(a, i, v):
        a[i] = v
        return a

    with pytest.raises(ValueError, match="does not fit"):
        write(np.zeros(3), np.zeros(3, int), np.zeros(2))


def test_the_producers_of_indices_and_values_are_fused(rng):
    @tk.jit
    def deposit(x, y, w):
        grid = np.zeros_like(x, shape=(64 * 64,))
        np.add.at(grid, (y * 64).astype(int) * 64 + (x * 64).astype(int), w * 2)
        return grid

    x, y, w = rng.random((3, 1000))
    e = deposit.explain(x, y, w)
    assert len(e.kernels) == 1, [kernel.ops for kernel in e.kernels]
    want = np.zeros(64 * 64)
    np.add.at(want, (y * 64).astype(int) * 64 + (x * 64).astype(int), w * 2)
    assert_same(deposit(x, y, w), want)


def test_eager(rng):
    a = tk.asarray(np.zeros((4, 3)))
    i = tk.asarray(np.array([0, -1, 0]))
    a[i] = tk.asarray(np.arange(9.0).reshape(3, 3))
    np.add.at(a, (i, i[::-1] % 3), 1)
    want = np.zeros((4, 3))
    j = np.array([0, -1, 0])
    want[j] = np.arange(9.0).reshape(3, 3)
    np.add.at(want, (j, j[::-1] % 3), 1)
    assert_same(a, want)


# ---------------------------------------------------------------------------------------------------------------------
# ufunc.at

BINARY_FLOAT = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "hypot", "logaddexp"]
BINARY_INTEGER = [
    "add",
    "subtract",
    "multiply",
    "floor_divide",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "gcd",
]
BINARY_BOOL = [
    "add",
    "multiply",
    "logical_or",
    "logical_and",
    "logical_xor",
    "bitwise_xor",
    "maximum",
    "not_equal",
]


@given(
    seeds,
    st.sampled_from(DTYPES),
    st.sampled_from([(5,), (3, 4), (2, 3, 2)]),
    st.sampled_from([0, 1, 9, 20]),
    st.data(),
)
def test_at(seed, dtype, shape, count, data):
    rng = np.random.default_rng(seed)
    names = {"b": BINARY_BOOL, "f": BINARY_FLOAT}.get(dtype.kind, BINARY_INTEGER)
    name = data.draw(st.sampled_from(names))
    ufunc = getattr(np, name)
    a = random_array(rng, shape, dtype)
    index = indices(rng, count, shape[0])
    value = random_array(rng, (count, *shape[1:]), dtype)

    def write(a, index, value):
        ufunc.at(a, index, value)
        return a

    if name in ("hypot", "logaddexp"):
        want = a.copy()
        got = a.copy()
        write(want, index, value)
        tk.jit(write)(got, index, value)
        np.testing.assert_allclose(
            got.astype(float), want.astype(float), rtol=2e-3 if dtype == np.float16 else 1e-5
        )
    else:
        check_writes(write, a, index, value)


@pytest.mark.parametrize(
    ("dtype", "value_dtype", "name"),
    [
        (np.float32, np.float64, "add"),
        (np.int64, np.float64, "add"),
        (np.int8, np.int64, "multiply"),
        (np.float32, np.int64, "divide"),
        (np.int32, np.int64, "logical_or"),
        (np.float64, bool, "logical_xor"),
        (bool, np.int64, "add"),
        (np.float16, np.float32, "maximum"),
        (np.uint8, np.int8, "subtract"),
    ],
)
def test_at_of_two_dtypes(dtype, value_dtype, name, rng):
    """Every step is computed in the common dtype and converted back, whether or not that is safe."""

    def write(a, index, value):
        getattr(np, name).at(a, index, value)
        return a

    a = (rng.random(4) * 50).astype(dtype)
    value = (rng.random(30) * 3).astype(value_dtype)
    check_writes(write, a, rng.integers(-4, 4, 30), value)


@pytest.mark.parametrize("name", ["negative", "absolute", "invert", "logical_not", "square", "sign", "floor"])
def test_at_of_one_operand(name, rng):
    ufunc = getattr(np, name)

    def write(a, index):
        ufunc.at(a, index)
        return a

    a = rng.integers(-3, 4, (5, 2)).astype(np.int64 if name == "invert" else np.float64)
    check_writes(write, a, rng.integers(-5, 5, 7))


def at_slices(a, i):
    np.add.at(a, np.s_[1:, ::2], 1)
    np.multiply.at(a, (i, slice(None, None, -1)), 2)
    np.add.at(a, (0, 1), 5)
    np.subtract.at(a, [0, 0, -1], 1)
    np.power.at(a, (i, i % 3), 2)
    np.add.at(a, a > 4, 10)
    return a


def test_at_all_kinds_of_indices(rng):
    check_writes(at_slices, rng.integers(0, 5, (4, 3)).astype(float), rng.integers(-4, 4, 6))


def test_at_refuses_what_numpy_refuses(rng):
    index = np.array([0])
    cases = [
        (lambda a, i: np.divmod.at(a, i, 1), ValueError),
        (lambda a, i: np.negative.at(a, i, 1), ValueError),
        (lambda a, i: np.add.at(a, i), ValueError),
        (lambda a, i: np.add.at(a, i, np.ones(2)), ValueError),
        (lambda a, i: np.matmul.at(a, i, 1), TypeError),
        (lambda a, i: np.bitwise_and.at(a, i, 1), TypeError),
        (lambda a, i: np.add.at(a, i + 3, 1), IndexError),
    ]
    for function, kind in cases:
        with pytest.raises(kind):
            function(np.ones(3), index)
        with pytest.raises(kind):
            tk.jit(function)(np.ones(3), index)


def test_at_with_many_dependent_operations_is_refused(rng):
    @tk.jit
    def write(a, index):
        np.logaddexp.at(a, index, 1.0)
        return a

    with pytest.raises(NotImplementedError, match="depend on each other"):
        write(np.ones(3), np.zeros(1000, int))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *itertools.product(["add", "maximum", "minimum", "multiply"], [np.float64, np.float32]),
        *itertools.product(
            ["add", "maximum", "minimum", "multiply", "bitwise_or"], [np.int64, np.int32, np.uint8]
        ),
    ],
)
def test_many_updates_by_several_tasks(name, dtype, rng):
    """Copies of the operand for each task: integers are exact, and so is any maximum."""
    ufunc = getattr(np, name)
    count = 200_000
    a = rng.integers(0, 5, 100).astype(dtype)
    index = rng.integers(0, 100, count)
    value = rng.integers(0, 4, count).astype(dtype) if name != "multiply" else np.ones(count, dtype)
    check_writes(lambda a, i, v: (ufunc.at(a, i, v), a)[1], a, index, value)


def test_sums_do_not_depend_on_threads(rng):
    index = rng.integers(0, 100, 300_000)
    value = rng.random(300_000)

    @tk.jit
    def deposit(index, value):
        return np.bincount(index, value, minlength=100)

    before = tk.num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            tk.set_num_threads(threads)
            results.append(deposit(index, value))
        assert_same(results[1], results[0])
        assert_same(results[2], results[0])
        np.testing.assert_allclose(results[0], np.bincount(index, value, minlength=100), rtol=1e-12)
    finally:
        tk.set_num_threads(before)


# ---------------------------------------------------------------------------------------------------------------------
# np.put and its relatives


@given(seeds, st.sampled_from(["raise", "wrap", "clip"]), st.sampled_from([0, 1, 4, 30]), st.booleans())
def test_put(seed, mode, count, is_known):
    rng = np.random.default_rng(seed)
    a = rng.random((3, 4))[::-1]
    index = rng.integers(-12, 12, count) if mode == "raise" else rng.integers(-40, 40, count)
    for values in (5.0, np.arange(3), np.arange(50.0)):

        def write(a, index, values):
            np.put(a, index, values, mode)
            return a

        if is_known:
            check_writes(lambda a, v, index=index: write(a, index, v), a, np.asarray(values))
        else:
            check_writes(write, a, index, np.asarray(values))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_put_along_axis(axis, rng):
    a = rng.random((3, 4))
    index = rng.integers(-3, 3, 5 if axis is None else (2, 4) if axis == 0 else (3, 2))

    def write(a, index, v):
        np.put_along_axis(a, index, v, axis)
        return a

    check_writes(write, a, index, np.array(9.0))
    check_writes(write, a, index, rng.random(index.shape))
    check_writes(lambda a, v: write(a, index, v), a, rng.random(index.shape))


def test_the_greatest_of_every_row(rng):
    def write(a):
        np.put_along_axis(a, np.argmax(a, axis=1, keepdims=True), 99, axis=1)
        return a

    check_writes(write, rng.random((4, 6)))


@pytest.mark.parametrize("values", [7.0, [1.0, 2.0, 3.0], list(range(40))])
def test_place_and_putmask(values, rng):
    a = rng.random((4, 5))
    mask = rng.random((4, 5)) > 0.5

    def write(a, mask):
        b = a.copy()
        np.place(a, mask, values)
        np.putmask(b, mask, values)
        return a, b

    check_writes(write, a, mask)
    check_writes(lambda a: write(a, mask), a)
    check_writes(lambda a: write(a, a > 0.3), a.T)


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (3, 3, 3), (7, 3)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape, wrap, rng):
    def write(a, v):
        np.fill_diagonal(a, v, wrap)
        return a

    check_writes(write, rng.random(shape), np.array(3.0))
    check_writes(write, rng.random(shape), np.array([3.0, 4.0]))
    check_writes(lambda a: write(a[::-1], 2), rng.integers(0, 9, shape))


def test_what_put_and_place_refuse():
    a = np.zeros((2, 3))
    cases = [
        (lambda a, i: np.put(a, i + 6, 1), IndexError),
        (lambda a, i: np.place(a, i > 5, []), ValueError),
        (lambda a, i: np.place(a, i[:, None] > 0, 1), ValueError),
        (lambda a, i: np.fill_diagonal(a[0], 1), ValueError),
        (lambda a, i: np.put_along_axis(a, i, 1, 0), ValueError),
    ]
    for function, kind in cases:
        with pytest.raises(kind):
            tk.jit(function)(a.copy(), np.array([0, 1]))


@given(seeds)
@example(0)
def test_programs_that_read_what_they_wrote(seed):
    rng = np.random.default_rng(seed)
    a, v = rng.integers(0, 9, 12), rng.integers(0, 9, 12)

    def program(a, v):
        a[a % 12] = v
        np.add.at(a, v % 12, a)
        a[v % 5] += a[a % 12]
        return a[a % 12], np.bincount(a % 12, minlength=12)

    check_writes(program, a, v)


def test_check_is_of_the_caller(rng):
    check(lambda i, v: np.bincount(i, v, 4), rng.integers(0, 4, 9), rng.random(9))
