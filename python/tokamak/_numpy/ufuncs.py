"""NumPy's ufuncs for Arrays.

NumPy itself decides the dtypes (`ufunc.resolve_dtypes`), so that its rules are exactly the ones we have. A rule here takes
operands of the dtypes of NumPy's inner loop; what it gives is converted to the loop's result dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _dtypes
from .._errors import UserOverflowError, UserTypeError, UserValueError, fail, unsupported
from .._native import ArrayBase
from .._ops import apply, as_array, constant, convert, full, is_number, select
from .._registry import TABLE, implements, name_of, remedy_for
from .._sharing import owned

Rule = Callable[..., Any]
DType = np.dtype[Any]

# ---------------------------------------------------------------------------------------------------------------------
# The table

#: ufuncs that are one primitive on the dtypes of their loops
PRIMITIVES: dict[str, Sequence[np.ufunc]] = {
    "neg": [np.negative],
    "abs": [np.absolute, np.fabs],
    "sign": [np.sign],
    "floor": [np.floor],
    "ceil": [np.ceil],
    "trunc": [np.trunc],
    "round": [np.rint],
    "sqrt": [np.sqrt],
    "cbrt": [np.cbrt],
    "exp": [np.exp],
    "exp2": [np.exp2],
    "expm1": [np.expm1],
    "log": [np.log],
    "log2": [np.log2],
    "log10": [np.log10],
    "log1p": [np.log1p],
    "sin": [np.sin],
    "cos": [np.cos],
    "tan": [np.tan],
    "asin": [np.arcsin],
    "acos": [np.arccos],
    "atan": [np.arctan],
    "sinh": [np.sinh],
    "cosh": [np.cosh],
    "tanh": [np.tanh],
    "asinh": [np.arcsinh],
    "acosh": [np.arccosh],
    "atanh": [np.arctanh],
    "is_nan": [np.isnan],
    "is_inf": [np.isinf],
    "is_finite": [np.isfinite],
    "sign_bit": [np.signbit],
    "bit_not": [np.invert],
    "popcount": [np.bitwise_count],
    "sub": [np.subtract],
    "div": [np.true_divide],
    "floor_div": [np.floor_divide],
    "mod": [np.remainder],
    "fmod": [np.fmod],
    "max": [np.maximum],
    "min": [np.minimum],
    "atan2": [np.arctan2],
    "hypot": [np.hypot],
    "copysign": [np.copysign],
    "nextafter": [np.nextafter],
    "bit_and": [np.bitwise_and],
    "bit_or": [np.bitwise_or],
    "bit_xor": [np.bitwise_xor],
    "shift_left": [np.left_shift],
    "shift_right": [np.right_shift],
}


def _primitive(op: str) -> Rule:
    return lambda *operands: apply(op, *operands)


for _op, _ufuncs in PRIMITIVES.items():
    implements(*_ufuncs)(_primitive(_op))


@implements(np.add)
def add(x: Any, y: Any) -> Any:
    return apply("bit_or" if x.dtype.kind == "b" else "add", x, y)


@implements(np.multiply)
def multiply(x: Any, y: Any) -> Any:
    return apply("bit_and" if x.dtype.kind == "b" else "mul", x, y)


def _logical(op: str) -> Rule:
    """On the truth of the operands; NumPy has loops for all dtypes."""
    return lambda *operands: apply(op, *[convert(x, _dtypes.BOOL) for x in operands])


implements(np.logical_not)(_logical("bit_not"))
implements(np.logical_and)(_logical("bit_and"))
implements(np.logical_or)(_logical("bit_or"))
implements(np.logical_xor)(_logical("bit_xor"))


@implements(np.square)
def square(x: Any) -> Any:
    return apply("mul", x, x)


@implements(np.positive, np.conjugate)
def identity(x: Any) -> Any:
    return x


@implements(np.reciprocal)
def reciprocal(x: Any) -> Any:
    one = constant(1, x.dtype)
    if _dtypes.is_float(x.dtype):
        return apply("div", one, x)
    result = select(apply("eq", x, one), one, constant(0, x.dtype))
    if x.dtype in (_dtypes.INT32, _dtypes.INT64):  # what becomes of infinity; it is 0 in others
        lowest = constant(np.iinfo(x.dtype).min, x.dtype)
        result = select(apply("eq", x, constant(0, x.dtype)), lowest, result)
    if x.dtype.kind == "i":
        result = select(apply("eq", x, constant(-1, x.dtype)), constant(-1, x.dtype), result)
    return result


@implements(np.power)
def power(x: Any, y: Any) -> Any:
    return apply("pow", x, combined(np.power, y))


def _not_negative(exponent: Any) -> Any:
    """The exponents of integers; negative ones are an error, which those that are computed raise when the program runs."""
    if not exponent._traced:
        if (exponent._view(False) < 0).any():
            fail(UserValueError, _NEGATIVE_POWER)
        return exponent
    is_negative = apply("lt", exponent, constant(0, exponent.dtype))
    outside = convert(is_negative, _dtypes.INT64)
    return apply(
        "add", exponent, apply("gather", constant([0], exponent.dtype), outside, axis=0, mode="check_power")
    )


@implements(np.float_power)
def float_power(x: Any, y: Any) -> Any:
    return apply("pow", x, y)


@implements(np.fmax)
def fmax(x: Any, y: Any) -> Any:
    return select(apply("bit_or", apply("ge", x, y), apply("is_nan", y)), x, y)


@implements(np.fmin)
def fmin(x: Any, y: Any) -> Any:
    return select(apply("bit_or", apply("le", x, y), apply("is_nan", y)), x, y)


@implements(np.heaviside)
def heaviside(x: Any, at_zero: Any) -> Any:
    zero = constant(0, x.dtype)
    steps = select(apply("lt", x, zero), zero, constant(1, x.dtype))
    return select(apply("is_nan", x), x, select(apply("eq", x, zero), at_zero, steps))


def _scaled(numerator: float, denominator: float) -> Rule:
    """x * (numerator / denominator), the constant rounded as NumPy rounds it: in f32 at least."""

    def rule(x: Any) -> Any:
        wide = _dtypes.FLOAT64 if x.dtype == _dtypes.FLOAT64 else _dtypes.FLOAT32
        factor = wide.type(numerator) / wide.type(denominator)
        return apply("mul", convert(x, wide), constant(factor, wide))

    return rule


implements(np.deg2rad, np.radians)(_scaled(math.pi, 180.0))
implements(np.rad2deg, np.degrees)(_scaled(180.0, math.pi))


def _log_of_sum(exp: str, log2_e: float, doubled: float) -> Rule:
    """log(exp(x) + exp(y)) without overflow; `doubled` is the logarithm of 2 in the base."""

    def rule(x: Any, y: Any) -> Any:
        wide = _dtypes.FLOAT64 if x.dtype == _dtypes.FLOAT64 else _dtypes.FLOAT32
        x, y = convert(x, wide), convert(y, wide)
        distance = apply("neg", apply("abs", apply("sub", x, y)))
        tail = apply("log1p", apply(exp, distance))
        if log2_e != 1.0:
            tail = apply("mul", tail, constant(log2_e, wide))
        equal = apply("add", x, constant(doubled, wide))  # also where both are the same infinity
        return select(apply("eq", x, y), equal, apply("add", apply("max", x, y), tail))

    return rule


implements(np.logaddexp)(_log_of_sum("exp", 1.0, math.log(2.0)))
implements(np.logaddexp2)(_log_of_sum("exp2", math.log2(math.e), 1.0))


@implements(np.divmod)
def divmod_(x: Any, y: Any) -> Any:
    return apply("floor_div", x, y), apply("mod", x, y)


@implements(np.modf)
def modf(x: Any) -> Any:
    whole = apply("trunc", x)
    rest = select(apply("is_inf", x), constant(0, x.dtype), apply("sub", x, whole))
    return apply("copysign", rest, x), whole


# Comparisons of i64 with u64 have loops of their own in NumPy: they are right for all values.
_COMPARISONS = {
    np.equal: "eq",
    np.not_equal: "ne",
    np.less: "lt",
    np.less_equal: "le",
    np.greater: "gt",
    np.greater_equal: "ge",
}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _compare_mixed(op: str, signed: Any, unsigned: Any) -> Any:
    """signed `op` unsigned: a negative number is below all others."""
    negative = apply("lt", signed, constant(0, signed.dtype))
    same = apply(op, apply("convert", signed, dtype=_dtypes.UINT64), unsigned)
    return select(negative, constant(op in ("lt", "le", "ne"), _dtypes.BOOL), same)


def _comparison(op: str) -> Rule:
    def rule(x: Any, y: Any) -> Any:
        if x.dtype == y.dtype:
            return apply(op, x, y)
        if x.dtype.kind == "i":
            return _compare_mixed(op, x, y)
        return _compare_mixed(_MIRRORED[op], y, x)

    return rule


for _ufunc, _op in _COMPARISONS.items():
    implements(_ufunc)(_comparison(_op))

#: The primitive of a ufunc that is one on all dtypes of its loops
_PRIMITIVE_OF: dict[np.ufunc, str] = {
    **{ufunc: op for op, ufuncs in PRIMITIVES.items() for ufunc in ufuncs},
    np.power: "pow",
    np.float_power: "pow",
    np.add: "add",  # but of bools
    np.multiply: "mul",
}
_BITS_OF_BOOLS: dict[np.ufunc, str] = {
    np.add: "bit_or",
    np.multiply: "bit_and",
    np.logical_or: "bit_or",
    np.logical_and: "bit_and",
    np.logical_xor: "bit_xor",
    np.not_equal: "bit_xor",
}


def combining(ufunc: np.ufunc, dtype: DType) -> str | None:
    """The primitive that is a ufunc of two operands whose loop has but one dtype; what a scatter can do to an element."""
    if ufunc.nin != 2:
        return None
    if dtype.kind == "b" and ufunc in _BITS_OF_BOOLS:
        return _BITS_OF_BOOLS[ufunc]
    return _PRIMITIVE_OF.get(ufunc)


def combined(ufunc: np.ufunc, values: Any) -> Any:
    """The second operands of what `combining` gave: integers are not raised to negative ones."""
    return _not_negative(values) if ufunc == np.power and values.dtype.kind == "i" else values


# ---------------------------------------------------------------------------------------------------------------------
# Calling one

Loop = tuple[DType, ...]
_loops: dict[Any, Loop] = {}


def kind_of(operand: Any) -> Any:
    """What resolve_dtypes takes for an operand: a dtype, or the type of a Python number."""
    if isinstance(operand, ArrayBase):
        weak = operand._weak
        return weak if weak is int or weak is float else operand.dtype
    if is_number(operand):
        return _dtypes.BOOL if type(operand) is bool else type(operand)
    return operand.dtype


def loop_of(ufunc: np.ufunc, operands: Sequence[Any], signature: Any, casting: str) -> Loop:
    kinds = tuple(map(kind_of, operands))
    for kind in kinds:
        if not isinstance(kind, type):
            break
    else:  # Python's numbers among themselves adopt no array's dtype
        kinds = tuple(_dtypes.default_of(kind) for kind in kinds)
    key = (ufunc, kinds, signature, casting)
    loop = _loops.get(key)
    if loop is None:
        loop = _loops[key] = _resolve(ufunc, kinds, signature, casting)
    return loop


def check_casting(ufunc: np.ufunc, operands: Sequence[Any], dtype: DType, casting: str) -> None:
    """NumPy's refusal to convert the operands to the dtype of a loop."""
    if casting != "same_kind":
        loop_of(ufunc, operands, (None,) * ufunc.nin + (dtype,) * ufunc.nout, casting)


