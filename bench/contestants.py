"""The contestants: how each library gets a workload, and gives its answer back.

Each runs in a process of its own (worker.py), which calls `open_library` once. For a workload, `prepare` does
what users do before their first call, such as converting the data; what it returns compiles or builds what
the library runs, and returns the call that is timed. A call returns when its result is there.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from workloads.model import BF16, F32, Workload, rebound

Call = Callable[[], Any]


@dataclass(frozen=True)
class Contestant:
    name: str
    title: str
    library: str
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def has(self, workload: Workload) -> bool:
        """Whether there is anything to run: others are not expected to take part."""
        if self.library in ("tokamak", "jax"):
            return True
        if self.library == "numpy":
            return not workload.lacks_numpy
        return getattr(workload, self.library) is not None


CONTESTANTS = [
    Contestant("tokamak", "Tokamak", "tokamak"),
    Contestant("numpy", "NumPy", "numpy"),
    Contestant("torch", "torch", "torch"),
    Contestant("compile", "torch.compile", "torch", options={"compile": True}),
    Contestant("jax", "jax.jit", "jax"),
    Contestant("numexpr", "numexpr", "numexpr"),
    Contestant("numba", "numba", "numba"),
    Contestant("onnx", "onnxruntime", "onnx"),
]

# What Tokamak is without one of its parts.
ABLATIONS = [
    Contestant("tokamak", "everything on", "tokamak"),
    Contestant("fusion", "no fusion", "tokamak", options={"fuse": False}),
    Contestant("reuse", "no reuse of buffers", "tokamak", {"TOKAMAK_DISABLE": "reuse"}),
    Contestant("pool", "no pool of memory", "tokamak", {"TOKAMAK_DISABLE": "pool"}),
    Contestant("vector-math", "no vector math", "tokamak", {"TOKAMAK_DISABLE": "vector-math"}),
    Contestant("streaming", "no non-temporal stores", "tokamak", {"TOKAMAK_DISABLE": "streaming"}),
    Contestant("blocking", "no blocks of steps", "tokamak", {"TOKAMAK_DISABLE": "blocking"}),
    Contestant("threads", "one thread", "tokamak", {"TOKAMAK_NUM_THREADS": "1"}),
]


def environment(threads: int) -> dict[str, str]:
    """What libraries read when they are loaded, so that all have the same number of threads. jax has no
    setting: it takes as many as there are processors, which `keep_to` sees to."""
    names = ("TOKAMAK", "OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")
    return {
        **{f"{name}_NUM_THREADS": str(threads) for name in names},
        "JAX_PLATFORMS": "cpu",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no processes that linger
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",  # a first call compiles, also when this runs again
        "TOKAMAK_CACHE_SIZE": "0",  # so does ours
        "PYTHONHASHSEED": "0",
    }


class Library:
    """What all have in common."""

    version = ""

    def prepare(
        self, workload: Workload, inputs: list[np.ndarray], results: list[Result]
    ) -> Callable[[], Call]:
        raise NotImplementedError

    def to_numpy(self, value: Any) -> np.ndarray:
        return np.asarray(value)

    def notes(self) -> dict[str, Any]:
        """What is known of the program prepared last."""
        return {}

    def give_back_at_once(self) -> None:
        """Turns off what keeps memory after a call and cannot be trimmed; for the measurement of memory."""

    def trim(self) -> None:
        """Gives memory that nothing uses back to the system."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)


@dataclass(frozen=True)
class Result:
    dtype: np.dtype
    shape: tuple[int, ...]


def with_constants(
    function: Callable[..., Any],
    workload: Workload,
    arguments: list[Any],
    as_constant: Callable[[Any], Any] = lambda argument: argument,
) -> tuple[Any, list[Any]]:
    """The function of the arguments that are not constants of the program, and these arguments."""
    if workload.constants is None:
        return function, arguments
    constants = [as_constant(argument) for argument in arguments[workload.constants :]]
    return (lambda *given: function(*given, *constants)), arguments[: workload.constants]


