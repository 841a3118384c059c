"""The standard's element-wise functions on Arrays, inside jit and on ndarrays: dtypes by its rules, values by NumPy."""

import itertools

import numpy as np
import pytest
import tokamak as tk

from support import assert_same, compare_trees, random_array

BOOL = [tk.bool]
SIGNED = [tk.int8, tk.int16, tk.int32, tk.int64]
UNSIGNED = [tk.uint8, tk.uint16, tk.uint32, tk.uint64]
INTEGERS = SIGNED + UNSIGNED
FLOATS = [tk.float32, tk.float64]
NUMERIC = INTEGERS + FLOATS


def each(names, dtypes, result):
    return dict.fromkeys(names.split(), (dtypes, result))


#: name: the dtypes that the standard lets it take, and the dtype of the result
UNARY = {
    **each("abs ceil conj floor negative positive round sign square trunc", NUMERIC, "same"),
    **each("acos acosh asin asinh atan atanh cos cosh exp expm1 imag log log10 log1p log2", FLOATS, "same"),
    **each("real reciprocal sin sinh sqrt tan tanh", FLOATS, "same"),
    **each("isfinite isinf isnan", NUMERIC, tk.bool),
    **each("bitwise_invert", BOOL + INTEGERS, "same"),
    **each("logical_not", BOOL, tk.bool),
    **each("signbit", FLOATS, tk.bool),
}
BINARY = {
    **each("add floor_divide maximum minimum multiply pow remainder subtract", NUMERIC, "same"),
    **each("atan2 copysign divide hypot logaddexp nextafter", FLOATS, "same"),
    **each("bitwise_and bitwise_or bitwise_xor", BOOL + INTEGERS, "same"),
    **each("bitwise_left_shift bitwise_right_shift", INTEGERS, "same"),
    **each("equal not_equal", BOOL + NUMERIC, tk.bool),
    **each("greater greater_equal less less_equal", NUMERIC, tk.bool),
    **each("logical_and logical_or logical_xor", BOOL, tk.bool),
}
#: Not within NumPy's bits: how many units in the last place
ROUNDED = {"logaddexp": 8, "pow": 4}
SHAPES = [(), (0,), (1,), (7,), (2, 3), (3, 1, 2)]


def promoted(x, y):
    """The standard's table: within a kind the wider; signed with unsigned, the signed one that holds both."""
    if x == y or (x.kind == y.kind and x.itemsize > y.itemsize):
        return x
    if x.kind == y.kind:
        return y
    signed, unsigned = (x, y) if x.kind == "i" else (y, x)
    if signed.itemsize > unsigned.itemsize:
        return signed
    return {1: tk.int16, 2: tk.int32, 4: tk.int64}[unsigned.itemsize]


def is_specified(x, y):
    kinds = {x.kind, y.kind}
    if len(kinds) == 1:
        return True
    return kinds == {"i", "u"} and tk.uint64 not in (x, y)


def trace(function, *args):
    """Runs a function on traced values, for what it finds out meanwhile."""

    def traced(*values):
        function(*values)
        return values[0]

    tk.jit(traced)(*args)


def arrays_of(dtypes, rng, shape=(7,), positive=False):
    return [random_array(rng, shape, dtype, 0 if positive else -5, 5) for dtype in dtypes]


def ulp_of(name):
    exact = {"reciprocal", "sqrt", "divide", "copysign", "nextafter"} | set(UNARY) - {
        one for one, (dtypes, _) in UNARY.items() if dtypes is FLOATS
    }
    return ROUNDED.get(name, 0 if name in exact or BINARY.get(name, (None,))[0] is NUMERIC else 4)


def check(name, got, want, ulp=None):
    compare_trees(got, want, ulp_of(name) if ulp is None else ulp, name)


