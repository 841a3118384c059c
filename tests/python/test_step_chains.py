"""Steps of a program that run together, a block of rows at a time: the same bits as one after the other, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokamak as tk

RNG = np.random.default_rng(1)
THREADS = (1, 2, 3, 7)


@pytest.fixture(autouse=True)
def restore_threads():
    before = tk.num_threads()
    yield
    tk.set_num_threads(before)


def grid(rows: int, columns: int, dtype=np.float32) -> np.ndarray:
    return RNG.standard_normal((rows, columns)).astype(dtype)


def steps_together(function, *arguments) -> int:
    """How many steps of the program run together with others."""
    found = 0
    for step in tk.jit(function).explain(*arguments).steps:
        if "together with the next" in step:
            found += 1 + int(step.split("together with the next ")[1].split(",")[0])
    return found


def check(function, *arguments, together: bool) -> None:
    assert (steps_together(function, *arguments) > 1) == together
    expected = function(*(argument.copy() for argument in arguments))
    compiled = tk.jit(function)
    for threads in THREADS:
        tk.set_num_threads(threads)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(*arguments), expected)


def heat(u):
    u = u.copy()
    for _ in range(12):
        middle = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = middle + 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * middle)
    return u


def downwards(u):
    u = u.copy()
    for _ in range(10):
        u[2:] = 0.5 * u[2:] + 0.25 * u[:-2]
    return u


def upwards(u):
    u = u.copy()
    for _ in range(10):
        u[:-3] = 0.5 * u[:-3] + 0.25 * u[3:]
    return u


def wave(u):
    before, now = u, u * 0.5
    for _ in range(10):
        after = now.copy()
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.25 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


def shrinking(u):
    for _ in range(6):
        u = (u[:-2] + u[1:-1] + u[2:]) * 0.25
        u = (u[:, :-2] + u[:, 1:-1] + u[:, 2:]) * 0.25
    return u


@pytest.mark.parametrize("function", [heat, downwards, upwards, wave])
@pytest.mark.parametrize("shape", [(700, 1024), (513, 1531), (300, 4099), (3000, 300)])
def test_a_repeated_stencil(function, shape):
    check(function, grid(*shape), together=True)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.float32])
def test_along_one_axis(dtype):
    def smooth(x):
        x = x.copy()
        for _ in range(9):
            x[1:-1] = x[1:-1] * 3 + x[2:] - x[:-2]
        return x

    check(smooth, (RNG.standard_normal(1_500_001) * 100).astype(dtype), together=True)


def test_grids_that_shrink():
    u = grid(900, 1400)
    expected = shrinking(u)
    compiled = tk.jit(shrinking)
    for threads in THREADS:
        tk.set_num_threads(threads)
        np.testing.assert_array_equal(compiled(u), expected)


def test_an_argument_that_is_written():
    def relax(u):
        for _ in range(6):
            u[1:-1] = 0.5 * (u[2:] + u[:-2])
        return u.sum()

    for threads in THREADS:
        tk.set_num_threads(threads)
        ours, theirs = grid(800, 1024), np.empty((800, 1024), np.float32)
        theirs[...] = ours
        tk.jit(relax)(ours)
        relax(theirs)
        np.testing.assert_array_equal(ours, theirs)


def test_what_looks_everywhere_is_waited_for():
    """Rows that wrap around, other ways through memory, and sums of everything need all of the step before."""

    def wrapped(u):
        for _ in range(5):
            u = u + 0.25 * (np.roll(u, 1, axis=0) - u)
        return u

    def turned(u):
        for _ in range(5):
            u = u * 0.5 + u.T * 0.25
        return u

    def centred(u):
        for _ in range(4):
            u = u[::-1] - u * np.float32(0.5)
        return u

    for function in (wrapped, turned, centred):
        u = grid(1024, 1024)
        expected = function(u)
        compiled = tk.jit(function)
        for threads in THREADS:
            tk.set_num_threads(threads)
            np.testing.assert_array_equal(compiled(u), expected)


def test_small_grids_run_step_by_step():
    check(heat, grid(64, 64), together=False)


def test_a_profile_has_every_step_once():
    u = grid(1024, 1024)
    compiled = tk.jit(heat)
    compiled(u)
    with tk.profile() as profile:
        compiled(u)
    kernels = profile.kernels
    assert len(kernels) == 12
    assert all(one.end_ns <= other.start_ns for one, other in zip(kernels, kernels[1:], strict=False))
    call = next(event for event in profile.events if event.category == "call")
    assert sum(one.end_ns - one.start_ns for one in kernels) <= call.end_ns - call.start_ns


def slopes(u):
    made = np.zeros_like(u)
    made[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] - u[1:-1, 2:] + u[1:-1, :-2]
    return made


@pytest.mark.parametrize("rows", [512, 600, 768, 800, 1000, 1003, 1536])
@pytest.mark.parametrize("unrelated", [lambda v: v + 1, lambda v: v[:, ::2] * v[:, 1::2]])
def test_a_step_that_shares_nothing_ends_after_the_others_have(rows, unrelated):
    """It runs behind no other step, and so does not tell how many blocks there are."""

    def run(u, v):
        return slopes(slopes(u)), unrelated(v)

    u, v = np.ones((rows, 1000)), np.ones((rows, 1000), np.float32)
    tk.jit(lambda x: x * 7.5)(u)  # what results are not, but memory then has
    for got, wanted in zip(tk.jit(run)(u, v), run(u, v), strict=True):
        np.testing.assert_array_equal(got, wanted)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(300, 900),
    st.integers(700, 1500),
    st.lists(st.tuples(st.integers(-4, 4), st.integers(-3, 3), st.integers(0, 2)), min_size=3, max_size=12),
    st.sampled_from(THREADS),
)
def test_random_steps(rows, columns, steps, threads):
    """Each step adds a grid moved by some rows and columns; now and then it is one of the grids before."""

    def run(u):
        grids = [u]
        for down, right, back in steps:
            from_ = grids[-1 - min(back, len(grids) - 1)]
            to = grids[-1].copy()
            inside = to[4:-4, 3:-3]
            to[4:-4, 3:-3] = inside * 0.5 + from_[4 + down : rows - 4 + down, 3 + right : columns - 3 + right]
            grids.append(to)
        return grids[-1]

    u = grid(rows, columns)
    tk.set_num_threads(threads)
    np.testing.assert_array_equal(tk.jit(run)(u), run(u))
