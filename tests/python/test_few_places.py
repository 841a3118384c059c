"""Few places of a large argument are written to where they are: nothing is copied, and an error comes before anything is written."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st

from support import assert_same, check_writes, copied, seeds, written_in_place

SIZE = 4096  # well above what is copied as a whole


def put(a, b, i, v):
    a[i] = v


def put_twice(a, b, i, v):
    a[i] = v
    a[i[::-1]] = 2 * v


def add(a, b, i, v):
    a[i] += v


def add_at(a, b, i, v):
    np.add.at(a, i, v)


def largest_at(a, b, i, v):
    np.maximum.at(a, i, v)


def swap(a, b, i, v):
    a[i[0]], a[i[1]] = a[i[1]], a[i[0]]


def swap_many(a, b, i, v):
    a[i], a[i[::-1]] = a[i[::-1]], a[i]


def from_the_other(a, b, i, v):
    a[i] = b[i]


def between_two(a, b, i, v):
    a[i] = v
    b[i] = a[i[::-1]]
    a[i] += b[i]


def through_itself(a, b, i, v):
    a[b[i].astype(int) % SIZE] = v


def from_a_part(a, b, i, v):
    a[i] = a[: len(v)]


def in_a_view(a, b, i, v):
    a[1:][i % (SIZE - 1)] = v


def backwards(a, b, i, v):
    a[::-1][i] = v


def one_by_one(a, b, i, v):
    for k in range(len(v)):
        a[i[k]] -= v[k]


def put_then_scale(a, b, i, v):
    a[i] = v
    a *= 2
    a[i] += 1


def keep_old(a, b, i, v):
    old = a.copy()
    a[i] = v
    b += old


PROGRAMS = [
    put,
    put_twice,
    add,
    add_at,
    largest_at,
    swap,
    swap_many,
    from_the_other,
    between_two,
    through_itself,
    from_a_part,
    in_a_view,
    backwards,
    one_by_one,
    put_then_scale,
    keep_old,
]


def arguments(seed, count=9, dtype=np.float64):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 99, (2, SIZE)).astype(dtype)
    return a, b, rng.integers(-SIZE, SIZE, count), rng.integers(0, 99, count).astype(dtype)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_as_numpy(program, dtype):
    for count in (2, 9, 700):  # 700: more than the updates of one block
        check_writes(program, *arguments(count, count, dtype))


@pytest.mark.parametrize("program", PROGRAMS)
def test_repeated_places(program):
    a, b, i, v = arguments(1)
    i[3:6] = i[:3]
    check_writes(program, a, b, i, v)


@pytest.mark.parametrize("program", [put, put_twice, add, add_at, swap_many, from_the_other, between_two])
def test_nothing_is_written_before_an_error(program):
    a, b, i, v = arguments(2, 600)
    i[-1] = SIZE
    given = [copied(x) for x in (a, b, i, v)]
    with pytest.raises(IndexError):
        tk.jit(program)(*given)
    for got, wanted in zip(given, (a, b, i, v), strict=True):
        assert_same(got, wanted)


def test_nothing_is_written_before_an_error_elsewhere():
    def write(a, b, i, j, v):
        a[i] = v
        b[j] = a[j]

    a, b, i, v = arguments(3)
    given = copied(a), copied(b)
    with pytest.raises(IndexError):
        tk.jit(write)(*given, i, i + 2 * SIZE, v)
    assert_same(given[0], a)
    assert_same(given[1], b)


@given(seeds, st.lists(st.sampled_from(PROGRAMS), min_size=2, max_size=4))
@settings(max_examples=25)
def test_several_one_after_the_other(seed, programs):
    def run(a, b, i, v):
        for program in programs:
            program(a, b, i, v)
        return a[i]

    check_writes(run, *arguments(seed))


@pytest.mark.parametrize("program", PROGRAMS)
def test_other_memory(program):
    """Arguments with gaps, and Arrays, whose values others may have."""
    a, b, i, v = arguments(4)
    wanted = copied(a), copied(b)
    program(*wanted, i, v)
    gaps = np.zeros((2, 2 * SIZE))[:, ::2]
    gaps[0], gaps[1] = a, b
    tk.jit(program)(gaps[0], gaps[1], i, v)
    for got, want in zip(gaps, wanted, strict=True):
        assert_same(got, want)
    arrays = tk.array(a), tk.array(b)
    before = +arrays[0]
    tk.jit(program)(*arrays, i, v)
    for got, want in zip(arrays, wanted, strict=True):
        assert_same(np.asarray(got), want)
    assert_same(np.asarray(before), a)


@pytest.mark.parametrize(
    "write",
    [
        lambda m, i, v: m.__setitem__(i, v),
        lambda m, i, v: m.__setitem__((slice(None), i), v),
        lambda m, i, v: m.__setitem__((i, i[::-1]), v),
        lambda m, i, v: np.add.at(m, i, v),
    ],
)
def test_rows_columns_and_elements(write, rng):
    m = rng.random((80, 70))
    i = rng.integers(-70, 70, 3)
    check_writes(write, m, i, np.float64(3))
    check_writes(write, np.asfortranarray(m), i, np.float64(3))


def test_donated_memory_beside_what_is_written():
    def double(a, b):
        a *= 2
        return a.sum()

    a, b = np.ones(1000), np.ones(1000)
    tk.jit(double, donate_argnums=1)(a, b)
    assert (a == 2).all()


def then_read(a, b, i, v):
    a[i] = v
    return a[i[::-1]]


def then_read_elsewhere(a, b, i, v):
    a[i] = v
    b[i] = a[i[::-1]]


def add_what_is_found(a, b, i, v):
    a += b[i[0]]


@pytest.mark.parametrize(
    "program",
    [put, put_twice, add, add_at, swap, from_the_other, then_read, then_read_elsewhere, add_what_is_found],
)
def test_nothing_is_copied(program):
    a, b, i, v = arguments(5)
    check_writes(program, a, b, i, v)
    wanted = {"a", "b"} if program is then_read_elsewhere else {"a"}
    assert written_in_place(tk.jit(program), a, b, i, v) == wanted


@pytest.mark.parametrize("program", [then_read, then_read_elsewhere])
@pytest.mark.parametrize("wrong", [SIZE, -SIZE - 1])
def test_nothing_is_written_before_a_later_index_is_checked(program, wrong):
    def write(a, b, i, j, v):
        program(a, b, i, v)
        return a[j], b[j + 0 * i[0]]

    a, b, i, v = arguments(6)
    check_writes(write, a, b, i, i // 2, v)
    given = [copied(x) for x in (a, b)]
    with pytest.raises(IndexError):
        tk.jit(write)(*given, i, np.append(i, wrong), v)
    for got, wanted in zip(given, (a, b), strict=True):
        assert_same(got, wanted)


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2"])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 16, 33, 100, SIZE])
def test_indices_that_are_put_together_from_parts_are_checked_first(size, dtype):
    def write(a):
        a[1:] += a[1:]
        a[size // 2] = 3
        return a[a % size]

    check_writes(write, (np.arange(size) % 100).astype(dtype))
    check_writes(write, (np.arange(2 * size).reshape(size, 2) % 100).astype(dtype)[:, 0])
