"""Cumulative sums, and work on arrays that lie the other way round."""

from __future__ import annotations

import numpy as np

from .model import F32, Workload, arithmetic, data_text, normal

SIDE = 4096


def cumsum_last(x):
    return np.cumsum(x, axis=-1)


def cumsum_first(x):
    return np.cumsum(x, axis=0)


def transpose(x):
    return x.T.copy()


def add_transposed(x, y):
    return x + y.T


def symmetric(x):
    return (x + x.T) * 0.5


def swap_inner(x):
    return x.transpose(0, 2, 1).copy()


def numba_transpose(numba):
    @numba.njit(parallel=True)
    def run(x):
        out = np.empty((x.shape[1], x.shape[0]), x.dtype)
        block = 32
        for i in numba.prange((x.shape[1] + block - 1) // block):
            for j in range(0, x.shape[0], block):
                for k in range(i * block, min((i + 1) * block, x.shape[1])):
                    for m in range(j, min(j + block, x.shape[0])):
                        out[k, m] = x[m, k]
        return out

    return run


def square(name, title, function, torch, inputs=1, flops=0.0, onnx=None, **settings) -> Workload:
    return Workload(
        name=name,
        group="other",
        title=title,
        data=data_text(F32, SIDE, SIDE),
        function=function,
        inputs=lambda rng: [normal(rng, SIDE, SIDE) for _ in range(inputs)],
        flops=arithmetic(SIDE * SIDE, simple=flops),
        torch=torch,
        onnx=onnx,
        **settings,
    )


WORKLOADS = [
    square("cumsum-last", "cumsum, rows", cumsum_last, lambda torch: lambda x: x.cumsum(-1), 1, 1),
    square("cumsum-first", "cumsum, columns", cumsum_first, lambda torch: lambda x: x.cumsum(0), 1, 1),
    square(
        "transpose",
        "x.T.copy()",
        transpose,
        lambda torch: lambda x: x.t().contiguous(),
        onnx="result = Transpose<perm = [1, 0]>(x)",
        numba=numba_transpose,
        quick=True,
        ablate=True,
    ),
    square(
        "add-transposed", "x + y.T", add_transposed, lambda torch: lambda x, y: x + y.t(), 2, 1, memory=True
    ),
    square("symmetric", "(x + x.T) / 2", symmetric, lambda torch: lambda x: (x + x.t()) * 0.5, 1, 2),
    Workload(
        name="swap-inner",
        group="other",
        title="x.transpose(0,2,1).copy()",
        data=data_text(F32, 64, 512, 512),
        function=swap_inner,
        inputs=lambda rng: [normal(rng, 64, 512, 512)],
        torch=lambda torch: lambda x: x.transpose(1, 2).contiguous(),
        onnx="result = Transpose<perm = [0, 2, 1]>(x)",
    ),
]
