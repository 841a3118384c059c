"""tk.jit: structures, static arguments, numbers, donation, methods, threads, caching, the hot path."""

import functools
import gc
import pickle
import random
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest
import tokamak as tk

from support import assert_same, check


def module_level(x):
    return x + 1


jitted_at_module_level = tk.jit(module_level)


@tk.jit
def decorated(x):
    return x + 1


class Point(NamedTuple):
    x: object
    y: object


def test_structures():
    a, b = np.arange(4.0), np.ones(4)
    check(lambda p: {"sum": p["a"] + p["b"], "parts": [p["a"], (p["b"], None)]}, {"a": a, "b": b})
    check(lambda p: p[0] + p[1][0], [a, (b,)])
    check(lambda p, q: p if q is None else q, a, None)
    moved = tk.jit(lambda p: Point(p.y, p.x))(Point(a, b))
    assert isinstance(moved, Point)
    assert_same(moved.x, b)
    assert tk.jit(lambda x: ())(a) == ()
    assert tk.jit(lambda x: None)(a) is None


def test_results_that_are_no_arrays():
    result = tk.jit(lambda x: (x + 1, 3, "name", np.arange(3)))(np.ones(2))
    assert_same(result[0], np.full(2, 2.0))
    assert result[1:3] == (3, "name")
    assert_same(result[3], np.arange(3))


def test_scalars_are_numpy_scalars():
    result = tk.jit(lambda x: x.sum())(np.ones(3, np.float32))
    assert type(result) is np.float32
    assert type(tk.jit(lambda x: x > 1)(np.float64(2))) is np.bool_


def test_keywords_and_defaults():
    @tk.jit
    def f(x, y=2.0, *, scale=1.0):
        return (x + y) * scale

    x = np.arange(3.0)
    assert_same(f(x), x + 2)
    assert_same(f(x, y=x), x + x)
    assert_same(f(x, scale=x), (x + 2) * x)
    assert_same(f(y=x, x=x, scale=3), (x + x) * 3)


def test_numbers_need_no_new_program():
    f = tk.jit(lambda x, s: x * s)
    x = np.arange(5, dtype=np.float32)
    for s in (1.0, 2.5, -3.0):
        assert_same(f(x, s), x * s)
    assert f.cache_info().programs == 1
    assert_same(f(x, 2), x * 2)
    assert_same(f(x, np.float64(2)), x * np.float64(2))
    with pytest.raises(ValueError, match="64 bits"):
        f(x, 2**70)


