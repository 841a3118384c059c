"""Operands of products that are computed while they are packed: nothing of them is in memory."""

import numpy as np
import pytest
import tokamak as tk

from support import with_any_threads

rng = np.random.default_rng(11)


def r(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def small_integers(*shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q, k, v):
    return softmax(q @ np.swapaxes(k * np.float32(0.125), -1, -2)) @ (v * 2)


def causal_attention(q, k, v):
    scores = q @ np.swapaxes(k * np.float32(0.125), -1, -2)
    seen = np.tri(*scores.shape[-2:], dtype=bool)
    return softmax(np.where(seen, scores, np.float32(-1e30))) @ (v * 2)


def quantised(x, w, scale):
    return np.maximum(x @ (w.astype(np.float32) * scale), 0)


def normalised(x, w):
    return x @ (w / np.sqrt((w * w).sum(axis=-1, keepdims=True))).T


Q = (2, 3, 130, 32)
ONE_KERNEL = {
    "both": (lambda x, y: (x * 2) @ (y / 3), r(300, 257), r(257, 130)),
    "second": (lambda x, y: x @ (y / 3), r(300, 257), r(257, 1130)),
    "second transposed": (lambda x, y: x @ (y * 2).T, r(300, 257), r(130, 257)),
    "both transposed": (lambda x, y: (x * 2).T @ (y.T / 3), r(257, 300), r(130, 257)),
    "first transposed": (lambda x, y: (x * 2).T @ y, r(257, 300), r(257, 130)),
    "deep": (lambda x, y: (x / 3).T @ (y / 3), r(5000, 140), r(5000, 150)),
    "many columns": (lambda x, y: x @ (y / 3), r(130, 20), r(20, 20000)),
    "strided": (lambda x, y: x @ (y[::2] * 2), r(150, 80), r(160, 81)[:, ::3]),
    "batched": (lambda x, y: (x * 2).mT @ (y / 3).mT, r(5, 40, 150), r(5, 130, 40)),
    "shared by the batch": (lambda x, y: np.einsum("bij,jk->bik", x, y * 3), r(5, 150, 40), r(40, 130)),
    "double": (lambda x, y: x.T @ (y / 3), r(300, 150, dtype=float), r(300, 130, dtype=float)),
    "widened": (lambda x, y: x.astype(float) @ (y / 3).astype(float), r(150, 40), r(40, 130)),
    "half": (lambda x, y: x @ (y * y), r(150, 40, dtype=np.float16), r(40, 130, dtype=np.float16)),
    "integers": (
        lambda x, y: x @ (y + 1),
        small_integers(150, 40).astype(np.int32),
        small_integers(40, 130).astype(np.int32),
    ),
    "converted": (lambda x, w: x @ w.astype(np.float32), r(150, 40), small_integers(40, 130)),
    "quantised": (quantised, r(150, 512), small_integers(512, 300), r(300)),
    "rows of weights normalised": (normalised, r(300, 64), r(200, 64)),
    "weights of a convolution": (
        lambda x, w: tk.conv(x, w / 3, padding=1),
        r(2, 16, 20, 20),
        r(32, 16, 3, 3),
    ),
    "attention": (attention, r(*Q), r(*Q), r(*Q)),
    "causal attention": (causal_attention, r(*Q), r(*Q), r(*Q)),
    "one row": (lambda x, w, s: x @ (w.astype(np.float32) * s), r(512), small_integers(512, 300), r(300)),
    "one column": (lambda w, x: (w * 2) @ x, r(300, 512), r(512)),
}


def doubled(array):
    return array.astype(float) if array.dtype.kind == "f" else array


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_is_one_kernel_and_right(name):
    function, *arguments = ONE_KERNEL[name]
    compiled = tk.jit(function)
    result = np.asarray(compiled(*arguments))
    explained = compiled.explain(*arguments)
    assert len(explained.kernels) == 1, str(explained)
    wanted = np.asarray(function(*(doubled(a) for a in arguments)))
    step = (
        2e-3
        if result.dtype == np.float16
        else 1e-12
        if result.dtype == np.float64 and name == "double"
        else 2e-6
    )
    assert np.abs(result - wanted).max() <= step * max(1, np.abs(wanted).max())


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_any_number_of_threads_gives_the_same_bits(name):
    function, *arguments = ONE_KERNEL[name]
    compiled = tk.jit(function)
    with_any_threads(lambda: compiled(*arguments))


def test_products_are_those_of_operands_in_memory():
    x, y = r(300, 257), r(257, 130)
    whole = tk.jit(lambda x, y: (x * 2) @ (y / 3))(x, y)
    parts = tk.jit(lambda a, b: a @ b)(x * 2, y / np.float32(3))
    assert np.array_equal(whole, parts)


def test_rows_are_made_ahead_where_packed_weights_would_take_more_memory():
    """Blocks then have all rows and some of the columns, which are packed with them."""
    rows, width, hidden = 100, 768, 8192
    x, w = r(rows, width), r(width, hidden)

    def after_rows(x, w):
        return tk.layer_norm(x) @ w

    def after_product(x, before, w):
        return tk.layer_norm(x @ before + x) @ w

    before = r(width, width) / 30
    for function, arguments, kernels in ((after_rows, (x, w), 1), (after_product, (x, before, w), 2)):
        compiled = tk.jit(function)
        found = compiled(*arguments)
        wanted = function(*(tk.array(doubled(a)) for a in arguments))
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=0, atol=2e-4)
        explained = compiled.explain(*arguments)
        assert len(explained.kernels) == kernels
        assert explained.memory.arena_bytes < w.nbytes / 4, explained.memory.plan
        constant = tk.constant(w)
        kept = tk.jit(lambda *others, f=function, w=constant: f(*others, w))
        np.testing.assert_allclose(kept(*arguments[:-1]), found, rtol=0, atol=1e-5)
        assert "the rows made before" in kept.explain(*arguments[:-1]).kernels[0].loops


