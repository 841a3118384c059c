"""Random numbers inside a traced function: they would be drawn once, and be the same in every call."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import _native
from ._errors import Error, Unsupported, Where, make, user_line

State = list[tuple[Any, Any]]  # generators, and the state of each

_LONG_TURN = 1.0  # seconds
_HALF_A_MICROSECOND = 5e-7  # intervals are cut off to whole ones

ADVICE = (
    "the numbers would be drawn once, while it is traced, and be the same in every call: draw them outside and pass them as an "
    "argument"
)


def states(found: list[Any]) -> State:
    """The state of the generators of NumPy and Python, and of those that the function finds somewhere."""
    generators = [*found, _numpys()]
    if (pythons := getattr(sys.modules.get("random"), "_inst", None)) is not None:
        generators.append(pythons)
    return [(one, _state_of(one)) for one in generators]


def _numpys() -> Any:
    """NumPy's own generator; None until it has loaded its random numbers, which another thread may be at."""
    return getattr(getattr(sys.modules.get("numpy.random"), "mtrand", None), "_rand", None)


def is_drawn(before: State) -> bool:
    for generator, state in before:
        if _state_of(generator) != state:
            return True
    return False


def are_loaded_since(before: State) -> bool:
    """Whether NumPy has loaded its random numbers meanwhile: whether some were drawn then is not known."""
    return any(generator is None for generator, _ in before) and _numpys() is not None


class DrawnMeanwhile(Error):
    """Ends a trace during which numbers were drawn, by the function or by another thread."""

    def __init__(self, refusal: Error) -> None:
        super().__init__("random numbers were drawn meanwhile")
        self.refusal = refusal  # for the former


class Undisturbed:
    """Inside, other threads, which may draw numbers as well, have to wait. Several threads may be inside at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._before = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if self._threads == 0:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(_LONG_TURN)
            self._threads += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._threads = max(self._threads - 1, 0)
            if self._threads == 0:
                sys.setswitchinterval(self._before + _HALF_A_MICROSECOND)

    def forget_other_threads(self) -> None:
        """In the child of a fork; a thread that forks while it traces is not inside any more either."""
        self._lock = threading.Lock()
        if self._threads > 0:
            self._threads = 0
            sys.setswitchinterval(self._before + _HALF_A_MICROSECOND)


undisturbed = Undisturbed()
os.register_at_fork(after_in_child=undisturbed.forget_other_threads)


def refusal(name: str, generators: list[Any], run: Callable[[], Any]) -> Error:
    """`run` does again what drew numbers, so that the line is found."""
    message = f"{name}: random numbers inside a jitted function are not supported: {ADVICE}"
    return make(Unsupported, message, _line_that_draws(generators, run) or user_line())


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
        return _numpys() is not None
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
