"""Results lie in memory as NumPy's do, and what is written to arguments is written where they lie."""

import itertools

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_same

RNG = np.random.default_rng(0)

ARGUMENTS = {
    "rows": RNG.random((5, 6)),
    "columns": np.asfortranarray(RNG.random((5, 6))),
    "three axes": RNG.random((3, 4, 5)),
    "columns of three axes": np.asfortranarray(RNG.random((3, 4, 5))),
    "permuted": RNG.random((3, 4, 5)).transpose(1, 0, 2),
    "with gaps": np.asfortranarray(RNG.random((8, 9)))[1:6, 2:8],
    "backwards": np.asfortranarray(RNG.random((5, 6)))[::-1],
    "one column": np.asfortranarray(RNG.random((7, 1))),
    "stretched": np.broadcast_to(RNG.random(6), (5, 6)),
    "empty": np.zeros((0, 3), order="F"),
}

PROGRAMS = {
    "add": lambda x: x + 1,
    "two": lambda x: x * 2 + np.exp(x),
    "turned": lambda x: x.T,
    "of turned": lambda x: np.exp(x.T),
    "both ways": lambda x: x[:3, :3] + x.T[:3, :3] if x.ndim == 2 and min(x.shape) > 2 else x,
    "with rows": lambda x: x + np.ones(x.shape),
    "with one row": lambda x: x + np.arange(x.shape[-1]),
    "where": lambda x: np.where(x > 0.5, x, 0),
    "compared": lambda x: ~(x > 0.5),
    "converted": lambda x: x.astype(np.float32),
    "converted by rows": lambda x: x.astype(np.float32, order="C"),
    "converted by columns": lambda x: x.astype(np.float32, order="F"),
    "sum of columns": lambda x: x.sum(0),
    "sum of rows": lambda x: x.sum(-1),
    "sum kept": lambda x: x.sum(0, keepdims=True),
    "mean": lambda x: x.mean(1),
    "argmax": lambda x: (x + 1).argsort(0),
    "cumsum": lambda x: np.cumsum(x, 0),
    "accumulate": lambda x: np.add.accumulate(x, axis=1),
    "sort": lambda x: np.sort(x, axis=0),
    "concatenate": lambda x: np.concatenate([x, x]),
    "stack": lambda x: np.stack([x, x]),
    "hstack": lambda x: np.hstack([x, x]),
    "slice": lambda x: x[1:] * 2,
    "reverse": lambda x: x[::-1] + 1,
    "new axis": lambda x: x[:, None] * 2,
    "copy": lambda x: x.copy(),
    "copy of turned": lambda x: x.T.copy(),
    "copy by columns": lambda x: x.copy(order="F"),
    "copy as it is": lambda x: x.copy(order="K"),
    "np.copy": lambda x: np.copy(x),
    "np.array": lambda x: np.array(x),
    "np.array by columns": lambda x: np.array(x, order="F"),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x),
    "asfortranarray": lambda x: np.asfortranarray(x),
    "zeros_like": lambda x: np.zeros_like(x) + x,
    "zeros_like alone": lambda x: np.zeros_like(x),
    "full_like by rows": lambda x: np.full_like(x, 2, order="C"),
    "zeros by columns": lambda x: np.zeros((3, 4), order="F") + x.size,
    "ufunc by columns": lambda x: np.add(x, 1, order="F"),
    "ufunc by rows": lambda x: np.add(x, 1, order="C"),
    "ravel": lambda x: x.ravel(),
    "ravel as it is": lambda x: x.ravel(order="K"),
    "ravel A": lambda x: x.ravel(order="A"),
    "ravel by columns": lambda x: x.ravel(order="F"),
    "flatten by columns": lambda x: x.flatten(order="F"),
    "reshape": lambda x: x.reshape(x.shape[::-1]),
    "reshape by columns": lambda x: x.reshape(x.shape[::-1], order="F"),
    "reshape A": lambda x: x.reshape(-1, order="A"),
    "roll": lambda x: np.roll(x, 1, 0),
    "pad": lambda x: np.pad(x, 1),
    "round": lambda x: np.round(x, 1),
    "diff": lambda x: np.diff(x, axis=0),
    "gradient": lambda x: np.gradient(x, axis=0) if x.shape[0] > 1 else x,
    "matmul": lambda x: x @ np.swapaxes(x, -1, -2),
    "interp": lambda x: np.interp(x, [0, 1], [0, 2]),
    "searchsorted": lambda x: np.searchsorted(np.array([0.1, 0.5]), x),
    "select": lambda x: np.select([x > 0.5], [x], 0.0),
    "tensordot": lambda x: np.tensordot(x, x, axes=0),
    "outer": lambda x: np.multiply.outer(x, x),
    "ldexp": lambda x: np.ldexp(x, 1),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1) * 2 if x.shape[1] > 1 else x,
}


def order_of(x):
    """The axes from the outermost to the innermost, as far as they are more than one element."""
    axes = [axis for axis in range(x.ndim) if x.shape[axis] > 1]
    return sorted(axes, key=lambda axis: -abs(x.strides[axis]))


def is_a_view_of_few(x):
    return any(stride == 0 and extent > 1 for stride, extent in zip(x.strides, x.shape, strict=True))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_results_lie_as_numpys_do(program, argument):
    function, x = PROGRAMS[program], ARGUMENTS[argument]
    want = function(x)
    got = tk.jit(function)(x)
    assert_same(got, want, ulp=2)
    if want.size and not is_a_view_of_few(want) and argument != "stretched":
        assert order_of(got) == order_of(want)


