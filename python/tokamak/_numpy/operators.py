"""Python's operators on Arrays: as x op y, y op x and x op= y, with NumPy's rules, or Python's where both are its numbers."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _sharing
from .._errors import UserTypeError, fail
from .._native import ArrayBase
from .._ops import as_array, convert, full, is_array, is_number
from . import numbers, ufuncs, writing

if TYPE_CHECKING:
    from .._array import Array

#: Array first: of one, the classes before it would have to be told what it stands for
OPERANDS = (ArrayBase, bool, int, float, np.generic, np.ndarray, list, tuple)
_EQUALITIES = (np.equal, np.not_equal)
_DIVISIONS = (np.true_divide, np.floor_divide, np.remainder)


def binary(ufunc: np.ufunc, python: Callable[[Any, Any], Any]) -> tuple[Any, Any, Any]:
    """An operator: as x op y, y op x and x op= y."""

    def forward(self: Array, other: Any) -> Any:
        if _is_operand(self, other, ufunc):
            return _operate(ufunc, python, self, other)
        if ufunc in _EQUALITIES and self._weak is None and _is_no_number(other):
            return full(self.shape, ufunc == np.not_equal, _dtypes.BOOL)
        return NotImplemented

    def reflected(self: Array, other: Any) -> Any:
        return _operate(ufunc, python, other, self) if _is_operand(self, other, ufunc) else NotImplemented

    def in_place(self: Array, other: Any) -> Any:
        if not _is_operand(self, other, ufunc):
            return NotImplemented
        return assign_in_place(self, _operate(ufunc, python, self, other), ufunc)

    return forward, reflected, in_place


def _is_operand(x: Array, value: Any, ufunc: np.ufunc) -> bool:
    if isinstance(value, ArrayBase):
        return True
    if isinstance(value, (list, tuple)) and (x._weak is not None or (ufunc == np.multiply and _is_count(x))):
        return False  # n * [0] repeats the list, and [0] + n is an error
    if type(value) is complex:
        fail(
            UserTypeError,
            f"{ufunc.__name__}: complex numbers are not supported; compute with real and imaginary parts",
        )
    return isinstance(value, OPERANDS)


def _is_no_number(value: Any) -> bool:
    """What no element of an array is equal to: None, text, objects that are equal only to themselves."""
    kind: Any = type(value)
    return value is None or isinstance(value, (str, bytes, dict, set)) or kind.__eq__ is object.__eq__


def _is_count(x: Array) -> bool:
    """An integer that NumPy would have as a scalar, by which lists are repeated."""
    return x._traced and x.dtype.kind in "iu" and _sharing.is_scalar(x)


def _weak_of(value: Any) -> Any:
    if isinstance(value, ArrayBase):
        return value._weak
    return type(value) if is_number(value) else None


def _is_array(x: Any) -> bool:
    """Not one of NumPy's scalars."""
    return is_array(x) and not _sharing.is_scalar(x)


def _operate(ufunc: np.ufunc, python: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    kinds = _weak_of(x), _weak_of(y)
    if kinds[0] is None or kinds[1] is None:
        if ufunc == np.power and _is_array(x) and type(y) is int and y == 2:
            return ufuncs.call(np.square, x)  # so does NumPy; of bool the dtype is another one
        return ufuncs.call(ufunc, x, y)
    # Both are Python's numbers, traced or not: so is the result.
    kind = type(python(kinds[0](1), kinds[1](1)))
    if ufunc in _DIVISIONS:
        y = numbers.divisor(y, ufunc)
    if ufunc == np.power:
        x, y, kind = numbers.power(x, y, kind)
    x, y = (
        convert(as_array(value), _dtypes.INT64) if given is bool and kind is not bool else value
        for value, given in zip((x, y), kinds, strict=True)
    )
    if kind is bool and {*kinds} == {int, float}:
        return numbers.compared(ufunc, x, y)._with_weak(bool)
    result = convert(ufuncs.call(ufunc, x, y), _dtypes.default_of(kind))
    if kind is int:
        result = numbers.within_64_bits(ufunc, x, y, result)
    elif ufunc == np.power:
        result = numbers.real_power(x, y, result)
    return result._with_weak(kind)


def assign_in_place(x: Array, result: Any, ufunc: np.ufunc) -> Any:
    """What x op= y leaves in x: the result, in the memory of x. Numbers and scalars have no memory: they are replaced."""
    if _sharing.is_scalar(x):
        return result
    _sharing.write(x, writing.fitting_result(x, result, ufunc.__name__, "same_kind"), ufunc.__name__)
    return x


def unary(ufunc: np.ufunc, python: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def method(self: Array) -> Any:
        if self._weak is None:
            return ufuncs.call(ufunc, self)
        kind = type(python(self._weak(1)))
        operand = convert(self, _dtypes.default_of(kind))
        result = ufuncs.call(ufunc, operand)
        if kind is int and ufunc in (np.negative, np.absolute):
            result = numbers.within_64_bits(np.subtract, 0, operand, result)
        return result._with_weak(kind)

    return method
