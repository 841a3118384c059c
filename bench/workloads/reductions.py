"""Reductions over the first, the middle, the last and all axes, and other folds that only read."""

from __future__ import annotations

import numpy as np

from .model import F32, Workload, arithmetic, data_text, normal

SIDE = 256


def sum_first(x):
    return x.sum(axis=0)


def sum_middle(x):
    return x.sum(axis=1)


def sum_last(x):
    return x.sum(axis=2)


def sum_all(x):
    return x.sum()


def max_last(x):
    return x.max(axis=-1)


def argmax_last(x):
    return x.argmax(axis=-1)


def moments(x):
    """Mean and standard deviation of every row."""
    return x.mean(axis=-1), x.std(axis=-1)


def numba_sum(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(x):
        flat = x.reshape(-1)
        total = 0.0
        for i in numba.prange(flat.size):
            total += flat[i]
        return np.float32(total)

    return run


def cube(name, title, function, torch, onnx=None, **settings) -> Workload:
    return Workload(
        name=name,
        group="reading",
        title=title,
        data=data_text(F32, SIDE, SIDE, SIDE),
        function=function,
        inputs=lambda rng: [normal(rng, SIDE, SIDE, SIDE)],
        flops=arithmetic(SIDE**3, simple=1),
        torch=torch,
        onnx=onnx,
        **settings,
    )


def reduce_sum(axis: int) -> str:
    return f"axes = Constant<value_ints = [{axis}]>()\nresult = ReduceSum<keepdims = 0>(x, axes)"


def growing_sum(size: int) -> Workload:
    return Workload(
        name=f"sum@{size}",
        group="reading",
        title="sum",
        data=data_text(F32, size),
        function=sum_all,
        inputs=lambda rng: [normal(rng, size)],
        flops=arithmetic(size, simple=1),
        size=size,
        torch=lambda torch: torch.sum,
        numba=numba_sum,
        numexpr="sum(x)",
        tolerance=1e-4,  # random signs: the sum is small against its terms
    )


WORKLOADS = [
    cube(
        "sum-all",
        "sum, all axes",
        sum_all,
        lambda torch: torch.sum,
        "result = ReduceSum<keepdims = 0>(x)",
        numba=numba_sum,
        numexpr="sum(x)",
        tolerance=1e-4,
        quick=True,
        ablate=True,
    ),
    cube(
        "sum-first",
        "sum, first axis",
        sum_first,
        lambda torch: lambda x: x.sum(0),
        reduce_sum(0),
        ablate=True,
    ),
    cube("sum-middle", "sum, middle axis", sum_middle, lambda torch: lambda x: x.sum(1), reduce_sum(1)),
    cube("sum-last", "sum, last axis", sum_last, lambda torch: lambda x: x.sum(2), reduce_sum(2)),
    cube("max-last", "max, last axis", max_last, lambda torch: lambda x: x.amax(-1)),
    cube("argmax-last", "argmax, last axis", argmax_last, lambda torch: lambda x: x.argmax(-1)),
    cube(
        "moments",
        "mean and std, last axis",
        moments,
        lambda torch: lambda x: (x.mean(-1), x.std(-1, correction=0)),
    ),
]
