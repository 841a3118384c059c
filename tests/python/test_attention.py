"""Attention, in all the ways people write it: the same numbers."""

import math
import re

import numpy as np
import pytest
import tokamak as tk

SHAPES = [
    ((4, 8), (4, 8), (4, 8)),
    ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 6)),
    ((3, 1, 8), (3, 9, 8), (3, 9, 2)),
]


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def reference(q, k, v, mask=None, causal=False, scale=None):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    return softmax(s) @ v


def by_matmul(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])) @ v


def by_transpose(q, k, v):
    return softmax(np.matmul(q, k.mT) * (1 / math.sqrt(q.shape[-1]))) @ v


def by_einsum(q, k, v):
    s = np.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    return np.einsum("...qk,...kd->...qd", softmax(s), v)


def scaled_first(q, k, v):
    return softmax((q * (1 / math.sqrt(q.shape[-1]))) @ np.swapaxes(k, -1, -2)) @ v


def divided_last(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return (e @ v) / e.sum(axis=-1, keepdims=True)


def with_softmax(q, k, v):
    return tk.softmax(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])) @ v


def in_log_space(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    return np.exp(s - tk.logsumexp(s, axis=-1, keepdims=True)) @ v


WAYS = [
    by_matmul,
    by_transpose,
    by_einsum,
    scaled_first,
    divided_last,
    with_softmax,
    in_log_space,
    tk.attention,
]


def inputs(rng, shapes, dtype=np.float32):
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_ways(way, shapes, rng):
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12)):
        q, k, v = inputs(rng, shapes, dtype)
        got = tk.jit(way)(q, k, v)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, reference(q, k, v), rtol=tolerance, atol=tolerance)


def causal_by_where(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    mask = np.tril(np.ones((q.shape[-2], k.shape[-2]), bool))
    return softmax(np.where(mask, s, -np.inf)) @ v


def causal_by_adding(q, k, v):
    mask = np.triu(np.full((q.shape[-2], k.shape[-2]), -np.inf, np.float32), 1)
    return softmax(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]) + mask) @ v


def causal_by_positions(q, k, v):
    s = np.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    rows, columns = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])[None, :]
    return np.einsum("...qk,...kd->...qd", softmax(np.where(columns > rows, np.float32(-np.inf), s)), v)


def causal_by_mask(q, k, v):
    return tk.attention(q, k, v, mask=np.tril(np.ones((q.shape[-2], k.shape[-2]), bool)))


def causal(q, k, v):
    return tk.attention(q, k, v, causal=True)


CAUSAL = [causal_by_where, causal_by_adding, causal_by_positions, causal_by_mask, causal]


@pytest.mark.parametrize("shapes", SHAPES[:2], ids=str)
@pytest.mark.parametrize("way", CAUSAL, ids=lambda f: f.__name__)
def test_causal(way, shapes, rng):
    q, k, v = inputs(rng, shapes)
    np.testing.assert_allclose(tk.jit(way)(q, k, v), reference(q, k, v, causal=True), rtol=1e-5, atol=1e-5)


def test_heads_from_one_projection(rng):
    """As models write it: projections, heads split and joined by reshapes and transposes."""
    batch, length, heads, width = 2, 6, 4, 8
    x = rng.standard_normal((batch, length, heads * width))
    wq, wk, wv, wo = (rng.standard_normal((heads * width, heads * width)) / 6 for _ in range(4))

    def block(x, wq, wk, wv, wo):
        def split(y):
            return y.reshape(batch, length, heads, width).transpose(0, 2, 1, 3)

        q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
        y = softmax(q @ k.transpose(0, 1, 3, 2) / math.sqrt(width)) @ v
        return y.transpose(0, 2, 1, 3).reshape(batch, length, heads * width) @ wo

    want = block(x, wq, wk, wv, wo)
    np.testing.assert_allclose(tk.jit(block)(x, wq, wk, wv, wo), want, rtol=1e-11, atol=1e-11)


def test_options(rng):
    q, k, v = inputs(rng, SHAPES[1])
    bias = rng.standard_normal((5, 7)).astype(np.float32)
    some = rng.random((2, 1, 5, 7)) < 0.7
    some[..., 0] = True
    for options in (
        {"scale": 0.5},
        {"mask": bias},
        {"mask": some},
        {"mask": some, "causal": True, "scale": 2.0},
    ):
        want = reference(q, k, v, **options)
        np.testing.assert_allclose(tk.attention(q, k, v, **options), want, rtol=1e-5, atol=1e-5)
        arrays = [tk.asarray(x) for x in (q, k, v)]
        np.testing.assert_allclose(np.asarray(tk.attention(*arrays, **options)), want, rtol=1e-5, atol=1e-5)


def test_scale_that_is_computed(rng):
    q, k, v = inputs(rng, SHAPES[1])
    want = reference(q, k, v, scale=0.25)
    np.testing.assert_allclose(
        tk.jit(lambda q, k, v, s: tk.attention(q, k, v, scale=s * s))(q, k, v, 0.5),
        want,
        rtol=1e-5,
        atol=1e-5,
    )
    assert tk.attention(q, k, v, scale=np.float32(0.25)).dtype == np.float32
    with pytest.raises(tk.UserTypeError):
        tk.attention(q, k, v, scale="a")


def test_shared_keys_and_values(rng):
    """Fewer heads of k and v broadcast."""
    q, k, v = inputs(rng, ((2, 4, 5, 8), (2, 1, 7, 8), (7, 3)), np.float64)
    np.testing.assert_allclose(tk.attention(q, k, v), reference(q, k, v), rtol=1e-12, atol=1e-12)


