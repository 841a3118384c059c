"""Every ufunc, of NumPy and scipy.special, and its methods, with every keyword, against NumPy."""

import numpy as np
import pytest
import scipy.special
import tokamak as tk
from agreement import compare_rounded
from hypothesis import given, settings
from keyword_strategies import (
    SHAPES,
    Call,
    Case,
    any_dtype,
    array,
    axes,
    axis,
    casting,
    exact_out,
    flag,
    mask,
    memory_order,
    out,
    pick,
    summed,
)
from keywords import check_case
from test_ufuncs import CLOSE_ULP, CLOSE_UNARY
from tokamak._numpy import contractions
from tokamak._registry import LATE
from tokamak._registry import TABLE as COMPILED

from support import BOOL, DTYPES, FLOATS, INTEGERS, SIGNED, random_array, seeds

#: Within some units of NumPy's, which is off itself
ROUNDED = {"power", "float_power", "arctan2", "hypot", "logaddexp", "logaddexp2"}
#: What NumPy leaves open otherwise: shifts by too much or a negative number, the reciprocal of the integer 0, gcd of the least
SMALL = {"left_shift", "right_shift", "power", "float_power", "reciprocal", "gcd", "lcm", "ldexp"}
ufuncs = {
    f"np.{name}": one
    for name, one in vars(np).items()
    if isinstance(one, np.ufunc) and one in COMPILED and one.signature is None
}
special = {f"scipy.special.{name}": getattr(scipy.special, name) for name in LATE["scipy.special"]}
products = {
    f"np.{name}": one
    for name, one in vars(np).items()
    if isinstance(one, np.ufunc) and one in contractions._GUFUNCS
}


def dtypes_of(ufunc):
    """Mostly those that it has loops for."""
    has_floats = ufunc is None or any("d" in loop for loop in ufunc.types)
    return DTYPES if has_floats else 2 * BOOL + 2 * INTEGERS + FLOATS[:1]


def operand(name, place):
    """In the range of the function, for another operand of a shape that fits the first one's."""

    def draw(c: Call):
        low, high = CLOSE_UNARY.get(getattr(np, name, None), (-10, 10))
        kinds, is_small = dtypes_of(getattr(np, name, None)), name in SMALL
        if is_small:
            low, high = 1, 5
        if name == "ldexp" and place == 1:
            kinds = SIGNED[:3]
        if place == 0:
            return array(kinds, low=low, high=high, special=not is_small)(c)
        if c.chance(0.15):
            return c.pick([2, 1]) if is_small else c.pick([2, -1.5, True, 300])
        shape = tuple(1 if c.chance(0.2) else n for n in c.shape[c.rng.integers(c.ndim + 1) :])
        dtype = c.args[0].dtype if c.chance(0.5) and name != "ldexp" else c.pick(kinds)
        return random_array(c.rng, shape, dtype, low, high, special=not is_small)

    return draw


def loop_dtype(c: Call):
    """Floats become no integers: NumPy leaves open which, when they are not in their range."""
    has_floats = any(np.asarray(one).dtype.kind == "f" for one in c.args)
    return c.pick([None, *(FLOATS if has_floats else DTYPES)])


def signature_of(ufunc):
    count = ufunc.nin + ufunc.nout
    return pick(
        "d" * ufunc.nin + "->" + "d" * ufunc.nout,
        (None,) * (count - 1) + (np.float64,),
        (None,) * ufunc.nin + (np.dtype(np.float32),) * ufunc.nout,
    )


def ulp_of(ufunc):
    """As in test_ufuncs."""
    if "logadd" in ufunc.__name__:
        return 8
    return CLOSE_ULP if ufunc in CLOSE_UNARY or ufunc.__name__ in ROUNDED else 0


def of_call(ufunc):
    """What is close to NumPy's in its own dtype is not so in a wider one."""
    return {
        "out": exact_out if ulp_of(ufunc) else out, "where": mask, "dtype": loop_dtype, "casting": casting, "order": memory_order, "subok": flag,
        "signature": signature_of(ufunc),
    }  # fmt: skip


def call_case(name, ufunc):
    bare = ufunc.__name__  # of aliases, too
    arguments = [operand(bare, i) for i in range(ufunc.nin)]
    return Case(arguments, of_call(ufunc), ulp=ulp_of(ufunc), together=(("where", "out"),))


def special_operand(place):
    """As test_special draws them."""

    def draw(c: Call):
        dtypes = FLOATS[1:] + SIGNED[2:]
        low, high = (1, 7) if len(c.args) or place else (1, 3)
        return random_array(
            c.rng, c.shape if c.args else c.pick(SHAPES), c.pick(dtypes), low, high, special=False
        )

    return draw


def special_case(ufunc):
    """scipy.special has loops for single and double precision; what is rounded to fewer digits than it was computed in is compared
    with those."""
    keywords = {key: one for key, one in of_call(ufunc).items() if key != "where"} | {
        "dtype": pick(None, np.float64, np.float32),
        "signature": pick("d" * ufunc.nin + "->d"),
    }
    return Case(
        [special_operand(i) for i in range(ufunc.nin)],
        keywords,
        rounded=True,
        together=(("dtype", "casting"),),
    )


