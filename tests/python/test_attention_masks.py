"""Masks of attention, assigned, chosen or added: one kernel, and what NumPy gives where nothing is seen."""

import numpy as np
import pytest
import tokamak as tk

from attention_support import SHAPES, TOLERANCES, check, inputs, scores, softmax, transposed_scores

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
