"""Networks: a perceptron, attention, a transformer block, a token decoded with it, a residual block."""

from __future__ import annotations

import numpy as np

from .model import BF16, F32, SHORT, Workload, data_text, normal, weights
from .products import NO_HALF_PRODUCTS
from .rows import gelu, layer_norm, softmax

# A perceptron, with a product that nothing needs.


def mlp(x, w1, b1, w2, b2, w3):
    hidden = np.maximum(x @ w1 + b1, 0)
    unused = x @ w3  # noqa: F841
    return hidden @ w2 + b2


def torch_mlp(torch):
    def run(x, w1, b1, w2, b2, w3):
        hidden = torch.relu(x @ w1 + b1)
        unused = x @ w3  # noqa: F841
        return hidden @ w2 + b2

    return run


MLP_ONNX = """
p = MatMul(x, w1)
q = Add(p, b1)
hidden = Relu(q)
unused = MatMul(x, w3)
r = MatMul(hidden, w2)
result = Add(r, b2)
"""


def mlp_workload(dtype, **settings) -> Workload:
    rows, features, hidden = 512, 2048, 4096
    return Workload(
        name=f"mlp-{SHORT[dtype.name]}",
        group="products",
        title="relu(x@w1+b1)@w2+b2, x@w3 unused",
        data=data_text(dtype, rows, features, hidden),
        function=mlp,
        inputs=lambda rng: [
            normal(rng, rows, features, dtype=dtype),
            weights(rng, features, hidden, dtype=dtype),
            normal(rng, hidden, dtype=dtype),
            weights(rng, hidden, features, dtype=dtype),
            normal(rng, features, dtype=dtype),
            weights(rng, features, hidden, dtype=dtype),
        ],
        flops=2 * 2.0 * rows * features * hidden,
        torch=torch_mlp,
        onnx=MLP_ONNX,
        lacks_numpy=NO_HALF_PRODUCTS if dtype == BF16 else "",
        **settings,
    )


# Attention.


def attention(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) * 0.125) @ v


def causal_attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) * 0.125
    seen = np.tril(np.ones(scores.shape[-2:], bool))
    return softmax(np.where(seen, scores, np.float32(-np.inf))) @ v


def torch_attention(torch):
    return torch.nn.functional.scaled_dot_product_attention


def torch_causal_attention(torch):
    return lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def attention_workload(batch: int, positions: int, causal: bool, **settings) -> Workload:
    heads, depth = 8, 64
    return Workload(
        name=f"{'causal-' if causal else ''}attention-{positions}",
        group="products",
        title="attention, causal" if causal else "attention",
        data=data_text(F32, batch, heads, positions, depth),
        function=causal_attention if causal else attention,
        inputs=lambda rng: [normal(rng, batch, heads, positions, depth) for _ in range(3)],
        flops=2 * 2.0 * batch * heads * positions**2 * depth / (2 if causal else 1),
        torch=torch_causal_attention if causal else torch_attention,
        onnx=f"result = Attention<is_causal = {int(causal)}>(q, k, v)",
        **settings,
    )


# A transformer block: width 768, 12 heads, as in GPT-2.

WIDTH, HEADS, DEPTH, HIDDEN, POSITIONS = 768, 12, 64, 3072, 512


def split_heads(x):
    return x.reshape(x.shape[0], HEADS, DEPTH).swapaxes(0, 1)


def block_tail(x, mixed, wo, bo, scale2, shift2, w1, b1, w2, b2):
    """What follows the attention of a block: its projection, and the perceptron."""
    x = x + mixed.swapaxes(0, 1).reshape(x.shape) @ wo + bo
    return x + gelu(layer_norm(x, scale2, shift2) @ w1 + b1) @ w2 + b2


def transformer(x, scale1, shift1, wqkv, bqkv, wo, bo, scale2, shift2, w1, b1, w2, b2):
    qkv = layer_norm(x, scale1, shift1) @ wqkv + bqkv
    q, k, v = (split_heads(qkv[:, i * WIDTH : (i + 1) * WIDTH]) for i in range(3))
    return block_tail(x, causal_attention(q, k, v), wo, bo, scale2, shift2, w1, b1, w2, b2)


def decode(x, keys, values, scale1, shift1, wqkv, bqkv, wo, bo, scale2, shift2, w1, b1, w2, b2):
    """One more token, which attends to the keys of all before and to its own."""
    qkv = layer_norm(x, scale1, shift1) @ wqkv + bqkv
    q, k, v = (split_heads(qkv[:, i * WIDTH : (i + 1) * WIDTH]) for i in range(3))
    mixed = attention(q, np.concatenate([keys, k], axis=1), np.concatenate([values, v], axis=1))
    return block_tail(x, mixed, wo, bo, scale2, shift2, w1, b1, w2, b2)


