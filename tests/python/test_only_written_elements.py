"""Elements of an argument that a function does not write to are not stored, not even with what they hold: another thread may write
them meanwhile."""

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import tokamak as tk


def every_second(a):
    a[::2] += 1


def every_third(a):
    a[1::3] *= 3


def inside(a):
    a[1:-1, 1:-1] += 1


def neighbours(a):
    a[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1]


def masked(a):
    a[a > 3] = 0


def masked_twice(a):
    a[a > 3] = 0
    a[a < 1] = 7


def unmasked(a):
    a[...] = np.where(a > 3, a, 2)


def scaled(a):
    a[::2] *= 2
    a[::2] /= a.sum()


def pieces(a):
    a[0] = 1
    a[5] += 3
    a[7:9] *= 2


def shifted(a):
    a[2::2] = a[1:-1:2]


def in_steps(a):
    for k in range(4):
        a[k::8] += a[k::8].mean()


def products(a):
    a[::2] += a[::2] @ np.eye(a.shape[1])


def arrays():
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32, np.int64, np.int16, np.uint8, np.float16):
        for shape in ((40, 37), (5000, 8), (64, 512)):
            yield rng.integers(0, 7, shape).astype(dtype)


PROGRAMS = [
    every_second,
    every_third,
    inside,
    neighbours,
    masked,
    masked_twice,
    unmasked,
    pieces,
    shifted,
]


@pytest.mark.parametrize("program", [*PROGRAMS, scaled, in_steps, products])
@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[:, ::-1], lambda a: a[::2]])
def test_values(program, view):
    compiled = tk.jit(program)
    for a in arrays():
        if program in (scaled, in_steps, products) and a.dtype != np.float64:
            continue
        expected, got, array = a.copy(), a.copy(), tk.asarray(view(a).copy())
        program(view(expected))
        compiled(view(got))
        np.testing.assert_allclose(got, expected, rtol=1e-14)
        compiled(array)
        np.testing.assert_allclose(np.asarray(array), view(expected), rtol=1e-14)


@pytest.mark.parametrize("step", [2, 3, 5, 8])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.int32, np.float64])
def test_flat_arrays(step, dtype):
    @tk.jit
    def f(a, b):
        a[1::step] += b[1::step]

    a = np.arange(100_003).astype(dtype)
    b = (np.arange(100_003) % 5).astype(dtype)
    expected = a.copy()
    expected[1::step] += b[1::step]
    f(a, b)
    assert a.tobytes() == expected.tobytes()
    assert re.search(r" where |strided\) {", f.explain(a, b).kernels[0].loops)  # under a mask, or in steps


@pytest.mark.parametrize("level", ["", "x86-64", "x86-64-v3"])
@pytest.mark.parametrize("program", ["every_second", "neighbours", "inside", "pieces", "shifted", "masked", "every_third"])
def test_memory_that_must_not_be_written(program, level):
    """Rows are pages, and those that are not written to are read-only."""
    code = f"""
import ctypes, mmap, sys
import numpy as np, tokamak as tk
sys.path.insert(0, {str(__file__.rpartition("/")[0])!r})
from test_only_written_elements import {program} as program

rows = 96
memory = mmap.mmap(-1, 4096 * rows)
a = np.frombuffer(memory, np.float64).reshape(rows, 512)
a[...] = np.random.default_rng(0).integers(0, 7, a.shape)
if program.__name__ == "masked":
    a[10:20] = 1
before, expected = a.copy(), a.copy()
program(expected)
libc = ctypes.CDLL(None, use_errno=True)
for row in range(rows):
    if (expected[row] == before[row]).all():
        assert libc.mprotect(ctypes.c_void_p(a.ctypes.data + 4096 * row), 4096, mmap.PROT_READ) == 0
compiled = tk.jit(program)
compiled(a)
assert (a == expected).all()
"""
    environment = {**os.environ, "TOKAMAK_CPU": level} if level else dict(os.environ)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or done.returncode


