"""np.vectorize, np.r_ and np.c_: what NumPy does in Python, without asking Arrays. While a function is traced, these take its place."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserValueError, fail, unsupported
from .._ops import as_array, broadcast, broadcast_shapes, convert, is_array, reshape

#: The class of np.r_ and np.c_, and the module whose `array` makes arrays of what they are given
Concatenator: Any = type(np.r_).__mro__[1]


def vectorize(function: Any, *args: Any, **kwargs: Any) -> Any:
    """np.vectorize(f)(x): f is called with arrays for numbers, which is the same if it is element-wise. NumPy calls it with
    scalars of the dtypes of the arguments to find those of the results, and then with Python's numbers."""
    if function.signature is not None:
        unsupported("np.vectorize with signature=", "write the loop with NumPy functions over the other axes")
    arrays = _mapped(function, args, kwargs, lambda one: convert(as_array(one), as_array(one).dtype))
    taken = [one for i, one in enumerate(arrays[0]) if i not in function.excluded]
    taken += [one for name, one in arrays[1].items() if name not in function.excluded]
    shape = broadcast_shapes("np.vectorize", [one.shape for one in taken])
    if 0 in shape and function.otypes is None:
        fail(UserValueError, "np.vectorize: cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    results = function.pyfunc(*arrays[0], **arrays[1])
    several = isinstance(results, tuple)
    dtypes = function.otypes or [as_array(one).dtype for one in (results if several else (results,))]
    if any(one.dtype != _wide(one).dtype for one in taken):
        wide = _mapped(function, args, kwargs, _wide)
        results = function.pyfunc(*wide[0], **wide[1])
    made = [
        _sharing.with_memory(broadcast(convert(as_array(one), _dtypes.check(dtype)), shape))
        for one, dtype in zip(results if several else (results,), dtypes, strict=True)
    ]
    return tuple(made) if several else made[0]


def _mapped(function: Any, args: Any, kwargs: Any, change: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The arguments, those that are not excluded changed."""
    excluded = function.excluded
    return (
        [one if i in excluded else change(one) for i, one in enumerate(args)],
        {name: one if name in excluded else change(one) for name, one in kwargs.items()},
    )


def _wide(value: Any) -> Any:
    """As one of Python's numbers, which have 64 bits."""
    x = as_array(value)
    kind = {"b": bool, "i": int, "u": int}.get(x.dtype.kind, float)
    return convert(x, x.dtype if x.dtype == np.uint64 else _dtypes.default_of(kind))


_join = Concatenator.__getitem__


def joined(builder: Any, key: Any) -> Any:
    """np.r_[key] with Arrays in the key. Numbers that are traced adopt the dtype of the arrays, as others do."""
    items = key if isinstance(key, tuple) else (key,)
    dtypes = [
        one.dtype for one in items if is_array(one) and one._weak is None or isinstance(one, np.ndarray)
    ]
    kinds = [one._weak(1) for one in items if is_array(one) and one._weak is not None]
    if kinds:
        dtype = np.result_type(*dtypes, *kinds)
        items = tuple(
            convert(one, dtype) if is_array(one) and one._weak is not None else one for one in items
        )
    return _join(builder, items)


def array_of_part(value: Any, *args: Any, ndmin: int = 0, dtype: Any = None, **options: Any) -> Any:
    """The `np.array` that makes arrays of the parts of a key."""
    made = as_array(value)
    if dtype is not None:
        made = convert(made, _dtypes.check(dtype))
    return made if made.ndim >= ndmin else reshape(made, [*[1] * (ndmin - made.ndim), *made.shape])
