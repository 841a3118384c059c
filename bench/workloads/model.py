"""What a workload is.

Its function is plain NumPy code: NumPy runs it as it stands, and Tokamak compiles it. Peers get what people
would write for them, next to it:

    torch, jax, numba   a maker: given the library, it returns the function. Without a maker, jax gets
                        the NumPy code with `np` standing for `jax.numpy`
    numexpr             an expression over the names of the function's parameters
    onnx                the nodes of a graph over these names, in ONNX's text form; its result is `result`

A peer that a workload says nothing about is one that nobody would use for it.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)

SHORT = {
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "uint8": "u8",
    "int64": "i64",
    "bool": "bool",
}

# Deviation from the answer in double precision, relative to the largest magnitude in it.
TOLERANCE = {BF16: 2e-2, F32: 2e-5, F64: 1e-11}

Maker = Callable[[Any], Callable[..., Any]]


@dataclass(frozen=True)
class Workload:
    name: str
    group: str  # one of GROUPS
    title: str
    data: str  # what it works on, in short: "f32 4096x4096"
    function: Callable[..., Any]
    inputs: Callable[[np.random.Generator], Sequence[np.ndarray]]
    flops: float = 0  # arithmetic, as `arithmetic` counts it
    reads: int | None = None  # bytes that must be read, where these are not all of the inputs
    constants: int | None = None  # arguments from this one on are constants of the program
    tolerance: float | None = None  # where it is not that of the dtype of the results
    outliers: float = 0  # share of the elements that may deviate by more: where a comparison goes either way
    result: np.dtype | None = None  # of its real results, where it is not that of the first input
    reference: Callable[..., Any] | None = (
        None  # where the answer is not that of `function` in double precision
    )
    tokamak: Maker | None = None  # for the few functions that NumPy does not have
    torch: Maker | None = None
    jax: Maker | None = None
    numba: Maker | None = None
    numexpr: str | None = None
    onnx: str | None = None
    lacks_numpy: str = ""  # why NumPy cannot run it
    quick: bool = False  # part of a quick run
    memory: bool = False  # its peak of memory is measured too
    ablate: bool = False  # part of the ablation
    size: int | None = None  # elements, of workloads that are measured at many sizes

    @property
    def parameters(self) -> list[str]:
        return list(inspect.signature(self.function).parameters)

    def make_inputs(self) -> list[np.ndarray]:
        return [np.ascontiguousarray(a) for a in self.inputs(np.random.default_rng(7))]

    def result_dtype(self, answer: np.ndarray, inputs: Sequence[np.ndarray]) -> np.dtype:
        return self.result or inputs[0].dtype if answer.dtype == F64 else answer.dtype

    def make_answer(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What every contestant must come close to: computed by NumPy in double precision."""
        function = self.reference or self.function
        with np.errstate(all="ignore"):
            return as_list(function(*[widened(a) for a in inputs]))


@dataclass(frozen=True)
class Group:
    """Workloads that the same is asked of: how many times faster than the best peer, and which share of the
    limit of the machine."""

    name: str
    title: str
    faster: float
    mean: float | None = None  # of the ratios, where the mean must be better than each
    share: float | None = None
    against: tuple[str, ...] = ()  # these peers only, each with its own factor
    factors: tuple[float, ...] = ()


GROUPS = [
    Group("large", "element-wise and row-wise work over 16 MB", 3.0, share=0.75),
    Group("reading", "reductions that only read", 1.15, share=0.9),
    Group("grids", "stencil, n-body, pairwise distances, k-means, blur", 2.0),
    Group("cache", "arrays of 16 K elements", 2.0),
    Group("call", "a call on 16 elements", 1.0, against=("numpy", "jax"), factors=(10.0, 15.0)),
    Group("products", "products, convolution, transformer block", 1.0, mean=1.15),
    Group("decoding", "decoding of a single token", 1.5),
    Group("other", "scans, transposes, masks, gathers, statistics", 1.0),
]


def widened(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype in TOLERANCE else array


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def rebound(function: Callable[..., Any], numpy: Any) -> Callable[..., Any]:
    """The function with another module standing for `np`, also in what it calls of these files."""
    worlds: dict[int, dict[str, Any]] = {}

    def again(one: types.FunctionType) -> types.FunctionType:
        names = one.__globals__
        if id(names) not in worlds:
            world = worlds[id(names)] = names | {"np": numpy}
            for key, value in names.items():
                if isinstance(value, types.FunctionType) and value.__module__.startswith(__package__):
                    world[key] = again(value)
        return types.FunctionType(one.__code__, worlds[id(names)], one.__name__, one.__defaults__)

    assert isinstance(function, types.FunctionType)
    return again(function)


def shape_text(*shape: int) -> str:
    def short(n: int) -> str:
        for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
            if n >= factor and n % factor == 0:
                return f"{n // factor}{unit}"
        return str(n)

    return short(shape[0]) if len(shape) == 1 else "x".join(map(str, shape))


def data_text(dtype: Any, *shape: int) -> str:
    return f"{SHORT[np.dtype(dtype).name]} {shape_text(*shape)}"


# Inputs.


def normal(rng: np.random.Generator, *shape: int, dtype: Any = F32, scale: float = 1.0) -> np.ndarray:
    dtype = np.dtype(dtype)
    array = rng.standard_normal(shape, F32 if dtype == BF16 else dtype)
    if scale != 1.0:
        array *= array.dtype.type(scale)
    return array.astype(dtype, copy=False)


def uniform(rng: np.random.Generator, low: float, high: float, *shape: int, dtype: Any = F32) -> np.ndarray:
    dtype = np.dtype(dtype)
    array = rng.random(shape, F32 if dtype == BF16 else dtype)
    array *= array.dtype.type(high - low)
    array += array.dtype.type(low)
    return array.astype(dtype, copy=False)


def weights(rng: np.random.Generator, *shape: int, dtype: Any = F32) -> np.ndarray:
    """Of a matrix [in, out], or of a convolution [out, in, window...]: results stay near 1."""
    fan_in = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
    return normal(rng, *shape, dtype=dtype, scale=fan_in**-0.5)


# Arithmetic, in units of one addition: a division and a square root keep the processor for about as long as
# ten fused multiply-adds, an elementary function is a polynomial of about as many.

DIVISION = 20
ELEMENTARY = 20


def arithmetic(elements: float, simple: float = 0, divisions: float = 0, elementary: float = 0) -> float:
    return elements * (simple + divisions * DIVISION + elementary * ELEMENTARY)