def test_result_dtypes(rng):
    """Traced, so that all combinations cost little."""

    def unary(*values):
        for name, (dtypes, result) in UNARY.items():
            for x in values:
                if x.dtype in dtypes:
                    got = getattr(tk, name)(x)
                    assert got.dtype == (x.dtype if result == "same" else result), (name, x.dtype)

    def binary(*values):
        for name, (dtypes, result) in BINARY.items():
            for x, y in itertools.product(values, repeat=2):
                if x.dtype in dtypes and y.dtype in dtypes and is_specified(x.dtype, y.dtype):
                    wanted = promoted(x.dtype, y.dtype) if result == "same" else result
                    assert getattr(tk, name)(x, y).dtype == wanted, (name, x.dtype, y.dtype)
                    assert tk.result_type(x, y) == promoted(x.dtype, y.dtype)

    def numbers(*values):
        for name, (dtypes, result) in BINARY.items():
            for x in values:
                if x.dtype in dtypes:
                    number = True if x.dtype == tk.bool else 1 if x.dtype in INTEGERS else 1.5
                    wanted = x.dtype if result == "same" else result
                    assert getattr(tk, name)(x, number).dtype == wanted, (name, x.dtype)
                    assert getattr(tk, name)(number, x).dtype == wanted, (name, x.dtype)
                    assert tk.result_type(x, number) == x.dtype

    arrays = arrays_of(BOOL + NUMERIC, rng)
    for function in (unary, binary, numbers):
        trace(function, *arrays)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name, rng):
    dtypes = UNARY[name][0]
    function, wanted = getattr(tk, name), getattr(np, name)
    arrays = arrays_of(dtypes, rng, (33,))
    want = [wanted(x) for x in arrays]
    check(name, tk.jit(lambda *xs: [function(x) for x in xs])(*arrays), want)
    for x, one in zip(arrays, want, strict=True):
        got = function(tk.asarray(x))
        assert type(got) is tk.Array
        check(name, got, one)
    got = function(arrays[-1])
    assert type(got) is np.ndarray
    check(name, got, want[-1])
    for shape in SHAPES:
        x = random_array(rng, shape, dtypes[-1])
        got = function(tk.asarray(x))
        assert got.shape == shape
        check(name, got, wanted(x))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name, rng):
    dtypes = BINARY[name][0]
    function, wanted = getattr(tk, name), getattr(np, name)
    shifts = name.endswith("shift") or name == "pow"
    left = arrays_of(dtypes, rng, (33,))
    right = arrays_of(dtypes, rng, (33,), positive=True)
    if shifts:
        right = [np.clip(y, 0, 7) for y in right]
    want = [wanted(x, y) for x, y in zip(left, right, strict=True)]

    def all_of_them(xs, ys):
        return [function(x, y) for x, y in zip(xs, ys, strict=True)]

    check(name, tk.jit(all_of_them)(left, right), want)
    for x, y, one in zip(left, right, want, strict=True):
        check(name, function(tk.asarray(x), tk.asarray(y)), one)
    x, y = left[-1], right[-1]
    assert type(function(x, y)) is np.ndarray
    assert type(function(tk.asarray(x), y)) is type(function(x, tk.asarray(y))) is tk.Array
    check(name, function(x, y), want[-1])
    number = y.flat[0].item()
    check(name, function(tk.asarray(x), number), wanted(x, number))
    check(name, function(number, tk.asarray(y)), wanted(number, y))


@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasts(name, rng):
    dtype = BINARY[name][0][-1]
    function, wanted = getattr(tk, name), getattr(np, name)
    for one, other in [((), (3,)), ((2, 1), (3,)), ((0,), (1,)), ((2, 3), (2, 3)), ((4, 1, 2), (3, 1))]:
        x, y = (random_array(rng, shape, dtype, 0, 5, special=False) for shape in (one, other))
        got = function(tk.asarray(x), tk.asarray(y))
        assert got.shape == np.broadcast_shapes(one, other)
        check(name, got, wanted(x, y))
    with pytest.raises(ValueError, match="cannot broadcast"):
        function(tk.zeros(2, dtype=dtype), tk.zeros(3, dtype=dtype))


OPERATORS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "pow": lambda x, y: x**y,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_left_shift": lambda x, y: x << y,
    "bitwise_right_shift": lambda x, y: x >> y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_the_functions(name, rng):
    dtypes = BINARY[name][0]
    pairs = [(random_array(rng, (9,), d, 1, 5, special=False),) * 2 for d in dtypes]

    def both(pairs):
        return [(OPERATORS[name](x, y), getattr(tk, name)(x, y)) for x, y in pairs]

    for got, want in tk.jit(both)(pairs):
        assert_same(got, want)
    for x, y in pairs:
        assert_same(OPERATORS[name](tk.asarray(x), tk.asarray(y)), OPERATORS[name](x, y))


INF, NAN = np.inf, np.nan

