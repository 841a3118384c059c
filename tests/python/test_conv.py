"""Convolution and pooling against plain NumPy: windows by stride tricks, and the transposed map by scattering."""

import itertools

import numpy as np
import pytest
import tokamak as tk
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from support import assert_products, check_products, seeds, small_array


def each(value, rank):
    return (value,) * rank if np.ndim(value) == 0 else tuple(value)


def pads(padding, x, kernel, stride, dilation):
    rank = x.ndim - 2
    if padding == "valid":
        return [(0, 0)] * rank
    if padding != "same":
        return [(p, p) if np.ndim(p) == 0 else tuple(p) for p in each(padding, rank)]
    result = []
    for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        result.append((total // 2, total - total // 2))
    return result


def reference_windows(x, kernel, stride, padding, dilation, value=0):
    rank = x.ndim - 2
    stride, dilation, kernel = each(stride, rank), each(dilation, rank), each(kernel, rank)
    around = [(0, 0), (0, 0), *pads(padding, x, kernel, stride, dilation)]
    padded = np.pad(x, around, constant_values=value)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    windows = sliding_window_view(padded, reach, axis=tuple(range(2, 2 + rank)))
    index = [
        slice(None),
        slice(None),
        *[slice(None, None, s) for s in stride],
        *[slice(None, None, d) for d in dilation],
    ]
    return windows[tuple(index)]


def reference_conv(x, w, stride=1, padding=0, dilation=1, groups=1):
    rank = x.ndim - 2
    windows = reference_windows(x, w.shape[2:], stride, padding, dilation)
    parts = []
    for g in range(groups):
        channels = slice(g * w.shape[1], (g + 1) * w.shape[1])
        kernels = w[g * (w.shape[0] // groups) : (g + 1) * (w.shape[0] // groups)]
        axes = tuple(range(2 + rank, 2 + 2 * rank))
        parts.append(np.tensordot(windows[:, channels], kernels, ((1, *axes), (1, *range(2, 2 + rank)))))
    return np.moveaxis(np.concatenate(parts, -1), -1, 1)


def reference_conv_transpose(x, w, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    rank = x.ndim - 2
    stride, dilation, behind = each(stride, rank), each(dilation, rank), each(output_padding, rank)
    cut = [(p, p) if np.ndim(p) == 0 else tuple(p) for p in each(padding, rank)]
    kernel = w.shape[2:]
    full = [
        (n - 1) * s + (k - 1) * d + 1 + o
        for n, s, k, d, o in zip(x.shape[2:], stride, kernel, dilation, behind, strict=True)
    ]
    outputs = w.shape[1] * groups
    made = np.zeros((x.shape[0], outputs, *full), np.result_type(x, w))
    per_group = x.shape[1] // groups
    for place in itertools.product(*[range(k) for k in kernel]):
        at = tuple(
            slice(i * d, i * d + (n - 1) * s + 1, s)
            for i, d, n, s in zip(place, dilation, x.shape[2:], stride, strict=True)
        )
        for g in range(groups):
            channels = slice(g * per_group, (g + 1) * per_group)
            term = np.tensordot(x[:, channels], w[(channels, slice(None), *place)], ((1,), (0,)))
            made[(slice(None), slice(g * w.shape[1], (g + 1) * w.shape[1]), *at)] += np.moveaxis(term, -1, 1)
    index = [slice(low, n - high) for (low, high), n in zip(cut, full, strict=True)]
    return made[(slice(None), slice(None), *index)]


def against(ours, reference):
    """Ours for Arrays, the reference for ndarrays."""
    return lambda *args, **kw: (reference if isinstance(args[0], np.ndarray) else ours)(*args, **kw)


conv = against(tk.conv, reference_conv)
conv_transpose = against(tk.conv_transpose, reference_conv_transpose)

CONVS = [
    # x, w, options
    ((2, 3, 10), (4, 3, 3), {}),
    ((2, 3, 10), (4, 3, 1), {}),
    ((2, 3, 10), (4, 3, 10), {}),
    ((2, 3, 11), (4, 3, 3), {"stride": 2}),
    ((2, 3, 11), (4, 3, 4), {"padding": "same"}),
    ((2, 3, 11), (4, 3, 4), {"padding": "same", "stride": 3}),
    ((2, 3, 11), (4, 3, 3), {"padding": "same", "dilation": 2}),
    ((2, 3, 10), (4, 3, 3), {"padding": "valid"}),
    ((2, 3, 10), (4, 3, 3), {"padding": [(2, 0)]}),
    ((2, 3, 8, 9), (4, 3, 3, 3), {"padding": 1}),
    ((2, 3, 8, 9), (4, 3, 3, 2), {"padding": (1, 0), "stride": (2, 1)}),
    ((2, 3, 8, 9), (4, 3, 3, 2), {"padding": [(0, 2), (1, 3)], "stride": (2, 3), "dilation": (1, 2)}),
    ((2, 4, 8, 9), (6, 2, 3, 3), {"groups": 2}),
    ((2, 4, 8, 9), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    ((2, 4, 8, 9), (8, 1, 3, 3), {"groups": 4, "padding": "same", "stride": 2}),
    ((1, 3, 5, 6, 7), (2, 3, 2, 3, 2), {}),
    ((2, 2, 5, 6, 7), (4, 1, 2, 3, 2), {"stride": (1, 2, 3), "padding": (1, 1, 0), "groups": 2}),
    ((2, 2, 6, 6, 7), (2, 2, 2, 2, 2), {"dilation": (2, 1, 3)}),
    ((0, 3, 10), (4, 3, 3), {}),
    ((2, 3, 10), (0, 3, 3), {}),
    ((2, 0, 10), (4, 0, 3), {}),
]


@pytest.mark.parametrize(("x", "w", "options"), CONVS, ids=str)
def test_conv(x, w, options, rng):
    for dtype in (np.float32, np.int16):
        arrays = small_array(rng, x, dtype), small_array(rng, w, dtype)
        check_products(lambda a, b: conv(a, b, **options), *arrays)
    want = reference_conv(*arrays, **options)
    assert_products(tk.conv(*arrays, **options), want, None)


@pytest.mark.parametrize("dtypes", ["ee", "dd", "fd", "bb", "bf", "??"])
def test_conv_dtypes(dtypes, rng):
    x, w = (
        rng.integers(0, 2, s).astype(d) for s, d in zip([(2, 3, 6, 7), (4, 3, 3, 2)], dtypes, strict=True)
    )
    got, want = tk.conv(x, w, padding=1), reference_conv(x, w, padding=1)
    assert_products(got, want, want)


def test_conv_bias(rng):
    x, w, b = (small_array(rng, s, np.float32) for s in ((2, 3, 8, 8), (5, 3, 3, 3), (5,)))
    got = tk.conv(x, w, bias=b)
    np.testing.assert_allclose(got, reference_conv(x, w) + b[:, None, None], rtol=1e-4, atol=1e-4)
    got = tk.jit(lambda x, w, b: tk.conv_transpose(x, w, bias=b))(x, np.swapaxes(w, 0, 1), b)
    want = reference_conv_transpose(x, np.swapaxes(w, 0, 1)) + b[:, None, None]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_conv_is_one_dot_in_order(rng):
    x, w = np.ones((2, 3, 8, 8), np.float32), np.ones((5, 3, 3, 3), np.float32)
    graph = tk.jit(lambda x, w: tk.conv(x, w, padding=1)).explain(x, w).graph
    ops = [line.split(" = ")[1].split()[0] for line in graph.splitlines() if " = " in line]
    assert sorted(set(ops) - {"constant"}) == ["broadcast", "dot", "pad", "window"]
    assert ops[-1] == "dot"


def test_names_are_the_users():
    with pytest.raises(tk.UserTypeError, match=r"^conv: argument w is a str"):
        tk.conv(ones(1, 4, 8), "kernels")


def test_text_is_part_of_the_program():
    """Also of the functions that Tokamak has itself."""
    x, w = ones(1, 4, 8), ones(3, 4, 3)
    np.testing.assert_array_equal(tk.jit(tk.conv)(x, w, padding="same"), tk.conv(x, w, padding="same"))
    np.testing.assert_array_equal(tk.jit(tk.einsum)("bcx->cx", x), np.einsum("bcx->cx", x))
    with pytest.raises(tk.UserTypeError, match="conv: a str is not an array"):
        tk.jit(tk.conv)(x, "kernels")


@given(st.data(), seeds)
def test_conv_any(data, seed):
    draw = data.draw
    rank = draw(st.integers(1, 3))
    rng = np.random.default_rng(seed)

    def some(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    groups, per_group = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    kernel, dilation = some(1, 3), some(1, 2)
    padding = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(rank)]
    options = {"stride": some(1, 3), "padding": padding, "dilation": dilation, "groups": groups}
    extents = some(1, 6)
    for n, k, d, (low, high) in zip(extents, kernel, dilation, padding, strict=True):
        assume((k - 1) * d + 1 <= n + low + high)
    x = small_array(rng, (2, groups * per_group, *extents), np.int32)
    w = small_array(rng, (groups * draw(st.integers(1, 2)), per_group, *kernel), np.int32)
    assert_products(conv(tk.asarray(x), tk.asarray(w), **options), reference_conv(x, w, **options), None)


TRANSPOSED = [
    ((2, 3, 5), (3, 4, 3), {}),
    ((2, 3, 5), (3, 4, 1), {"stride": 3}),
    ((2, 3, 5), (3, 4, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    ((2, 3, 5), (3, 4, 2), {"stride": 1, "padding": 2}),
    ((2, 3, 5), (3, 4, 2), {"padding": [(2, 1)]}),
    ((2, 3, 5, 6), (3, 4, 3, 2), {"stride": (2, 3), "padding": (1, 0)}),
    ((2, 3, 5, 6), (3, 4, 3, 2), {"stride": (2, 1), "dilation": (1, 3), "output_padding": (1, 2)}),
    ((2, 4, 5, 6), (4, 3, 3, 3), {"groups": 2, "stride": 2}),
    ((2, 4, 5, 6), (4, 1, 3, 3), {"groups": 4}),
    ((1, 2, 3, 4, 5), (2, 3, 2, 2, 2), {"stride": (1, 2, 3)}),
    ((1, 4, 3, 4, 3), (4, 2, 2, 3, 1), {"groups": 2, "stride": 2, "padding": (0, 1, 0)}),
]


@pytest.mark.parametrize(("x", "w", "options"), TRANSPOSED, ids=str)
def test_conv_transpose(x, w, options, rng):
    for dtype in (np.float32, np.int16):
        check_products(
            lambda a, b: conv_transpose(a, b, **options),
            small_array(rng, x, dtype),
            small_array(rng, w, dtype),
        )


def test_conv_transpose_is_the_transposed_map(rng):
    """<conv(x, w), y> == <x, conv_transpose(y, w)>"""
    x, w = small_array(rng, (2, 4, 9, 8), np.float64), small_array(rng, (6, 2, 3, 2), np.float64)
    options = {"stride": (2, 3), "padding": 1, "groups": 2}
    y = small_array(rng, tk.conv(x, w, **options).shape, np.float64)
    back = tk.conv_transpose(y, w, **options, output_padding=(0, 2))
    assert back.shape == x.shape
    np.testing.assert_allclose(np.vdot(tk.conv(x, w, **options), y), np.vdot(x, back), rtol=1e-10)


def lowest(dtype):
    dtype = np.dtype(dtype)
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def reference_max_pool(x, size, stride=None, padding=0, dilation=1):
    windows = reference_windows(
        x, size, size if stride is None else stride, padding, dilation, lowest(x.dtype)
    )
    return windows.max(axis=tuple(range(-(x.ndim - 2), 0)))


def reference_avg_pool(x, size, stride=None, padding=0, dilation=1, count_include_pad=True):
    stride = size if stride is None else stride
    axes = tuple(range(-(x.ndim - 2), 0))
    sums = reference_windows(x.astype(np.float64), size, stride, padding, dilation).sum(axis=axes)
    seen = np.ones_like(x, np.float64)
    counts = reference_windows(seen, size, stride, padding, dilation, float(count_include_pad)).sum(axis=axes)
    return (sums / counts).astype(x.dtype if x.dtype.kind == "f" else np.float64)


POOLS = [
    ((2, 3, 10), {"size": 2}),
    ((2, 3, 10), {"size": 3, "stride": 2, "padding": 1}),
    ((2, 3, 9, 8), {"size": 2}),
    ((2, 3, 9, 8), {"size": (3, 2), "stride": (2, 1), "padding": (1, 0)}),
    ((2, 3, 9, 8), {"size": 3, "stride": 2, "padding": [(0, 1), (1, 1)]}),
    ((2, 3, 9, 8), {"size": 3, "stride": 2, "padding": "same"}),
    ((2, 3, 9, 8), {"size": 2, "stride": 1, "dilation": (2, 3)}),
    ((2, 3, 9, 8), {"size": (9, 8)}),
    ((2, 3, 5, 6, 7), {"size": 2, "padding": 1}),
    ((0, 3, 9, 8), {"size": 2}),
]


@pytest.mark.parametrize(("shape", "options"), POOLS, ids=str)
def test_pools(shape, options, rng):
    for dtype in (np.float32, np.float64, np.int8, np.uint16, np.bool_):
        x = small_array(rng, shape, dtype)
        want = reference_max_pool(x, **options)
        for got in (tk.max_pool(x, **options), np.asarray(tk.max_pool(tk.asarray(x), **options))):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
        for included in (True, False):
            want = reference_avg_pool(x, **options, count_include_pad=included)
            got = tk.jit(lambda x, i=included: tk.avg_pool(x, **options, count_include_pad=i))(x)
            assert got.dtype == want.dtype and got.shape == want.shape
            tolerance = 1e-5 if dtype is np.float32 else 1e-12
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 10)


def test_max_pool_special_values():
    x = np.array([[[-np.inf, -np.inf, 1.0, np.nan, -0.0, 0.0]]])
    np.testing.assert_array_equal(tk.max_pool(x, 2), [[[-np.inf, np.nan, 0.0]]])
    np.testing.assert_array_equal(tk.max_pool(x, 3, 3, padding=[(1, 2)]), [[[-np.inf, np.nan, 0.0]]])


def test_half_precision(rng):
    x = np.full((1, 1, 64, 64), 40.0, np.float16)
    np.testing.assert_array_equal(
        tk.avg_pool(x, 64), np.full((1, 1, 1, 1), 40.0, np.float16)
    )  # the sum is beyond f16


def test_window(rng):
    x = small_array(rng, (6, 9), np.float32)
    for function in (
        lambda x: sliding_window_view(x, 3, axis=1),
        lambda x: sliding_window_view(x, (2, 3)),
        lambda x: sliding_window_view(x, (3, 2), axis=(1, 0)),
        lambda x: sliding_window_view(x, (3, 2), axis=(1, 1)),
        lambda x: sliding_window_view(x, 9, axis=-1),
        lambda x: sliding_window_view(x, 0, axis=-1),
        lambda x: sliding_window_view(x, 2, axis=0).sum(axis=-1),
    ):
        check_products(function, x)
    windows = sliding_window_view(x, 5, axis=1)[:, ::3, ::2]
    np.testing.assert_array_equal(tk.window(x, 3, axis=1, stride=3, dilation=2), windows)
    np.testing.assert_array_equal(tk.window(tk.asarray(x), 3, axis=1, stride=3, dilation=2), windows)
    np.testing.assert_array_equal(tk.window(x, 2), sliding_window_view(x, (2, 2)))
    traced = tk.asarray(x)
    for call in (
        lambda x: sliding_window_view(x, 2),
        lambda x: sliding_window_view(x, 10, axis=1),
        lambda x: sliding_window_view(x, -1, axis=1),
        lambda x: sliding_window_view(x, 1, axis=2),
    ):
        with pytest.raises(ValueError):
            call(x)
        with pytest.raises(tk.UserValueError):
            call(traced)


ERRORS = [
    # what is wrong, the function, the words
    ("a kernel of [9] does not fit", lambda: tk.conv(ones(1, 2, 8), ones(3, 2, 9))),
    ("does not fit", lambda: tk.conv(ones(1, 2, 8, 8), ones(3, 2, 3, 11), padding=1)),
    ("with dilation", lambda: tk.conv(ones(1, 2, 8), ones(3, 2, 3), dilation=4)),
    ("padding must be at least 0", lambda: tk.conv(ones(1, 2, 8), ones(3, 2, 3), padding=-1)),
    ("padding must be at least 0", lambda: tk.conv(ones(1, 2, 8), ones(3, 2, 3), padding=[(0, -1)])),
    ("stride must be at least 1, not [0], for images f32[1,2,8]", lambda: tk.conv(ones(1, 2, 8), ones(3, 2, 3), stride=0)),
    ("dilation must be at least 1", lambda: tk.conv(ones(1, 2, 8), ones(3, 2, 3), dilation=0)),
    ("has 3 entries for the 2", lambda: tk.conv(ones(1, 2, 8, 8), ones(3, 2, 3, 3), stride=(1, 2, 3))),
    ("has 3 entries for the 2", lambda: tk.conv(ones(1, 2, 8, 8), ones(3, 2, 3, 3), padding=(1, 2, 3))),
    ("groups do not divide", lambda: tk.conv(ones(1, 4, 8), ones(4, 2, 3), groups=3)),
    ("groups do not divide", lambda: tk.conv(ones(1, 4, 8), ones(3, 2, 3), groups=2)),
    ("groups must be at least 1", lambda: tk.conv(ones(1, 4, 8), ones(3, 2, 3), groups=0)),
    ("channels", lambda: tk.conv(ones(1, 4, 8), ones(3, 2, 3))),
    (
        "take 3 channels, but the images f32[2,8,8,3], which are [N, C, spatial...], have 8: move their channels",
        lambda: tk.conv(ones(2, 8, 8, 3), ones(4, 3, 3, 3)),
    ),
    (
        "3 groups do not divide the 4 output channels (axis 0) of the kernels f32[4,1,3,3]",
        lambda: tk.conv(ones(2, 3, 8, 8), ones(4, 1, 3, 3), groups=3),
    ),
    (
        "into the images f32[2,3,8,8]: spatial axis 0 is 8 and has no padding",
        lambda: tk.conv(ones(2, 3, 8, 8), ones(4, 3, 9, 9)),
    ),
    ("is 4, with its padding 6", lambda: tk.conv(ones(2, 3, 4, 4), ones(4, 3, 9, 9), padding=1)),
    ('"same", "valid", a number', lambda: tk.conv(ones(1, 4, 8), ones(3, 4, 1), padding="SAME")),
    ("rank", lambda: tk.conv(ones(1, 4, 8), ones(3, 4, 3, 3))),
    ("spatial axes", lambda: tk.conv(ones(4, 8), ones(3, 4))),
    ("spatial axes", lambda: tk.conv(ones(1, 1, 2, 2, 2, 2), ones(1, 1, 2, 2, 2, 2))),
    ("are empty", lambda: tk.conv(ones(1, 4, 8), ones(3, 4, 0))),
    ("bias", lambda: tk.conv(ones(1, 4, 8), ones(3, 4, 1), bias=ones(4))),
    ('"same"', lambda: tk.conv(ones(1, 4, 8), ones(3, 4, 1), padding="full")),
    ("channels", lambda: tk.conv_transpose(ones(1, 4, 8), ones(3, 4, 1))),
    ("output_padding", lambda: tk.conv_transpose(ones(1, 4, 8), ones(4, 4, 3), stride=2, output_padding=2)),
    ("would be empty", lambda: tk.conv_transpose(ones(1, 4, 2), ones(4, 4, 2), padding=3)),
    ("give numbers", lambda: tk.conv_transpose(ones(1, 4, 2), ones(4, 4, 2), padding="same")),
    ("does not fit", lambda: tk.max_pool(ones(1, 4, 8), 9)),
    ("size must be at least 1", lambda: tk.max_pool(ones(1, 4, 8), 0)),
    ("as wide as a window", lambda: tk.max_pool(ones(1, 4, 8), 2, padding=2)),
    ("spatial axes", lambda: tk.avg_pool(ones(4, 8), 2)),
    ("too large", lambda: tk.conv(ones(1, 4, 8), ones(3, 4, 3), dilation=1 << 62)),
]


def ones(*shape):
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    words, call = ERRORS[case]
    with pytest.raises(tk.UserValueError) as caught:
        call()
    assert words in str(caught.value)
    assert "test_conv.py" in str(caught.value)


def test_type_errors():
    with pytest.raises(TypeError):
        tk.conv(ones(1, 4, 8), ones(3, 4, 3), stride=1.5)
    with pytest.raises(TypeError):
        tk.max_pool(ones(1, 4, 8), "2")
    for groups in (1.5, "a", None):
        with pytest.raises(tk.UserTypeError):
            tk.conv(ones(1, 4, 8), ones(3, 4, 3), groups=groups)
    with pytest.raises(tk.UserValueError):
        tk.conv(ones(1, 4, 8), ones(3, 4, 3), padding=1 << 80)
    with pytest.raises(tk.UserTypeError):
        tk.batch_norm(ones(2, 4), ones(4), ones(4), eps="small")


def test_batch_norm(rng):
    x = small_array(rng, (2, 5, 4, 3), np.float32)
    mean, weight, bias = (small_array(rng, 5, np.float32) for _ in range(3))
    var = rng.random(5).astype(np.float32) + 0.1
    column = (slice(None), None, None)
    plain = (x - mean[column]) / np.sqrt(var[column] + 1e-5)
    want = plain * weight[column] + bias[column]
    np.testing.assert_allclose(tk.batch_norm(x, mean, var, weight, bias), want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(tk.batch_norm(x, mean, var), plain, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        tk.jit(lambda x: tk.batch_norm(x, mean, var, bias=bias))(x),
        plain + bias[column],
        rtol=1e-4,
        atol=1e-4,
    )
    half = tk.batch_norm(x.astype(np.float16), mean, var, weight, bias)
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, want, rtol=2e-2, atol=2e-2)
    np.testing.assert_allclose(
        tk.batch_norm(x[:, :, 0, 0], mean, var), plain[:, :, 0, 0], rtol=1e-4, atol=1e-4
    )
    with pytest.raises(tk.UserValueError, match="channels"):
        tk.batch_norm(x, mean[:4], var)
    with pytest.raises(tk.UserValueError, match="axis 1"):
        tk.batch_norm(mean, mean, var)


def test_batch_norm_of_constants_folds(rng):
    """One multiplication and one addition are left of it."""
    mean, var, weight, bias = (rng.random(5).astype(np.float32) + 0.5 for _ in range(4))
    f = tk.jit(lambda x: tk.batch_norm(x, mean, var, weight, bias))
    lines = f.explain(np.ones((2, 5, 4, 3), np.float32)).optimized.splitlines()
    ops = [line.split(" = ")[1].split()[0] for line in lines if " = " in line]
    assert sorted(op for op in ops if op in ("mul", "add", "sub", "rsqrt", "neg", "div")) == ["add", "mul"]


def test_residual_block(rng):
    x, w1, w2 = (small_array(rng, s, np.float64) for s in ((2, 8, 14, 14), (8, 8, 3, 3), (8, 8, 3, 3)))
    mean, weight, bias = (small_array(rng, 8, np.float64) for _ in range(3))
    var = rng.random(8) + 0.5

    def norm(y):
        column = (slice(None), None, None)
        return (y - mean[column]) / np.sqrt(var[column] + 1e-5) * weight[column] + bias[column]

    def block(x, w1, w2):
        y = tk.relu(tk.batch_norm(tk.conv(x, w1, padding=1), mean, var, weight, bias))
        return tk.relu(tk.batch_norm(tk.conv(y, w2, padding=1), mean, var, weight, bias) + x)

    inner = np.maximum(norm(reference_conv(x, w1, padding=1)), 0)
    want = np.maximum(norm(reference_conv(inner, w2, padding=1)) + x, 0)
    np.testing.assert_allclose(tk.jit(block)(x, w1, w2), want, rtol=1e-9, atol=1e-9)
    frozen = tk.jit(lambda x: block(x, w1, w2))
    np.testing.assert_allclose(frozen(x), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [(3, 1), (1, 3), (2, 1), (5, 2)])
@pytest.mark.parametrize("width", [8, 12, 16, 56])
def test_narrow_windows_in_several_blocks(kernel, width):
    x = (np.arange(2 * 40 * width) % 7).reshape(1, 2, 40, width).astype(np.float32)
    w = (np.arange(3 * 2 * kernel[0] * kernel[1]) % 5).reshape(3, 2, *kernel).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x[0], kernel, axis=(1, 2))
    wanted = np.einsum("chwij,ocij->ohw", windows, w)[None]
    jitted = tk.jit(lambda x, w: tk.conv(x, w))
    jitted(x + 1, w)  # what it leaves in memory is no part of the next result
    np.testing.assert_array_equal(jitted(x, w), wanted)


def test_long_lines_in_several_blocks():
    x = (np.arange(3 * 4096) % 7).reshape(1, 3, 4096).astype(np.float64)
    w = (np.arange(8 * 3 * 5) % 5).reshape(8, 3, 5).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x[0], ((0, 0), (2, 2))), 5, axis=1)
    wanted = np.einsum("cxi,oci->ox", windows, w)[None]
    np.testing.assert_array_equal(tk.jit(lambda x, w: tk.conv(x, w, padding=2))(x, w), wanted)
