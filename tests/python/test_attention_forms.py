"""Attention in one kernel, whichever way round it is written, masked, scaled and followed by others."""

import math

import ml_dtypes
import numpy as np
import pytest
import tokamak as tk

SHAPES = {
    "heads": ((2, 3, 33, 16), (2, 3, 37, 16), (2, 3, 37, 21)),
    "plain": ((41, 24), (29, 24), (29, 7)),
    "square": ((5, 32, 32), (5, 32, 32), (5, 32, 32)),
    "batch_of_one": ((1, 18, 16), (1, 40, 16), (1, 40, 2)),
}
TOLERANCES = {np.float32: 2e-5, np.float64: 1e-12, ml_dtypes.bfloat16: 6e-2}


def softmax(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def scale(q):
    return q.dtype.type(1 / math.sqrt(q.shape[-1]))


def scores(q, k):
    return q @ k.mT * scale(q)


def transposed_scores(q, k):
    return k @ q.mT * scale(q)


def by_scipy(s):
    special = pytest.importorskip("scipy.special")
    return special.softmax(s, axis=-1)


# ---------------------------------------------------------------------------------------------------------------------
# The same numbers


def weights_behind_values(q, k, v):
    return v.mT @ softmax(scores(q, k)).mT


def weights_behind_values_and_back(q, k, v):
    return (v.mT @ softmax(scores(q, k)).mT).mT


def result_transposed(q, k, v):
    return (softmax(scores(q, k)) @ v).mT


def keys_first(q, k, v):
    return softmax(transposed_scores(q, k), axis=-2).mT @ v


def keys_first_behind_values(q, k, v):
    return v.mT @ softmax(transposed_scores(q, k), axis=-2)


def keys_first_turned_before_softmax(q, k, v):
    return softmax(transposed_scores(q, k).mT) @ v


def keys_first_by_einsum(q, k, v):
    p = softmax(np.einsum("...qd,...kd->...kq", q, k) * scale(q), axis=-2)
    return np.einsum("...kq,...kd->...qd", p, v)


def keys_first_in_log_space(q, k, v):
    s = transposed_scores(q, k)
    return np.exp(s - tk.logsumexp(s, axis=-2, keepdims=True)).mT @ v


def keys_first_divided_last(q, k, v):
    s = transposed_scores(q, k)
    e = np.exp(s - s.max(axis=-2, keepdims=True))
    return (e.mT @ v) / e.sum(axis=-2)[..., None]


def scaled_query(q, k, v):
    return softmax((q * scale(q)) @ k.mT) @ v


def divided_query(q, k, v):
    return softmax(q / q.dtype.type(math.sqrt(q.shape[-1])) @ k.mT) @ v


def divided_first(q, k, v):
    s = scores(q, k)
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def divided_last(q, k, v):
    s = scores(q, k)
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e @ v) / e.sum(-1, keepdims=True)


def in_log_space(q, k, v):
    s = scores(q, k)
    return np.exp(s - tk.logsumexp(s, axis=-1, keepdims=True)) @ v


def with_scipy(q, k, v):
    return by_scipy(scores(q, k)) @ v


def with_tk(q, k, v):
    return tk.attention(q, k, v)


def by_einsum(q, k, v):
    return np.einsum("...qk,...kd->...qd", softmax(np.einsum("...qd,...kd->...qk", q, k) * scale(q)), v)


PLAIN = {
    one.__name__: one
    for one in (
        keys_first,
        keys_first_turned_before_softmax,
        keys_first_by_einsum,
        keys_first_in_log_space,
        keys_first_divided_last,
        weights_behind_values_and_back,
        scaled_query,
        divided_query,
        divided_first,
        divided_last,
        in_log_space,
        with_scipy,
        with_tk,
        by_einsum,
    )
}
TRANSPOSED = {
    one.__name__: one for one in (weights_behind_values, keys_first_behind_values, result_transposed)
}


def inputs(shapes, dtype=np.float32):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def reference(q, k, v):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    return softmax(q @ k.mT / math.sqrt(q.shape[-1])) @ v