@pytest.mark.parametrize(
    "program, others",
    [(every_second, np.s_[1::2]), (every_third, np.s_[::3]), (masked, None)],
)
def test_another_thread_may_write_the_others(program, others):
    compiled = tk.jit(program)
    a = np.zeros(1 << 16)
    if others is None:  # what is not above the limit stays below it
        others = np.s_[::2]
        a[1::2] = 5
    compiled(a.copy())
    done, rounds = threading.Event(), 0

    def write():
        nonlocal rounds
        mine = a[others]
        while not done.is_set():
            mine -= 1
            rounds += 1

    before = a[others].copy()
    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(300):
        compiled(a)
    done.set()
    thread.join()
    assert (a[others] == before - rounds).all()


def test_results_with_the_same_elements():
    def f(a, b):
        a[a > 3] = 0
        b[::2] += 1
        return a.copy(), a + 0, b.copy(), b * 1

    a, b = np.arange(10.0), np.arange(40_000.0)
    want_a, want_b = a.copy(), b.copy()
    want = f(want_a, want_b)
    got = tk.jit(f)(a, b)
    for one, expected in zip((*got, a, b), (*want, want_a, want_b), strict=True):
        np.testing.assert_array_equal(one, expected)


def scattered_then_read(a):
    a[::2] += 1
    np.add.at(a, [0, -1, -1], 1)
    read = a - 2
    a *= 0.5
    return read


def scattered_then_masked(a):
    np.add.at(a, [3, 0], 1)
    read = a - 2
    a[a > 0] = 1
    return read


def scattered_twice(a):
    np.subtract.at(a, [1, 4, 1], 2)
    read = np.cumsum(a)
    np.putmask(a, a > 1, -a)
    np.add.at(a, [2, 2], 5)
    return read


# What is computed beside the elements that stay may take over the memory of an intermediate, but not of one that lies where the
# argument does: the elements that were left out are only there.
@pytest.mark.parametrize("function", [scattered_then_read, scattered_then_masked, scattered_twice])
@pytest.mark.parametrize("count", [6, 1000, 100_000])
def test_intermediates_in_an_argument_keep_its_memory(function, count):
    expected_argument = np.arange(float(count)) - 2
    argument = expected_argument.copy()
    expected = function(expected_argument)
    result = tk.jit(function)(argument)
    np.testing.assert_array_equal(argument, expected_argument)
    np.testing.assert_allclose(result, expected, rtol=1e-13)


def test_intermediates_that_have_places_of_their_own():
    names = [
        "every_second", "masked_twice", "scattered_then_read", "scattered_then_masked", "scattered_twice"
    ]  # fmt: skip
    script = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import numpy as np, tokamak as tk, test_only_written_elements as here
for name in {names}:
    function, count = getattr(here, name), 1000
    expected, argument = np.arange(float(count)) - 2, np.arange(float(count)) - 2
    function(expected)
    tk.jit(function)(argument)
    np.testing.assert_array_equal(argument, expected, name)
"""
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | {"TOKAMAK_DISABLE": "reuse"})


def masked_and_copied(a, b):
    b[b > 0] = 0
    a[:] = b


def copied_where(a, b):
    np.add(b, 1, out=b, where=b > 0)
    a[:] = b
    return a


def one_sum_for_both(a, b):
    total = np.cumsum(a + b)
    a[:] = total * 2
    b[total > 0] = 1


def both_in_turns(a, b):
    a[a > 0] = 0
    b[:] = a
    a[::2] += 1
    b[b < 0] -= 1


# What one argument gets may be what another one gets, too, and is in the memory of one of them only.
@pytest.mark.parametrize("function", [masked_and_copied, copied_where, one_sum_for_both, both_in_turns])
@pytest.mark.parametrize("count", [3, 1000, 100_000])
def test_two_arguments_that_get_the_same(function, count):
    rng = np.random.default_rng(count)
    expected = [rng.integers(-9, 9, count).astype(float) for _ in range(2)]
    given = [one.copy() for one in expected]
    function(*expected)
    tk.jit(function)(*given)
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
