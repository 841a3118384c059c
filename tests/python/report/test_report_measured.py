"""What kernels take, and the roofline."""

import numpy as np
import pytest
import tokamak as tk
from tokamak import _measure, _native
from tokamak._pages import report


def test_steps_that_check_are_not_taken_for_kernels():
    def put(a, i, v):
        a[i] = v

    e = tk.jit(put).explain(np.zeros(100_000), np.arange(5), np.ones(5))
    assert all(one.seconds > 0 for one in e.measure(0.01).measured.kernels)


def test_measured_times_and_shares(explained):
    measured = explained.measured
    assert measured.runs >= 3
    assert len(measured.kernels) == len(explained.kernels)
    assert sum(one.seconds for one in measured.kernels) > 0
    for kernel, took in zip(explained.kernels, measured.kernels, strict=True):
        assert took.share == took.bound_seconds / took.seconds
        bound, limit = _measure.bound_of(kernel, measured.roofline)
        assert (took.bound_seconds, took.limit) == (min(bound, took.seconds), limit)
    assert "2 threads" in measured.how() or f"{tk.num_threads()} thread" in measured.how()


@pytest.mark.parametrize("size", [10, 50_000])
def test_kernels_take_no_longer_than_the_call(size):
    """They are timed in the same call, however short it is."""
    f = tk.jit(lambda x: np.cumsum(np.exp(x) + 1) * x.sum())
    for _ in range(20):
        measured = f.explain(np.ones(size)).measure(0.005).measured
        assert 0 < measured.kernel_seconds <= measured.seconds
        assert 0 < measured.share <= 1


def test_roofline_is_kept():
    first, second = _native.measure_roofline(), _native.measure_roofline()
    assert first.f32_flops == second.f32_flops > first.f64_flops / 4 > 0
    assert list(dict.fromkeys(one.name for one in first.levels)) == ["L2", "L3", "memory"]
    assert all(one.bytes_per_second > 1e8 for one in first.levels)


def test_measuring_leaves_arguments_alone():
    def write(x, y):
        x[...] = x * 2 + y
        return x.sum()

    base = np.ones((10, 12))
    for x in (np.ones(10), base[:, ::3], base.T):
        before = x.copy()
        e = tk.jit(write).explain(x, np.ones(()))
        e.measure(0)
        assert e.measured.kernels
        np.testing.assert_array_equal(x, before)
    x = np.ones(1000)
    donating = tk.jit(lambda x: x + 1, donate_argnums=0)
    e = donating.explain(x)
    e.measure(0)
    np.testing.assert_array_equal(x, np.ones(1000))


def test_a_kernel_with_nothing_to_do():
    e = tk.jit(lambda x: x + 1).explain(np.ones((0, 3)))
    assert [one.step for one in e.kernels] == [-1] * len(e.kernels)
    e.measure(0)
    assert e.measured.kernels == [None] * len(e.kernels)
    str(e)
    report.page_of(e)
