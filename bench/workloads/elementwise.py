"""Element-wise work: the fused sum and the activation that the project began with."""

from __future__ import annotations

import numpy as np

from .model import F32, F64, Workload, arithmetic, data_text, uniform


def relu_sum(w, x, b):
    return np.maximum(w * x + b, 0).sum()


def torch_relu_sum(torch):
    return lambda w, x, b: torch.relu(w * x + b).sum()


def numba_relu_sum(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(w, x, b):
        total = 0.0
        for i in numba.prange(x.size):
            total += max(w[i] * x[i] + b[i], 0)
        return x.dtype.type(total)

    return run


def wave(x, y):
    return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)


def torch_wave(torch):
    return lambda x, y: torch.relu((torch.sin(x) * torch.cos(y) + x) * y)


def numba_wave(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(x, y):
        out = np.empty_like(x)
        for i in numba.prange(x.size):
            out[i] = max((np.sin(x[i]) * np.cos(y[i]) + x[i]) * y[i], np.float32(0))
        return out

    return run


def size_name(name: str, size: int) -> str:
    return f"{name}@{size}"


def fused_sum(size: int, dtype=F32, **settings) -> Workload:
    settings = {"name": size_name("fused-sum", size), "group": "reading", "size": size} | settings
    return Workload(
        title="relu(w*x+b).sum()",
        data=data_text(dtype, size),
        function=relu_sum,
        inputs=lambda rng: [uniform(rng, -2, 2, size, dtype=dtype) for _ in range(3)],
        flops=arithmetic(size, simple=4),
        torch=torch_relu_sum,
        numba=numba_relu_sum,
        numexpr="sum(where(w * x + b > 0, w * x + b, 0))",
        **settings,
    )


def activation(size: int, **settings) -> Workload:
    settings = {"name": size_name("activation", size), "group": "large", "size": size} | settings
    return Workload(
        title="relu((sin(x)*cos(y)+x)*y)",
        data=data_text(F32, size),
        function=wave,
        inputs=lambda rng: [uniform(rng, -10, 10, size) for _ in range(2)],
        flops=arithmetic(size, simple=4, elementary=2),
        torch=torch_wave,
        numba=numba_wave,
        numexpr="where((sin(x) * cos(y) + x) * y > 0, (sin(x) * cos(y) + x) * y, 0)",
        onnx="s = Sin(x)\nc = Cos(y)\np = Mul(s, c)\nq = Add(p, x)\nr = Mul(q, y)\nresult = Relu(r)",
        **settings,
    )


WORKLOADS = [
    fused_sum(8 << 20, F64, name="fused-sum", quick=True, memory=True, ablate=True),
    activation(16 << 20, name="activation", quick=True, memory=True, ablate=True),
    fused_sum(16 << 10, name="fused-sum-16k", group="cache"),
    activation(16 << 10, name="activation-16k", group="cache", quick=True, ablate=True),
    activation(16, name="activation-16", group="call", quick=True),
]
