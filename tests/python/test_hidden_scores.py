"""Scores that a mask hides are not computed, and nobody can tell by the results.

Every case runs twice, with and without TOKAMAK_DISABLE=skipping: the bits are the same.
"""

import hashlib
import json
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import tokamak as tk

N = 320
ROWS, COLUMNS = np.arange(N)[:, None], np.arange(N)[None, :]
CAUSAL = np.tril(np.ones((N, N), bool))
INF = np.float32(np.inf)


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(scores, v):
    return softmax(scores) @ v


def scores_of(q, k):
    return q @ k.swapaxes(-1, -2) * np.float32(0.25)


def chosen(mask, fill):
    return lambda q, k, v: attend(np.where(mask, scores_of(q, k), np.float32(fill)), v)


def chosen_otherwise(mask, fill):
    return lambda q, k, v: attend(np.where(~mask, np.float32(fill), scores_of(q, k)), v)


def added(mask, hidden):
    numbers = np.where(mask, np.float32(0), np.float32(hidden))
    return lambda q, k, v: attend(scores_of(q, k) + numbers, v)


def in_function(q, k, v):
    s = scores_of(q, k)
    return attend(np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -INF), v)


def added_in_function(q, k, v):
    s = scores_of(q, k)
    return attend(s + np.triu(np.full(s.shape[-2:], -INF, np.float32), 1), v)


def window(q, k, v):
    s = scores_of(q, k)
    rows, columns = np.arange(s.shape[-2])[:, None], np.arange(s.shape[-1])[None, :]
    return attend(np.where((columns <= rows) & (columns > rows - 50), s, -INF), v)


def with_tk(q, k, v):
    return tk.attention(q, k, v, causal=True, scale=0.25)


def weights_too(q, k, v):
    """All columns are needed: the weights are a result."""
    weights = softmax(np.where(CAUSAL, scores_of(q, k), -INF))
    return weights @ v, weights


def sums_too(q, k, v):
    s = np.where(CAUSAL, scores_of(q, k), -INF)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    total = e.sum(axis=-1, keepdims=True)
    return (e / total) @ v, total


def smallest_too(q, k, v):
    """A reduction that hidden columns have a part in."""
    s = np.where(CAUSAL, scores_of(q, k), np.float32(-1e9))
    return attend(s, v), s.min(axis=-1)


def scaled_queries(q, k, v):
    return attend(np.where(CAUSAL, (q * np.float32(0.25)) @ k.swapaxes(-1, -2), -INF), v)


def with_bias(q, k, v):
    bias = np.float32(-0.5) * np.abs(ROWS - COLUMNS).astype(np.float32)
    return attend(np.where(CAUSAL, scores_of(q, k) + bias, -INF), v)


WINDOW = CAUSAL & (ROWS - COLUMNS < 40)
HOLES = CAUSAL & ((ROWS + COLUMNS) % 3 != 1)
SOME_EMPTY = CAUSAL & (ROWS >= 100)
TO_THE_RIGHT = COLUMNS >= ROWS
MASKS = {
    "causal": CAUSAL,
    "shifted": COLUMNS <= ROWS + 17,
    "window": WINDOW,
    "band": np.abs(ROWS - COLUMNS) < 20,
    "holes": HOLES,
    "some_empty": SOME_EMPTY,
    "all_empty": np.zeros((N, N), bool),
    "to_the_right": TO_THE_RIGHT,
    "one_row": np.broadcast_to(COLUMNS < 77, (N, N)),
    "by_head": np.stack([CAUSAL, WINDOW, TO_THE_RIGHT]),
    "prefix": CAUSAL | (COLUMNS < 50),
}
FILLS = {"inf": -np.inf, "1e9": -1e9, "min": np.finfo(np.float32).min, "1e4": -1e4}