def check(function, arguments, want, tolerance, kernels=1):
    jitted = tk.jit(function)
    got = jitted(*arguments)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance)
    explained = jitted.explain(*arguments)
    assert len(explained.kernels) == kernels, explained


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("name", [*PLAIN, *TRANSPOSED])
def test_forms(name, shapes, dtype):
    arguments = inputs(SHAPES[shapes], dtype)
    want = reference(*arguments)
    function = PLAIN.get(name) or TRANSPOSED[name]
    check(function, arguments, want.mT if name in TRANSPOSED else want, TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("scores_as", ["bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk", "bqhd,bkhd->bhkq"])
def test_einsum_with_named_heads(scores_as, dtype):
    queries, keys = scores_as.split("->")[0].split(",")
    of_scores = scores_as.split("->")[1]
    sizes = {"b": 2, "h": 3, "q": 35, "k": 41, "d": 16}
    q, k, v = inputs([[sizes[letter] for letter in one] for one in (queries, keys, keys)], dtype)

    def attend(q, k, v):
        p = softmax(np.einsum(scores_as, q, k) * dtype(0.25), axis=of_scores.index("k"))
        return np.einsum(f"{of_scores},{keys}->{queries}", p, v)

    wide = [x.astype(np.float64) for x in (q, k, v)]
    p = softmax(np.einsum(scores_as, *wide[:2]) * 0.25, axis=of_scores.index("k"))
    check(attend, (q, k, v), np.einsum(f"{of_scores},{keys}->{queries}", p, wide[2]), TOLERANCES[dtype])


def without_maximum(q, k, v):
    e = np.exp(scores(q, k))
    return (e / e.sum(-1, keepdims=True)) @ v


def base_two(q, k, v):
    s = transposed_scores(q, k) * q.dtype.type(math.log2(math.e))
    e = np.exp2(s - s.max(-2, keepdims=True))
    return (e / e.sum(-2, keepdims=True)).mT @ v


def without_keepdims(q, k, v):
    s = scores(q, k)
    e = np.exp(s - s.max(-1)[..., None])
    return (e / e.sum(-1)[..., None]) @ v


def masked_exponentials(q, k, v):
    s = scores(q, k)
    e = np.exp(s - s.max(-1, keepdims=True)) * np.tri(*s.shape[-2:], dtype=s.dtype)
    return (e / e.sum(-1, keepdims=True)) @ v


def soft_cap(q, k, v):
    return softmax(np.tanh(scores(q, k) / 30) * 30) @ v


def temperatures(q, k, v):
    return softmax(scores(q, k) * np.arange(1, 4, dtype=q.dtype)[:, None, None]) @ v


def by_distance(q, k, v):
    rows, columns = np.arange(q.shape[-2])[:, None], np.arange(k.shape[-2])
    return softmax(scores(q, k) - np.abs(rows - columns).astype(q.dtype) * q.dtype.type(0.1)) @ v


def dropped(q, k, v):
    return (softmax(scores(q, k)) * (np.arange(k.shape[-2]) % 3 > 0)) @ v


def gated(q, k, v):
    return np.tanh(q) * (softmax(scores(q, k)) @ v) + q


def residual_behind_values(q, k, v):
    return v.mT @ softmax(transposed_scores(q, k), axis=-2) * 2 + q.mT


def residual_with_positions_first(q, k, v):
    return np.swapaxes(softmax(scores(q, k)) @ v, 1, 2) * 2 + np.swapaxes(q, 1, 2)


def normalised_queries(q, k, v):
    return softmax((q / np.linalg.norm(q, axis=-1, keepdims=True)) @ k.mT) @ v


def joined_heads(q, k, v):
    mixed = softmax(scores(q, k)) @ v
    return np.swapaxes(mixed, 1, 2).reshape(2, 33, -1)


def repeated_keys(q, k, v):
    return softmax(scores(q, np.repeat(k[:, :1], 3, axis=1))) @ np.repeat(v[:, :1], 3, axis=1)


def shared_keys(q, k, v):
    return softmax(scores(q, k[0, 0])) @ v[0, 0]


def one_of_the_queries(q, k, v):
    p = softmax(np.einsum("bhd,bhkd->bhk", q[:, :, 5], k) * scale(q))
    return np.einsum("bhk,bhkd->bhd", p, v)


@pytest.mark.parametrize(
    "way",
    [
        without_maximum,
        base_two,
        without_keepdims,
        masked_exponentials,
        soft_cap,
        temperatures,
        by_distance,
        dropped,
        gated,
        residual_behind_values,
        residual_with_positions_first,
        normalised_queries,
        joined_heads,
        repeated_keys,
        shared_keys,
        one_of_the_queries,
    ],
    ids=lambda way: way.__name__,
)
def test_further_ways(way):
    arguments = inputs([(2, 3, 33, 16), (2, 3, 37, 16), (2, 3, 37, 16)])
    check(way, arguments, way(*(x.astype(np.float64) for x in arguments)), 2e-5)


def test_divided_query_in_a_wider_dtype():
    """NumPy's own scalars are f64, and so is what they meet."""

    def attend(q, k, v):
        return softmax(q / np.sqrt(q.shape[-1]) @ k.mT) @ v

    arguments = inputs(SHAPES["heads"])
    check(attend, arguments, reference(*arguments), 1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Masks

ROWS, COLUMNS = 33, 37
HIDDEN = np.triu(np.ones((ROWS, COLUMNS), bool), 1)
NOTHING_SEEN = HIDDEN | (np.arange(ROWS)[:, None] % 7 == 3)
BIAS = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)


def assigned(s, hidden):
    s[..., hidden] = -np.inf
    return s


def assigned_with_slices(s, hidden):
    s[:, :, hidden] = -np.inf
    return s


def assigned_everywhere(s, hidden):
    s[np.broadcast_to(hidden, s.shape)] = -np.inf
    return s


def chosen(s, hidden):
    return np.where(hidden, -np.inf, s).astype(s.dtype)


def put(s, hidden):
    np.putmask(s, np.broadcast_to(hidden, s.shape), -np.inf)
    return s


def copied(s, hidden):
    np.copyto(s, -np.inf, where=hidden)
    return s


def added(s, hidden):
    s += np.where(hidden, -np.inf, 0).astype(s.dtype)
    return s


MASKINGS = [
    assigned,
    assigned_with_slices,
    assigned_everywhere,
    chosen,
    put,
    copied,
    added,
]


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("hidden", [HIDDEN, NOTHING_SEEN], ids=["causal", "nothing_seen"])
@pytest.mark.parametrize("masking", MASKINGS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("known", [True, False], ids=["known", "argument"])
def test_masks(masking, hidden, known, dtype):
    def attend(q, k, v, hidden):
        return softmax(masking(scores(q, k), hidden)) @ v

    arguments = inputs(SHAPES["heads"], dtype)
    q, k, v = (x.astype(np.float64) for x in arguments)
    with np.errstate(invalid="ignore"):
        want = softmax(np.where(hidden, -np.inf, q @ k.mT * 0.25)) @ v
    assert np.isnan(want).any() == (hidden is NOTHING_SEEN)
    if known:
        check(lambda q, k, v: attend(q, k, v, hidden), arguments, want, TOLERANCES[dtype])
    else:
        check(attend, (*arguments, hidden), want, TOLERANCES[dtype])


def test_masks_by_a_finite_number():
    def attend(q, k, v):
        return softmax(np.where(HIDDEN, np.float32(-1e9), scores(q, k))) @ v

    arguments = inputs(SHAPES["heads"])
    check(attend, arguments, attend(*(x.astype(np.float64) for x in arguments)), 2e-5)


def test_bias_added_in_place():
    def attend(q, k, v, bias):
        s = scores(q, k)
        s += bias
        s[..., HIDDEN] = -np.inf
        return softmax(s) @ v

    arguments = [*inputs(SHAPES["heads"]), BIAS]
    check(attend, arguments, attend(*(x.astype(np.float64) for x in arguments)), 2e-5)


@pytest.mark.parametrize("size", [40, 200])
def test_assigned_plain_matrix(size):
    """Small and large: known places in small arrays are written otherwise, where they are no mask."""
    hidden = np.triu(np.ones((size, size), bool), 1)

    def attend(q, k, v):
        s = scores(q, k)
        s[hidden] = -np.inf
        return softmax(s) @ v

    arguments = inputs([(size, 16)] * 3)
    check(attend, arguments, attend(*(x.astype(np.float64) for x in arguments)), 2e-5)


@pytest.mark.parametrize("fill", [-np.inf, -1e9])
def test_masks_of_transposed_scores(fill):
    """Hidden columns are skipped there, too."""
    n = 130

    def attend(q, k, v):
        s = transposed_scores(q, k)
        s = np.where(np.triu(np.ones((n, n), bool)), s, np.float32(fill))
        return softmax(s, axis=-2).mT @ v

    def with_known_mask(q, k, v):
        s = np.where(np.tril(np.ones((n, n), bool)).T, transposed_scores(q, k), np.float32(fill))
        return softmax(s, axis=-2).mT @ v

    arguments = inputs([(3, n, 16)] * 3)
    q, k, v = (x.astype(np.float64) for x in arguments)
    want = softmax(np.where(np.tril(np.ones((n, n), bool)), q @ k.mT * 0.25, fill)) @ v
    for function in (attend, with_known_mask):
        check(function, arguments, want, 2e-5)
        assert "are skipped" in tk.jit(function).explain(*arguments).kernels[0].loops


# ---------------------------------------------------------------------------------------------------------------------
# One query

HEADS_OF_ONE = {
    "heads": ((2, 4, 1, 64), (2, 4, 300, 64), (2, 4, 300, 64)),
    "odd": ((5, 1, 19), (5, 23, 19), (5, 23, 7)),
    "plain": ((1, 32), (500, 32), (500, 48)),
    "one_value": ((6, 1, 16), (6, 90, 16), (6, 90, 1)),
    "few_keys": ((64, 1, 8), (64, 5, 8), (64, 5, 8)),
}


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shapes", HEADS_OF_ONE)
@pytest.mark.parametrize("name", ["with_tk", "divided_first", "divided_last", "scaled_query", "keys_first"])
def test_one_query(name, shapes, dtype):
    arguments = inputs(HEADS_OF_ONE[shapes], dtype)
    check(PLAIN[name], arguments, reference(*arguments), TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize(
    "way",
    [
        lambda q, k, v: softmax(q @ k.T * scale(q)) @ v,
        lambda q, k, v: softmax(k @ q * scale(q)) @ v,
        lambda q, k, v: v.T @ softmax(k @ q * scale(q)),
        lambda q, k, v: (softmax(q[None] @ k.T * scale(q)) @ v)[0],
        lambda q, k, v: softmax((k @ q[:, None])[:, 0] * scale(q)) @ v,
    ],
)
def test_query_that_is_a_vector(way, dtype):
    q, k, v = inputs([(24,), (333, 24), (333, 40)], dtype)
    check(way, (q, k, v), reference(q[None], k, v)[0], TOLERANCES[dtype])


def test_one_query_under_a_mask():
    q, k, v = inputs(HEADS_OF_ONE["heads"])
    seen = np.random.default_rng(0).random((2, 1, 1, 300)) < 0.5

    def attend(q, k, v, seen):
        return softmax(np.where(seen, scores(q, k), -np.inf)) @ v

    check(attend, (q, k, v, seen), attend(*(x.astype(np.float64) for x in (q, k, v)), seen), 2e-5)


def test_one_query_of_one_head_with_many_keys():
    """The keys are shared by threads, which one kernel could not."""
    arguments = inputs([(1, 64), (5000, 64), (5000, 64)])
    check(with_tk, arguments, reference(*arguments), 2e-5, kernels=3)


def test_one_query_and_keys_of_eight_bits():
    """Computed keys and values are not written to memory as floats."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((4, 1, 32)).astype(np.float32)
    k, v = (rng.integers(-127, 128, (4, 200, 32)).astype(np.int8) for _ in range(2))

    def attend(q, k, v):
        step = q.dtype.type(1 / 64)
        return softmax(scores(q, k.astype(q.dtype) * step)) @ (v.astype(q.dtype) * step)

    jitted = tk.jit(attend)
    want = attend(q.astype(np.float64), k, v)
    np.testing.assert_allclose(jitted(q, k, v), want, rtol=2e-5, atol=2e-5)
    assert max(one.bytes_written for one in jitted.explain(q, k, v).kernels) < k.size


def test_few_queries_with_many_keys():
    arguments = inputs([(5, 32), (9000, 32), (9000, 16)])
    check(with_tk, arguments, reference(*arguments), 2e-5)


def test_many_tiny_heads():
    """Products of so few elements are faster as sums of element-wise ones."""
    arguments = inputs([(100, 8, 8), (100, 12, 8), (100, 12, 8)])
    check(with_tk, arguments, reference(*arguments), 2e-5, kernels=3)


# ---------------------------------------------------------------------------------------------------------------------
# What follows


def normalised(x):
    wide = x.astype(np.float64)
    return (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shapes", [((2, 3, 33, 16),) * 3, ((41, 24), (29, 24), (29, 24)), ((2, 5, 1, 16), (2, 5, 9, 16), (2, 5, 9, 16))])
def test_layer_norm_of_the_residual(shapes, dtype):
    arguments = inputs(shapes, dtype)

    def block(q, k, v):
        return tk.layer_norm(q + softmax(scores(q, k)) @ v)

    want = normalised(arguments[0].astype(np.float64) + reference(*arguments))
    check(block, arguments, want, 4 * TOLERANCES[dtype])


def test_reductions_that_follow():
    arguments = inputs([(2, 3, 33, 16)] * 3)
    mixed = reference(*arguments)

    def largest(q, k, v):
        return with_tk(q, k, v).max(axis=-1)

    def again(q, k, v):
        return softmax(with_tk(q, k, v) + q)

    def root_mean_square(q, k, v):
        return tk.rms_norm(with_tk(q, k, v) * 2 + q)

    check(largest, arguments, mixed.max(axis=-1), 2e-5)
    check(again, arguments, softmax(mixed + arguments[0]), 2e-5)
    x = mixed * 2 + arguments[0]
    check(root_mean_square, arguments, x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), 1e-4)


def test_masked_attention_and_layer_norm():
    arguments = inputs([(2, 3, 70, 16)] * 3)

    def block(q, k, v):
        return tk.layer_norm(q + tk.attention(q, k, v, causal=True))

    q, k, v = (x.astype(np.float64) for x in arguments)
    hidden = np.triu(np.ones((70, 70), bool), 1)
    mixed = softmax(np.where(hidden, -np.inf, q @ k.mT * 0.25)) @ v
    check(block, arguments, normalised(q + mixed), 1e-4)
    assert "are skipped" in tk.jit(block).explain(*arguments).kernels[0].loops


def test_weights_are_a_result_too():
    """More than one kernel: they have to be whole in memory."""

    def both(q, k, v):
        p = softmax(transposed_scores(q, k), axis=-2)
        return p.mT @ v, p, v.mT @ p

    arguments = inputs(SHAPES["heads"])
    got = tk.jit(both)(*arguments)
    for g, w in zip(got, both(*(x.astype(np.float64) for x in arguments)), strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-5)


def test_attention_of_attention():
    """The mixed values are the queries of the next one, and the weights of it are behind its values."""

    def twice(q, k, v):
        first = v.mT @ softmax(transposed_scores(q, k), axis=-2)
        return v.mT @ softmax(k @ first * scale(q), axis=-2)

    arguments = inputs([(3, 32, 16)] * 3)
    want = twice(*(x.astype(np.float64) for x in arguments))
    np.testing.assert_allclose(tk.jit(twice)(*arguments), want, rtol=2e-5, atol=2e-5)


def test_threads():
    arguments = inputs(SHAPES["heads"])

    def block(q, k, v):
        return tk.layer_norm(v.mT @ softmax(transposed_scores(q, k), axis=-2))

    before = tk.num_threads()
    try:
        results = []
        for threads in (1, 2, 5):
            tk.set_num_threads(threads)
            results.append(tk.jit(block)(*arguments))
    finally:
        tk.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