@given(st.permutations(range(4)), st.permutations(range(4)), st.sampled_from([1, 2]), st.data())
@settings(max_examples=60)
def test_what_is_made_of_several_arrays(first, second, step, data):
    """NumPy keeps an order that all agree on; where they do not, that of rows counts."""
    shape = (2, 3, 1, 4)

    def lying(order):
        extents = [shape[axis] * step for axis in order]
        back = [order.index(axis) for axis in range(4)]
        return np.arange(float(np.prod(extents))).reshape(extents).transpose(back)[:2, :3, :1, :4]

    x, y = lying(list(first)), lying(list(second))
    axes = data.draw(st.sets(st.integers(0, 3)))
    y = y[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(4))]
    for function in (np.add, lambda x, y: np.where(x > y, x, y), lambda x, y: np.concatenate([x + y, x], 1)):
        want = function(x, y)
        got = tk.jit(function)(x, y)
        assert_same(got, want)
        assert order_of(got) == order_of(want)


def test_one_function_for_arrays_that_lie_differently():
    f = tk.jit(lambda x: x * 2 + 1)
    for x in itertools.chain(ARGUMENTS.values(), reversed(ARGUMENTS.values())):
        assert_same(f(x), x * 2 + 1)
    x = np.asfortranarray(RNG.random((16, 12, 8)))
    for y in (x, x[:, :, ::2], x[::2], x.transpose(1, 0, 2), x.transpose(2, 0, 1), x[::-1], x[:, ::-1, :]):
        assert_same(f(y), y * 2 + 1)


def test_captured_arrays_lie_as_they_do():
    table = np.asfortranarray(RNG.random((4, 5)))
    f = tk.jit(lambda x: x + table)
    assert f(np.float64(1)).flags.f_contiguous
    assert f(np.ones((4, 5))).flags.c_contiguous


def test_copies_by_rows_are_not_views():
    def f(x):
        y = x * 2
        flat = y.ravel()
        flat[0] = 50
        return y

    for x in (ARGUMENTS["rows"], ARGUMENTS["columns"]):
        assert_same(tk.jit(f)(x), f(x))


def changes_all(x):
    x *= 2


def changes_rows(x):
    x[1:-1] += 1


def changes_columns(x):
    x[:, 1:-1] += 1


def changes_inside(x):
    x[1:-1, 1:-1] *= 3


def shifts(x):
    x[1:] = x[:-1]


def turns(x):
    x[...] = x[::-1, ::-1]


def adds_neighbours(x):
    x[1:-1] += x[2:] - x[:-2]


def centres(x):
    x -= x.mean(axis=1, keepdims=True)


def changes_twice(x):
    x[:4] += 1
    x[2:] *= 2


def changes_less_and_less(x):
    x[1:6] = 1
    x[1:4] = 2
    x[1:4, 1:9] += 3
    x[1:4, 1:5] = 4


def changes_and_returns(x):
    x += 1
    return x * 2, x.sum()


def adds_its_transpose(x):
    x += np.ones((x.shape[1], x.shape[0])).T


def fills(x):
    x[...] = 7


def multiplies(x):
    x[...] = x @ np.eye(x.shape[1])


def adds_product(x):
    x += np.ones((x.shape[0], 3)) @ np.ones((3, x.shape[1]))


WRITERS = [
    changes_all,
    changes_rows,
    changes_columns,
    changes_inside,
    shifts,
    turns,
    adds_neighbours,
    centres,
    changes_twice,
    changes_less_and_less,
    changes_and_returns,
    adds_its_transpose,
    fills,
    multiplies,
    adds_product,
]


def large(order):
    """Large enough for several threads and stores past the caches; at an address that is not aligned."""
    memory = np.zeros(700 * 901 + 1)
    x = memory[1:].reshape((700, 901), order=order)
    x[...] = RNG.random((700, 901))
    return x


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["small", "large", "gaps"])
def test_writing_to_arguments(write, order, kind):
    x = large(order) if kind == "large" else np.array(RNG.random((9, 13)), order=order)
    if kind == "gaps":
        x = x[::2, 1:-1]
    want = x.copy(order="K")
    returned = write(want)
    f = tk.jit(write)
    before = x.copy(order="K")
    for _ in range(2):
        x[...] = before
        got = f(x)
        np.testing.assert_allclose(x, want, rtol=1e-13, atol=1e-13)
        if returned is not None:
            for one, other in zip(got, returned, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


def test_nothing_is_written_when_the_program_fails():
    def f(x, i):
        x += 1
        x[i] = 0

    x = np.zeros(5)
    with pytest.raises(IndexError):
        tk.jit(f)(x, np.array([7]))
    assert_same(x, np.zeros(5))


def test_an_array_that_is_one_of_ours_stays_what_it_was_elsewhere():
    def f(x):
        x *= 2

    x = tk.asarray(np.ones(4))
    y = x.copy()
    tk.jit(f)(x)
    assert_same(np.asarray(x), np.full(4, 2.0))
    assert_same(np.asarray(y), np.ones(4))


def test_an_argument_that_is_donated_and_written_to_has_what_was_written():
    def f(x):
        x += 1
        return x * 2

    x = np.arange(5.0)
    got = tk.jit(f, donate_argnums=0)(x)
    assert_same(x, np.arange(5.0) + 1)
    assert_same(got, x * 2)


def test_writing_needs_no_second_buffer():
    def f(x):
        x *= 2

    x = np.ones((1000, 1000))
    tk.trim_memory()
    before = tk.memory_stats()["misses"]
    tk.jit(f)(x)
    assert tk.memory_stats()["misses"] == before
