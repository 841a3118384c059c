"""Attention in one kernel, whichever way it is written."""

import math

import numpy as np
import pytest
import tokamak as tk

from attention_support import (
    SHAPES,
    TOLERANCES,
    check,
    divided_first,
    divided_last,
    inputs,
    keys_first,
    reference,
    scale,
    scaled_query,
    scores,
    softmax,
    transposed_scores,
)


def by_scipy(s):
    special = pytest.importorskip("scipy.special")
    return special.softmax(s, axis=-1)


def weights_behind_values(q, k, v):
    return v.mT @ softmax(scores(q, k)).mT


def weights_behind_values_and_back(q, k, v):
    return (v.mT @ softmax(scores(q, k)).mT).mT


def result_transposed(q, k, v):
    return (softmax(scores(q, k)) @ v).mT


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


def divided_query(q, k, v):
    return softmax(q / q.dtype.type(math.sqrt(q.shape[-1])) @ k.mT) @ v


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