def test_numbers_stay_weak_through_arithmetic():
    def f(x, n, s):
        return (
            x * (2 * s + n),
            x + n / 2,
            x * (n // 2) ** 2,
            x + -s,
            (s > 1) + x,
            abs(n) * x,
            x * (True + True),
        )

    for dtype in (np.float16, np.float32, np.float64):
        check(f, np.arange(1, 5).astype(dtype), 3, 1.5)
    check(lambda n, s: np.sin(s) + n, 3, 1.5)
    check(lambda x, flag: np.where(flag, x, -x), np.arange(3.0), True)


def test_static_arguments():
    @functools.partial(tk.jit, static_argnums=(1,), static_argnames="mode")
    def f(x, n, mode="sum"):
        for _ in range(n):
            x = x * 2
        return x.sum() if mode == "sum" else x.max()

    x = np.arange(4.0)
    for _ in range(2):
        assert f(x, 3) == 48
        assert f(x, 1, mode="max") == 6
        assert f(x, 1, "max") == 6
        assert f(n=2, x=x) == 24
    assert f.cache_info().misses == 4
    with pytest.raises(ValueError, match="hashed"):
        f(x, [3])


def test_static_values_of_different_type_are_different():
    f = tk.jit(lambda x, s: x * s, static_argnums=1)
    x = np.arange(3, dtype=np.int32)
    assert f(x, 1).dtype == np.int32
    assert f(x, 1.0).dtype == np.float64
    assert f(x, True).dtype == np.int32


def test_donation():
    f = tk.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = np.arange(1000.0), np.ones(1000)
    address = x.ctypes.data
    want = x + y
    z = f(x, y)
    assert_same(z, want)
    assert z.ctypes.data == address
    with pytest.raises(ValueError, match="shares its memory"):
        f(y, y)
    z.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(z, y)
    taken = tk.array(np.arange(1000.0))
    f(taken, y)
    with pytest.raises(ValueError, match="donated"):
        _ = taken + 1


def test_methods():
    class Model:
        def __init__(self, w):
            self.w = w
            self.name = "m"

        @tk.jit
        def forward(self, x):
            return x * self.w

        @tk.jit
        def replace(self, x):
            self.w = x
            return x + 1

    x = np.arange(3.0)
    model = Model(np.full(3, 2.0))
    assert_same(model.forward(x), x * 2)
    model.w = np.full(3, 5.0)  # attributes are arguments
    assert_same(model.forward(x), x * 5)
    model.w += 1
    assert_same(model.forward(x), x * 6)
    assert Model.forward.cache_info().programs == 1
    assert_same(model.replace(x), x + 1)
    assert model.w is x


def test_nested_jit():
    inner = tk.jit(lambda x: np.exp(x) + 1)
    outer = tk.jit(lambda x: inner(x) * inner(x + 1))
    x = np.linspace(0, 1, 9)
    assert_same(outer(x), (np.exp(x) + 1) * (np.exp(x + 1) + 1), ulp=8)
    assert inner.cache_info().programs == 0


def test_looks_like_the_function():
    assert jitted_at_module_level.__name__ == "module_level"
    assert jitted_at_module_level.__wrapped__ is module_level
    assert "module_level" in repr(jitted_at_module_level)
    jitted_at_module_level.note = 3
    assert jitted_at_module_level.note == 3
    assert tk.jit(jitted_at_module_level, fuse=False).__wrapped__ is module_level


def test_cache():
    f = tk.jit(lambda x: x + 1, max_programs=3)
    for n in (1, 2, 3, 4, 5):
        f(np.ones(n))
        f(np.ones(n))
    info = f.cache_info()
    assert info.misses == 5
    assert info.programs == 3
    assert info.hits == 5
    f.clear_cache()
    assert f.cache_info().programs == 0
    assert_same(f(np.ones(2)), np.full(2, 2.0))


def test_inputs_are_not_changed():
    x = np.arange(5.0)
    f = tk.jit(lambda x: (x, x))
    first, second = f(x)
    assert_same(first, x)
    first[0] = 100
    assert x[0] == 0
    assert second[0] == 0


def test_closures_are_constants():
    w = np.arange(6.0).reshape(2, 3)
    check(lambda x: x * w + w.T.sum(), np.ones((2, 3)))
    check(lambda x: x + np.float32(2) + [1.0, 2.0, 3.0][1], np.ones(3, np.float32))


def test_results_outlive_everything():
    f = tk.jit(lambda x: x + 1)
    x = np.arange(1000.0)
    kept = [f(x) for _ in range(20)]
    del f
    gc.collect()
    for y in kept:
        assert_same(y, np.arange(1000.0) + 1)
        y += 1  # and can be written


def test_other_array_types():
    f = tk.jit(lambda x: x + 1)
    x = np.arange(5, dtype=np.float64)
    with pytest.raises(TypeError, match="MaskedArray"):
        f(np.ma.masked_array(x, [True] * 5))
    with pytest.raises(TypeError, match="byte order"):
        f(x.astype(">f8"))
    with pytest.raises(TypeError, match="complex128"):
        f(x.astype(complex))
    assert_same(f(x.astype(np.longlong)), x.astype(np.longlong) + 1)


def test_misaligned_memory():
    raw = np.zeros(8 * 9 + 1, np.uint8)
    x = raw[1:].view(np.float64)
    x[:] = np.arange(9)
    check(lambda x: x * 2 + 1, x)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.linspace(-3, 3, 37).astype(ml_dtypes.bfloat16)
    f = tk.jit(lambda x: (x * x + x, np.maximum(x, 0)))
    got, want = f(x), (x * x + x, np.maximum(x, ml_dtypes.bfloat16(0)))
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.astype(np.float32), other.astype(np.float32))


def test_threads_compile_once_and_agree():
    def function(x):
        time.sleep(0.02)
        return np.exp(x).sum() * x

    f = tk.jit(function)
    x = np.linspace(0, 1, 10_000)
    want = f.__wrapped__(x)
    results, start = [None] * 8, threading.Barrier(8)

    def work(i):
        start.wait()
        for _ in range(5):
            results[i] = f(x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert f.cache_info().misses == 1
    for result in results:
        np.testing.assert_allclose(result, want, rtol=1e-12)
        assert_same(result, results[0])


def test_results_do_not_depend_on_threads():
    x = np.random.default_rng(1).random(1_000_003)
    f = tk.jit(lambda x: (x.sum(), np.sqrt(x) * 3))
    before = tk.num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            tk.set_num_threads(count)
            results.append(f(x))
        for result in results[1:]:
            assert_same(result[0], results[0][0])
            assert_same(result[1], results[0][1])
    finally:
        tk.set_num_threads(before)


def test_gil_is_released_during_real_work():
    x = np.random.default_rng(1).random(4_000_000)
    f = tk.jit(lambda x: np.sin(np.exp(np.sin(x))) + np.cos(x))
    f(x)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0)

    old = sys.getswitchinterval()
    sys.setswitchinterval(10)  # nobody is asked to let go of the GIL
    try:
        thread = threading.Thread(target=tick)
        thread.start()
        before = len(ticks)
        f(x)
        assert len(ticks) > before
    finally:
        stop.set()
        sys.setswitchinterval(old)
        thread.join()


