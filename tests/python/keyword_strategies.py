"""What calls of functions are drawn from: a table says, for every function, what its arguments and its keywords may be.

    "np.roll": Case([array(), pick(2, -1)], {"axis": axes})

What is drawn for an argument or keyword may depend on what was drawn before: an axis is one of the first argument.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from agreement import ERRORS

from support import BOOL, DTYPES, FLOATS, SIGNED, random_array, with_layout

#: Small, since what depends on the length is tested elsewhere; and all that is odd: without axes, without elements, of length one
SHAPES = [(), (0,), (1,), (4,), (17,), (3, 4), (3, 0), (1, 3), (4, 1), (2, 3, 4), (2, 1, 3), (0, 2, 1)]
FULL = [shape for shape in SHAPES if 0 not in shape]
VECTORS = [(1,), (4,), (17,)]
LAYOUTS = ["dense", "dense", "sliced", "reversed", "transposed", "broadcast", "offset"]
WRITABLE = ["dense", "dense", "sliced", "reversed", "transposed"]
ALL_ERRORS = (*ERRORS, ZeroDivisionError)

Strategy = Callable[["Call"], Any]


@dataclass(frozen=True)
class Case:
    """What a function is called with, and how near its results have to be."""

    arguments: list[Strategy]
    keywords: dict[str, Strategy] = field(default_factory=dict)
    rounded: bool = False  # up to the rounding of sums
    ulp: int = 0
    together: tuple[tuple[str, str], ...] = ()  # (a, b): b is given whenever a is
    by_place: bool = True  # keywords may be given by position
    undefined: Callable[["Call"], bool] | None = None  # calls whose result NumPy leaves open
    through: Callable[..., Any] | None = None  # what is compared, of the result, arguments and keywords
    always: tuple[str, ...] = ()  # keywords that are given in every call
    shares: bool = False  # whether the result shares memory with an argument is looked at
    shares_if_jitted: bool = False  # the same, but not for Arrays: NumPy asks them only for their memory


class Call:
    """A call that is being drawn: the arguments and keywords so far."""

    def __init__(self, rng: np.random.Generator, function: Any) -> None:
        self.rng, self.function = rng, function
        self.args: list[Any] = []
        self.kwargs: dict[str, Any] = {}
        self.has_scratch = False  # NumPy may leave anything in the first argument

    def pick(self, choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.args[0])

    @property
    def ndim(self) -> int:
        return np.ndim(self.args[0])

    def result(self) -> Any:
        """What NumPy gives for the call so far; None when it refuses it."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                args, kwargs = copies((self.args, self.kwargs))
                return self.function(*args, **kwargs)
            except ALL_ERRORS:
                return None

    def __str__(self) -> str:
        given = [repr(one) for one in self.args] + [f"{name}={one!r}" for name, one in self.kwargs.items()]
        return f"{self.function.__name__}({', '.join(given)})"


# ---------------------------------------------------------------------------------------------------------------------
# Strategies


def pick(*choices: Any) -> Strategy:
    return lambda c: c.pick(choices)


def array(dtypes=DTYPES, shapes=SHAPES, low=-10, high=10, special=True) -> Strategy:
    """Elements from a range, with special values and the limits of the dtype among them."""

    def draw(c: Call) -> np.ndarray:
        x = random_array(c.rng, c.pick(shapes), c.pick(dtypes), low, high, special)
        return with_layout(c.rng, x, c.pick(LAYOUTS))

    return draw


def summed(dtypes=DTYPES, shapes=SHAPES, specials=(math.nan, math.inf, -math.inf, -0.0)) -> Strategy:
    """Without what makes the order of additions matter: one sign, one magnitude; sometimes NaN, an infinity or -0.0."""

    def draw(c: Call) -> np.ndarray:
        shape, dtype = c.pick(shapes), c.pick(dtypes)
        if dtype.kind != "f":
            x = random_array(c.rng, shape, dtype, -5, 5, special=c.chance(0.3))
        else:
            x = np.asarray(c.rng.random(shape) * 2 + 0.5).astype(dtype)
            if x.size and specials and c.chance(0.3):
                x.flat[c.rng.integers(x.size)] = c.pick(specials)
        return with_layout(c.rng, x, c.pick(LAYOUTS))

    return draw


def target(dtypes=DTYPES, shapes=SHAPES) -> Strategy:
    """An array to write to."""

    def draw(c: Call) -> np.ndarray:
        return with_layout(c.rng, random_array(c.rng, c.pick(shapes), c.pick(dtypes)), c.pick(WRITABLE))

    return draw


def several(one: Strategy, least=1, most=3) -> Strategy:
    """A list of arrays."""
    return lambda c: [one(c) for _ in range(c.rng.integers(least, most + 1))]


def mate(dtypes=DTYPES, low=-10, high=10, special=True, of=0) -> Strategy:
    """An array that broadcasts with an argument."""

    def draw(c: Call) -> Any:
        shape = broadcastable(c, np.shape(c.args[of]))
        x = random_array(c.rng, shape, c.pick(dtypes), low, high, special)
        return with_layout(c.rng, x, c.pick(LAYOUTS))

    return draw


