"""Programs that are very large, or very many, or need more memory than there is."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
import tokamak as tk
from tokamak import _reasons

PROGRAMS = int(os.environ.get("TOKAMAK_TEST_PROGRAMS", "500"))


def test_a_function_of_a_hundred_thousand_operations():
    def f(x):
        for _ in range(50_000):
            x = x * 0.5 + 0.25
        return x

    x = np.linspace(-1, 1, 10)
    np.testing.assert_array_equal(tk.jit(f)(x), f(x))


def test_a_hundred_thousand_views_one_behind_the_other():
    def f(x):
        for _ in range(25_000):
            x = x.reshape(2, 4).T.reshape(8)[::-1]
        return x

    x = np.linspace(-1, 1, 8)
    np.testing.assert_array_equal(tk.jit(f)(x), f(x))


def test_evicted_programs_give_their_code_and_memory_back():
    f = tk.jit(lambda x: np.sqrt(x) * 2 + x[::-1], max_programs=4)

    def call(sizes):
        for n in sizes:
            assert f(np.ones(n))[0] == 3
        gc.collect()
        tk.trim_memory()
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
        return len(Path("/proc/self/maps").read_text().splitlines()), resident

    mappings, resident = call(range(1, 101))
    more_mappings, more_resident = call(range(101, 101 + PROGRAMS))
    assert f.cache_info().misses == 100 + PROGRAMS and f.cache_info().programs == 4
    print(f"{resident >> 20} MB and {mappings} mappings, then {more_resident >> 20} MB and {more_mappings}")
    assert more_mappings < mappings + 50
    assert more_resident < resident + (32 << 20)  # they would take 17 KB each, and what they were made of


def test_what_is_remembered_of_evicted_programs_is_bounded():
    """Why a program was compiled is told from those before: of each that is compiled again and again, one is remembered."""

    def remembered(sizes):
        f = tk.jit(lambda x: x * 2, max_programs=2)
        before = records()
        for n in sizes:
            f(np.ones(n))
        assert f.cache_info().misses == len(sizes)
        return f.cache_info().reasons[-1], records() - before

    def records():
        gc.collect()
        return sum(type(one) is _reasons.Record for one in gc.get_objects())

    assert remembered([1, 2, 3] * 40) == ("its program had been dropped", 3)
    assert remembered(range(1, 121)) == ("x: shape (119,) -> (120,)", _reasons.MOST_RECORDS)


def test_memory_that_is_not_there():
    between = tk.jit(lambda x: np.sort(np.cumsum(np.broadcast_to(x, (1 << 38, 4)), axis=0), axis=0)[0])
    result = tk.jit(lambda x: np.broadcast_to(x, (1 << 40, 1 << 8)) + 1)
    before = tk.memory_stats()["in_use"]
    for f in (between, result):
        for _ in range(3):
            with pytest.raises(tk.UserMemoryError):
                f(np.ones(1))
    assert tk.memory_stats()["in_use"] == before
    np.testing.assert_array_equal(tk.jit(lambda x: x + 1)(np.ones(3)), np.full(3, 2.0))
