"""Programs around matrix products: how many kernels they become, and that those are right."""

import ml_dtypes
import numpy as np
import pytest
import tokamak as tk

rng = np.random.default_rng(7)


def r(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def dense(x, w, b):
    return np.maximum(x @ w + b, 0)


def mlp(x, w1, b1, w2, b2):
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


def mlp_with_unused(x, w1, b1, w2, b2):
    h = np.maximum(x @ w1 + b1, 0)
    (h * 3) @ w2
    return h @ w2 + b2


def residual_block(x, w1, w2, *norms):
    h = np.maximum(tk.batch_norm(tk.conv(x, w1, padding=1), *norms[:4]), 0)
    return np.maximum(tk.batch_norm(tk.conv(h, w2, padding=1), *norms[4:]) + x, 0)


def attention(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) * 0.25) @ v


def attention_added_mask(q, k, v, mask):
    return softmax(q @ np.swapaxes(k, -1, -2) * 0.25 + mask) @ v


def attention_where(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) * 0.25
    causal = np.tril(np.ones(scores.shape[-2:], bool))
    return softmax(np.where(causal, scores, -np.inf)) @ v


def attention_einsum(q, k, v):
    return np.einsum("bhqk,bhkd->bhqd", softmax(np.einsum("bhqd,bhkd->bhqk", q, k) * 0.25), v)


def attention_positions_first(q, k, v):
    return np.einsum("bhqk,bkhd->bqhd", softmax(np.einsum("bqhd,bkhd->bhqk", q, k) * 0.25), v)


def attention_scaled_query(q, k, v):
    return softmax((q * np.float32(0.25)) @ np.swapaxes(k, -1, -2)) @ v


def attention_2d(q, k, v):
    return softmax(q @ k.T * 0.25) @ v


def layer_norm_after(x, w):
    y = x @ w
    return (y - y.mean(axis=-1, keepdims=True)) / np.sqrt(y.var(axis=-1, keepdims=True) + 1e-5)


def scaled_operand(x, w):
    return (x * 2 + 1) @ w


def moved_batch(a, b):
    return np.einsum("bhd,dhe->bhe", a, b)


qkv = [r(2, 4, 33, 16) for _ in range(3)]
qkv_positions_first = [r(2, 33, 4, 16) for _ in range(3)]
layers = (r(80, 32), r(32, 48), r(48), r(48, 20), r(20))
norms = [np.abs(r(8)) + 0.5 for _ in range(8)]
convolutions = (r(2, 8, 14, 14), r(8, 8, 3, 3), r(8, 8, 3, 3))

