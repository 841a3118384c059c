"""Random numbers inside a traced function: they would be drawn once, and be the same in every call."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from ._errors import Unsupported, fail

State = (
    list[tuple[Any, bytes]] | None
)  # None: numpy.random, which NumPy loads when it is first asked for, is not there

ADVICE = (
    "the numbers would be drawn once, while it is traced, and be the same in every call: draw them outside and pass them as an "
    "argument"
)


def states(function: Callable[..., Any]) -> State:
    """The state of NumPy's own generator, and of those that the function finds in its closure, its defaults or its globals."""
    random = sys.modules.get("numpy.random")
    if random is None:
        return None
    kinds = (random.Generator, random.RandomState)
    generators = [random.mtrand._rand, *(one for one in _reachable(function) if isinstance(one, kinds))]
    return [(one, _state_of(one)) for one in generators]


def check_unchanged(name: str, before: State) -> None:
    if before is None:
        drawn = "numpy.random" in sys.modules
    else:
        drawn = any(_state_of(generator) != state for generator, state in before)
    if drawn:
        fail(
            Unsupported,
            f"{name}: random numbers inside a jitted function are not supported: {ADVICE}",
        )


def _state_of(generator: Any) -> bytes:
    holder = generator.bit_generator if hasattr(generator, "bit_generator") else generator._bit_generator
    return pickle.dumps(holder.state)


def _reachable(function: Callable[..., Any]) -> Iterator[Any]:
    function = getattr(function, "__func__", function)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from getattr(function, "__defaults__", None) or ()
    code = getattr(function, "__code__", None)
    if code is not None:
        known = function.__globals__
        yield from (known[name] for name in _names(code) if name in known)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