class Tokamak(Library):
    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        import tokamak as tk

        self.tk, self.options, self.version = tk, options, tk.__version__
        tk.jit(lambda x: np.sqrt(x) * 2)(np.ones(7, np.float32))

    def prepare(self, workload, inputs, results):
        function = workload.tokamak(self.tk) if workload.tokamak else workload.function

        def build():
            # Weights as one gives them to the others: as what does not change from one call to the next.
            bound, given = with_constants(function, workload, inputs, self.tk.constant)
            compiled = self.tk.jit(bound, **self.options)
            self.explain = lambda: compiled.explain(*given)
            return partial(compiled, *given)

        return build

    def notes(self):
        explanation = self.explain()
        return {
            "kernels": len(explanation.steps),
            "planned_bytes": explanation.memory.peak_bytes,
            "naive_bytes": explanation.memory.naive_bytes,
        }

    def trim(self):
        self.tk.trim_memory()
        super().trim()


class NumPy(Library):
    version = np.__version__

    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        pass

    def prepare(self, workload, inputs, results):
        return lambda: partial(workload.function, *inputs)


class Torch(Library):
    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        import torch

        torch.set_num_threads(threads)
        self.inference = torch.inference_mode()
        self.inference.__enter__()
        self.torch, self.version = torch, torch.__version__
        self.compile = options.get("compile", False)
        if self.compile:
            torch.compile(lambda x: torch.sqrt(x) * 2)(torch.ones(7))

    def tensor(self, array: np.ndarray) -> Any:
        if array.dtype == BF16:
            return self.torch.from_numpy(array.view(np.int16)).view(self.torch.bfloat16)
        return self.torch.from_numpy(array)

    def to_numpy(self, value):
        if not isinstance(value, self.torch.Tensor):
            return np.asarray(value)
        if value.dtype == self.torch.bfloat16:
            return value.contiguous().view(self.torch.int16).numpy().view(BF16)
        return value.numpy()

    def prepare(self, workload, inputs, results):
        function = workload.torch(self.torch)
        tensors = [self.tensor(a) for a in inputs]
        if not self.compile:
            return lambda: partial(function, *tensors)
        self.torch._dynamo.reset()
        if workload.constants is None:
            given = tensors
            program = lambda: self.torch.compile(function, dynamic=False)  # noqa: E731
        else:
            given = tensors[: workload.constants]
            program = lambda: self.frozen(function, tensors[workload.constants :])  # noqa: E731

        def build():
            return partial(program(), *given)

        return build

    def frozen(self, function: Callable[..., Any], constants: list[Any]) -> Callable[..., Any]:
        """Compiled with weights that it may lay out as it likes: the parameters of a module."""
        nn = self.torch.nn

        class Module(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.constants = nn.ParameterList([nn.Parameter(c, requires_grad=False) for c in constants])

            def forward(self, *given):
                return function(*given, *self.constants)

        return self.torch.compile(Module(), dynamic=False, options={"freezing": True})


class Jax(Library):
    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)  # there are workloads in f64
        self.jax, self.jnp, self.version = jax, jnp, jax.__version__
        jax.jit(lambda x: jnp.sqrt(x) * 2)(jnp.ones(7)).block_until_ready()

    def prepare(self, workload, inputs, results):
        function = workload.jax(self.jax) if workload.jax else rebound(workload.function, self.jnp)
        arrays = [self.jnp.asarray(a) for a in inputs]
        wait = self.jax.block_until_ready

        def build():
            bound, given = with_constants(function, workload, arrays)
            compiled = self.jax.jit(bound)
            return lambda: wait(compiled(*given))

        return build


class NumExpr(Library):
    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        import numexpr

        numexpr.set_num_threads(threads)
        self.numexpr, self.version = numexpr, numexpr.__version__
        numexpr.evaluate("sqrt(x) * 2", {"x": np.ones(7, np.float32)})

    def prepare(self, workload, inputs, results):
        names: dict[str, Any] = dict(zip(workload.parameters, inputs, strict=True))
        expression = workload.numexpr
        if inputs[0].dtype == F32:  # numbers in an expression are f64, and would make all of it f64
            for i, text in enumerate(sorted(set(re.findall(r"\d+\.\d+", expression)))):
                names[f"number_{i}"] = F32.type(text)
                expression = expression.replace(text, f"number_{i}")
        return lambda: partial(self.numexpr.evaluate, expression, names)


