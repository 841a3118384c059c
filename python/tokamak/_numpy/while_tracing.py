"""What NumPy's functions without array arguments give while a function is traced.

`np.zeros(n)` is never asked to make an Array: no argument is one. But a function that fills the result with computed values,

    out = np.zeros(n)
    out[1:] = x[1:] - x[:-1]

needs one. So while a thread traces, the functions below are replaced in NumPy's namespace; for other threads, and for all callers but
the user's own lines, they do what they always do. Compiled code that calls `np.empty` expects memory, and its caller is, as far as
Python tells, the line that called the compiled code; so that line is read.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np

from .. import _native, _random, _sharing
from .._errors import unsupported
from .._ops import _holds_array, is_array
from .._registry import TABLE


def _of_our_dtype(place: int) -> Callable[..., bool]:
    """New memory is ours unless it is for complex numbers, objects or text. `place` is that of the dtype."""

    def is_ours(*args: Any, **kwargs: Any) -> bool:
        dtype = args[place] if len(args) > place else kwargs.get("dtype")
        return dtype is None or np.dtype(dtype).kind in "biufV"

    return is_ours


def _of_arrays(a: Any = None, *args: Any, **kwargs: Any) -> bool:
    return _holds_array([a])


def _at_computed_places(a: Any = None, indices: Any = None, *args: Any, **kwargs: Any) -> bool:
    """NumPy asks only the array whose function to call, not the indices."""
    return _holds_array([a, indices])


def _of_number(value: Any) -> bool:
    """What NumPy would have as a scalar."""
    return is_array(value) and value.ndim == 0 and not _sharing.is_shared(value)


def _without_seed(seed: Any = None) -> bool:
    return seed is None


def _refuse_generator(seed: Any = None) -> None:
    unsupported("np.random.default_rng() inside a jitted function", _random.ADVICE)


#: module, name -> which arguments make it ours, and what is done then: by default, what is done for Arrays
_REPLACED: dict[tuple[str, str], tuple[Callable[..., bool], Callable[..., Any] | None]] = {
    ("numpy", "zeros"): (_of_our_dtype(1), None),
    ("numpy", "empty"): (_of_our_dtype(1), None),
    ("numpy", "ones"): (_of_our_dtype(1), None),
    ("numpy", "full"): (_of_our_dtype(2), None),
    ("numpy", "array"): (_of_arrays, None),
    ("numpy", "asarray"): (_of_arrays, None),
    ("numpy", "asanyarray"): (_of_arrays, None),
    ("numpy", "ascontiguousarray"): (_of_arrays, None),
    ("numpy", "take"): (_at_computed_places, None),
    ("numpy", "isscalar"): (_of_number, lambda _: True),
    ("numpy.random", "default_rng"): (_without_seed, _refuse_generator),  # where it is loaded; see _random
}
_lock = threading.Lock()
_traces = 0
_replaced_now: list[tuple[Any, str, Any]] = []  # module, name, what it was


def _is_called_by(frame: Any, name: str) -> bool:
    """Whether the line that a frame is at calls what it knows as `name`, and is not a line of NumPy or this package."""
    module = frame.f_globals.get("__name__", "")
    return module.partition(".")[0] not in ("tokamak", "numpy") and name == _called_name(
        frame.f_code, frame.f_lasti
    )


@functools.lru_cache(maxsize=4096)
def _called_name(code: CodeType, offset: int) -> str | None:
    """The last name of what the call at an offset calls: "zeros" for np.zeros(3). The names of a.b(c) begin where the call
    does, and the one that ends last is that of the function. None where Python does not tell."""
    instructions = list(dis.get_instructions(code))
    call = max((one for one in instructions if one.offset <= offset), key=lambda one: one.offset)
    where = getattr(call, "positions", None)
    if where is None or where.lineno is None:
        return None
    names = [
        (one.positions.end_lineno, one.positions.end_col_offset, one.argval)
        for one in instructions
        if one.opname.startswith("LOAD_")
        and isinstance(one.argval, str)
        and one.positions is not None
        and (one.positions.lineno, one.positions.col_offset) == (where.lineno, where.col_offset)
        and (one.positions.end_lineno, one.positions.end_col_offset)
        < (where.end_lineno, where.end_col_offset)
    ]
    return max(names)[2] if names else None


def _replacement(module: str, name: str, original: Any) -> Any:
    is_ours, make = _REPLACED[module, name]
    make = make or TABLE[original]

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        if not (_native.is_tracing() and _is_called_by(sys._getframe(1), name)):
            return original(*args, **kwargs)
        wanted = {key: value for key, value in kwargs.items() if key != "like"}
        if is_array(kwargs.get("like")) or is_ours(*args, **wanted):
            return make(*args, **wanted)
        return original(*args, **kwargs)

    return replaced


@contextmanager
def recording() -> Iterator[None]:
    """Inside, arrays that the traced function makes are Arrays, to which traced values can be written."""
    global _traces
    with _lock:
        _traces += 1
        if _traces == 1:
            for module_name, name in _REPLACED:
                if (module := sys.modules.get(module_name)) is not None:
                    original = getattr(module, name)
                    _replaced_now.append((module, name, original))
                    setattr(module, name, _replacement(module_name, name, original))
    try:
        yield
    finally:
        with _lock:
            _traces -= 1
            if _traces == 0:
                _put_back()


def _put_back() -> None:
    while _replaced_now:
        setattr(*_replaced_now.pop())


def _forget_other_threads() -> None:
    """In the child of a fork: threads that traced are not there any more."""
    global _lock, _traces
    _lock = threading.Lock()
    if not _native.is_tracing():
        _traces = 0
        _put_back()


os.register_at_fork(after_in_child=_forget_other_threads)
