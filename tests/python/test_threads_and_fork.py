"""Many threads at once, and processes that go on after a fork."""

import itertools
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
import tokamak as tk
from tokamak import _native

from support import assert_same

LARGE = np.linspace(0, 1, 300_000)


def in_threads(count, work):
    """Runs work(i) in threads that begin together; raises what they raise."""
    start, errors = threading.Barrier(count), []

    def run(i):
        try:
            start.wait()
            work(i)
        except BaseException as error:  # noqa: BLE001 - it is shown below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=100)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_first_calls_of_one_function():
    f = tk.jit(lambda x, y: {"r": np.exp(x) * y + np.tanh(y)})
    x = np.linspace(0, 1, 1000)
    want = f.__wrapped__(x, x)["r"]
    results = [None] * 8

    def work(i):
        for _ in range(20):
            results[i] = f(x, x)["r"]

    in_threads(8, work)
    assert f.cache_info().misses == 1
    for result in results:
        np.testing.assert_allclose(result, want, rtol=1e-14)


def test_different_types_at_once():
    f = tk.jit(lambda x: (x * 2 + 1).sum())

    def work(i):
        for n in range(1, 12):
            x = np.arange(n * 10 + i % 4, dtype=[np.float64, np.int32][i % 2])
            assert f(x) == (x * 2 + 1).sum()

    in_threads(8, work)


def test_different_functions_at_once():
    """Each thread traces, compiles and runs on its own; NumPy's functions in other threads stay NumPy's."""

    def work(i):
        for k in range(6):
            f = tk.jit(lambda x: np.sqrt(x) * (i + k) + np.zeros(x.shape))  # noqa: B023 - called in this turn
            assert_same(f(LARGE[: 100 + k]), np.sqrt(LARGE[: 100 + k]) * (i + k) + 0)
            assert type(np.zeros(3)) is np.ndarray

    in_threads(8, work)


def test_what_is_captured_changes_meanwhile():
    """Whatever a call computes with was there at some time during the call."""
    value = 0
    f = tk.jit(lambda x: x + value)
    stop = threading.Event()

    def work(i):
        nonlocal value
        if i == 0:
            for n in range(1, 40):
                value = n % 5
                time.sleep(0.002)
            stop.set()
        while not stop.is_set():
            assert f(np.zeros(2))[0] in range(5)

    in_threads(4, work)
    value = 100
    assert f(np.zeros(2))[0] == 100


def test_a_function_that_calls_itself():
    @tk.jit
    def halve(x, n=3):
        return x if n == 0 else halve(x / 2, n - 1) if isinstance(n, int) else x

    assert_same(halve(LARGE), LARGE / 8)


def test_a_call_inside_a_call_that_compiles():
    inner = tk.jit(lambda x: x + 1)

    def outer(x):
        known = inner(np.ones(3))  # runs at once: its argument is known
        return inner(x) + known

    assert_same(tk.jit(outer)(np.zeros(3)), np.full(3, 3.0))


def test_a_jitted_function_inside_that_captures():
    @tk.jit
    def outer(x):
        @tk.jit
        def inner(k):
            return x * k

        return inner(2.0) + inner(x)

    assert_same(outer(LARGE), LARGE * 2.0 + LARGE * LARGE)


