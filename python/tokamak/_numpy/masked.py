"""x[mask] with a mask that is computed: how many elements it has depends on values.

Most programs do with them what can be done to all elements and then put where the mask is true:

    a[mask] += 1          a[mask] = np.sqrt(b[mask])          a[mask].sum()

So x[mask] stands for x, of which only the elements under the mask count. Element-wise operations with numbers, and with others under the
same mask, are done on all; reductions leave the others out; and `a[mask] = ...` takes it. Masks are the same when they are computed in
the same way: `x[x > 0] = np.sqrt(x[x > 0])`. Whatever needs the number of elements is refused.
"""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .. import _dtypes, _sharing
from .._errors import Unsupported, UserIndexError, fail, make, user_line
from .._native import ArrayBase, is_same_value
from .._ops import as_array, broadcast, is_array, reshape
from .._registry import TABLE
from . import ufuncs, under_mask
from .indexing import basic, expanded, is_index_array
from .reductions import axes_of

_WHY = "because how many elements are true depends on values"
_INSTEAD = "use np.where(mask, x, 0), or where= of a reduction"
_COUNT = "mask.sum() counts them"
_FIRST = "np.argmax(mask) is the place of the first, and x[np.argmax(mask)] that element"
_RETURN = "return np.where(mask, x, 0), or return x and the mask and select outside the jitted function"
_LAST = "use np.sort(np.where(mask, x, np.inf)), which has the others at its end"


def refuse(what: str, instead: str = _INSTEAD) -> NoReturn:
    fail(Unsupported, f"{what} is not supported, {_WHY}: {instead}")


def refuse_returning(elements: Masked) -> NoReturn:
    raise make(Unsupported, f"returning x[mask] is not supported, {_WHY}: {_RETURN}", elements.where)


def everywhere(mask: Any, x: Any, axis: int = 0) -> Any:
    """The mask, for every element of x: it may cover only some axes, from one on."""
    if tuple(mask.shape) != tuple(x.shape[axis : axis + mask.ndim]):
        place = f" from axis {axis} on" if axis else ""
        fail(
            UserIndexError, f"a boolean mask of shape {tuple(mask.shape)} does not fit {x._type_text}{place}"
        )
    return broadcast(reshape(mask, [*mask.shape, *[1] * (x.ndim - axis - mask.ndim)]), x.shape)


#: Those that take where=, and so can leave elements out.
_REDUCTIONS = (np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all)


#: Keywords of reductions that do not ask which elements there are
_OPTIONS = {"axis", "dtype", "keepdims", "ddof", "correction"}


def is_same_mask(a: Any, b: Any) -> bool:
    return a is b or (a.shape == b.shape and is_same_value(a, b))


def _reduced(function: Callable[..., Any], elements: Masked, *args: Any, **options: Any) -> Any:
    """x[mask] has one axis for all those of the mask, then those behind it."""
    if len(args) > 1 or set(options) - _OPTIONS or (args and "axis" in options):
        refuse(f"np.{function.__name__} of x[mask] with these arguments")
    axis = args[0] if args else options.pop("axis", None)
    mask, values = elements.mask, elements.values
    behind = values.ndim - mask.ndim
    axes = axes_of(elements, axis)
    inside = [i for one in axes for i in (range(mask.ndim) if one == 0 else [one - 1 + mask.ndim])]
    if 0 not in axes:  # for every element of the mask one result
        return Masked(TABLE[function](values, axis=tuple(inside), **options), mask)
    keepdims = options.pop("keepdims", False)
    where = everywhere(mask, values)
    result = TABLE[function](values, axis=tuple(inside), where=where, **options)
    if not keepdims:
        return result
    return result.reshape([1 if i in axes else values.shape[i - 1 + mask.ndim] for i in range(1 + behind)])


