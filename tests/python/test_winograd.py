"""Convolutions with windows of 3x3 that are computed by Winograd's minimal filtering, against f64."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from support import seeds

ONE = ((1, 1), (1, 1))
THREADS = (1, 2, 7)


def windows_of(x, padding):
    return sliding_window_view(np.pad(x, ((0, 0), (0, 0), *padding)), (3, 3), axis=(2, 3))


def reference(x, w, padding=ONE, groups=1):
    """In f64."""
    windows = windows_of(x.astype(np.float64), padding)
    inner, outer = x.shape[1] // groups, w.shape[0] // groups
    parts = [
        np.einsum(
            "nchwij,ocij->nohw",
            windows[:, g * inner : (g + 1) * inner],
            w[g * outer : (g + 1) * outer].astype(np.float64),
            optimize=True,
        )
        for g in range(groups)
    ]
    return np.concatenate(parts, 1)


def size_of_terms(x, w, padding=ONE):
    """What errors are relative to: the largest number of each window and channel times the sum of the weights."""
    largest = np.abs(windows_of(x.astype(np.float64), padding)).max(axis=(-1, -2))
    return np.einsum("nchw,oc->nohw", largest, np.abs(w.astype(np.float64)).sum(axis=(2, 3)), optimize=True)


def is_winograd(f, *arguments):
    return "Winograd" in f.explain(*arguments).kernels[-1].loops


def both_ways(x, w, **options):
    """With weights as argument and as constant, which must be computed as expected and agree."""
    f = tk.jit(lambda x, w: tk.conv(x, w, **options))
    g = tk.jit(lambda x: tk.conv(x, w, **options))
    assert is_winograd(f, x, w) and is_winograd(g, x)
    result = f(x, w)
    np.testing.assert_array_equal(result, g(x))
    return result


def random(rng, *shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


@settings(max_examples=25, deadline=None)
@given(
    seed=seeds,
    images=st.integers(1, 3),
    channels=st.integers(32, 70),
    rows=st.integers(32, 150),
    size=st.tuples(st.integers(24, 70), st.integers(24, 70)),
    padding=st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2),
    dtype=st.sampled_from([np.float32, np.float32, np.float64]),
)
def test_random_convolutions(seed, images, channels, rows, size, padding, dtype):
    rng = np.random.default_rng(seed)
    x = random(rng, images, channels, *size, dtype=dtype)
    w = random(rng, rows, channels, 3, 3, dtype=dtype)
    f = tk.jit(lambda x: tk.conv(x, w, padding=padding))
    assert is_winograd(f, x)
    error = np.abs(f(x) - reference(x, w, padding))
    # A plain sum is allowed as much (tests/unit/library/product_fixture.h).
    plain = np.einsum("nchwij,ocij->nohw", np.abs(windows_of(x, padding)), np.abs(w), optimize=True)
    assert (error <= (np.sqrt(9 * channels) * 2 + 4) * np.finfo(dtype).eps / 2 * plain).all()


@pytest.mark.parametrize("size", [(56, 56), (31, 64), (64, 31), (57, 33), (26, 250)])
def test_edges_and_both_kinds_of_weights(size):
    rng = np.random.default_rng(sum(size))
    x, w = random(rng, 2, 48, *size), random(rng, 64, 48, 3, 3)
    for padding in (ONE, ((0, 0), (0, 0)), ((2, 0), (0, 3))):
        result = both_ways(x, w, padding=padding)
        np.testing.assert_allclose(result, reference(x, w, padding), atol=3e-4)


def test_groups():
    rng = np.random.default_rng(1)
    x, w = random(rng, 1, 96, 48, 48), random(rng, 128, 48, 3, 3)
    result = both_ways(x, w, padding=1, groups=2)
    np.testing.assert_allclose(result, reference(x, w, groups=2), atol=3e-4)


def test_pictures_with_any_strides():
    rng = np.random.default_rng(2)
    w = random(rng, 64, 64, 3, 3)
    wide = random(rng, 1, 64, 80, 80)
    for x in (wide[:, :, ::2, ::-2], wide.swapaxes(2, 3), np.moveaxis(random(rng, 1, 40, 40, 64), 3, 1)):
        f = tk.jit(lambda x: tk.conv(x, w, padding=1))
        assert is_winograd(f, x)
        np.testing.assert_array_equal(f(x), f(np.ascontiguousarray(x)))
        np.testing.assert_allclose(f(x), reference(x, w), atol=3e-4)
    sliced = tk.jit(lambda x: tk.conv(x[:, :, ::2, ::-2], w, padding=1))
    assert is_winograd(sliced, wide)
    np.testing.assert_allclose(sliced(wide), reference(wide[:, :, ::2, ::-2], w), atol=3e-4)


def test_other_windows_are_not():
    rng = np.random.default_rng(3)
    x, w = random(rng, 2, 64, 40, 40), random(rng, 64, 64, 3, 3)
    for options in ({"stride": 2}, {"dilation": 2}, {"stride": (1, 2)}):
        assert not is_winograd(tk.jit(lambda x, w, o=options: tk.conv(x, w, **o)), x, w)
    assert not is_winograd(tk.jit(tk.conv), x, random(rng, 64, 64, 5, 5))
    assert not is_winograd(tk.jit(tk.conv), x.astype(np.float16), w.astype(np.float16))
    assert not is_winograd(tk.jit(tk.conv), x, random(rng, 2, 64, 3, 3))


def test_small_integers_are_exact():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 256, (2, 64, 40, 40)).astype(np.float32)
    w = rng.integers(-4, 5, (64, 64, 3, 3)).astype(np.float32)
    np.testing.assert_array_equal(both_ways(x, w, padding=1), reference(x, w))


def test_error_where_scales_differ():
    rng = np.random.default_rng(5)
    for spread in (2, 6, 12):
        x = random(rng, 2, 64, 40, 40) * 10 ** rng.uniform(-spread, spread, (2, 64, 40, 40)).astype(
            np.float32
        )
        w = random(rng, 64, 64, 3, 3) * 10 ** rng.uniform(-spread, spread, (64, 64, 3, 3)).astype(np.float32)
        error = np.abs(both_ways(x, w, padding=1) - reference(x, w))
        assert (error <= 4 * np.finfo(np.float32).eps * size_of_terms(x, w)).all()


def test_a_result_depends_on_its_window_only():
    rng = np.random.default_rng(6)
    x, w = random(rng, 1, 64, 40, 40), random(rng, 64, 64, 3, 3)
    f = tk.jit(lambda x: tk.conv(x, w, padding=1))
    assert is_winograd(f, x)
    before = f(x)
    for y, column in ((17, 20), (18, 21)):
        large = x.copy()
        large[0, 5, y, column] = 1e30
        after = f(large)
        after[0, :, y - 1 : y + 2, column - 1 : column + 2] = before[
            0, :, y - 1 : y + 2, column - 1 : column + 2
        ]
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("size", [(40, 40), (41, 39)])
def test_infinities_and_nan(value, size):
    rng = np.random.default_rng(7)
    x, w = random(rng, 2, 64, *size), random(rng, 64, 64, 3, 3)
    x[0, 3, 10, 11] = x[1, 60, 0, 0] = x[1, 5, -1, -1] = x[1, 6, -1, 20] = value
    x[0, 9, 10, 12] = np.inf
    result, wanted = both_ways(x, w, padding=1), reference(x, w)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(result), np.isinf(wanted))
    np.testing.assert_allclose(result, wanted, atol=3e-4)
    w[5, 6, 1, 2] = value
    result, wanted = both_ways(x, w, padding=1), reference(x, w)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(wanted))
    np.testing.assert_allclose(result, wanted, atol=3e-4)


def test_what_only_transforms_overflow():
    rng = np.random.default_rng(8)
    w = random(rng, 64, 64, 3, 3)
    x = np.full((1, 64, 40, 40), 3e38, np.float32)
    x[:, ::2] *= -1  # sums of neighbours overflow, those with these weights do not
    small = w * np.float32(1e-3)
    np.testing.assert_allclose(both_ways(x, small, padding=1), reference(x, small), rtol=1e-3, atol=1e33)
    large = np.where(np.arange(64)[:, None, None, None] < 3, np.float32(3e38), w)
    pixels = random(rng, 1, 64, 40, 40) * np.float32(1e-4)
    wanted = reference(pixels, large)
    result = both_ways(pixels, large, padding=1)
    fits = np.abs(wanted) < 3.4e38
    assert np.isfinite(result[fits]).all()
    np.testing.assert_allclose(result[:, 3:], wanted[:, 3:], atol=1e-7)
    np.testing.assert_allclose(result[:, :3][fits[:, :3]], wanted[:, :3][fits[:, :3]], atol=1e31)


def test_subnormal_weights():
    rng = np.random.default_rng(9)
    w = (rng.integers(-20, 20, (64, 64, 3, 3)) * 2.0**-149).astype(np.float32)
    x = random(rng, 1, 64, 40, 40) * np.float32(2.0**120)
    np.testing.assert_allclose(both_ways(x, w, padding=1), reference(x, w), atol=1e-12)


def test_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(10)
    x, w = random(rng, 1, 64, 41, 40), random(rng, 130, 64, 3, 3)
    x[0, 3, 10, 11] = np.inf
    results, blocks = [], set()
    before = tk.num_threads()
    try:
        for threads in THREADS:
            tk.set_num_threads(threads)
            f = tk.jit(lambda x, w: tk.conv(x, w, padding=1))
            blocks.add(f.explain(x, w).kernels[0].loops.splitlines()[1])
            results.append(f(x, w))
    finally:
        tk.set_num_threads(before)
    assert len(blocks) > 1
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    shifted = np.empty(x.size + 3, np.float32)[3:].reshape(x.shape)
    shifted[:] = x
    np.testing.assert_array_equal(results[0], tk.jit(lambda x, w: tk.conv(x, w, padding=1))(shifted, w))


def test_residual_block():
    rng = np.random.default_rng(11)
    x, w1, w2 = random(rng, 2, 64, 28, 28), random(rng, 64, 64, 3, 3), random(rng, 64, 64, 3, 3)
    shift = random(rng, 64, 1, 1)

    def block(x, conv):
        h = np.maximum(conv(x, w1) * np.float32(0.05) + shift, 0)
        return np.maximum(conv(h, w2) * np.float32(0.05) + x, 0)

    f = tk.jit(lambda x: block(x, lambda x, w: tk.conv(x, w, padding=1)))
    e = f.explain(x)
    assert [("Winograd" in kernel.loops) for kernel in e.kernels] == [True, True]
    np.testing.assert_allclose(f(x), block(x, reference), rtol=2e-5, atol=2e-5)


def test_sums_of_a_convolution():
    """What reduces the columns needs all of them in a block."""
    rng = np.random.default_rng(12)
    x, w = random(rng, 2, 64, 40, 40), random(rng, 64, 64, 3, 3)
    f = tk.jit(lambda x, w: tk.conv(x, w, padding=1).mean(axis=(2, 3)))
    assert any("Winograd" in kernel.loops for kernel in f.explain(x, w).kernels)
    np.testing.assert_allclose(f(x, w), reference(x, w).mean(axis=(2, 3)), atol=1e-4)
