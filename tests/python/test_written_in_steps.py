"""What is written to every so many elements of an argument is made where that lies."""

import numpy as np
import pytest
import tokamak as tk


def every_third(a, b):
    a[1::3] *= 1.5


def every_fifth_with_another(a, b):
    a.reshape(-1)[2::5] += b.reshape(-1)[2::5]


def next_to_what_is_read(a, b):
    flat = a.reshape(-1)
    flat[2::2] = flat[1:-1:2]


def over_what_is_read(a, b):
    flat = a.reshape(-1)
    flat[4::2] = flat[2:-2:2] + 1


def turned_over_what_is_read(a, b):
    flat = a.reshape(-1)
    flat[::2] = flat[::2][::-1]


def another_argument(a, b):
    a.reshape(-1)[::7] = b.reshape(-1)[: a.reshape(-1)[::7].size]


def columns(a, b):
    a[..., ::4] = np.sin(b[..., ::4])


def columns_of_some_rows(a, b):
    a[1:-1, ::3] -= b[1:-1, ::3]


def last_column(a, b):
    a[..., -1] = b.sum(axis=-1)


def backwards(a, b):
    a[..., ::-3] += 2


def and_its_elements_are_a_result(a, b):
    a[..., 1::2] += b[..., 1::2]
    return a[..., 1::2] * 2, a[..., 1::2]


def sums_too(a, b):
    a[..., ::5] += b[..., ::5]
    return a.sum()


IN_STEPS = [
    every_third,
    every_fifth_with_another,
    next_to_what_is_read,
    over_what_is_read,
    turned_over_what_is_read,
    another_argument,
    columns,
    columns_of_some_rows,
    last_column,
    backwards,
    and_its_elements_are_a_result,
    sums_too,
]


@pytest.mark.parametrize("kind", ["ndarray", "columns first", "Array", "view"])
@pytest.mark.parametrize("shape", [(40,), (24, 20), (24, 19), (300, 400)])
@pytest.mark.parametrize("write", IN_STEPS)
def test_every_so_many_elements(write, shape, kind):
    if len(shape) == 1 and write is columns_of_some_rows:
        return
    rng = np.random.default_rng(0)
    a, b = rng.random(shape), rng.random(shape)

    def made(kind):
        around = np.full((3, *(n + 2 for n in shape)), 7.0)
        inside = around[1][tuple(slice(1, -1) for _ in shape)]
        inside[...] = a
        return {
            "ndarray": a.copy(),
            "columns first": a.copy(order="F"),
            "Array": tk.array(a),
            "view": inside,
        }[kind]

    want, got = made("ndarray" if kind == "Array" else kind), made(kind)
    expected = write(want, b)
    results = tk.jit(write)(got, b)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-14)
    if expected is not None:
        for one, other in zip(np.atleast_1d(results), np.atleast_1d(expected), strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-13)
    if kind == "view":
        np.testing.assert_allclose(got.base, want.base, rtol=1e-14)


def test_what_is_written_in_steps_is_made_there():
    x = np.ones(100_000)
    layouts = [str(one) for one in tk.jit(every_third).explain(x, x).layouts]
    assert any("computed where" in one for one in layouts), layouts
