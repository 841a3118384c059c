"""tokamak.Array: memory, or, inside a jitted function, a value that is being recorded.

A class for each side of it, each with those before: operators, protocols, values, methods.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _native, _ops, _sharing
from .._errors import UserTypeError, fail
from .._numpy.known import plain
from .._unknown import unknown
from .methods import Methods, name_methods
from .protocols import CPU, VERSIONS, Protocols, check_device
from .values import Values

__all__ = ["CPU", "VERSIONS", "Array", "array", "check_device", "constant"]


class Array(Methods):
    """An array with NumPy's operators, methods and functions.

    Inside a function given to `jit` it stands for a value that is computed later, and operations are recorded.
    Elsewhere it has memory, and operations run at once. Writing to it changes what it stands for, and all its views,
    as in NumPy; the memory it was made from stays as it is, unless it is an argument of a jitted function.
    """

    __slots__ = ("__weakref__", "_place")
    _place: _sharing.Place

    @property
    def __class__(self) -> Any:
        """While a function is traced, what NumPy would have there: isinstance(x, np.ndarray) holds for an array, isinstance(n, int)
        for a number, and isinstance(x.sum(), np.floating) for a scalar."""
        if self._weak is not None:
            return self._weak
        if not self._traced and not _native.is_tracing():
            return Array
        return np.ndarray if self.ndim > 0 or _sharing.is_shared(self) else self.dtype.type

    @__class__.setter
    def __class__(self, value: Any) -> None:
        fail(UserTypeError, "the class of an Array cannot be changed")


name_methods(Protocols, Values, Methods)
_native.set_array_class(Array)
_native.set_lookup(lambda table, key: _ops.as_array(table)[key])


def array(values: Any, dtype: Any = None) -> Array:
    """An Array with its own copy of `values`."""
    if isinstance(values, Array):
        made = _sharing.fresh(plain(values)) if dtype is None else values.astype(dtype)
        return _sharing.with_memory(made)
    if isinstance(values, (list, tuple)) and _ops._holds_array(values):
        made = _ops.as_array(values)
        return made if dtype is None else made.astype(dtype)
    copied = np.array(values, None if dtype is None else _dtypes.check(dtype), order="C")
    _dtypes.check(copied.dtype)
    return _sharing.with_memory(_ops.as_array(copied))


def constant(values: Any, dtype: Any = None) -> Array:
    """An Array that is part of the program of every jitted function that uses it: a copy of `values`, frozen.

    Arrays that a jitted function captures (from a closure, a global, a default) are such constants already, but looked
    at in every call, since they may change; this one cannot. It also makes a constant of what is passed: as an
    argument, inside a list or dict of parameters, or as an attribute of the instance of a jitted method. The program is compiled for this very object: what depends on constants only is computed while
    compiling, and the weights of matrix products are packed once. Another constant needs another program, so this is
    for what stays, such as weights in inference.
    """
    made = array(values, dtype)
    if made._traced:
        unknown(made, "tk.constant", "make the constant outside, and pass it to the jitted function")
    frozen = made._as_constant()
    _sharing.make_read_only(frozen)
    return frozen
