"""Random numbers inside a traced function: they would be drawn once, and be the same in every call."""

from __future__ import annotations

import pickle
import sys
from typing import Any

from ._errors import Unsupported, fail

State = (
    list[tuple[Any, bytes]] | None
)  # None: numpy.random, which NumPy loads when it is first asked for, is not there

ADVICE = (
    "the numbers would be drawn once, while it is traced, and be the same in every call: draw them outside and pass them as an "
    "argument"
)


def states(found: list[Any]) -> State:
    """The state of NumPy's own generator, and of those that the function finds somewhere."""
    random = sys.modules.get("numpy.random")
    if random is None:
        return None
    kinds = (random.Generator, random.RandomState)
    generators = [random.mtrand._rand, *(one for one in found if isinstance(one, kinds))]
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