def test_what_others_read_stays_in_memory():
    def twice(x, y):
        scaled = y * 3
        return x @ scaled, scaled

    explained = tk.jit(twice).explain(r(300, 257), r(257, 130))
    assert len(explained.kernels) == 2
    explained = tk.jit(lambda x: (x * 3) @ (x * 3)).explain(r(200, 200))
    assert len(explained.kernels) == 2


def test_a_result_made_beside_the_operand_is_written():
    def with_sums(x, y):
        scaled = y * 3
        return x @ scaled.T, scaled.sum(axis=-1)

    compiled = tk.jit(with_sums)
    x, y = r(300, 257), r(130, 257)
    product, sums = compiled(x, y)
    assert len(compiled.explain(x, y).kernels) == 1
    np.testing.assert_allclose(product, x @ (y * 3).T, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(sums, (y * 3).sum(axis=-1), rtol=1e-4, atol=1e-3)


def test_explain_says_so():
    explained = tk.jit(lambda x, y: x @ (y / 3)).explain(r(300, 257), r(257, 130))
    assert "second made while it is packed" in explained.kernels[0].loops
    assert any("second operand made while it is packed" in one.decision for one in explained.layouts)
    assert "vdiv" in explained.kernels[0].asm


def random_operand(draw, batch, lines, depth, dtype):
    """An array, and what makes an operand [batch, lines, depth] of it."""
    shape = [*batch, lines, depth]
    turned = draw.random() < 0.5
    if turned:
        shape[-2:] = shape[:-3:-1]
    array = draw.standard_normal(shape).astype(dtype)
    if draw.random() < 0.2:
        array = draw.integers(-9, 9, shape).astype(np.int8)
    if draw.random() < 0.3:
        array = array[..., ::-1]
    scale = draw.standard_normal(shape[-1]).astype(dtype)
    chains = [
        lambda x: x.astype(dtype) * scale,
        lambda x: np.maximum(x.astype(dtype), 0) + 1,
        lambda x: x.astype(dtype) / np.sqrt((x.astype(dtype) ** 2).sum(axis=-1, keepdims=True) + 1),
        lambda x: np.where(x > 0, x, -x).astype(dtype) - scale,
        lambda x: x.astype(dtype),
    ]
    chain = chains[draw.integers(len(chains))]
    return array, lambda x: np.swapaxes(chain(x), -1, -2) if turned else chain(x)


@pytest.mark.parametrize("seed", range(40))
def test_random_operands(seed):
    draw = np.random.default_rng(seed)
    dtype = draw.choice([np.float32, np.float64])
    batch = [(), (), (3,), (2, 2)][draw.integers(4)]
    rows, columns, depth = (int(draw.choice([1, 5, 64, 127, 128, 131, 260, 400])) for _ in range(3))
    x, make_x = random_operand(draw, batch, rows, depth, dtype)
    y, make_y = random_operand(draw, batch, columns, depth, dtype)

    def product(x, y):
        return make_x(x) @ np.swapaxes(make_y(y), -1, -2) * 2

    result = np.asarray(tk.jit(product)(x, y))
    wanted = product(x, y)
    assert result.dtype == wanted.dtype and result.shape == wanted.shape
    sizes = np.abs(make_x(x)) @ np.swapaxes(np.abs(make_y(y)), -1, -2) * 2
    step = np.finfo(dtype).eps * 8
    assert (np.abs(result - wanted) <= step * (sizes + 1)).all()