#: The special cases that the standard fixes: arguments and result, the sign of zero included
SPECIAL = {
    "acos": [(NAN, NAN), (1.5, NAN), (-1.5, NAN), (1.0, 0.0)],
    "acosh": [(NAN, NAN), (0.5, NAN), (1.0, 0.0), (INF, INF)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (2.0, NAN)],
    "asinh": [(-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "atan": [(-0.0, -0.0), (INF, np.pi / 2), (-INF, -np.pi / 2)],
    "atanh": [(-1.0, -INF), (1.0, INF), (-0.0, -0.0), (1.5, NAN)],
    "ceil": [(-0.5, -0.0), (INF, INF), (-0.0, -0.0), (NAN, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN)],
    "cosh": [(0.0, 1.0), (-INF, INF)],
    "exp": [(0.0, 1.0), (INF, INF), (-INF, 0.0)],
    "expm1": [(-0.0, -0.0), (INF, INF), (-INF, -1.0)],
    "floor": [(-0.0, -0.0), (-INF, -INF)],
    "log": [(-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)],
    "log1p": [(-2.0, NAN), (-1.0, -INF), (-0.0, -0.0), (INF, INF)],
    "log2": [(0.0, -INF), (1.0, 0.0)],
    "log10": [(0.0, -INF), (1.0, 0.0)],
    "round": [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-0.0, -0.0)],
    "sign": [(-0.0, 0.0), (NAN, NAN), (-3.0, -1.0)],
    "sin": [(-0.0, -0.0), (INF, NAN)],
    "sinh": [(-0.0, -0.0), (-INF, -INF)],
    "sqrt": [(-1.0, NAN), (-0.0, -0.0), (INF, INF)],
    "tan": [(-0.0, -0.0), (-INF, NAN)],
    "tanh": [(-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "trunc": [(-0.5, -0.0), (-INF, -INF)],
    "atan2": [
        *[(0.0, -0.0, np.pi), (-0.0, -0.0, -np.pi), (-0.0, 1.0, -0.0), (1.0, -0.0, np.pi / 2)],
        *[(INF, INF, np.pi / 4), (-INF, -INF, -3 * np.pi / 4), (1.0, INF, 0.0), (-1.0, INF, -0.0)],
    ],
    "divide": [(INF, INF, NAN), (0.0, -0.0, NAN), (1.0, -0.0, -INF), (-1.0, INF, -0.0)],
    "floor_divide": [(INF, 1.0, NAN), (1.0, 0.0, INF), (1.0, INF, 0.0), (-1.0, INF, -1.0)],
    "hypot": [(INF, NAN, INF), (NAN, -INF, INF), (NAN, 1.0, NAN), (-0.0, -3.0, 3.0)],
    "logaddexp": [(INF, 1.0, INF), (NAN, 1.0, NAN), (-INF, -INF, -INF)],
    "maximum": [(NAN, 1.0, NAN), (1.0, NAN, NAN)],
    "minimum": [(NAN, -INF, NAN)],
    "nextafter": [(NAN, 1.0, NAN), (1.0, 1.0, 1.0), (-0.0, 0.0, 0.0)],
    "pow": [
        *[(NAN, 0.0, 1.0), (1.0, NAN, 1.0), (-0.0, -1.0, -INF), (-0.0, 3.0, -0.0), (-1.0, INF, 1.0)],
        *[(-INF, 3.0, -INF), (-INF, -3.0, -0.0), (0.5, -INF, INF), (-8.0, 1.5, NAN)],
    ],
    "remainder": [(1.0, 0.0, NAN), (INF, 1.0, NAN), (-0.0, 1.0, 0.0), (0.0, -1.0, -0.0), (1.0, INF, 1.0)],
    "signbit": [(-0.0, True), (0.0, False), (-INF, True)],
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_special_values(name, dtype):
    *args, want = (np.array(column) for column in zip(*SPECIAL[name], strict=True))
    args = [column.astype(dtype) for column in args]
    want = want if want.dtype.kind == "b" else want.astype(dtype)
    function = getattr(tk, name)
    rounded = 4 if name in ("atan", "atan2") else 0
    assert_same(tk.jit(lambda *args: function(*args))(*args), want, rounded, name)
    assert_same(function(*map(tk.asarray, args)), want, rounded, name)


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_clip(dtype, rng):
    x = random_array(rng, (3, 5), dtype)
    low, high = random_array(rng, (5,), dtype, 0, 2, False), random_array(rng, (3, 1), dtype, 3, 5, False)
    programs = [
        lambda xp, x, low, high: xp.clip(x, low, high),
        lambda xp, x, low, high: xp.clip(x, min=low),
        lambda xp, x, low, high: xp.clip(x, max=high),
        lambda xp, x, low, high: xp.clip(x, 1, 3),
        lambda xp, x, low, high: xp.clip(x, 1, high),
        lambda xp, x, low, high: xp.clip(x),
    ]
    for program in programs:
        want = program(np, x, low, high)
        assert want.dtype == dtype
        assert_same(tk.jit(lambda *args, p=program: p(tk, *args))(x, low, high), want)
        assert_same(program(tk, *map(tk.asarray, (x, low, high))), want)
        assert_same(program(tk, x, low, high), want)