def factors(name):
    """Of the core shapes of matmul and its kin."""
    first = {"matmul": (2, 3), "matvec": (2, 3), "vecmat": (3,), "vecdot": (3,)}[name]
    second = {"matmul": (3, 2), "matvec": (3,), "vecmat": (3, 2), "vecdot": (3,)}[name]

    def draw(core):
        return lambda c: random_array(
            c.rng, c.pick([core, (4, *core), (1, *core)]), c.pick(DTYPES), -5, 5, special=False
        )

    return [draw(first), draw(second)]


def product_axes(name):
    """Where the axes of the products are: in their place, counted from the end."""
    return {
        "matmul": pick([(-2, -1), (-2, -1), (-2, -1)]), "matvec": pick([(-2, -1), (-1,), (-1,)]),
        "vecmat": pick([(-1,), (-2, -1), (-1,)]), "vecdot": pick([(-1,), (-1,), ()]),
    }[name]  # fmt: skip


def product_case(name):
    keywords = {
        "out": out, "casting": casting, "order": memory_order, "dtype": loop_dtype, "subok": flag, "axes": product_axes(name),
        "signature": pick("dd->d", (None, None, np.float64)),
    }  # fmt: skip
    if name == "vecdot":
        keywords |= {"axis": pick(-1, 0), "keepdims": flag}
    return Case(
        factors(name),
        keywords,
        rounded=True,
        undefined=lambda c: "axes" in c.kwargs and ("axis" in c.kwargs or "keepdims" in c.kwargs),
    )


CALLS = {name: call_case(name, ufunc) for name, ufunc in ufuncs.items()}
CALLS |= {name: special_case(ufunc) for name, ufunc in special.items()}
CALLS |= {name: product_case(name[3:]) for name in products}


def small_numbers(ufunc):
    """Without what makes the order of operations matter much, or powers and shifts overflow."""
    folded = summed(dtypes_of(ufunc), [shape for shape in SHAPES if shape != (17,)], specials=())

    def draw(c: Call):
        x = folded(c)
        return x if x.dtype.kind == "f" else np.minimum(np.abs(x.astype(np.int64)), 3).astype(x.dtype)

    return draw


def written_to(ufunc):
    """Integers only where the ufunc has loops for them: NumPy leaves open what becomes of large floats."""
    has_integers = any(loop.startswith("l" * ufunc.nin + "->l") for loop in ufunc.types)
    one = small_numbers(ufunc) if has_integers else summed(FLOATS, specials=())
    return lambda c: one(c).copy()


def starts(c: Call):
    count = c.shape[0] if c.ndim else 1
    return c.rng.integers(0, max(count, 1), c.pick([0, 1, 3])).tolist()


def places(c: Call):
    """Some of them twice."""
    count = c.shape[0] if c.ndim else 0
    return c.rng.integers(-count, count, c.pick([1, 3])) if count else ...


reducing = {
    "axis": axes,
    "dtype": any_dtype,
    "out": out,
    "keepdims": flag,
    "initial": pick(2, 1, None),
    "where": mask,
}
running = {"axis": axis, "dtype": any_dtype, "out": out}
unique = {ufunc.__name__: ufunc for name, ufunc in ufuncs.items() if hasattr(np, ufunc.__name__)}
METHODS = {}
for name, ufunc in unique.items():
    if ufunc.nin == 2:
        METHODS[f"np.{name}.outer"] = Case(
            [operand(name, 0), lambda c, name=name: operand(name, 0)(c)],
            {key: one for key, one in of_call(ufunc).items() if key != "where"},
            ulp=ulp_of(ufunc),
        )
    if ufunc.nin == 2 and ufunc.nout == 1 and name != "ldexp":
        METHODS[f"np.{name}.reduce"] = Case([small_numbers(ufunc)], reducing, rounded=True)
        METHODS[f"np.{name}.accumulate"] = Case([small_numbers(ufunc)], running, rounded=True)
        METHODS[f"np.{name}.reduceat"] = Case(
            [small_numbers(ufunc), starts], running | {"axis": pick(0)}, rounded=True
        )
        METHODS[f"np.{name}.at"] = Case(
            [written_to(ufunc), places, pick(1, 2, np.float32(1.5))], rounded=True
        )
    if ufunc.nin == 1 and ufunc.nout == 1:
        METHODS[f"np.{name}.at"] = Case([written_to(ufunc), places], rounded=True)

TABLE = CALLS | METHODS


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=max(2, settings().max_examples // 12))
@given(seed=seeds)
def test_calls(name, seed):
    check_case(name, CALLS[name], seed, most=3)


@pytest.mark.parametrize("name", special)
def test_where_of_special_ufuncs(name, rng):
    """SciPy's own write outside of their memory with where= and out=."""
    ufunc = special[name]
    arguments = [rng.random((3, 5)) + 1 for _ in range(ufunc.nin)]
    mask, out = rng.random((3, 5)) < 0.5, rng.random((3, 5))
    want = np.where(mask, ufunc(*arguments), out)
    got = tk.jit(lambda out, mask, *xs: ufunc(*xs, out=out, where=mask))(out, mask, *arguments)
    compare_rounded(got, want, name)
    compare_rounded(out, want, name)


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=max(1, settings().max_examples // 25))
@given(seed=seeds)
def test_methods(name, seed):
    check_case(name, METHODS[name], seed, most=3)