class Numba(Library):
    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        import numba

        self.numba, self.version = numba, numba.__version__
        numba.set_num_threads(threads)

        @numba.njit(parallel=True)
        def warm(x):
            for i in numba.prange(x.size):
                x[i] = 2 * x[i]

        warm(np.ones(7, np.float32))

    def prepare(self, workload, inputs, results):
        def build():
            return partial(workload.numba(self.numba), *inputs)

        return build


class Onnx(Library):
    TYPES = {  # noqa: RUF012
        "float32": "float",
        "float64": "double",
        "bfloat16": "bfloat16",
        "int64": "int64",
        "uint8": "uint8",
        "bool": "bool",
    }

    def __init__(self, threads: int, options: Mapping[str, Any]) -> None:
        import onnx
        import onnx.parser
        import onnxruntime

        self.onnx, self.runtime, self.version = onnx, onnxruntime, onnxruntime.__version__
        self.settings = onnxruntime.SessionOptions()
        self.settings.intra_op_num_threads = threads
        self.settings.inter_op_num_threads = 1
        self.settings.log_severity_level = 4

    def model(self, workload: Workload, inputs: list[np.ndarray], results: list[Result]) -> bytes:
        def declaration(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> str:
            return f"{self.TYPES[dtype.name]}[{','.join(map(str, shape))}] {name}"

        names = workload.parameters
        count = len(names) if workload.constants is None else workload.constants
        given = zip(names[:count], inputs, strict=False)
        text = '<ir_version: 11, opset_import: ["": 23]>\n'
        text += f"g({', '.join(declaration(n, a.dtype, a.shape) for n, a in given)})"
        text += f" => ({declaration('result', results[0].dtype, results[0].shape)}) {{ {workload.onnx} }}"
        model = self.onnx.parser.parse_model(text)
        for name, array in zip(names[count:], inputs[count:], strict=True):
            model.graph.initializer.append(self.onnx.numpy_helper.from_array(array, name))
        return model.SerializeToString()

    def prepare(self, workload, inputs, results):
        model = self.model(workload, inputs, results)
        count = workload.constants or len(inputs)
        feeds = dict(zip(workload.parameters[:count], inputs[:count], strict=True))
        half = any(a.dtype == BF16 for a in inputs)
        if half:  # which it does not take from NumPy
            feeds = {name: self.value(array) for name, array in feeds.items()}

        def build():
            session = self.runtime.InferenceSession(model, self.settings, providers=["CPUExecutionProvider"])
            return partial(session.run_with_ort_values if half else session.run, None, feeds)

        return build

    def give_back_at_once(self):
        self.settings.enable_cpu_mem_arena = False

    def value(self, array: np.ndarray) -> Any:
        if array.dtype != BF16:
            return self.runtime.OrtValue.ortvalue_from_numpy(array)
        make = self.runtime.OrtValue.ortvalue_from_numpy_with_onnx_type
        return make(array.view(np.uint16), self.onnx.TensorProto.BFLOAT16)

    def to_numpy(self, value):
        if not isinstance(value, self.runtime.OrtValue):
            return np.asarray(value)
        if value.data_type() != "tensor(bfloat16)":
            return value.numpy()
        shape = tuple(value.shape())
        return np.frombuffer(ctypes.string_at(value.data_ptr(), 2 * math.prod(shape)), BF16).reshape(shape)


LIBRARIES = {
    "tokamak": Tokamak,
    "numpy": NumPy,
    "torch": Torch,
    "jax": Jax,
    "numexpr": NumExpr,
    "numba": Numba,
    "onnx": Onnx,
}


def open_library(contestant: Contestant, threads: int) -> Library:
    np.seterr(all="ignore")
    return LIBRARIES[contestant.library](threads, contestant.options)


def keep_to(threads: int) -> None:
    """This process, and all it starts, on as many processors as there are threads."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[:threads])