def torch_block_parts(torch):
    nn = torch.nn.functional

    def heads_of(x, scale1, shift1, wqkv, bqkv):
        qkv = torch.addmm(bqkv, nn.layer_norm(x, (WIDTH,), scale1, shift1, 1e-5), wqkv)
        return qkv.view(-1, 3, HEADS, DEPTH).permute(1, 2, 0, 3)

    def tail(x, mixed, wo, bo, scale2, shift2, w1, b1, w2, b2):
        x = x + torch.addmm(bo, mixed.transpose(0, 1).reshape(x.shape), wo)
        hidden = torch.addmm(b1, nn.layer_norm(x, (WIDTH,), scale2, shift2, 1e-5), w1)
        return x + torch.addmm(b2, nn.gelu(hidden, approximate="tanh"), w2)

    return heads_of, tail


def torch_transformer(torch):
    heads_of, tail = torch_block_parts(torch)

    def run(x, scale1, shift1, wqkv, bqkv, *others):
        q, k, v = heads_of(x, scale1, shift1, wqkv, bqkv)
        mixed = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)
        return tail(x, mixed[0], *others)

    return run


def torch_decode(torch):
    heads_of, tail = torch_block_parts(torch)

    def run(x, keys, values, scale1, shift1, wqkv, bqkv, *others):
        q, k, v = heads_of(x, scale1, shift1, wqkv, bqkv)
        k, v = torch.cat([keys, k], 1), torch.cat([values, v], 1)
        mixed = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])
        return tail(x, mixed[0], *others)

    return run


ONNX_HEADS = f"""
n1 = LayerNormalization<axis = -1, epsilon = 1e-5>(x, scale1, shift1)
p1 = MatMul(n1, wqkv)
qkv = Add(p1, bqkv)
by_head = Constant<value_ints = [-1, 3, {HEADS}, {DEPTH}]>()
split = Reshape(qkv, by_head)
turned = Transpose<perm = [1, 2, 0, 3]>(split)
"""
ONNX_TAIL = f"""
m0 = Squeeze(mixed, zero)
m1 = Transpose<perm = [1, 0, 2]>(m0)
flat = Constant<value_ints = [-1, {WIDTH}]>()
m2 = Reshape(m1, flat)
p2 = MatMul(m2, wo)
p3 = Add(p2, bo)
y = Add(x, p3)
n2 = LayerNormalization<axis = -1, epsilon = 1e-5>(y, scale2, shift2)
p4 = MatMul(n2, w1)
p5 = Add(p4, b1)
g = Gelu<approximate = "tanh">(p5)
p6 = MatMul(g, w2)
p7 = Add(p6, b2)
result = Add(y, p7)
"""
ONNX_TRANSFORMER = (
    ONNX_HEADS
    + """
zero = Constant<value_ints = [0]>()
q, k, v = Split<axis = 0, num_outputs = 3>(turned)
mixed = Attention<is_causal = 1>(q, k, v)
"""
    + ONNX_TAIL
)
ONNX_DECODE = (
    ONNX_HEADS
    + """
zero = Constant<value_ints = [0]>()
q, k0, v0 = Split<axis = 0, num_outputs = 3>(turned)
old_keys = Unsqueeze(keys, zero)
old_values = Unsqueeze(values, zero)
k = Concat<axis = 2>(old_keys, k0)
v = Concat<axis = 2>(old_values, v0)
mixed = Attention(q, k, v)
"""
    + ONNX_TAIL
)


def block_weights(rng) -> list[np.ndarray]:
    def norm():
        return [normal(rng, WIDTH, scale=0.1) + F32.type(1), normal(rng, WIDTH, scale=0.1)]

    def dense(inputs, outputs):
        return [weights(rng, inputs, outputs), normal(rng, outputs, scale=0.1)]

    return [
        *norm(),
        *dense(WIDTH, 3 * WIDTH),
        *dense(WIDTH, WIDTH),
        *norm(),
        *dense(WIDTH, HIDDEN),
        *dense(HIDDEN, WIDTH),
    ]


BLOCK_PARAMETERS = WIDTH * (3 * WIDTH + WIDTH + 2 * HIDDEN)

# A residual block: two convolutions with batch norms, and the input added.


