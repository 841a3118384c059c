"""tokamak.Array: memory, or, inside a jitted function, a value that is being recorded."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from . import _dtypes, _flags, _memory_order, _native, _ops, _sharing
from ._errors import Unsupported, UserTypeError, UserValueError, fail, make, naming, user_line
from ._numpy import (
    bits,
    contractions,
    creating,
    creation,
    dispatch,
    elementwise,
    flat,
    indexing,
    masked,
    reductions,
    scattering,
    searching,
    shapes,
    sorting,
    ufuncs,
    writing,
)
from ._numpy.known import plain
from ._numpy.operators import OPERANDS, assign_in_place, binary, unary
from ._unknown import (
    STATIC,
    TRACED,
    constant_value,
    need_numbers,
    unknown,
    unknown_elements,
    unknown_number,
    unknown_truth,
)

__all__ = ["Array", "array", "constant"]

CPU = "cpu"  # the only device there is
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")  # of the array API standard


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


class UnsupportedAttribute(Unsupported, AttributeError):
    """An attribute of ndarray that Array does not have."""


def check_device(device: Any) -> None:
    if device is not None and device != CPU:
        fail(UserValueError, f"device {device!r}: there is only {CPU!r}")


class Array(_native.ArrayBase):
    """An array with NumPy's operators, methods and functions.

    Inside a function given to `jit` it stands for a value that is computed later, and operations are recorded.
    Elsewhere it has memory, and operations run at once. Writing to it changes what it stands for, and all its views,
    as in NumPy; the memory it was made from stays as it is, unless it is an argument of a jitted function.
    """

    __slots__ = ("__weakref__", "_place")
    _place: _sharing.Place
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    __add__, __radd__, __iadd__ = binary(np.add, operator.add)
    __sub__, __rsub__, __isub__ = binary(np.subtract, operator.sub)
    __mul__, __rmul__, __imul__ = binary(np.multiply, operator.mul)
    __truediv__, __rtruediv__, __itruediv__ = binary(np.true_divide, operator.truediv)
    __floordiv__, __rfloordiv__, __ifloordiv__ = binary(np.floor_divide, operator.floordiv)
    __mod__, __rmod__, __imod__ = binary(np.remainder, operator.mod)
    __pow__, __rpow__, __ipow__ = binary(np.power, operator.pow)
    __and__, __rand__, __iand__ = binary(np.bitwise_and, lambda x, y: x & y)
    __or__, __ror__, __ior__ = binary(np.bitwise_or, lambda x, y: x | y)
    __xor__, __rxor__, __ixor__ = binary(np.bitwise_xor, lambda x, y: x ^ y)
    __lshift__, __rlshift__, __ilshift__ = binary(np.left_shift, lambda x, y: int(x) << int(y))
    __rshift__, __rrshift__, __irshift__ = binary(np.right_shift, lambda x, y: int(x) >> int(y))
    __eq__ = binary(np.equal, operator.eq)[0]
    __ne__ = binary(np.not_equal, operator.ne)[0]
    __lt__ = binary(np.less, operator.lt)[0]
    __le__ = binary(np.less_equal, operator.le)[0]
    __gt__ = binary(np.greater, operator.gt)[0]
    __ge__ = binary(np.greater_equal, operator.ge)[0]
    __neg__ = unary(np.negative, operator.neg)
    __pos__ = unary(np.positive, operator.pos)
    __abs__ = unary(np.absolute, abs)
    __invert__ = unary(np.invert, lambda x: ~int(x))

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

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other)

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self)

    def __matmul__(self, other: Any) -> Any:
        return contractions.matmul(self, other) if isinstance(other, OPERANDS) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return contractions.matmul(other, self) if isinstance(other, OPERANDS) else NotImplemented

    def __imatmul__(self, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            return NotImplemented
        return assign_in_place(self, contractions.matmul(self, other), np.matmul)

    # -- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return dispatch.array_ufunc(ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return dispatch.array_function(func, args, dict(kwargs))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._traced:
            unknown_elements(self)
        view = self._view(False)
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                fail(UserTypeError, f"a {view.dtype} array cannot become {np.dtype(dtype)} without a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    # -- The array API standard's

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version is not None and api_version not in VERSIONS:
            fail(
                UserValueError,
                f"version {api_version!r} of the array API is not there; {', '.join(VERSIONS)} are",
            )
        return sys.modules[__package__]

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if self._traced:
            unknown(self, "__dlpack__", STATIC)
        # Older versions of DLPack cannot say that memory is read-only, and NumPy then refuses to hand it over.
        options: Any = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        return self._view(not _sharing.is_read_only(self)).__dlpack__(stream=stream, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        check_device(device)
        if stream is not None:
            fail(UserValueError, f"to_device: the {CPU} has no streams")
        return self

    # -- Values

    def _value(self, what: str, remedy: str) -> Any:
        if not self._traced:
            return self._view(False)
        known = constant_value(self)
        if known is None:
            unknown(self, what, remedy)
        return known._view(False)

    def _number(self, what: str) -> Any:
        known = constant_value(self) if self._traced else self
        if known is None:
            unknown_number(self, what)
        return known._view(False)

    def __bool__(self) -> bool:
        known = constant_value(self) if self._traced else self
        if known is None:
            unknown_truth(self)
        return bool(known._view(False))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __float__(self) -> float:
        return float(self._number("float"))

    def __complex__(self) -> complex:
        return complex(self._value("complex()", STATIC))

    def __index__(self) -> int:
        return operator.index(
            self._value("using it as an integer (range, a shape, an index of a list)", STATIC)
        )

    def __round__(self, digits: int | None = None) -> Any:
        if self._weak is None:
            return elementwise.round_(self, digits or 0)
        if digits is not None:  # of the decimal digits that Python would show
            return round(self._weak(self._value("round()", STATIC)), digits)
        whole = ufuncs.call(np.rint, self) if self._weak is float else self
        return _ops.convert(whole, _dtypes.INT64)._with_weak(int)

    def item(self, *args: Any) -> Any:
        return self._value("item()", STATIC).item(*args)

    def tolist(self) -> Any:
        return self._value("tolist()", STATIC).tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return bytes(self._value("tobytes()", STATIC).tobytes(order))

    def numpy(self) -> np.ndarray:
        """The elements as a read-only ndarray over the same memory."""
        return self.__array__()

    def __len__(self) -> int:
        if self.ndim == 0:
            fail(UserTypeError, "len() of an array without axes")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            fail(UserTypeError, "iteration over an array without axes")
        return (indexing.getitem(self, i) for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> Any:
        return bool(reductions.any_(ufuncs.call(np.equal, self, value)))

    def __getitem__(self, key: Any) -> Any:
        under_mask = masked.getitem(self, key)
        return indexing.getitem(self, key) if under_mask is None else under_mask

    def __setitem__(self, key: Any, value: Any) -> None:
        writing.setitem(self, key, value)

    def fill(self, value: Any) -> None:
        writing.setitem(self, ..., value)

    def __repr__(self) -> str:
        if self._traced:
            need_numbers(self)
            return f"{TRACED}{self._type_text}>"
        text = np.array2string(self._view(False), separator=", ", prefix="Array(")
        return f"Array({text}, dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        return repr(self) if self._traced else format(self._view(False)[()], spec)

    def __copy__(self) -> Array:
        return _sharing.copied(self)

    def __deepcopy__(self, memo: Any) -> Array:
        return _sharing.copied(self)

    def __reduce__(self) -> Any:
        return (array, (np.array(self._value("pickling", STATIC)),))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'Array' object has no attribute {name!r}")
        raise make(
            UnsupportedAttribute,
            f"the ndarray attribute {name!r} is not there; see what Array has",
            user_line(),
        )

    # -- Attributes and methods of ndarray

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
    def real(self) -> Array:
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
    def strides(self) -> tuple[int, ...]:
        """As NumPy would have them."""
        return tuple(stride * self.itemsize for stride in _sharing.strides_of(self))

    @property
    def flags(self) -> _flags.Flags:
        return _flags.Flags(self)

    @property
    def base(self) -> Array | None:
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
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Array:
        wanted = _dtypes.check(dtype)
        if not np.can_cast(self.dtype, wanted, casting):
            fail(UserTypeError, f"cannot cast {self.dtype} to {wanted} with casting={casting!r}")
        made = _ops.convert(self, wanted)
        made = _memory_order.laid_out(made, _memory_order.named(order, self))
        made = _sharing.owned(made, (self,)) if copy else made
        return made if _sharing.is_scalar(self) else _sharing.with_memory(made)

    def copy(self, order: str = "C") -> Array:
        return creation.copied(self, order)

    def conj(self) -> Array:
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


def _name_methods() -> None:
    """Errors inside the methods of ndarray name them."""
    for name, member in list(vars(Array).items()):
        if not name.startswith("_") and isinstance(member, FunctionType):
            setattr(Array, name, naming(name)(member))


_name_methods()
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