def _reduced_otherwise(function: Callable[..., Any], elements: Masked, *args: Any, **options: Any) -> Any:
    """The same for those that take no where=; some have arguments of their own before the axis."""
    count = under_mask.MORE.get(function, 0)
    more, rest = args[:count], args[count:]
    if (
        len(more) < count
        or len(rest) > 1
        or set(options) - {"axis", "keepdims"}
        or (rest and "axis" in options)
    ):
        refuse(f"np.{function.__name__} of x[mask] with these arguments")
    axis = rest[0] if rest else options.get("axis")
    mask, values = elements.mask, elements.values
    axes = axes_of(elements, axis)
    inside = tuple(i for one in axes for i in (range(mask.ndim) if one == 0 else [one - 1 + mask.ndim]))
    if 0 not in axes:
        return Masked(TABLE[function](values, *more, axis=inside), mask)
    if len(inside) < values.ndim and function in under_mask.WHOLE:
        refuse(f"np.{function.__name__} of x[mask] along some axes")
    result = under_mask.REDUCTIONS[function](values, everywhere(mask, values), inside, *more)
    if not options.get("keepdims", False):
        return result
    kept = [1 if i in axes else values.shape[i - 1 + mask.ndim] for i in range(elements.ndim)]
    return result.reshape([*result.shape[: result.ndim - (values.ndim - len(inside))], *kept])


def _product(a: Any, b: Any) -> Any:
    """The sum of the products of elements under one mask, of one axis each."""
    for one in (a, b):
        if not isinstance(one, Masked) or one.ndim != 1 or one.dtype.kind == "b":
            refuse("a product of x[mask] and something else")
    product = a * b
    return product.sum(dtype=product.dtype)


def _average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return a.mean(axis=axis)
    if axis not in (None, 0) or not isinstance(weights, Masked):
        refuse("np.average of x[mask] with these arguments")
    dtype = np.result_type(a.dtype, weights.dtype, *([] if _dtypes.is_float(a.dtype) else [np.float64]))
    total = weights.astype(dtype)
    return (a.astype(dtype) * total).sum() / total.sum()


_PRODUCTS = (np.dot, np.inner, np.vdot)
_AVERAGE = np.average
_ADVICE = {np.sort: _LAST, np.size: _COUNT, np.shape: _COUNT}


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    how = _reduced_otherwise if function in under_mask.REDUCTIONS else _reduced
    return lambda elements, *args, **options: how(function, elements, *args, **options)