def inputs(kind="plain", dtype=np.float32, shape=(2, 3, N, 16)):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape).astype(dtype) for _ in range(3))
    if kind == "v_inf":
        v[0, 0, -1, 0], v[1, 1, 200, 3] = np.inf, np.nan
    if kind == "k_nan":
        k[0, 0, -1, 0], k[1, 2, -2, 1] = np.nan, np.inf
    if kind == "q_inf":
        q[0, 1, 50, 0], q[0, 1, 60, 2] = np.inf, np.nan
    if kind == "huge":
        q *= 1e9
        k *= 1e9
    if kind == "overflow":
        q *= 1e19
        k *= 1e19
    return q, k, v


def all_cases():
    cases = {}
    for mask_name, mask in MASKS.items():
        for fill_name, fill in FILLS.items():
            kinds = ["plain"]
            if mask_name in ("causal", "some_empty"):
                kinds += ["v_inf", "k_nan", "q_inf", "huge", "overflow"]
            if mask_name not in ("causal", "window", "some_empty") and fill_name in ("min", "1e4"):
                continue
            for kind in kinds:
                for way in (chosen, chosen_otherwise, added):
                    if way is chosen_otherwise and (kind != "plain" or mask_name != "causal"):
                        continue
                    name = f"{way.__name__}-{mask_name}-{fill_name}-{kind}"
                    cases[name] = (way(mask, fill), inputs(kind))
    functions = (
        in_function,
        added_in_function,
        with_tk,
        weights_too,
        sums_too,
        smallest_too,
        scaled_queries,
        with_bias,
    )
    for function in functions:
        cases[function.__name__] = (function, inputs())
        cases[f"{function.__name__}-v_inf"] = (function, inputs("v_inf"))
    for dtype in (np.float64, np.float16, ml_dtypes.bfloat16):
        cases[f"with_tk-{np.dtype(dtype).name}"] = (with_tk, inputs(dtype=dtype))
        cases[f"with_tk-{np.dtype(dtype).name}-v_inf"] = (with_tk, inputs("v_inf", dtype=dtype))
    for length in (1, 5, 63, 64, 65, 129, 511, 512, 700):
        cases[f"window-{length}"] = (window, inputs(shape=(2, length, 24)))
        cases[f"with_tk-{length}"] = (with_tk, inputs(shape=(2, length, 24)))
        cases[f"in_function-{length}"] = (in_function, inputs(shape=(length, 24)))
    return cases


def warn_not(function, *arguments):
    with np.errstate(all="ignore"):
        return function(*arguments)


def hashes():
    found = {}
    for name, (function, arguments) in all_cases().items():
        results = tk.jit(function)(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        # A NaN is a NaN, whichever it is.
        whole = b"".join(np.where(np.isnan(x), x.dtype.type(np.nan), x).tobytes() for x in results)
        found[name] = hashlib.sha256(whole).hexdigest()
    return found


def test_bits_are_those_of_all_scores():
    program = "import json, test_hidden_scores as t; print(json.dumps(t.hashes()))"
    environment = {**os.environ, "TOKAMAK_DISABLE": "skipping", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    want = json.loads(done.stdout)
    got = hashes()
    assert [name for name in got if got[name] != want[name]] == []


@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_values(mask, fill):
    q, k, v = (x.astype(np.float64) for x in inputs())
    want = warn_not(chosen(mask, fill), q, k, v)
    got = tk.jit(chosen(mask, fill))(*inputs())
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)
    seen = mask.any(axis=-1).min(axis=0) if mask.ndim == 3 else mask.any(axis=-1)
    got = tk.jit(added(mask, fill))(*inputs())
    np.testing.assert_allclose(got[..., seen, :], want[..., seen, :], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    "function",
    [in_function, added_in_function, window, sums_too, smallest_too, weights_too, scaled_queries, with_bias],
)
def test_functions(function):
    want = warn_not(function, *(x.astype(np.float64) for x in inputs()))
    got = tk.jit(function)(*inputs())
    for g, w in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, want)), strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)


