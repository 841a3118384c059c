"""What functions are called with, written as text: --args "f32[1024,1024], 3, axis=0"."""

from __future__ import annotations

import ast
import contextlib
import importlib
import math
import re
from typing import Any, NamedTuple

import numpy as np

from .. import _dtypes
from .._progress import Progress
from .failure import Failure, usage_error

__all__ = ["EXAMPLE", "Arguments", "parse"]

_DTYPES = {
    "bool": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
}
_NAMES = {**_DTYPES, **{name: name for name in _DTYPES.values()}}
_AT_A_TIME = 1 << 20  # elements: some milliseconds
EXAMPLE = 'such as --args "f32[1024,1024], i64[10], 3, axis=0"'


class Arguments(NamedTuple):
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    text: str


def parse(text: str, seed: int, *, is_filled: bool = True) -> Arguments:
    """Arrays are filled with made-up numbers: floats from a normal distribution, integers from 0 to 9. The same for the same seed. Those
    that are not filled take neither time nor memory."""
    if seed < 0:
        raise usage_error("--seed takes a number from 0 on")
    # Python has no empty index, which is a number of that type.
    readable = re.sub(r"\b(" + "|".join(_NAMES) + r")\[\s*\]", r"\1", text.strip())
    try:
        call = ast.parse(f"f({readable})", mode="eval").body
    except SyntaxError:
        raise usage_error(f"--args: cannot read '{text}'; write types and values, {EXAMPLE}") from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise usage_error(f"--args: cannot read '{text}'; write types and values, {EXAMPLE}")
    kwargs = {}
    with Progress("making up arguments") as progress:
        maker = _Maker(np.random.default_rng(seed), is_filled, progress)
        args = tuple(maker.value(node) for node in call.args)
        for keyword in call.keywords:
            if keyword.arg is None:
                raise usage_error("--args: ** has no place here")
            kwargs[keyword.arg] = maker.value(keyword.value)
    return Arguments(args, kwargs, text.strip())


class _Maker:
    def __init__(self, rng: np.random.Generator, is_filled: bool, progress: Progress) -> None:
        self._rng = rng
        self._is_filled = is_filled
        self._progress = progress

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name) and node.id in _NAMES:
            return self._made_up(node.id, ())[()]
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if node.value.id not in _NAMES:
                known = ", ".join(_DTYPES)
                raise usage_error(f"--args: there is no type '{node.value.id}'; there are {known}")
            return self._made_up(node.value.id, self._shape(node))
        if isinstance(node, ast.Tuple):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            keys = [ast.literal_eval(key) for key in node.keys if key is not None]
            return dict(zip(keys, map(self.value, node.values), strict=True))
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise usage_error(
                f"--args: '{ast.unparse(node)}' is neither a type nor a value; write them {EXAMPLE}"
            ) from None

    def _shape(self, node: ast.Subscript) -> tuple[int, ...]:
        sizes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        shape = [
            size.value for size in sizes if isinstance(size, ast.Constant) and isinstance(size.value, int)
        ]
        if len(shape) < len(sizes):
            raise usage_error(f"--args: '{ast.unparse(node)}' needs whole numbers as its shape")
        return tuple(shape)

    def _made_up(self, name: str, shape: tuple[int, ...]) -> Any:
        dtype = _dtype(_NAMES[name])
        try:
            made = np.zeros(shape, dtype)
            if self._is_filled or not shape:
                self._fill(made.reshape(-1), f"{name}{list(shape)}".replace(" ", ""))
        except (MemoryError, ValueError):
            size = math.prod(shape) * dtype.itemsize
            raise Failure(f"--args: there is no memory for {name}{list(shape)}: {size} bytes") from None
        return made

    def _fill(self, array: Any, what: str) -> None:
        """A part at a time, so that an interrupt is heard."""
        for first in range(0, array.size, _AT_A_TIME):
            self._progress.say(f"making up {what}, {100 * first // array.size} %")
            part = array[first : first + _AT_A_TIME]
            if part.dtype.kind in "biu":
                part[...] = self._rng.integers(0, 2 if part.dtype.kind == "b" else 10, part.size)
            else:
                single = part.dtype == np.float32
                part[...] = self._rng.standard_normal(part.size, np.float32 if single else np.float64)


def _dtype(name: str) -> np.dtype[Any]:
    if name != "bfloat16":
        return np.dtype(name)
    with contextlib.suppress(ImportError):
        importlib.import_module("ml_dtypes")
    found = _dtypes.know_bfloat16()
    if found is None:
        raise Failure("bf16 needs the package ml_dtypes")
    return found
