"""Products of matrices and vectors, large and small."""

from __future__ import annotations

import numpy as np

from .model import BF16, F32, F64, SHORT, Workload, data_text, normal

NO_HALF_PRODUCTS = "it has no products of bf16"


def product(a, b):
    return a @ b


def torch_product(torch):
    return torch.matmul


def vector_matrix(x, a):
    return x @ a


def heads(a, b):
    return np.einsum("bhd,dhe->bhe", a, b)


def torch_heads(torch):
    return lambda a, b: torch.einsum("bhd,dhe->bhe", a, b)


def numba_small(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(a, b):
        out = np.zeros((a.shape[0], a.shape[1], b.shape[2]), a.dtype)
        for n in numba.prange(a.shape[0]):
            for i in range(a.shape[1]):
                for k in range(a.shape[2]):
                    for j in range(b.shape[2]):
                        out[n, i, j] += a[n, i, k] * b[n, k, j]
        return out

    return run


def square(n: int, dtype=F32, **settings) -> Workload:
    return Workload(
        name=f"product-{n}-{SHORT[dtype.name]}",
        group="products",
        title="a @ b",
        data=data_text(dtype, n, n),
        function=product,
        inputs=lambda rng: [normal(rng, n, n, dtype=dtype) for _ in range(2)],
        flops=2.0 * n**3,
        torch=torch_product,
        onnx="result = MatMul(a, b)",
        lacks_numpy=NO_HALF_PRODUCTS if dtype == BF16 else "",
        **settings,
    )


def small(count: int, n: int) -> Workload:
    return Workload(
        name=f"small-products-{n}",
        group="products",
        title="a @ b, many",
        data=data_text(F32, count, n, n),
        function=product,
        inputs=lambda rng: [normal(rng, count, n, n) for _ in range(2)],
        flops=2.0 * count * n**3,
        torch=torch_product,
        numba=numba_small,
        onnx="result = MatMul(a, b)",
    )


WORKLOADS = [
    square(256),
    square(512, quick=True),
    square(1024, ablate=True),
    square(2048),
    square(1024, F64),
    square(1024, BF16),
    Workload(
        name="matrix-vector",
        group="products",
        title="a @ x",
        data=data_text(F32, 4096, 4096),
        function=product,
        inputs=lambda rng: [normal(rng, 4096, 4096), normal(rng, 4096)],
        flops=2.0 * 4096**2,
        torch=torch_product,
        onnx="result = MatMul(a, b)",
    ),
    Workload(
        name="vector-matrix",
        group="products",
        title="x @ a",
        data=data_text(F32, 4096, 4096),
        function=vector_matrix,
        inputs=lambda rng: [normal(rng, 4096), normal(rng, 4096, 4096)],
        flops=2.0 * 4096**2,
        torch=torch_product,
        onnx="result = MatMul(x, a)",
    ),
    small(10_000, 8),
    small(50_000, 4),
    small(2_000, 32),
    Workload(
        name="einsum",
        group="products",
        title='einsum("bhd,dhe->bhe")',
        data="f32 64x4x1024x512",
        function=heads,
        inputs=lambda rng: [normal(rng, 64, 4, 1024), normal(rng, 1024, 4, 512)],
        flops=2.0 * 64 * 4 * 1024 * 512,
        torch=torch_heads,
        onnx='result = Einsum<equation = "bhd,dhe->bhe">(a, b)',
    ),
]