def skips(function, *arguments):
    return "are skipped" in tk.jit(function).explain(*arguments).kernels[0].loops


def test_explained():
    for function in (
        in_function,
        added_in_function,
        with_tk,
        scaled_queries,
        with_bias,
        sums_too,
        chosen(CAUSAL, -1e9),
        added(CAUSAL, -1e9),
        chosen_otherwise(CAUSAL, -np.inf),
    ):
        assert skips(function, *inputs())
    for function in (weights_too, smallest_too, lambda q, k, v: attend(scores_of(q, k), v)):
        assert not skips(function, *inputs())


def test_mask_and_padding_known_at_run_time(rng):
    """Causal, and a mask that is an argument."""
    q, k, v = inputs()
    padding = rng.random((2, 1, 1, N)) < 0.6
    padding[..., 0] = True

    def masked(q, k, v, padding):
        return tk.attention(q, k, v, mask=padding, causal=True)

    want = attend(np.where(padding & CAUSAL, scores_of(*(x.astype(np.float64) for x in (q, k))), -np.inf), v)
    np.testing.assert_allclose(tk.jit(masked)(q, k, v, padding), want, rtol=2e-5, atol=2e-6)
    assert skips(masked, q, k, v, padding)


def test_grouped_heads(rng):
    """Several queries for each key and value: the rows of a product are those of several heads."""
    q = rng.standard_normal((2, 4, 100, 8)).astype(np.float32)
    k, v = (rng.standard_normal((2, 100, 8)).astype(np.float32) for _ in range(2))
    mask = np.tril(np.ones((100, 100), bool))

    def grouped(q, k, v):
        s = np.einsum("bgqd,bkd->bgqk", q, k)
        return np.einsum("bgqk,bkd->bgqd", softmax(np.where(mask, s, -INF)), v)

    want = grouped(*(x.astype(np.float64) for x in (q, k, v)))
    np.testing.assert_allclose(tk.jit(grouped)(q, k, v), want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads(threads):
    want = tk.jit(with_tk)(*inputs())
    before = tk.num_threads()
    tk.set_num_threads(threads)
    try:
        np.testing.assert_array_equal(tk.jit(with_tk)(*inputs()), want)
    finally:
        tk.set_num_threads(before)


@pytest.mark.parametrize(
    "mask", [CAUSAL, np.where(CAUSAL, 0, -1e9).astype(np.float32)], ids=["bools", "added"]
)
def test_masks_that_are_arguments_are_not_said_to_be_skipped(mask):
    assert not skips(lambda q, k, v, mask: tk.attention(q, k, v, mask), *inputs(), mask)


def test_a_length_that_is_an_argument_skips_nothing():
    skips = "columns that a mask hides from all rows of a block are skipped"

    def padded(q, k, v, lengths):
        seen = np.arange(k.shape[-2]) < lengths[:, None]
        return attend(np.where(seen[:, None, None, :], scores_of(q, k), -INF), v)

    def padded_and_causal(q, k, v, lengths):
        seen = (np.arange(k.shape[-2]) < lengths[:, None])[:, None, None, :]
        return attend(np.where(seen & CAUSAL, scores_of(q, k), -INF), v)

    def shifted(q, k, v, lengths):
        return attend(np.where(COLUMNS <= ROWS + lengths[0], scores_of(q, k), -INF), v)

    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((2, 3, N, 32)).astype(np.float32) for _ in range(3))
    lengths = np.array([N - 7, 5])
    for f, are_skipped in ((padded, False), (padded_and_causal, True), (shifted, False)):
        jitted = tk.jit(f)
        (kernel,) = jitted.explain(q, k, v, lengths).kernels
        assert (skips in kernel.loops) == are_skipped, f.__name__
        np.testing.assert_allclose(jitted(q, k, v, lengths), f(q, k, v, lengths), rtol=1e-4, atol=1e-5)