def _resolve(ufunc: np.ufunc, kinds: tuple[Any, ...], signature: Any, casting: Any) -> Loop:
    options: Any = {} if signature is None else {"signature": signature}
    numbers = [isinstance(kind, type) for kind in kinds]
    if casting == "equiv" and any(numbers):
        # resolve_dtypes does not survive what it refuses here; for dtypes of this machine "no" means the same.
        loop = _resolve(ufunc, kinds, signature, "no")
        for kind, dtype, is_weak in zip(kinds, loop, numbers, strict=False):
            if is_weak and dtype != _dtypes.default_of(kind):
                fail(
                    UserTypeError,
                    f"{name_of(ufunc)}: cannot cast Python {kind.__name__} to {dtype} under the rule 'equiv'",
                )
        return loop
    try:
        loop = ufunc.resolve_dtypes(kinds + (None,) * ufunc.nout, casting=casting, **options)
    except TypeError as error:
        names = ", ".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds)
        fail(UserTypeError, f"{name_of(ufunc)}({names}): {error}")
    except ValueError as error:
        fail(UserValueError, f"{name_of(ufunc)}: {error}")
    for one in loop:
        _dtypes.check(one)
    return loop


def signature_of(ufunc: np.ufunc, dtype: Any, signature: Any) -> tuple[DType | None, ...] | None:
    """dtype= and signature= (also "dd->d") as dtypes of the operands and results, None for those that NumPy chooses."""
    if signature is None:
        return None if dtype is None else (None,) * ufunc.nin + (_dtypes.check(dtype),) * ufunc.nout
    if dtype is not None:
        fail(UserTypeError, f"cannot specify both 'signature' and 'dtype' of {name_of(ufunc)}")
    given = signature.replace("->", "") if isinstance(signature, str) else signature
    if not isinstance(given, (str, tuple)):
        fail(UserTypeError, "the signature object to ufunc must be a string or a tuple.")
    if len(given) == 1:
        given = (None,) * ufunc.nin + tuple(given) * ufunc.nout
    if len(given) != ufunc.nargs:
        fail(UserValueError, f"{name_of(ufunc)}: a signature has {ufunc.nargs} dtypes, not {len(given)}")
    return tuple(None if one is None else _dtypes.check(one) for one in given)


