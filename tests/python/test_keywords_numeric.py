"""Sorting, searching, sequences, products, polynomials and histograms with every keyword, against NumPy."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from keyword_strategies import (
    FULL,
    SHAPES,
    VECTORS,
    Call,
    Case,
    any_dtype,
    array,
    axis,
    axis_or_none,
    casting,
    device,
    flag,
    mask,
    mate,
    memory_order,
    out,
    pick,
    summed,
    target,
)
from keywords import check_case

from support import BOOL, DTYPES, FLOATS, INTEGERS, SIGNED, random_array, seeds

numbers = INTEGERS + FLOATS
matrices = [(3, 4), (3, 3), (1, 4), (4, 1), (2, 0)]
squares = [(3, 3), (1, 1), (2, 3, 3), (2, 2)]


def calm(dtypes=numbers, shapes=SHAPES, low=-5, high=5):
    """Without special values, for what is rounded."""
    return array(dtypes, shapes, low, high, special=False)


def shaped(shape_of, dtypes=numbers, low=-5, high=5, special=False):
    """An array whose shape depends on what was drawn before."""
    return lambda c: random_array(c.rng, shape_of(c), c.pick(dtypes), low, high, special)


def rows(c: Call):
    """A vector or matrix that the first argument can be multiplied with."""
    inner = c.shape[-1] if c.ndim else 3
    return c.pick([(inner,), (inner, 2), (inner, 0)])


def kth(c: Call):
    place = c.kwargs.get("axis", -1)
    count = c.args[0].size if place is None else c.shape[place] if c.ndim else 1
    return c.pick([0, -1, max(count - 1, 0), [0, max(count // 2 - 1, 0)]])


def steps(c: Call):
    """Edges that go up."""
    return np.sort(random_array(c.rng, (c.pick([1, 2, 5]),), c.pick(SIGNED + FLOATS), -9, 9, special=False))


def steps_either_way(c: Call):
    found = steps(c)
    return found if c.chance(0.5) else found[::-1]


def sorted_values(c: Call):
    return np.sort(random_array(c.rng, (c.pick([0, 1, 5, 9]),), c.pick(numbers)))


def sorter(c: Call):
    """An order that sorts the first argument."""
    return np.argsort(c.args[0], kind="stable")


def counted(c: Call):
    return c.rng.integers(0, 9, c.pick([0, 1, 7])).astype(c.pick(INTEGERS[:4]))


def grid(c: Call):
    """Where the values that are interpolated lie."""
    return np.sort(c.rng.choice(40, c.pick([1, 3, 6]), replace=False) / 4.0 - 5).astype(c.pick(FLOATS[1:]))


def along_axis(c: Call):
    """As many as the array has along the axis."""
    place = c.kwargs.get("axis", -1)
    count = c.shape[place] if c.ndim and -c.ndim <= place < c.ndim else 1
    return c.rng.random(count).cumsum()


def padding_of(c: Call):
    """What is put before or behind along the axis: a number, or an array of the shape but for that axis."""
    place = c.kwargs.get("axis", -1)
    shape = list(c.shape)
    if c.ndim and -c.ndim <= place < c.ndim:
        shape[place] = 2
    return c.pick([3, random_array(c.rng, shape, c.args[0].dtype, special=False)])


def contracted(c: Call):
    return c.pick([0, 1, ([0], [0]), (0, 1), ([-1], [0]), ((0, 1), (0, 1))])


def dense_out(c: Call):
    """NumPy does not write to all of other ones."""
    found = out(c)
    return None if found is None else found.copy()


def chain(c: Call):
    """Matrices of one dtype, since which two are multiplied first decides in what."""
    dtype = c.pick(FLOATS[1:])
    return [random_array(c.rng, shape, dtype, special=False) for shape in ((2, 3), (3, 4), (4, 2))]


def no_wider(c: Call):
    """A float dtype that holds no more than the result does."""
    want = c.result()
    want = want[0] if isinstance(want, tuple) else want
    return c.pick(
        [None, *[one for one in FLOATS if want is not None and one.itemsize <= want.dtype.itemsize]]
    )


def conditions(c: Call):
    return [c.rng.random(c.shape) < 0.5 for _ in range(2)]


def multi_index(c: Call):
    shape = c.pick([(), (3,), (2, 2)])
    limits = (2, 3) if c.kwargs.get("mode", "raise") == "raise" else (9, 9)
    return tuple(c.rng.integers(0, n, shape) for n in limits)


def flat_index(c: Call):
    return c.rng.integers(0, 6, c.pick([(), (3,), (0,), (2, 2)]))


def bins(c: Call):
    return c.pick([4, 1, np.array([-2.0, 0.0, 1.5, 7.0])])


def samples_weights(c: Call):
    return random_array(c.rng, c.shape, c.pick(FLOATS[1:] + INTEGERS), 0, 4, special=False)


def row_weights(c: Call):
    return random_array(c.rng, c.shape[:1], c.pick(FLOATS[1:]), 0, 4, special=False)


limits = pick(None, (-4, 4), (0, 2.5))
planes = pick(None, [(-4, 4), (0, 2)])
sort_kind = pick(None, "quicksort", "mergesort", "heapsort", "stable")
sorting = {"axis": axis_or_none, "kind": sort_kind, "order": pick(None), "stable": pick(None, False, True)}
stable_sorting = {
    "axis": axis_or_none,
    "kind": pick("stable", "mergesort"),
    "order": pick(None),
    "stable": pick(True),
}
partitioning = {"axis": axis, "kind": pick("introselect"), "order": pick(None)}
near = {"rtol": pick(1e-5, 0.1, 0), "atol": pick(1e-8, 0.5, 0), "equal_nan": flag}
spaced = {"num": pick(50, 0, 1, 4, 7), "endpoint": flag, "dtype": no_wider, "axis": pick(0, -1)}
ends = [calm(FLOATS + SIGNED, [(), (3,), (2, 2)], 1, 4), shaped(lambda c: c.shape, FLOATS, 5, 9)]
clipping = {
    "out": out,
    "min": pick(-2, None, 1.5),
    "max": pick(3, None, np.float32(2)),
    "dtype": pick(None, np.float64),
    "casting": casting,
    "where": mask,
    "order": memory_order,
    "subok": flag,
}


def is_twice_bounded(c: Call) -> bool:
    """NumPy refuses a_min= with min=, and without out= what is not `where` is anything."""
    return ("a_min" in c.kwargs or "a_max" in c.kwargs) and ("min" in c.kwargs or "max" in c.kwargs)


def both_stable(c: Call) -> bool:
    return c.kwargs.get("stable") is not None and c.kwargs.get("kind") is not None


def not_once_stable(c: Call) -> bool:
    """Other sorts have equal elements in any order."""
    return ("kind" in c.kwargs) == ("stable" in c.kwargs)


def parted(elements, args, kwargs):
    """NumPy leaves open in which order the others are."""
    return np.sort(elements, kwargs["axis"]), np.take(elements, args[1], kwargs["axis"])


def selected(places, args, kwargs):
    found = np.take_along_axis(args[0], places, kwargs["axis"])
    return np.sort(places, kwargs["axis"]), np.take(found, args[1], kwargs["axis"])


TABLE = {
    # Element-wise
    "np.round": Case([array(low=-30, high=30)], {"decimals": pick(0, 1, 2, -1), "out": out}, ulp=1),
    "np.around": Case([array(low=-30, high=30)], {"decimals": pick(0, 1, 2, -1), "out": out}, ulp=1),
    "np.fix": Case([array()], {"out": out}),
    "np.isposinf": Case([array()], {"out": out}),
    "np.isneginf": Case([array()], {"out": out}),
    "np.clip": Case([array()], {"a_min": pick(-2, None, 1.5), "a_max": pick(3, None), **clipping},
        together=(("a_min", "a_max"), ("a_max", "a_min"), ("where", "out")), undefined=is_twice_bounded),
    "np.nan_to_num": Case([target()], {"copy": flag, "nan": pick(0.0, 7), "posinf": pick(None, 9.0), "neginf": pick(None, -9)}),
    "np.isclose": Case([array(), mate()], near),
    "np.allclose": Case([array(), mate()], near),
    "np.array_equal": Case([array(BOOL + FLOATS, low=0, high=1), lambda c: c.args[0].copy()], {"equal_nan": flag}),
    "np.array_equiv": Case([array(BOOL + INTEGERS, low=0, high=1), mate()]),
    "np.where": Case([array(), mate(), mate()]),
    "np.select": Case([lambda c: [c.rng.random((3, 4)) < 0.5 for _ in range(2)],
        lambda c: [random_array(c.rng, (3, 4), c.pick(DTYPES)) for _ in range(2)]], {"default": pick(0, 7, 1.5)}),
    "np.choose": Case([lambda c: c.rng.integers(0, 3 if c.kwargs.get("mode", "raise") == "raise" else 9, (2, 3)),
        lambda c: [random_array(c.rng, c.pick([(2, 3), (3,), ()]), c.pick(DTYPES)) for _ in range(3)]],
        {"out": dense_out, "mode": pick("raise", "wrap", "clip")}),
    "np.piecewise": Case([array(numbers, FULL), conditions, pick([1, 2], [lambda v, by=2: v * by, 3], [1, 2, 3])],
        {"by": pick(3)}, undefined=lambda c: "by" in c.kwargs and sum(map(callable, c.args[2])) == 0),
    "np.sinc": Case([array()], rounded=True),
    "np.i0": Case([calm()], rounded=True),
    # Sorting and searching
    "np.sort": Case([array()], sorting, undefined=both_stable),
    "np.argsort": Case([array()], stable_sorting, together=(("axis", "kind"), ("order", "kind")), undefined=not_once_stable),
    "np.partition": Case([array(), kth], partitioning, always=("axis",), by_place=False, through=parted),
    "np.argpartition": Case([array(), kth], partitioning, always=("axis",), by_place=False, through=selected),
    "np.lexsort": Case([lambda c: [random_array(c.rng, (3, 4), c.pick(DTYPES), 0, 3) for _ in range(2)]],
        {"axis": pick(-1, 0, 1)}),
    "np.searchsorted": Case([sorted_values, array()], {"side": pick("left", "right"), "sorter": sorter}),
    "np.digitize": Case([array(numbers), steps_either_way], {"right": flag}),
    "np.isin": Case([array(), array(shapes=[(3,), (0,), (2, 2)])],
        {"assume_unique": pick(False), "invert": flag, "kind": pick(None, "sort")}),
    "np.interp": Case([calm(FLOATS + SIGNED, low=-7, high=7), grid, shaped(lambda c: c.args[1].shape, FLOATS[1:])],
        {"left": pick(None, -1.0, 3), "right": pick(None, 2.5), "period": pick(None, 7.5, 4)}, rounded=True,
        undefined=lambda c: (period := c.kwargs.get("period")) and np.unique(c.args[1] % period).size < c.args[1].size),
    "np.bincount": Case([counted], {"weights": shaped(lambda c: c.shape, FLOATS + INTEGERS, 0, 4), "minlength": pick(9, 12)},
        always=("minlength",), rounded=True),
    "np.histogram": Case([calm(numbers, [(9,), (3, 4), (0,)]), bins],
        {"range": limits, "density": pick(None, True, False), "weights": samples_weights}, rounded=True),
    "np.histogram_bin_edges": Case([calm(numbers, [(9,), (3, 4)]), bins], {"range": limits, "weights": samples_weights},
        rounded=True),
    "np.histogram2d": Case([calm(FLOATS[1:], [(9,)]), shaped(lambda c: c.shape, FLOATS[1:])],
        {"bins": pick(3, (2, 4)), "range": planes, "density": pick(None, True), "weights": samples_weights}, rounded=True),
    "np.histogramdd": Case([calm(FLOATS[1:], [(9, 2)])],
        {"bins": pick(3, (2, 4)), "range": planes, "density": pick(None, True), "weights": row_weights}, rounded=True),
    # Sequences
    "np.diff": Case([array(numbers)], {"axis": axis, "n": pick(0, 1, 2), "prepend": padding_of, "append": padding_of}),
    "np.ediff1d": Case([array(numbers)], {"to_end": pick(None, 3, [1, 2]), "to_begin": pick(None, 4, [2])}),
    "np.gradient": Case([calm(numbers, [(4,), (3, 4), (17,)])], {"axis": axis_or_none, "edge_order": pick(1, 2)}, rounded=True),
    "np.trapezoid": Case([calm()], {"axis": axis, "x": along_axis, "dx": pick(1.0, 0.5)}, rounded=True),
    "np.unwrap": Case([calm(low=-9, high=9)], {"axis": axis, "discont": pick(None, 4.0), "period": pick(6.5, 7)}, rounded=True),
    "np.convolve": Case([calm(shapes=VECTORS), shaped(lambda c: c.pick(VECTORS))], {"mode": pick("full", "same", "valid")},
        rounded=True),
    "np.correlate": Case([calm(shapes=VECTORS), shaped(lambda c: c.pick(VECTORS))], {"mode": pick("full", "same", "valid")},
        rounded=True),
    "np.linspace": Case(ends, {**spaced, "retstep": flag, "device": device}, rounded=True),
    "np.logspace": Case(ends, {**spaced, "base": pick(10.0, 2.0, 2)}, rounded=True),
    "np.geomspace": Case(ends, spaced, rounded=True),
    "np.vander": Case([calm(shapes=VECTORS[:2], low=-2, high=2)], {"N": pick(None, 3, 0), "increasing": flag}, rounded=True),
    "np.cross": Case([calm(shapes=[(3,), (2, 3), (3, 3), (2,)]), shaped(lambda c: c.shape)],
        {"axisa": pick(-1, 0), "axisb": pick(-1, 0), "axisc": pick(-1, 0), "axis": pick(None, -1, 0)}, rounded=True),
    # Polynomials
    "np.poly": Case([calm(shapes=[(0,), (3,)])], rounded=True),
    "np.polyadd": Case([calm(shapes=VECTORS[:2]), shaped(lambda c: c.pick(VECTORS[:2]))], rounded=True),
    "np.polysub": Case([calm(shapes=VECTORS[:2]), shaped(lambda c: c.pick(VECTORS[:2]))], rounded=True),
    "np.polyval": Case([calm(shapes=[(0,), (3,)]), shaped(lambda c: c.pick(FULL[:5]))], rounded=True),
    "np.polyder": Case([calm(shapes=[(1,), (4,)])], {"m": pick(0, 1, 2)}, rounded=True),
    "np.polyint": Case([calm(shapes=[(1,), (4,)])], {"m": pick(0, 1), "k": pick(None, 3, [2])}, rounded=True),
    # Indices
    "np.ravel_multi_index": Case([multi_index, pick((2, 3))], {"mode": pick("raise", "wrap", "clip"), "order": pick("C", "F")}),
    "np.unravel_index": Case([flat_index, pick((2, 3), 6)], {"order": pick("C", "F")}),
    # Products
    "np.dot": Case([calm(DTYPES, [(), (3,), (2, 3), (2, 2, 3)]), shaped(rows, DTYPES)], {"out": out}, rounded=True,
        undefined=lambda c: "out" in c.kwargs and c.ndim == 0),
    "np.inner": Case([calm(DTYPES, [(3,), (2, 3)]), shaped(lambda c: c.pick([(3,), (4, 3), (2,)]), DTYPES)], rounded=True),
    "np.vdot": Case([calm(DTYPES, [(3,), (2, 3)]), shaped(lambda c: c.shape, DTYPES)], rounded=True),
    "np.outer": Case([calm(DTYPES, [(), (3,), (2, 3)]), shaped(lambda c: c.pick([(2,), (2, 2)]), DTYPES)], {"out": out},
        rounded=True),
    "np.kron": Case([calm(DTYPES, [(), (3,), (2, 3)]), shaped(lambda c: c.pick([(2,), (2, 2)]), DTYPES)], rounded=True),
    "np.tensordot": Case([calm(shapes=[(3, 3), (2, 2)]), shaped(lambda c: c.shape)], {"axes": contracted}, rounded=True),
    "np.trace": Case([calm(shapes=[(3, 3), (3, 4), (2, 3, 3), (2, 0)])],
        {"offset": pick(0, 1, -1, 9), "axis1": pick(0, -2), "axis2": pick(1, -1), "dtype": any_dtype, "out": out}, rounded=True),
    "np.diagonal": Case([array(shapes=[(3, 3), (3, 4), (2, 3, 3), (2, 0)])],
        {"offset": pick(0, 1, -1, 9), "axis1": pick(0, -2), "axis2": pick(1, -1)}),
    "np.einsum": Case([pick("ij,jk->ik", "ij,kj->", "ij,jk"), calm(FLOATS[1:] + INTEGERS, [(3, 3)]),
        shaped(lambda c: (3, 3), FLOATS[1:] + INTEGERS)],
        {"out": out, "optimize": pick(False, True, "greedy"), "dtype": pick(None, np.float64), "order": memory_order,
        "casting": pick("safe", "same_kind", "unsafe")}, rounded=True, by_place=False,
        undefined=lambda c: c.kwargs.get("optimize") and "out" in c.kwargs),
    "np.lib.stride_tricks.sliding_window_view": Case([array(shapes=[(4,), (3, 4), (17,)]), pick(2, 1, 3)],
        {"axis": axis, "subok": flag, "writeable": pick(False)}, always=("axis",)),
    "np.linalg.cross": Case([calm(shapes=[(3,), (2, 3), (3, 3)]), shaped(lambda c: c.shape)], {"axis": pick(-1, 0)},
        rounded=True),
    "np.linalg.diagonal": Case([array(shapes=[(3, 4), (2, 3, 3)])], {"offset": pick(0, 1, -1, 9)}),
    "np.linalg.matmul": Case([calm(DTYPES, [(3,), (2, 3), (2, 2, 3)]), shaped(rows, DTYPES)], rounded=True),
    "np.linalg.matrix_norm": Case([summed(FLOATS, matrices, ())], {"keepdims": flag, "ord": pick("fro", 1, -1, np.inf, -np.inf)},
        rounded=True),
    "np.linalg.matrix_power": Case([calm(FLOATS[1:] + SIGNED, squares, -1, 1), pick(0, 1, 2, 3, 5)], rounded=True),
    "np.linalg.matrix_transpose": Case([array(shapes=matrices)], shares=True),
    "np.matrix_transpose": Case([array(shapes=matrices)], shares=True),
    "np.linalg.multi_dot": Case([chain], {"out": out}, rounded=True),
    "np.linalg.norm": Case([summed(numbers, [(4,), (3, 4), (2, 3, 4)], ())],
        {"ord": pick(None, 1, 2, np.inf, -np.inf, 0, 3), "axis": axis_or_none, "keepdims": flag}, together=(("ord", "axis"),),
        rounded=True, undefined=lambda c: c.kwargs.get("axis", 0) is None and c.kwargs.get("ord") is not None),
    "np.linalg.outer": Case([calm(shapes=[(3,)]), shaped(lambda c: (2,))], rounded=True),
    "np.linalg.tensordot": Case([calm(shapes=[(3, 3), (2, 2)]), shaped(lambda c: c.shape)], {"axes": contracted}, rounded=True),
    "np.linalg.trace": Case([calm(shapes=[(3, 4), (2, 3, 3)])], {"offset": pick(0, 1, -1, 9), "dtype": any_dtype}, rounded=True),
    "np.linalg.vecdot": Case([calm(shapes=[(3,), (2, 3), (3, 3)]), shaped(lambda c: c.shape)], {"axis": pick(-1, 0)},
        rounded=True),
    "np.linalg.vector_norm": Case([summed(numbers, [(4,), (3, 4), (2, 3, 4)], ())],
        {"axis": axis_or_none, "keepdims": flag, "ord": pick(1, 2, np.inf, -np.inf, 0, 3)}, rounded=True),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
@settings(max_examples=max(2, settings().max_examples // 12))
@given(seed=seeds)
def test_keywords(name, seed):
    check_case(name, TABLE[name], seed, signature=inspect.signature(eval(name)))
