"""Attention with a causal mask and the projection after it: two kernels; the scores are never all stored.

Also: operands read through transposed views, a weight as a constant, and what the compiler says about it.
"""

import numpy as np
import tokamak as tk


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(q, k, v, w):
    """q, k and v are [batch, position, head, channel]; w mixes the heads."""
    batch, positions, heads, channels = q.shape
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / channels**0.5
    causal = np.tril(np.ones((positions, positions), bool))
    weights = softmax(np.where(causal, scores, -np.inf))
    mixed = np.einsum("bhqk,bkhd->bqhd", weights, v)
    return mixed.reshape(batch, positions, heads * channels) @ w


rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((2, 512, 8, 64), dtype=np.float32) for _ in range(3))
w = rng.standard_normal((512, 512), dtype=np.float32) / np.float32(512**0.5)

jitted = tk.jit(attend)
y = jitted(q, k, v, tk.constant(w))
wide = attend(*(a.astype(np.float64) for a in (q, k, v, w)))
np.testing.assert_allclose(y, wide, rtol=1e-4, atol=1e-4)

e = jitted.explain(q, k, v, tk.constant(w))
for kernel in e.kernels:
    print(" ".join(kernel.ops))
    for line in kernel.loops.splitlines():
        if line.startswith(("product", "blocks")):
            print("  " + line)
scores = 2 * 8 * 512 * 512 * 4
print(f"{e.memory.peak_bytes:,} bytes planned; the scores alone would take {scores:,}")
