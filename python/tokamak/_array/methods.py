"""The attributes and methods of ndarray that Array has."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _flags, _memory_order, _ops, _sharing
from .._errors import UserTypeError, fail, naming
from .._numpy import bits, creating, creation, dispatch, flat, scattering, searching, shapes, sorting
from .protocols import CPU
from .values import Values

if TYPE_CHECKING:
    from . import Array

#: NumPy's functions that do the work of methods; while a function is traced, some have others in their place
_FUNCTIONS = {
    name: getattr(np, name)
    for name in (
        "all",
        "any",
        "argmax",
        "argmin",
        "choose",
        "clip",
        "compress",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "round",
        "std",
        "sum",
        "take",
        "trace",
        "var",
    )
}


def _call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return dispatch.array_function(_FUNCTIONS[name], args, kwargs, is_method=True)


class Methods(Values):
    """Arguments are those of NumPy's methods."""

    __slots__ = ()

    @property
    def T(self) -> Array:  # noqa: N802 - NumPy's name
        return shapes.transpose(self)

    @property
    def mT(self) -> Array:  # noqa: N802 - NumPy's name
        return shapes.swapaxes(self, -1, -2)

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return int(self.size * self.dtype.itemsize)

    @property
    def real(self: Any) -> Array:
        return self

    @property
    def flat(self) -> Any:
        return flat.Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        flat.Flat(self)[...] = value

    def view(self, dtype: Any = None, type: Any = None) -> Array:
        return bits.view(self, dtype, type)

    @property
    def strides(self: Any) -> tuple[int, ...]:
        """As NumPy would have them."""
        return tuple(stride * self.itemsize for stride in _sharing.strides_of(self))

    @property
    def flags(self: Any) -> _flags.Flags:
        return _flags.Flags(self)

    @property
    def base(self: Any) -> Array | None:
        return _sharing.base_of(self)

    @property
    def imag(self) -> Array:
        made = creating.imag(self)
        _sharing.make_read_only(made)
        return made

    @property
    def device(self) -> str:
        return CPU

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
        return shapes.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)

    def transpose(self, *axes: Any) -> Array:
        if not axes or axes == (None,):
            return shapes.transpose(self)
        return shapes.transpose(self, axes[0] if len(axes) == 1 and np.ndim(axes[0]) else axes)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        return shapes.swapaxes(self, axis1, axis2)

    def ravel(self, order: str = "C") -> Array:
        return shapes.ravel(self, order)

    def flatten(self, order: str = "C") -> Array:
        return _sharing.fresh(shapes.ravel(self, order))

    def squeeze(self, axis: Any = None) -> Array:
        return shapes.squeeze(self, axis)

    def repeat(self, repeats: Any, axis: Any = None) -> Array:
        return _sharing.owned(shapes.repeat(self, repeats, axis), (self,))

    def astype(
        self: Any,
        dtype: Any,
        order: str = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Array:
        wanted = _dtypes.check(dtype)
        if not np.can_cast(self.dtype, wanted, casting):
            fail(UserTypeError, f"cannot cast {self.dtype} to {wanted} with casting={casting!r}")
        made = _ops.convert(self, wanted)
        made = _memory_order.asked_for(made, order, self)
        made = _sharing.owned(made, (self,)) if copy else made
        return made if _sharing.is_scalar(self) else _sharing.with_memory(made)

    def copy(self, order: str = "C") -> Array:
        return creation.copied(self, order)

    def conj(self: Any) -> Array:
        return self

    conjugate = conj

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Array:
        return _call("clip", (self, min, max, out), kwargs)

    def round(self, decimals: int = 0, out: Any = None) -> Array:
        return _call("round", (self, decimals, out), {})

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Array:
        return _call("take", (self, indices, axis, out, mode), {})

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Array:
        return _call("choose", (self, choices, out, mode), {})

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Array:
        return _call("compress", (condition, self, axis, out), {})

    def nonzero(self) -> tuple[Array, ...]:
        return _call("nonzero", (self,), {})

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        return _call("diagonal", (self, offset, axis1, axis2), {})

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> Array:
        return _call("trace", (self, offset, axis1, axis2, dtype, out), {})

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        scattering.put(self, indices, values, mode)

    def sum(self, *args: Any, **kwargs: Any) -> Array:
        return _call("sum", (self, *args), kwargs)

    def prod(self, *args: Any, **kwargs: Any) -> Array:
        return _call("prod", (self, *args), kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Array:
        return _call("mean", (self, *args), kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Array:
        return _call("var", (self, *args), kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Array:
        return _call("std", (self, *args), kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Array:
        return _call("max", (self, *args), kwargs)

    def min(self, *args: Any, **kwargs: Any) -> Array:
        return _call("min", (self, *args), kwargs)

    def any(self, *args: Any, **kwargs: Any) -> Array:
        return _call("any", (self, *args), kwargs)

    def all(self, *args: Any, **kwargs: Any) -> Array:
        return _call("all", (self, *args), kwargs)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Array:
        return _call("argmax", (self, axis, out), {"keepdims": keepdims})

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Array:
        return _call("argmin", (self, axis, out), {"keepdims": keepdims})

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
        return _call("cumsum", (self, axis, dtype, out), {})

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
        return _call("cumprod", (self, axis, dtype, out), {})

    def sort(self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        sorting.sort_in_place(self, axis, kind, order, stable=stable)

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Array:
        return sorting.argsort(self, axis, kind, order, stable=stable)

    def partition(self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> None:
        sorting.partition_in_place(self, kth, axis, kind, order)

    def argpartition(self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Array:
        return sorting.argpartition(self, kth, axis, kind, order)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Array:
        return searching.searchsorted(self, v, side, sorter)

    def dot(self, b: Any, out: Any = None) -> Array:
        return _call("dot", (self, b, out), {})


def name_methods(*classes: type) -> None:
    """Errors inside the methods of ndarray name them."""
    for one in classes:
        for name, member in list(vars(one).items()):
            if not name.startswith("_") and isinstance(member, FunctionType):
                setattr(one, name, naming(name)(member))