def test_failures_leave_nothing_behind():
    f = tk.jit(lambda x, y: x + y)
    for _ in range(3):
        with pytest.raises(ValueError, match="broadcast"):
            f(np.ones(3), np.ones(4))
    assert f.cache_info().programs == 0
    assert_same(f(np.ones(3), np.ones(3)), np.full(3, 2.0))
    with pytest.raises(ZeroDivisionError):
        tk.jit(lambda x: x + 1 / 0)(np.ones(3))
    assert_same(tk.array([1.0]) + 1, np.array([2.0]))  # not inside a trace any more


def test_allocation_that_cannot_be_satisfied():
    f = tk.jit(lambda x: np.broadcast_to(x, (1 << 40, 1 << 10)) + 1)
    with pytest.raises(MemoryError):
        f(np.ones(1))
    with pytest.raises(MemoryError):
        tk.jit(lambda x: np.broadcast_to(x, (1 << 62, 1 << 10)) + 1)(np.ones(1))
    assert_same(tk.jit(lambda x: x + 1)(np.ones(3)), np.full(3, 2.0))


def test_no_leaks():
    f = tk.jit(lambda x, s: {"y": x * s})
    x = np.ones(1000)
    f(x, 1.0)
    references = sys.getrefcount(x)
    for _ in range(1000):
        f(x, 2.0)
    assert sys.getrefcount(x) == references
    in_use = tk.memory_stats()["in_use"]
    for _ in range(1000):
        f(x, 2.0)
    assert tk.memory_stats()["in_use"] <= in_use + (1 << 16)


def test_memory_is_reused():
    f = tk.jit(lambda x: x + 1)
    x = np.ones(1 << 20)
    address = f(x).ctypes.data
    assert f(x).ctypes.data == address
    assert tk.trim_memory() > 0
    assert tk.memory_stats()["cached"] == 0


@pytest.mark.parametrize("arguments", [1, 2, 16, 17, 40])
def test_many_arguments(arguments):
    f = tk.jit(lambda *xs: sum(xs[1:], xs[0]))
    xs = [np.full(5, float(i)) for i in range(arguments)]
    for _ in range(2):
        assert_same(f(*xs), sum(xs[1:], xs[0]))


def test_small_calls_are_cheap():
    """Well under a microsecond on a quiet machine; the bound leaves room for a busy one."""

    @tk.jit
    def f(x, y):
        return ((x * y + x) * y - x) * (x + y)

    x, y = np.ones(16, np.float32), np.ones(16, np.float32)
    f(x, y)
    best = min(_time_calls(f, x, y) for _ in range(20))
    assert best < 3e-6, f"{best * 1e9:.0f} ns per call"


def _time_calls(f, *args, count=2000):
    start = time.perf_counter()
    for _ in range(count):
        f(*args)
    return (time.perf_counter() - start) / count


def test_steps_of_a_loop_share_kernels():
    def relax(u):
        for _ in range(200):
            u = (u + np.roll(u, 1) + np.roll(u, -1)) / 3
        return u

    u = np.random.default_rng(0).random(100)
    np.testing.assert_allclose(tk.jit(relax)(u), relax(u), rtol=1e-12)


def test_pickled_by_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_static_values_do_not_pile_up():
    f = tk.jit(lambda x, s: x * s, static_argnums=1, max_programs=8)
    x = np.ones(3)
    for i in range(40):
        np.testing.assert_array_equal(f(x, float(i)), x * i)
    assert f.cache_info().programs <= 16
    np.testing.assert_array_equal(f(x, 0.0), x * 0)


GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(
    "draw",
    [
        lambda n: np.random.rand(n),  # noqa: NPY002 - what old programs do
        lambda n: np.random.normal(size=n),  # noqa: NPY002
        lambda n: GENERATOR.random(n),
    ],
)
def test_random_numbers_are_refused(draw):
    def noisy(x):
        return x + draw(x.size)

    if draw.__code__.co_names[0] == "GENERATOR":

        def noisy(x):
            return x + GENERATOR.random(x.size)

    with pytest.raises(NotImplementedError, match="draw them outside"):
        tk.jit(noisy)(np.zeros(3))


def test_random_numbers_that_were_drawn_before_are_refused():
    """Normal numbers are made in pairs: the second one is given without asking for new bits."""
    np.random.seed(0)  # noqa: NPY002
    np.random.standard_normal()  # noqa: NPY002
    with pytest.raises(NotImplementedError, match="draw them outside"):
        tk.jit(lambda x: x + np.random.standard_normal())(np.zeros(3))  # noqa: NPY002
    random.seed(0)
    random.gauss(0, 1)
    with pytest.raises(NotImplementedError, match="draw them outside"):
        tk.jit(lambda x: x + random.gauss(0, 1))(np.zeros(3))
    state = np.random.RandomState(0)  # noqa: NPY002
    state.standard_normal()
    with pytest.raises(NotImplementedError, match="draw them outside"):
        tk.jit(lambda x: x + state.standard_normal())(np.zeros(3))


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_random_numbers_of_every_kind_of_bits_are_refused(kind):
    rng = np.random.Generator(kind(0))
    for draw in (
        lambda x: x + rng.random(),
        lambda x: x + rng.standard_normal(),
        lambda x: x + rng.integers(10, dtype=np.uint32),
        lambda x: x + rng.integers(10, dtype=np.uint32),  # half of 64 bits were left
        lambda x: x + rng.bit_generator.random_raw(),
    ):
        with pytest.raises(NotImplementedError, match="draw them outside"):
            tk.jit(draw)(np.zeros(3))
    assert tk.jit(lambda x: x + (rng is not None))(np.zeros(3)).sum() == 3


def test_random_numbers_of_a_closure_are_refused():
    rng = np.random.default_rng(1)
    with pytest.raises(NotImplementedError, match="draw them outside"):
        tk.jit(lambda x: x + rng.random(3))(np.zeros(3))
    draw = random.Random(1).random
    with pytest.raises(NotImplementedError, match="draw them outside"):
        tk.jit(lambda x: x + draw())(np.zeros(3))
    assert tk.jit(lambda x: x + 1 if rng else x)(np.zeros(3)).sum() == 3
    with pytest.raises(NotImplementedError, match="draw them outside"):
        tk.jit(lambda x: x + np.random.default_rng().random(3))(np.zeros(3))


def test_a_call_loads_no_random_numbers():
    """NumPy loads numpy.random when it is first asked for, which takes longer than compiling a small program. A function that
    asks for it draws numbers."""
    program = (
        "import sys, numpy as np, tokamak as tk\n"
        "tk.jit(lambda x: x + 1)(np.zeros(3))\n"
        "assert 'numpy.random' not in sys.modules\n"
        "try:\n"
        "    tk.jit(lambda x: x + np.random.rand(3))(np.zeros(3))\n"
        "except NotImplementedError as error:\n"
        "    assert 'draw them outside' in str(error)\n"
        "else:\n"
        "    raise AssertionError('not refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def of_small_constants(x):
    edges = np.quantile(x, [0.25, 0.5, 0.75])
    return np.histogram(x, np.linspace(0, 1, 9))[0], edges, np.interp(x, np.arange(3.0), np.ones(3))


def of_arrays_like_arguments(x):
    z, count = np.zeros_like(x), np.full_like(x, 3, dtype=np.int32)
    for _ in range(3):
        near = z * z <= 4.0
        count += near
        z = np.where(near, z * z + x, z)
    return count, z


@pytest.mark.parametrize("function", [of_small_constants, of_arrays_like_arguments])
def test_no_code_is_made_while_a_function_is_traced(function, caplog):
    """What is computed from constants is computed once: that would take less time than to make code for it."""
    x = np.random.default_rng(0).random((700, 500))
    f = tk.jit(function)
    tk.set_logs("cache")
    try:
        with caplog.at_level("DEBUG", logger="tokamak"):
            got = f(x)
    finally:
        tk.set_logs("")
    programs = [record.getMessage() for record in caplog.records if "kernels," in record.getMessage()]
    assert len(programs) == 1, programs
    for one, expected in zip(got, function(x), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-14)
        assert one.dtype == expected.dtype
