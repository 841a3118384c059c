"""The functions that NumPy lacks, for ndarrays, Arrays and traced values."""

import math

import numpy as np
import pytest
import tokamak as tk

from support import assert_same


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x, w=1.0, b=0.0, eps=1e-5):
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps) * w + b


erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])

CASES = {
    "erf": (tk.erf, erf),
    "erfc": (tk.erfc, erfc),
    "sigmoid": (tk.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "relu": (tk.relu, lambda x: np.maximum(x, 0)),
    "gelu": (tk.gelu, lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))),
    "gelu_tanh": (
        lambda x: tk.gelu(x, approximate=True),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "silu": (tk.silu, lambda x: x / (1 + np.exp(-x))),
    "rsqrt": (lambda x: tk.rsqrt(x * x + 1), lambda x: 1 / np.sqrt(x * x + 1)),
    "softmax": (tk.softmax, softmax),
    "softmax_0": (lambda x: tk.softmax(x, axis=0), lambda x: softmax(x, 0)),
    "log_softmax": (tk.log_softmax, lambda x: np.log(softmax(x))),
    "logsumexp": (tk.logsumexp, lambda x: np.log(np.exp(x).sum())),
    "logsumexp_1": (
        lambda x: tk.logsumexp(x, axis=1, keepdims=True),
        lambda x: np.log(np.exp(x).sum(axis=1, keepdims=True)),
    ),
    "layer_norm": (tk.layer_norm, layer_norm),
    "layer_norm_wb": (
        lambda x: tk.layer_norm(x, x[0] * 2, x[1]),
        lambda x: layer_norm(x, x[0] * 2, x[1]),
    ),
    "rms_norm": (tk.rms_norm, lambda x: x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_against_float64(name, dtype, rng):
    function, reference = CASES[name]
    x = (rng.standard_normal((7, 33)) * 3).astype(dtype)
    want = reference(x.astype(np.float64))
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    for got in (function(x), np.asarray(function(tk.asarray(x))), tk.jit(function)(x)):
        assert isinstance(got, (np.ndarray, np.generic))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_extreme_values():
    x = np.array([1000.0, 1001.0, -np.inf])
    np.testing.assert_allclose(tk.softmax(x), [0.2689414213699951, 0.7310585786300049, 0], rtol=1e-12)
    np.testing.assert_allclose(tk.logsumexp(x), 1001.3132616875182, rtol=1e-14)
    assert tk.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    assert tk.logsumexp(np.array([np.inf, 1.0])) == np.inf
    assert_same(tk.sigmoid(np.array([-1000.0, 1000.0])), np.array([0.0, 1.0]))


def test_numbers_and_integers():
    assert type(tk.erf(0.5)) is np.float64
    np.testing.assert_allclose(tk.erf(0.5), math.erf(0.5), rtol=1e-15)
    assert tk.sigmoid(np.array([0, 1])).dtype == np.float64
    assert tk.relu(np.array([-1, 2], np.int8)).dtype == np.int8


def narrow_dtypes():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    return [np.dtype(np.float16), np.dtype(bfloat16)]


@pytest.mark.parametrize("name", CASES)
def test_narrow_floats_stay_what_they_are(name, rng):
    """Formulas of several steps are computed in f32, and rounded once."""
    function, reference = CASES[name]
    for dtype in narrow_dtypes():
        x = rng.standard_normal((7, 33)).astype(dtype)
        want = reference(x.astype(np.float64))
        tolerance = 2.0 ** (-9 if dtype == np.float16 else -6)
        for got in (function(x), np.asarray(function(tk.asarray(x))), tk.jit(function)(x)):
            assert got.dtype == dtype
            np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance)


def test_weights_of_norms(rng):
    x, w = rng.standard_normal((4, 8)).astype(np.float16), np.ones(8, np.float32)
    assert tk.layer_norm(x, w).dtype == tk.rms_norm(x, w).dtype == np.float32
    with pytest.raises(tk.UserTypeError, match=r"layer_norm: the weight is a tuple, not an array; axis="):
        tk.layer_norm(x, (8,))
    with pytest.raises(tk.UserTypeError, match="layer_norm: the bias is a tuple"):
        tk.layer_norm(x, w, (8,))


def test_masks_of_attention_are_arrays_of_bools_or_floats():
    q = np.ones((2, 4, 8), np.float32)
    with pytest.raises(tk.UserTypeError, match="causal=True"):
        tk.attention(q, q, q, True)
    with pytest.raises(tk.UserTypeError, match="a mask of int32 is neither bools"):
        tk.attention(q, q, q, np.ones((4, 4), np.int32))


@pytest.mark.parametrize(
    "function, arguments, message",
    [
        (tk.layer_norm, ((7,),), "layer_norm: the weight f32[7] does not broadcast with the values f32[4,8]"),
        (
            tk.layer_norm,
            ((8,), (9,)),
            "layer_norm: the bias f32[9] does not broadcast with the values f32[4,8]",
        ),
        (tk.rms_norm, ((7,),), "rms_norm: the weight f32[7] does not broadcast with the values f32[4,8]"),
    ],
)
def test_weights_of_another_shape_are_named(function, arguments, message):
    arrays = [np.ones(shape, np.float32) for shape in ((4, 8), *arguments)]
    for call in (function, tk.jit(function), lambda *given: function(*map(tk.asarray, given))):
        with pytest.raises(ValueError) as caught:
            call(*arrays)
        assert message in str(caught.value)