def in_child(work):
    """Forks; the child runs `work` and must end well, and soon."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException as error:  # noqa: BLE001 - a child must not come back into the tests
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(status)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def fork_among(run, threads, stop, work, times):
    """Children do the work while so many threads of the parent run something until they are told to stop."""
    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    try:
        for _ in range(times):
            in_child(work)
            time.sleep(0.01)
    finally:
        stop.set()
        for thread in running:
            thread.join()


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a @ b,  # a part of k at a time
        lambda a, b: np.maximum(a, 0) @ b,
        lambda a, b: np.maximum(a[:, :700] @ b[:700], 0) @ b[:500],
        lambda a, b: np.sort(b, axis=0),
        lambda a, b: np.tanh(a).sum(axis=1),
    ],
)
def test_how_many_threads_there_are_may_change_during_a_call(function):
    """What each of them has to itself is there for those that the call began with."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((400, 6000), (6000, 500)))
    f, before, stop = tk.jit(function), tk.num_threads(), threading.Event()

    def change():
        for count in itertools.cycle((1, 64, 2, 7)):
            tk.set_num_threads(count)
            if stop.wait(0.0005):
                return

    tk.set_num_threads(1)
    want = f(a, b)
    changing = threading.Thread(target=change)
    changing.start()
    try:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            np.testing.assert_array_equal(f(a, b), want)
    finally:
        stop.set()
        changing.join()
        tk.set_num_threads(before)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork():
    f = tk.jit(lambda x: np.exp(x).sum() + x)
    before = tk.num_threads()
    tk.set_num_threads(2)
    try:
        want = f(LARGE)  # the threads of the parent have run
        table = np.ones(3)
        g = tk.jit(lambda x: x + table)
        g(np.ones(3))

        def work():
            assert_same(f(LARGE), want)
            assert_same(tk.jit(lambda x: np.sqrt(x) + 1)(LARGE), np.sqrt(LARGE) + 1)
            table[0] = 5
            assert_same(g(np.ones(3)), [6, 2, 2] * np.ones(3))
            in_child(lambda: assert_same(f(LARGE), want))

        for _ in range(2):
            in_child(work)
        assert_same(f(LARGE), want)
    finally:
        tk.set_num_threads(before)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_others_run_and_compile():
    f = tk.jit(lambda x: np.tanh(x) * 2)
    want = f(LARGE)
    shared = tk.jit(lambda x: x + 2)
    stop = threading.Event()

    def run():
        n = 1
        while not stop.is_set():
            f(LARGE)
            shared(np.ones(n))
            tk.jit(lambda x: x + 1)(np.ones(n))
            n += 1

    def work():
        assert_same(f(LARGE), want)
        for n in range(1, 6):
            assert_same(shared(np.ones(n)), np.full(n, 3.0))
        assert_same(tk.jit(lambda x: np.sqrt(x) + 1)(LARGE), np.sqrt(LARGE) + 1)
        assert type(np.zeros(3)) is np.ndarray

    fork_among(run, 2, stop, work, times=3)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_others_compile_single_operations():
    """What a thread of the parent was compiling, or held locked, is nothing that the child waits for."""
    size, stop = 40_000, threading.Event()  # large enough that other threads go on meanwhile

    def of_ones(n):
        return np.asarray(np.exp(tk.array(np.ones(n))) * 2)

    def run():
        nonlocal size
        while not stop.is_set():
            size += 1
            of_ones(size)

    def work():
        for n in range(size - 4, size + 1):
            assert_same(of_ones(n), np.exp(np.ones(n)) * 2)

    of_ones(3)
    fork_among(run, 4, stop, work, times=4)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_the_roofline_is_measured():
    stop = threading.Event()
    before = _native.measure_roofline()

    def run():
        while not stop.is_set():
            _native.measure_roofline(again=True)

    def work():
        found = _native.measure_roofline()
        assert found.f32_flops >= before.f32_flops
        assert_same(tk.jit(lambda x: np.sqrt(x) + 1)(LARGE), np.sqrt(LARGE) + 1)

    fork_among(run, 1, stop, work, times=2)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_others_are_profiled():
    """The memory and the events of the other threads, which a profile and the pool look through, are whole."""
    f = tk.jit(lambda x: np.tanh(x) * 2)
    want = f(LARGE)
    stop = threading.Event()

    def run():
        n = 1
        while not stop.is_set():
            with tk.profile():
                f(LARGE[:n])
            n = n % 1000 + 1

    def work():
        with tk.profile() as profile:
            assert_same(f(LARGE), want)
        assert len(profile.kernels) == 1

    fork_among(run, 3, stop, work, times=10)