class Masked(np.lib.mixins.NDArrayOperatorsMixin):
    """The elements of `values` that are under a mask."""

    __slots__ = ("mask", "values", "where")
    __array_priority__ = 2000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, mask: Any) -> None:
        self.values = values
        self.mask = mask
        self.where = user_line()

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return 1 + self.values.ndim - self.mask.ndim

    @property
    def _type_text(self) -> str:
        return f"{self.values._type_text} under a mask"

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        what = f"np.{ufunc.__name__} of x[mask]"
        out = options.pop("out", None)
        if ufunc in (np.matmul, np.vecdot) and method == "__call__" and not options and out is None:
            return _product(*inputs)
        if method != "__call__" or set(options) - {"dtype"} or ufunc.signature is not None:
            refuse(what)
        operands = [self._operand(value, what) for value in inputs]
        result = ufuncs.call(ufunc, *operands, **options)
        if isinstance(result, tuple):
            return tuple(Masked(one, self.mask) for one in result)
        if out is None:
            return Masked(result, self.mask)
        (target,) = out
        if not isinstance(target, Masked):
            refuse(what)
        target.values = result.astype(target.values.dtype, casting="same_kind")
        return target

    def _operand(self, value: Any, what: str) -> Any:
        if isinstance(value, Masked):
            if not is_same_mask(value.mask, self.mask) or value.values.shape != self.values.shape:
                refuse(f"{what} with elements under another mask")
            return value.values
        if is_array(value) or isinstance(value, np.ndarray):
            array = as_array(value)
            behind = self.values.ndim - self.mask.ndim
            if array.ndim > behind:
                refuse(f"{what} with {array._type_text}")
            return array
        return value

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _PRODUCTS and len(args) == 2 and not kwargs:
            return _product(*args)
        if not args or args[0] is not self:
            refuse(f"np.{func.__name__} of x[mask]")
        if func is _AVERAGE:
            return _average(*args, **kwargs)
        if func in under_mask.REDUCTIONS:
            return _reduced_otherwise(func, *args, **kwargs)
        if func not in _REDUCTIONS:
            refuse(f"np.{func.__name__} of x[mask]", _ADVICE.get(func, _INSTEAD))
        return _reduced(func, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'Masked' object has no attribute {name!r}")
        refuse(
            f"x[mask].{name}", _COUNT if name in ("shape", "size") else _LAST if name == "sort" else _INSTEAD
        )

    def __getitem__(self, key: Any) -> Any:
        """x[mask][:, k]: the same of every element."""
        items = key if isinstance(key, tuple) else (key,)
        if not items or not isinstance(items[0], slice) or items[0] != slice(None):
            refuse("indexing x[mask]", _FIRST)
        at = [
            i
            for i, item in enumerate(items)
            if is_index_array(item) or isinstance(item, (list, int, np.integer))
        ]
        if len(at) > 1 and any(is_index_array(items[i]) or isinstance(items[i], list) for i in at):
            refuse("indexing x[mask] with several arrays")
        return Masked(self.values[(slice(None),) * self.mask.ndim + items[1:]], self.mask)

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse("assigning to elements of x[mask]")

    def __len__(self) -> int:
        refuse("len(x[mask])", _COUNT)

    def __iter__(self) -> Any:
        refuse("iterating over x[mask]")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        refuse("x[mask] as an array")

    def __bool__(self) -> bool:
        refuse("the truth of x[mask]")

    def astype(self, dtype: Any) -> Masked:
        return Masked(self.values.astype(dtype), self.mask)

    def copy(self) -> Masked:
        return Masked(self.values, self.mask)

    sum = _reduction(np.sum)
    prod = _reduction(np.prod)
    mean = _reduction(np.mean)
    var = _reduction(np.var)
    std = _reduction(np.std)
    max = _reduction(np.max)
    min = _reduction(np.min)
    argmax = _reduction(np.argmax)
    argmin = _reduction(np.argmin)
    dot = _product
    any = _reduction(np.any)
    all = _reduction(np.all)


def is_computed_mask(key: Any) -> bool:
    return isinstance(key, ArrayBase) and key._traced and key.dtype.kind == "b"


def is_mask(key: Any) -> bool:
    """Whether it is one that is computed, or that is known already."""
    return is_computed_mask(key) or (is_index_array(key) and key.dtype.kind == "b" and key.ndim > 0)


def _is_basic(item: Any) -> bool:
    is_integer = isinstance(item, (int, np.integer)) and not isinstance(item, (bool, ArrayBase))
    return item is None or item is Ellipsis or isinstance(item, slice) or is_integer


def view_under_mask(
    x: Any, key: Any, counts: Callable[[Any], bool] = is_computed_mask
) -> tuple[Any, Any, int] | None:
    """x[mask, 0], x[1:, mask]: the view of x that the rest of the key gives, the mask and the axis of the view where it
    begins. None if the key is not of that kind: one mask that counts, beside integers, slices, ellipsis and newaxis."""
    items = list(key) if isinstance(key, tuple) else [key]
    at = [i for i, item in enumerate(items) if counts(item)]
    if len(at) != 1 or not all(_is_basic(item) for i, item in enumerate(items) if i != at[0]):
        return None
    mask, before, after = items[at[0]], items[: at[0]], items[at[0] + 1 :]
    if not before and not after:
        return x, mask, 0
    view = basic(x, expanded(x, (*before, *[slice(None)] * mask.ndim, *after)))
    if Ellipsis in before:
        return view, mask, view.ndim - _axes_that_stay(after) - mask.ndim
    return view, mask, _axes_that_stay(before)


def _axes_that_stay(items: list[Any]) -> int:
    return sum(item is None or isinstance(item, slice) for item in items)


def getitem(x: Any, key: Any) -> Masked | None:
    """x[mask], x[mask, 0], x[0, mask]. None if there is no such mask, or other axes come first."""
    found = view_under_mask(x, key)
    if found is None or found[2] != 0:
        return None
    view, mask, _ = found
    everywhere(mask, view)
    return Masked(_sharing.fresh(view), _sharing.fresh(mask))  # both may be written to later