def rule_of(ufunc: np.ufunc) -> Rule:
    rule: Rule | None = TABLE.get(ufunc)
    if rule is None:
        unsupported(name_of(ufunc), remedy_for(ufunc))
    return rule


def _operand(value: Any) -> Any:
    """An operand before its dtype is known: an Array, or one of Python's numbers."""
    return value if isinstance(value, ArrayBase) or is_number(value) else as_array(value)


def _in_dtype(operand: Any, dtype: DType, ufunc: np.ufunc) -> Any:
    if issubclass(type(operand), ArrayBase):
        return operand if operand.dtype is dtype and operand._weak is None else convert(operand, dtype)
    try:
        return constant(operand, dtype)
    except OverflowError as error:
        fail(UserOverflowError, f"{name_of(ufunc)}: {error}")


def call(
    ufunc: np.ufunc, *inputs: Any, dtype: Any = None, casting: str = "same_kind", signature: Any = None
) -> Any:
    """`ufunc(*inputs)`: an Array with memory of its own, or a tuple of them."""
    if dtype is not None or signature is not None:
        signature = signature_of(ufunc, dtype, signature)
    return owned(_call(ufunc, inputs, signature, casting), inputs)


def _call(
    ufunc: np.ufunc, inputs: Sequence[Any], signature: tuple[DType | None, ...] | None, casting: str
) -> Any:
    rule = rule_of(ufunc)
    operands = list(map(_operand, inputs))
    if ufunc in _COMPARISONS:
        if signature is None and (decided := _decided_comparison(ufunc, operands)) is not None:
            return decided
        operands = _comparable(operands)
    if ufunc == np.power and (shorter := _shorter_power(operands, signature)) is not None:
        return shorter
    loop = loop_of(ufunc, operands, signature, casting)
    converted = [_in_dtype(operand, loop[i], ufunc) for i, operand in enumerate(operands)]
    result = rule(*converted)
    if type(result) is tuple:
        return tuple(convert(part, loop[ufunc.nin + i]) for i, part in enumerate(result))
    return convert(result, loop[len(operands)])


