"""Work on rows: softmax, cross-entropy, norms and gelu, in rows of four lengths, in f32 and bf16.

In bf16 the rows are widened to f32, and the result is rounded: as networks are written, and as torch's own
functions compute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .model import BF16, F32, SHORT, Maker, Workload, arithmetic, data_text, normal

ELEMENTS = 16 << 20
LENGTHS = (64, 1024, 4096, 50257)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_half(x):
    return softmax(x.astype(np.float32)).astype(x.dtype)


def cross_entropy(x, labels):
    shifted = x - x.max(axis=-1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_softmax, labels[:, None], axis=-1).mean()


def cross_entropy_half(x, labels):
    return cross_entropy(x.astype(np.float32), labels)


def layer_norm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * weight + bias


def layer_norm_half(x, weight, bias):
    return layer_norm(x.astype(np.float32), weight.astype(np.float32), bias.astype(np.float32)).astype(
        x.dtype
    )


def rms_norm(x, weight):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * weight


def rms_norm_half(x, weight):
    return rms_norm(x.astype(np.float32), weight.astype(np.float32)).astype(x.dtype)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def gelu_half(x):
    return gelu(x.astype(np.float32)).astype(x.dtype)


# What the peers have of their own.


def torch_softmax(torch):
    return lambda x: torch.softmax(x, -1)


def torch_cross_entropy(torch):
    return torch.nn.functional.cross_entropy


def torch_cross_entropy_half(torch):
    return lambda x, labels: torch.nn.functional.cross_entropy(x.float(), labels)


def torch_layer_norm(torch):
    return lambda x, weight, bias: torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def torch_rms_norm(torch):
    return lambda x, weight: torch.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-5)


def torch_gelu(torch):
    return lambda x: torch.nn.functional.gelu(x, approximate="tanh")


def numba_softmax(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(x):
        out = np.empty_like(x)
        for i in numba.prange(x.shape[0]):
            top = x[i, 0]
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            total = np.float32(0)
            for j in range(x.shape[1]):
                out[i, j] = np.exp(x[i, j] - top)
                total += out[i, j]
            for j in range(x.shape[1]):
                out[i, j] /= total
        return out

    return run


@dataclass(frozen=True)
class Program:
    """One of the functions, with what its peers get; `plain` is in f32, `half` for bf16."""

    name: str
    title: str
    plain: Callable[..., Any]
    half: Callable[..., Any]
    flops: float  # of an element, as arithmetic() counts them
    more: Callable[[np.random.Generator, int, int, Any], list[np.ndarray]]  # inputs besides x
    torch: Maker
    torch_half: Maker | None = None
    numba: Maker | None = None
    onnx: str | None = None
    numexpr: str | None = None


def labels(rng, rows, length, dtype):
    return [rng.integers(0, length, rows)]


def one_weight(rng, rows, length, dtype):
    return [normal(rng, length, dtype=dtype)]


def two_weights(rng, rows, length, dtype):
    return [normal(rng, length, dtype=dtype) for _ in range(2)]


def no_more(rng, rows, length, dtype):
    return []


PROGRAMS = {
    one.name: one
    for one in (
        Program(
            "softmax",
            "softmax",
            softmax,
            softmax_half,
            arithmetic(1, simple=5, elementary=1),
            no_more,
            torch_softmax,
            numba=numba_softmax,
            onnx="result = Softmax<axis = -1>(x)",
        ),
        Program(
            "cross-entropy",
            "cross-entropy",
            cross_entropy,
            cross_entropy_half,
            arithmetic(1, simple=4, elementary=1),
            labels,
            torch_cross_entropy,
            torch_cross_entropy_half,
            onnx='result = SoftmaxCrossEntropyLoss<reduction = "mean">(x, labels)',
        ),
        Program(
            "layer-norm",
            "layer norm",
            layer_norm,
            layer_norm_half,
            arithmetic(1, simple=7),
            two_weights,
            torch_layer_norm,
            onnx="result = LayerNormalization<axis = -1, epsilon = 1e-5>(x, weight, bias)",
        ),
        Program(
            "rms-norm",
            "RMS norm",
            rms_norm,
            rms_norm_half,
            arithmetic(1, simple=5),
            one_weight,
            torch_rms_norm,
            onnx="result = RMSNormalization<axis = -1, epsilon = 1e-5>(x, weight)",
        ),
        Program(
            "gelu",
            "gelu",
            gelu,
            gelu_half,
            arithmetic(1, simple=8, elementary=1),
            no_more,
            torch_gelu,
            onnx='result = Gelu<approximate = "tanh">(x)',
            numexpr="0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
        ),
    )
}


def make(program: Program, rows: int, length: int, dtype=F32, **settings) -> Workload:
    half = dtype == BF16
    settings = {"name": f"{program.name}-{length}-{SHORT[dtype.name]}", "group": "large"} | settings
    return Workload(
        title=program.title,
        data=data_text(dtype, rows, length),
        function=program.half if half else program.plain,
        reference=program.plain,
        inputs=lambda rng: [
            normal(rng, rows, length, dtype=dtype, scale=3.0),
            *program.more(rng, rows, length, dtype),
        ],
        flops=rows * length * program.flops,
        result=F32 if half and program.more is labels else None,
        torch=program.torch_half if half and program.torch_half else program.torch,
        numba=None if half else program.numba,
        numexpr=None if half else program.numexpr,
        onnx=program.onnx,
        **settings,
    )


def growing_softmax(size: int) -> Workload:
    length = min(size, 1024)
    return make(PROGRAMS["softmax"], size // length, length, name=f"softmax@{size}", size=size)


def all_lengths() -> list[Workload]:
    found = []
    for program in PROGRAMS.values():
        for dtype in (F32, BF16):
            for length in LENGTHS:
                usual = length == 1024 and dtype == F32 and program.name in ("softmax", "layer-norm")
                found.append(
                    make(
                        program,
                        ELEMENTS // length,
                        length,
                        dtype,
                        memory=usual,
                        ablate=length == 1024 and dtype == F32,
                        quick=usual,
                    )
                )
    return found


WORKLOADS = [
    *all_lengths(),
    make(PROGRAMS["softmax"], 128, 128, name="softmax-16k", group="cache"),
    make(PROGRAMS["layer-norm"], 128, 128, name="layer-norm-16k", group="cache"),
    make(PROGRAMS["gelu"], 128, 128, name="gelu-16k", group="cache"),
]
