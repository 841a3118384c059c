"""The operators of Array."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import _native
from .._numpy import contractions
from .._numpy.operators import OPERANDS, assign_in_place, binary, unary


class Operators(_native.ArrayBase):
    """Python's operators, with NumPy's meaning.

    In the classes that Array is made of, `self` is Any where what is called wants an Array: there is no other.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

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
    __invert__ = unary(np.invert, lambda x: ~int(x) if isinstance(x, bool) else ~x)

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other)

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self)

    def __matmul__(self, other: Any) -> Any:
        return contractions.matmul(self, other) if isinstance(other, OPERANDS) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return contractions.matmul(other, self) if isinstance(other, OPERANDS) else NotImplemented

    def __imatmul__(self: Any, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            return NotImplemented
        return assign_in_place(self, contractions.matmul(self, other), np.matmul)