def test_float16(rng):
    q, k, v = inputs(rng, SHAPES[1], np.float16)
    got = tk.attention(q, k, v)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, reference(q, k, v), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    "shapes",
    [
        ((4, 8), (4, 7), (4, 8)),
        ((4, 8), (5, 8), (4, 8)),
        ((8,), (4, 8), (4, 8)),
        ((2, 4, 8), (3, 4, 8), (4, 8)),
    ],
    ids=str,
)
def test_errors(shapes, rng):
    with pytest.raises(tk.UserValueError, match="test_attention.py"):
        tk.attention(*inputs(rng, shapes))


@pytest.mark.parametrize(
    "shapes, message",
    [
        (((3, 4), (5, 6), (5, 4)), "queries and keys have different numbers of features"),
        (((3, 4), (5, 4), (6, 4)), "keys and values have different numbers of positions"),
        (((3, 4), (0, 4), (0, 4)), "there is nothing to attend to"),
    ],
)
def test_shapes_that_do_not_fit_are_named(shapes, message):
    with pytest.raises(ValueError, match=f"attention: queries .*: {message}"):
        tk.attention(*(np.zeros(shape, np.float32) for shape in shapes))


@pytest.mark.parametrize(
    "shapes, message",
    [
        (
            ((2, 4, 16, 8), (2, 2, 16, 8), (2, 2, 16, 8)),
            "queries f32[2,4,16,8] have 4 heads, keys f32[2,2,16,8] have 2: repeat these 2 times, or reshape the queries "
            "to [2,2,2,16,8] and give the keys an axis of 1 behind their heads",
        ),
        (
            ((2, 4, 16, 8), (2, 4, 16, 8), (2, 2, 16, 8)),
            "queries f32[2,4,16,8] have 4 heads, values f32[2,2,16,8] have 2",
        ),
        (
            ((2, 4, 16, 8), (3, 16, 8), (3, 16, 8)),
            "queries f32[2,4,16,8] and keys f32[3,16,8] do not match: axis 1 of the queries is 4, axis 0 of the keys is 3",
        ),
        (((2, 4, 16, 8), (0, 16, 8), (0, 16, 8)), "axis 1 of the queries is 4, axis 0 of the keys is 0"),
        (
            ((16, 8), (4, 16, 8), (3, 16, 8)),
            "keys f32[4,16,8] and values f32[3,16,8] do not match: axis 0 of the keys is 4, axis 0 of the values is 3",
        ),
        (((8,), (16, 8), (16, 8)), "queries f32[8] are not [..., positions, features]"),
    ],
)
def test_heads_that_do_not_match_are_named(shapes, message):
    with pytest.raises(ValueError, match=f"^attention: .*{re.escape(message)}"):
        tk.attention(*(np.zeros(shape, np.float32) for shape in shapes))


def test_what_the_message_about_heads_advises_works(rng):
    q, k, v = inputs(rng, [(2, 4, 16, 8), (2, 2, 16, 8), (2, 2, 16, 8)])
    want = tk.attention(q, np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1), causal=True)
    got = tk.attention(q.reshape(2, 2, 2, 16, 8), k[:, :, None], v[:, :, None], causal=True)
    np.testing.assert_allclose(got.reshape(q.shape), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [bool, np.float32])
def test_masks_of_another_shape_are_named(dtype):
    q = np.zeros((2, 4, 16, 8), np.float32)
    mask = np.ones((15, 16), dtype)
    name = "bool" if dtype is bool else "f32"
    message = f"attention: the mask {name}[15,16] does not broadcast with the scores (queries by keys) f32[2,4,16,16]"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        tk.attention(q, q, q, mask=mask)


def test_sums_of_weights_stay_in_range():
    def plain(s, v):
        e = np.exp(s)
        return (e / e.sum(axis=-1, keepdims=True)) @ v

    s, v = np.full((70, 64), 84, np.float32), np.full((64, 8), 100, np.float32)
    np.testing.assert_allclose(tk.jit(plain)(s, v), 100, rtol=1e-5)

    def attention(s, v):
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)) @ v

    s, v = np.zeros((70, 4096), np.float16), np.full((4096, 8), 20, np.float16)
    np.testing.assert_allclose(tk.jit(attention)(s, v), 20, rtol=1e-2)


@pytest.mark.parametrize("way", [by_matmul, causal_by_where, causal_by_adding, causal_by_positions, causal])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_of_many_heads_is_a_block(way, dtype, rng):
    """Keys and values are packed for one head at a time, and its rows then worked on some at a time."""
    heads = 16 * tk.num_threads()
    q, k, v = inputs(rng, [(heads, 200, 24), (heads, 200, 24), (heads, 200, 40)], dtype)
    f = tk.jit(way)
    loops = f.explain(q, k, v).kernels[0].loops
    # Where the mask is added, what it hides depends on the magnitudes of all heads, which are packed before.
    by_head = re.search(r"blocks of 200 rows by 40 columns, \d+ rows at a time", loops)
    assert (by_head is not None) == (way is not causal_by_adding)
    want = reference(q, k, v, causal=way is not by_matmul)
    got = f(q, k, v)
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)

    # What is not finite in one head is seen by those rows that have it, and by no other head.
    v[3, 190, 0] = np.inf
    v[7, 5, 1] = np.nan
    spoilt = f(q, k, v)
    assert np.isnan(spoilt[7, :, 1]).all()
    if way is by_matmul:
        assert np.isposinf(spoilt[3, :, 0]).all()
    else:  # a weight of zero times infinity
        assert np.isnan(spoilt[3, :190, 0]).all()
        assert np.isposinf(spoilt[3, 190:, 0]).all()
    others = [head for head in range(heads) if head not in (3, 7)]
    np.testing.assert_array_equal(spoilt[others], got[others])
