"""Random numbers inside a traced function: they would be drawn once, and be the same in every call."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from . import _native
from ._errors import Unsupported, Where, make, user_line

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


def is_drawn(before: State) -> bool:
    for generator, state in before:
        if _state_of(generator) != state:
            return True
    return False


def are_loaded_since(before: State) -> bool:
    """Whether NumPy has loaded its random numbers meanwhile: whether some were drawn then is not known."""
    return before[-1][0] is None and "numpy.random" in sys.modules


def refuse(name: str, generators: list[Any], run: Callable[[], Any]) -> NoReturn:
    """`run` does again what drew numbers, so that the line is found."""
    message = f"{name}: random numbers inside a jitted function are not supported: {ADVICE}"
    raise make(Unsupported, message, _line_that_draws(generators, run) or user_line())


def _line_that_draws(generators: list[Any], run: Callable[[], Any]) -> Where | None:
    """Runs the function line by line, and looks at the generators after each."""
    state = states(generators)
    last: Where | None = None
    found: Where | None = None

    def each_line(frame: Any, event: str, argument: Any) -> Any:
        nonlocal found, last
        if found is None and is_drawn(state):
            found = last
        code = frame.f_code
        last = (code.co_filename, frame.f_lineno, code.co_name)
        return each_line

    def each_call(frame: Any, event: str, argument: Any) -> Any:
        where = user_line()
        is_users = where is not None and where[0] == frame.f_code.co_filename
        return each_line(frame, event, argument) if is_users else None

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        run()
    except Exception:
        return found
    finally:
        sys.settrace(before)
    return found


def _state_of(generator: Any) -> Any:
    if generator is None:  # NumPy loads its random numbers when it is first asked for them
        return "numpy.random" in sys.modules
    if hasattr(generator, "getstate"):
        if type(generator).__module__ != "random":
            return generator.getstate()
        return _native.object_bytes(generator), getattr(generator, "gauss_next", None)
    holder = generator.bit_generator if hasattr(generator, "bit_generator") else generator._bit_generator
    if not type(holder).__module__.startswith("numpy.random."):
        return pickle.dumps(holder.state)
    # All of the state is inside of both: a RandomState keeps every second normal number for the next call. To ask for it takes
    # NumPy and Python longer than a function of a few operations takes to be traced.
    return _native.object_bytes(generator), _native.object_bytes(holder)