def same_shape(dtypes=DTYPES, low=-10, high=10, special=True, of=0) -> Strategy:
    return lambda c: random_array(c.rng, np.shape(c.args[of]), c.pick(dtypes), low, high, special)


def broadcastable(c: Call, shape: tuple[int, ...]) -> tuple[int, ...]:
    kept = shape[c.rng.integers(len(shape) + 1) :] if c.chance(0.4) else shape
    return tuple(1 if c.chance(0.2) else n for n in kept)


def mask(c: Call) -> Any:
    """where=, of what is reduced."""
    return c.rng.random(broadcastable(c, c.shape)) < 0.6 if c.chance(0.9) else c.chance(0.5)


def axis(c: Call) -> Any:
    """One that the first argument has; sometimes one that it has not."""
    if c.ndim == 0 or c.chance(0.05):
        return c.pick([0, -1, c.ndim, -c.ndim - 1])
    return int(c.rng.integers(-c.ndim, c.ndim))


def axis_or_none(c: Call) -> Any:
    return None if c.chance(0.2) else axis(c)


def axes(c: Call) -> Any:
    """None, one, or several in any order."""
    if c.chance(0.5):
        return axis_or_none(c)
    chosen = c.rng.permutation(c.ndim)[: c.rng.integers(c.ndim + 1)]
    return tuple(int(i) - (c.ndim if c.chance(0.3) else 0) for i in chosen)


def any_dtype(c: Call) -> Any:
    return None if c.chance(0.1) else c.pick(DTYPES)


def castable(c: Call) -> Any:
    """A dtype that the elements of the first argument have values in: NumPy leaves open what others become."""
    x = np.asarray(c.args[0] if c.args else 0)
    is_small = x.dtype.kind != "f" or (np.isfinite(x).all() and (x >= 0).all() and (x < 100).all())
    return c.pick([None, *(DTYPES if is_small else FLOATS + BOOL)])


def float_dtype(c: Call) -> Any:
    return c.pick([None, *FLOATS])


def out_of(others: bool) -> Strategy:
    """Arrays for the results, of their dtypes, or of others too."""

    def draw(c: Call) -> Any:
        want = c.result()
        if want is None:
            return None
        if not isinstance(want, tuple):
            return _out_for(c, want, others)
        share = 0.0 if "where" in c.kwargs else 0.3
        return tuple(None if c.chance(share) else _out_for(c, one, others) for one in want)

    return draw


def _out_for(c: Call, want: Any, others: bool) -> np.ndarray:
    want = np.asarray(want)
    is_chosen = c.kwargs.get("dtype") is not None or "signature" in c.kwargs  # the dtype that is computed in
    dtype = c.pick(_other_dtypes(want)) if others and not is_chosen and c.chance(0.3) else want.dtype
    return with_layout(c.rng, random_array(c.rng, want.shape, dtype, special=False), c.pick(WRITABLE))


def _other_dtypes(want: np.ndarray) -> list[np.dtype]:
    """Below zero there may be no unsigned integer, and what does not fit NumPy may have changed several times on the way."""
    wide = [one for one in SIGNED if one.itemsize >= want.dtype.itemsize]
    return {"f": FLOATS, "b": DTYPES}.get(want.dtype.kind, FLOATS + wide)


out = out_of(others=True)
exact_out = out_of(others=False)
flag = pick(False, True)
casting = pick("no", "equiv", "safe", "same_kind", "unsafe")
memory_order = pick("C", "F", "A", "K")
device = pick(None, "cpu")


# ---------------------------------------------------------------------------------------------------------------------
# Calls taken apart: into arrays, and all else


@dataclass(frozen=True)
class Leaf:
    """The place of an array among the arguments of the jitted function."""

    number: int


def take_apart(value: Any, leaves: list[np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        leaves.append(value)
        return Leaf(len(leaves) - 1)
    if isinstance(value, (list, tuple)):
        return type(value)(take_apart(one, leaves) for one in value)
    if isinstance(value, dict):
        return {name: take_apart(one, leaves) for name, one in value.items()}
    return value


def put_together(value: Any, leaves: Any) -> Any:
    if isinstance(value, Leaf):
        return leaves[value.number]
    if isinstance(value, (list, tuple)):
        return type(value)(put_together(one, leaves) for one in value)
    if isinstance(value, dict):
        return {name: put_together(one, leaves) for name, one in value.items()}
    return value


def copied(x: np.ndarray) -> np.ndarray:
    """A copy with the same strides; itself, where nobody can write to it."""
    if not x.flags.writeable or x.size == 0:
        return x
    low, high = np.lib.array_utils.byte_bounds(x)
    memory = np.empty(high - low, np.uint8)
    copy = np.ndarray(x.shape, x.dtype, memory, x.ctypes.data - low, x.strides)
    copy[...] = x
    return copy


def copies(value: Any) -> Any:
    leaves: list[np.ndarray] = []
    parts = take_apart(value, leaves)
    return put_together(parts, [copied(one) for one in leaves])
