"""Values that are put together from parts, again and again: which part an element lies in is followed only as
far as it may be, so code grows with the number of steps, not with all the ways through their parts."""

import numpy as np
import pytest
import tokamak as tk


def rows_then_all(b, i):
    b[i] += 1
    b[:-1] *= b[1:]
    return b


def some_rows_then_all(b, i):
    b[i : i + 5] += 1
    b[:-1] *= b[1:]
    return b


def turned_around(b, i):
    b = np.concatenate([b[i:], b[:i]])
    b[1:] -= b[:-1]
    return b


def neighbours(b, i):
    b[i] += 1
    b[1:-1] = b[:-2] + b[1:-1] + b[2:]
    return b


def taken_backwards(b, i):
    b = b[np.arange(len(b))[::-1]]
    b[i] += 1
    b[:-1] += b[1:]
    return b


def reshaped(b, i):
    b = b.reshape(4, -1).T.copy()
    b[i] += 1
    b[:-1] += b[1:]
    return b


def in_blocks(b, i):
    b[i : i + 9, 1:] += 1
    b[1:, :-1] += b[:-1, 1:]
    return b


STEPS = [
    rows_then_all,
    some_rows_then_all,
    turned_around,
    neighbours,
    taken_backwards,
    reshaped,
    in_blocks,
]
READ = {
    "the whole": lambda b, i: b.max(),
    "columns": lambda b, i: b.max(axis=0),
    "a row": lambda b, i: b[i].sum(),
}


def repeated(step, read, count):
    def program(b):
        total = 0
        for i in range(count):
            b = step(b, i)
            total = total + read(b, i)
        return total, b

    return program


@pytest.mark.parametrize("read", READ.values(), ids=READ.keys())
@pytest.mark.parametrize("step", STEPS)
def test_code_grows_with_the_steps(step, read):
    b = np.arange(320 * 4).reshape(320, 4) % 7

    def lines_of_code(count):
        kernels = tk.jit(repeated(step, read, count)).explain(b.copy()).kernels
        return sum(len(kernel.loops.splitlines()) for kernel in kernels)

    assert lines_of_code(32) <= 3.5 * lines_of_code(16)

    with np.errstate(over="ignore"):
        wanted = repeated(step, read, 16)(b.copy())
    for got, expected in zip(tk.jit(repeated(step, read, 16))(b.copy()), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)


SCANS = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "maximum": np.maximum.accumulate,
    "cumsum and more": lambda a, axis: np.cumsum(a, axis=axis) + 1,
}


@pytest.mark.parametrize("first", [1, 2, 3])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(4, 3), (5, 40), (40, 5), (3, 3)])
@pytest.mark.parametrize("scan", SCANS.values(), ids=SCANS.keys())
def test_part_of_a_scan_beside_what_it_reduces_to(scan, shape, axis, first):
    def after(a):
        c = scan(a, axis=axis)
        total = c.sum(axis=axis, keepdims=True)
        rest = c[first:] if axis == 0 else c[:, first:]
        return np.concatenate([total, rest], axis=axis)

    def written(a):
        c = scan(a, axis=axis)
        if axis == 0:
            c[0] = c.sum(axis=0)
        else:
            c[:, 0] = c.max(axis=1)
        return c

    def in_place(a):
        np.cumsum(a, axis=0, out=a)
        np.sum(a, axis=0, out=a[0])
        return a

    a = np.random.default_rng(3).integers(1, 3, shape).astype(np.float64)
    for function in (after, written, in_place):
        np.testing.assert_array_equal(tk.jit(function)(a.copy()), function(a.copy()))