PROGRAMS = {
    # name: (function, arguments, kernels)
    "dense": (dense, layers[:3], 1),
    "mlp": (mlp, layers, 2),
    "mlp_with_unused": (mlp_with_unused, layers, 2),
    "attention": (attention, qkv, 1),
    "attention_added_mask": (attention_added_mask, (*qkv, r(33, 33)), 1),
    "attention_where": (attention_where, qkv, 1),
    "attention_einsum": (attention_einsum, qkv, 1),
    "attention_positions_first": (attention_positions_first, qkv_positions_first, 1),
    "attention_scaled_query": (attention_scaled_query, qkv, 1),
    "attention_2d": (attention_2d, [one[0, 0] for one in qkv], 1),
    "attention_tiny": (attention_2d, (r(4, 8), r(4, 8), r(4, 8)), 1),
    "attention_many_keys": (attention_2d, (r(100, 16), r(3000, 16), r(3000, 40)), 1),
    "layer_norm_after": (layer_norm_after, layers[:2], 1),
    "scaled_operand": (scaled_operand, layers[:2], 1),
    "moved_batch": (moved_batch, (r(64, 4, 102), r(102, 4, 51)), 1),
    "left_transposed": (lambda x, y: x.T @ y, (r(40, 30), r(40, 20)), 1),
    "right_transposed": (lambda x, y: x @ y.T, (r(40, 30), r(20, 30)), 1),
    "swapaxes": (lambda x, y: np.swapaxes(x, 1, 2) @ y, (r(3, 40, 30), r(3, 40, 20)), 1),
    "transposed_result": (lambda x, y: (x @ y).T, (r(40, 30), r(30, 20)), 1),
    "strided_arguments": (lambda x, y: x @ y, (r(40, 30).T, r(80, 60)[::-2, 1::3]), 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_and_values(name):
    function, arguments, kernels = PROGRAMS[name]
    jitted = tk.jit(function)
    assert len(jitted.explain(*arguments).kernels) == kernels
    wide = [np.asarray(a, np.float64) for a in arguments]
    np.testing.assert_allclose(jitted(*arguments), function(*wide), rtol=2e-4, atol=2e-4)
    unfused = tk.jit(function, fuse=False)(*arguments)
    np.testing.assert_allclose(jitted(*arguments), unfused, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("constant", [False, True])
def test_residual_block(constant):
    x, w1, w2 = convolutions
    expected = tk.jit(residual_block, fuse=False)(x, w1, w2, *norms)
    if constant:
        jitted = tk.jit(lambda x: residual_block(x, w1, w2, *norms))
        e = jitted.explain(x)
        # The factors of the batch norms are part of the weights.
        assert [k.ops for k in e.kernels] == [
            ["pad", "dot", "add", "max"],
            ["pad", "dot", "add", "add", "max"],
        ]
        result = jitted(x)
    else:
        jitted = tk.jit(residual_block)
        assert len(jitted.explain(x, w1, w2, *norms).kernels) == 2
        result = jitted(x, w1, w2, *norms)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_unused_product_is_gone():
    e = tk.jit(mlp_with_unused).explain(*layers)
    assert sum(k.ops.count("dot") for k in e.kernels) == 2


def test_large_perceptron_in_bf16_is_two_kernels():
    shapes = (512, 2048), (2048, 4096), (4096,), (4096, 2048), (2048,)
    arguments = [r(*shape, dtype=ml_dtypes.bfloat16) for shape in shapes]
    e = tk.jit(mlp_with_unused).explain(*arguments)
    assert [k.ops for k in e.kernels] == [["dot", "add", "max"], ["dot", "add"]]


BF16_SHAPES = {
    # rows, k, columns
    "small": (5, 7, 3),
    "one_row": (1, 300, 40),
    "one_column": (40, 300, 1),
    "odd": (61, 333, 77),
    "whole_tiles": (64, 128, 96),
    "deep": (33, 9001, 20),
    "wide": (70, 40, 1200),
    "parts_of_k": (600, 2100, 600),
}


@pytest.mark.parametrize("transposed", [(), (0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("shape", BF16_SHAPES)
def test_products_in_bf16(shape, transposed):
    m, k, n = BF16_SHAPES[shape]
    x, y = r(m, k, dtype=ml_dtypes.bfloat16), r(k, n, dtype=ml_dtypes.bfloat16)
    if 0 in transposed:
        x = np.ascontiguousarray(x.T).T
    if 1 in transposed:
        y = np.ascontiguousarray(y.T).T
    result = tk.jit(lambda x, y: x @ y)(x, y)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    exact = wide_x @ wide_y
    rounding = 2.0**-8 * np.abs(exact) + 2 * k**0.5 * 2.0**-24 * (np.abs(wide_x) @ np.abs(wide_y))
    assert result.dtype == ml_dtypes.bfloat16
    assert (np.abs(result.astype(np.float64) - exact) <= rounding * 1.01).all()


def test_rows_of_bf16_at_any_distance():
    """Pairs that do not lie where those of 32 bits do are copied, and a row has no part of the next one."""
    for width in (64, 65, 66, 67):
        padded = r(40, width, dtype=ml_dtypes.bfloat16)
        padded[:, 62:] = np.nan
        w = r(62, 50, dtype=ml_dtypes.bfloat16)
        for first in (0, 1):
            x, y = padded[:, first:62], w[first:]
            result = tk.jit(lambda x, y: x @ y)(x, y).astype(np.float64)
            exact = x.astype(np.float64) @ y.astype(np.float64)
            np.testing.assert_allclose(result, exact, rtol=2.0**-7, atol=0.1)


def test_merged_heads_are_read_where_they_lie():
    def heads(q, k, v, w):
        mixed = attention(q, k, v)
        return np.swapaxes(mixed, 1, 2).reshape(2, 33, 64) @ w

    w = r(64, 50)
    jitted = tk.jit(heads)
    assert len(jitted.explain(*qkv, w).kernels) == 2
    np.testing.assert_allclose(jitted(*qkv, w), heads(*qkv, w), rtol=1e-3, atol=1e-4)


def test_explain_shows_the_product():
    loops = tk.jit(dense).explain(*layers[:3]).kernels[0].loops
    assert "product 80x32 by 32x48" in loops
    assert "blocks of" in loops


def test_scores_are_never_stored():
    q, k, v = r(1, 2048, 16), r(1, 4096, 16), r(1, 4096, 16)
    memory = tk.jit(attention).explain(q, k, v).memory
    assert memory.peak_bytes < 2048 * 4096 * 4 / 4


def test_results_do_not_depend_on_threads():
    x, w = r(333, 257), r(257, 301)
    f = tk.jit(lambda x, w: softmax(x @ w))
    before = tk.num_threads()
    try:
        results = []
        for threads in (1, 2, 7):
            tk.set_num_threads(threads)
            results.append(f(x, w))
            results.append(tk.jit(lambda x, w: softmax(x @ w))(x, w))
    finally:
        tk.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("keys, width", [(33, 64), (4, 64), (20, 64), (64, 2), (200, 20), (77, 33)])
def test_stages_with_panels_of_different_widths(keys, width):
    q, k, v = r(300, 64), r(keys, 64), r(keys, width)
    np.testing.assert_allclose(tk.jit(attention_2d)(q, k, v), attention_2d(q, k, v), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("make", [lambda x: x * 2, np.abs, np.tanh, lambda x: np.maximum(x, 0), lambda x: -x])
def test_operands_that_are_used_again(make):
    def both(x, w):
        h = make(x)
        return h @ w + h, np.where(h > 0, h @ w, 0), w @ h * h

    x, w = r(24, 24), r(24, 24)
    for found, expected in zip(tk.jit(both)(x, w), both(x, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_residual_of_an_activation():
    x, w, _ = convolutions

    def block(x, w):
        y = np.maximum(tk.conv(x, w, padding=1), 0)
        return tk.conv(y, w, padding=1) + y

    np.testing.assert_allclose(tk.jit(block)(x, w), tk.jit(block, fuse=False)(x, w), rtol=1e-4, atol=1e-4)


def test_padding_upon_padding():
    x, w = r(1, 2, 5, 5, 5), r(3, 2, 3, 3, 3)
    around = [(0, 0), (0, 0)] + [(1, 1)] * 3

    def padded(x, w):
        return tk.conv(np.pad(np.pad(x, around), around), w, padding=1)

    np.testing.assert_allclose(tk.jit(padded)(x, w), tk.jit(padded, fuse=False)(x, w), rtol=1e-4, atol=1e-4)
    found = tk.jit(padded)(x, w)
    np.testing.assert_allclose(
        found[:, :, 1:-1, 1:-1, 1:-1], tk.conv(np.pad(x, around), w, padding=1), atol=1e-4
    )


def test_factors_are_not_moved_into_what_users_multiply():
    x = np.array([[0.001, 0]], np.float16)
    w = np.array([[60000, 1], [1, 1]], np.float16)
    s = np.array([2, 2], np.float16)
    np.testing.assert_array_equal(tk.jit(lambda x: (x @ w) * s)(x), (x @ w) * s)
    large = np.full((2, 2), 1e30, np.float32)
    small = np.full((1, 2), 1e-30, np.float32)
    factors = np.full(2, 1e20, np.float32)
    np.testing.assert_allclose(
        tk.jit(lambda x: (x @ large) * factors)(small), (small @ large) * factors, rtol=1e-5
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize("samples", [8192, 20000, 40961])
def test_few_columns_of_many_samples(samples, dtype):
    x = rng.integers(-3, 4, (samples, 7)).astype(dtype) / (8 if dtype == np.float16 else 1)
    x = x.astype(dtype)
    y = rng.integers(-3, 4, (samples, 5)).astype(dtype)
    expected = (x.astype(np.float64).T @ y.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(tk.jit(lambda x, y: x.T @ y)(x, y), expected)
    stacked = np.stack([x, x + dtype(1)])
    expected = np.einsum("bsi,sj->bij", stacked.astype(np.float64), y.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(tk.jit(lambda s, y: np.einsum("bsi,sj->bij", s, y))(stacked, y), expected)


def test_constant_weights_are_kept_once():
    x, w, _ = convolutions
    graph = tk.jit(lambda x: tk.conv(x, w, padding=1)).explain(x).graph
    assert "constant f32[1,8,8,3,3]" in graph
    row = np.broadcast_to(np.arange(6, dtype=np.float32), (1000, 6))
    f = tk.jit(lambda x: x * row)
    assert "constant f32[1,6]" in f.explain(r(1000, 6)).graph
    y = r(1000, 6)
    np.testing.assert_array_equal(f(y), y * row)


# Results whose transpose leaves the columns of the product where they are, or does not.
TRANSPOSED = {
    "bhd,dhe->bhe": True,
    "abhd,dhe->abhe": True,
    "habd,hde->bhae": False,  # rows are not equally far apart
    "abcd,abde->bace": True,
    "hbd,hde->beh": False,
    "hbd,hdef->bhef": True,
    "hbd,hdef->bhfe": False,
    "gbd,gdh->bgh": True,
}


@pytest.mark.parametrize("subscripts", TRANSPOSED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_sums_are_stored_where_a_transpose_has_them(subscripts, dtype):
    sizes = {"a": 3, "b": 13, "c": 11, "g": 1, "h": 5, "d": 70, "e": 18, "f": 4}
    first, second = subscripts.split("->")[0].split(",")
    a, b = ((4 * r(*(sizes[name] for name in names))).astype(dtype) for names in (first, second))
    f = tk.jit(lambda a, b: np.ascontiguousarray(np.einsum(subscripts, a, b)))  # by rows, whatever NumPy's order
    want = np.einsum(subscripts, a, b)
    np.testing.assert_allclose(f(a, b), want, rtol=1e-3, atol=1e-3)
    explanation = f.explain(a, b)
    assert len(explanation.kernels) == 1
    directly = "kernel @" not in explanation.kernels[0].loops  # no loops after the product
    assert directly == TRANSPOSED[subscripts], explanation.kernels[0].loops


@pytest.fixture
def bounds_checked():
    tk.set_checks("bounds")
    yield
    tk.set_checks("")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, ml_dtypes.bfloat16])
@pytest.mark.parametrize("rows, columns", [(3, 5), (1, 1), (384, 1), (384, 5), (1, 70), (100, 300)])
def test_no_element_of_an_operand_without_any_is_read(bounds_checked, dtype, rows, columns):
    a, b = np.ones((rows, 0), dtype), np.ones((0, columns), dtype)
    for f in (
        lambda a, b: a @ b,
        lambda a, b: np.maximum(a @ b, 1),
        lambda a, b: (a * 2) @ b,
        lambda a, b: (a.reshape(rows, 1, 0) * b.T).sum(axis=2, dtype=a.dtype),
        lambda a, b: np.einsum("ki,jk->ij", a.T, b.T),
    ):
        result = tk.jit(f)(a, b)
        assert (result.shape, result.dtype) == ((rows, columns), dtype)
        expected = f(a.astype(np.float32), b.astype(np.float32)).astype(dtype)  # NumPy has no einsum of bfloat16
        np.testing.assert_array_equal(result, expected)