def conv(x, w):
    """3x3, one row of zeros around: all windows in one product."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.moveaxis(np.tensordot(windows, w, ((1, 4, 5), (1, 2, 3))), -1, 1)


def batch_norm(x, mean, var, weight, bias):
    factor = weight / np.sqrt(var + 1e-5)
    return x * factor[:, None, None] + (bias - mean * factor)[:, None, None]


def residual_block(x, w1, w2, m1, v1, s1, c1, m2, v2, s2, c2):
    h = np.maximum(batch_norm(conv(x, w1), m1, v1, s1, c1), 0)
    return np.maximum(batch_norm(conv(h, w2), m2, v2, s2, c2) + x, 0)


def tokamak_residual_block(tk):
    def run(x, w1, w2, m1, v1, s1, c1, m2, v2, s2, c2):
        h = np.maximum(tk.batch_norm(tk.conv(x, w1, padding=1), m1, v1, s1, c1), 0)
        return np.maximum(tk.batch_norm(tk.conv(h, w2, padding=1), m2, v2, s2, c2) + x, 0)

    return run


def torch_residual_block(torch):
    nn = torch.nn.functional

    def run(x, w1, w2, *norms):
        h = torch.relu(nn.batch_norm(nn.conv2d(x, w1, padding=1), *norms[:4]))
        return torch.relu(nn.batch_norm(nn.conv2d(h, w2, padding=1), *norms[4:]) + x)

    return run


def jax_residual_block(jax):
    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")

    def run(x, w1, w2, *norms):
        h = jax.nn.relu(batch_norm_of(conv(x, w1), *norms[:4]))
        return jax.nn.relu(batch_norm_of(conv(h, w2), *norms[4:]) + x)

    def batch_norm_of(x, mean, var, weight, bias):
        factor = weight / jax.numpy.sqrt(var + 1e-5)
        return x * factor[:, None, None] + (bias - mean * factor)[:, None, None]

    return run


ONNX_RESIDUAL = """
a = Conv<pads = [1, 1, 1, 1]>(x, w1)
b = BatchNormalization<epsilon = 1e-5>(a, s1, c1, m1, v1)
h = Relu(b)
c = Conv<pads = [1, 1, 1, 1]>(h, w2)
d = BatchNormalization<epsilon = 1e-5>(c, s2, c2, m2, v2)
e = Add(d, x)
result = Relu(e)
"""


def residual_inputs(rng) -> list[np.ndarray]:
    def norm():
        mean, var, weight, bias = (np.abs(normal(rng, 64)) + F32.type(0.5) for _ in range(4))
        return [mean, var, weight, bias]

    x = normal(rng, 8, 64, 56, 56)
    return [x, weights(rng, 64, 64, 3, 3), weights(rng, 64, 64, 3, 3), *norm(), *norm()]


def residual_workload(constant: bool, **settings) -> Workload:
    return Workload(
        name="residual-constant" if constant else "residual",
        group="products",
        title="residual block, weights constant" if constant else "residual block",
        data=data_text(F32, 8, 64, 56, 56),
        function=residual_block,
        tokamak=tokamak_residual_block,
        inputs=residual_inputs,
        flops=2
        * 2.0
        * 8
        * 56
        * 56
        * 64
        * 64
        * 4,  # four products for a result and channel: Winograd's F(2x2, 3x3)
        constants=1 if constant else None,
        torch=torch_residual_block,
        jax=jax_residual_block,
        onnx=ONNX_RESIDUAL,
        **settings,
    )


WORKLOADS = [
    mlp_workload(F32, ablate=True, memory=True),
    mlp_workload(BF16),
    *(
        attention_workload(batch, positions, causal, memory=positions == 512, ablate=positions == 512)
        for batch, positions in ((32, 128), (4, 512), (1, 2048))
        for causal in (False, True)
    ),
    Workload(
        name="transformer",
        group="products",
        title="transformer block, weights constant",
        data=data_text(F32, POSITIONS, WIDTH),
        function=transformer,
        inputs=lambda rng: [normal(rng, POSITIONS, WIDTH), *block_weights(rng)],
        flops=2.0 * POSITIONS * BLOCK_PARAMETERS + 2.0 * POSITIONS**2 * WIDTH,
        constants=1,
        tolerance=1e-4,
        torch=torch_transformer,
        onnx=ONNX_TRANSFORMER,
        quick=True,
        memory=True,
        ablate=True,
    ),
    Workload(
        name="decode",
        group="decoding",
        title="one token, weights constant",
        data=data_text(F32, 1, WIDTH),
        function=decode,
        inputs=lambda rng: [
            normal(rng, 1, WIDTH),
            normal(rng, HEADS, POSITIONS, DEPTH),
            normal(rng, HEADS, POSITIONS, DEPTH),
            *block_weights(rng),
        ],
        flops=2.0 * BLOCK_PARAMETERS + 4.0 * POSITIONS * WIDTH,
        constants=3,
        tolerance=1e-4,
        torch=torch_decode,
        onnx=ONNX_DECODE,
        quick=True,
        ablate=True,
    ),
    residual_workload(False, memory=True),
    residual_workload(True),
]
