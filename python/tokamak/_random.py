"""Random numbers inside a traced function: they would be drawn once, and be the same in every call."""

from __future__ import annotations

import pickle
import sys
from typing import Any

from ._errors import Unsupported, fail

State = list[tuple[Any, Any]]  # generators, and the state of each

ADVICE = (
    "the numbers would be drawn once, while it is traced, and be the same in every call: draw them outside and pass them as an "
    "argument"
)


def states(found: list[Any]) -> State:
    """The state of the generators of NumPy and Python, and of those that the function finds somewhere."""
    generators = list(found)
    if (numpys := sys.modules.get("numpy.random")) is not None:
        generators.append(numpys.mtrand._rand)
    if (pythons := sys.modules.get("random")) is not None:
        generators.append(pythons._inst)
    if numpys is None:
        generators.append(None)
    return [(one, _state_of(one)) for one in generators]


def check_unchanged(name: str, before: State) -> None:
    if any(_state_of(generator) != state for generator, state in before):
        fail(
            Unsupported,
            f"{name}: random numbers inside a jitted function are not supported: {ADVICE}",
        )


def _state_of(generator: Any) -> Any:
    if generator is None:  # NumPy loads its random numbers when it is first asked for them
        return "numpy.random" in sys.modules
    if hasattr(generator, "getstate"):
        return generator.getstate()
    holder = generator.bit_generator if hasattr(generator, "bit_generator") else generator._bit_generator
    return pickle.dumps(holder.state)
