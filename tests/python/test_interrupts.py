"""A signal whose handler raises, as Ctrl-C does, at any moment of a first or a later call: all stays usable."""

import gc
import signal

import numpy as np
import pytest
import tokamak as tk

from support import assert_same

X = np.linspace(0, 1, 120_000)


def programs(k):
    """Functions that nobody has compiled before."""
    return [
        lambda x: np.sin(x) * k + np.cos(np.tanh(x)).sum(),
        lambda x: np.cumsum(np.sqrt(x + k))[::-1] * 2,
        lambda x: np.sort(x[::-1] * k) - x.reshape(400, -1).sum(axis=1).max(),
        lambda x: (x[:40_000].reshape(200, -1) @ x[:60_000].reshape(-1, 300) * k).max(axis=0),
    ]


def raise_interrupt(*_):
    raise KeyboardInterrupt


@pytest.fixture
def alarms():
    before = signal.signal(signal.SIGALRM, raise_interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def interrupted(f, seconds):
    """Whether a call was, of those that begin within the time."""
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            f(X)
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.mark.parametrize("kind", range(4))
def test_at_any_moment(kind, alarms):
    gc.collect()
    in_use = tk.memory_stats()["in_use"]
    for moment in range(1, 25):
        k = kind + moment / 64  # a number of its own: it is traced and compiled
        plain = programs(k)[kind]
        f = tk.jit(plain)
        assert interrupted(f, moment * 0.0023)
        np.testing.assert_allclose(f(X), plain(X), rtol=1e-9)
        assert_same(f(X), f(X))
        assert f.cache_info().programs == 1
        assert type(np.zeros(3)) is np.ndarray  # NumPy's functions are NumPy's again
    gc.collect()
    assert tk.memory_stats()["in_use"] == in_use


def test_while_another_one_is_traced_inside(alarms):
    inner = tk.jit(lambda x: np.exp(x) + 1)

    def outer(x):
        for _ in range(40):
            x = inner(x) * 1e-3
        return x

    for moment in range(1, 9):
        f = tk.jit(outer)
        assert interrupted(f, moment * 0.0023)
        np.testing.assert_allclose(f(X), outer(X), rtol=1e-9)
    assert_same(inner(X), inner(X))


def test_exceptions_of_the_function_itself():
    broken = True

    def fails_in_the_middle(x):
        y = np.exp(x) * 2
        if broken:
            raise RuntimeError("in the middle")
        return y + 1

    f = tk.jit(fails_in_the_middle)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="in the middle"):
            f(X)
    broken = False
    np.testing.assert_allclose(f(X), np.exp(X) * 2 + 1)
    assert type(np.zeros(3)) is np.ndarray