def _decided_comparison(ufunc: np.ufunc, operands: list[Any]) -> Any:
    """The comparison of an integer array with a Python integer that its dtype cannot hold."""
    for position in (0, 1):
        number, other = operands[position], operands[1 - position]
        if type(number) is not int or is_number(other) or not _dtypes.is_integer(other.dtype):
            continue
        limits = np.iinfo(other.dtype)
        if limits.min <= number <= limits.max:
            continue
        side = 1 if number > limits.max else -1  # where the number lies, seen from every element
        answer = ufunc(side, 0) if position == 0 else ufunc(0, side)
        return full(other.shape, bool(answer), _dtypes.BOOL)
    return None


def _comparable(operands: list[Any]) -> list[Any]:
    """A Python integer that is an argument may not fit the dtype of the array it is compared with: it keeps its 64 bits."""
    if not any(
        isinstance(one, ArrayBase) and one._weak is None and _dtypes.is_integer(one.dtype) for one in operands
    ):
        return operands
    return [
        one._with_weak(None) if isinstance(one, ArrayBase) and one._weak is int else one for one in operands
    ]


_NEGATIVE_POWER = "np.power: Integers to negative integer powers are not allowed."


def _shorter_power(operands: list[Any], signature: Any) -> Any:
    """Powers that NumPy computes by another operation, with its bits."""
    base, exponent = operands
    if signature is not None or not is_number(exponent) or is_number(base):
        return None
    if type(exponent) is int and exponent == 2 and base.dtype.kind != "b":
        return call(np.square, base)
    if not _dtypes.is_float(base.dtype):
        return None
    short = {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}.get(exponent)
    if short is None or loop_of(np.power, operands, None, "same_kind")[0] != base.dtype:
        return None
    return call(short, base)
