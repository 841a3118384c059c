"""What kernels take, and the roofline."""

import numpy as np
import pytest
import tokamak as tk
from report_programs import f32
from tokamak import _format, _measure, _native
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
        bound, limit, rate = _measure.bound_of(kernel, measured.roofline)
        assert (took.bound_seconds, took.limit, took.rate) == (min(bound, took.seconds), limit, rate)
        unit = "FLOP" if limit == "arithmetic" else "B"
        assert _format.rate_text(rate, unit) in measured.how()  # what is said is what was used
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


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, y: np.maximum((np.sin(x) * np.cos(y) + x) * y, 0), [(300_000,)] * 2),
        (lambda x, y: x + y, [(3_000_000,)] * 2),
        (lambda x, y: (x * y).sum(), [(50_000,)] * 2),
        (softmax, [(1024, 512)]),
        (lambda x, y: x @ y, [(256, 512), (512, 512)]),
        (lambda x, y, b: np.maximum(x @ y + b, 0), [(256, 256), (256, 256), (256,)]),
        (lambda x: np.sort(x, axis=1), [(128, 2048)]),
        (lambda x: np.cumsum(x, axis=1), [(512, 512)]),
        (lambda x: x.T + 1, [(1024, 512)]),
        (lambda x: x[1:-1] * 2 - x[2:] - x[:-2], [(500_000,)]),
    ],
)
def test_predictions_are_of_the_right_size(function, shapes):
    """Within two of what kernels take on a machine that has nothing else to do; wider here, where tests run beside each other."""
    arguments = [f32(*shape) for shape in shapes]
    e = tk.jit(function).explain(*arguments).measure(0.1)
    for kernel, took in zip(e.kernels, e.measured.kernels, strict=True):
        for seconds in (kernel.predicted_ns / 1e9, _measure.predicted_seconds(kernel, e.measured)):
            assert 1 / 4 < seconds / took.seconds < 4, kernel


def test_columns_of_large_arrays_are_predicted_to_take_longer_than_rows():
    """A part of every row, the next one on another page: the least that memory takes is not what that takes. The more so the less of a
    page each part is, which is where a sweep is too short to be shared and tasks share the columns."""

    def work(shape, axis):
        (kernel,) = tk.jit(lambda x: x.sum(axis=axis)).explain(np.ones(shape)).kernels
        return kernel.work

    assert work((200, 2048), 0) > 4 * work((200, 2048), 1)
    assert work((4096, 1024), 0) > 1.5 * work((4096, 1024), 1)
    assert work((64, 512), 0) < 2 * work((64, 512), 1)  # the cache has all of it
    assert work((100_000, 16), 0) < 2 * work((100_000, 16), 1)  # whole rows
