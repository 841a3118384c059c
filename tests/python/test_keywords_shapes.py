"""Creation, shapes, joining, splitting, editing and writing with every keyword, against NumPy."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from keyword_strategies import (
    FULL,
    VECTORS,
    Call,
    Case,
    any_dtype,
    array,
    axis,
    axis_or_none,
    castable,
    casting,
    device,
    flag,
    mate,
    memory_order,
    out,
    pick,
    several,
    target,
)
from keywords import check_case

from support import BOOL, DTYPES, INTEGERS, random_array, seeds

extents = pick((), 3, (2,), (2, 3), (0, 2), [2, 1], (2, 0, 3))
offset = pick(0, 1, -1, 2, -3, 9)
matrices = [(3, 4), (4, 3), (3, 3), (1, 4), (0, 3)]
deeper = [(2, 3, 4), (3, 3, 2), (2, 2, 0)]
two_axes = [*matrices, *deeper]
like = array(shapes=[(3,), (2, 2)])
no_copy = pick(True, None)


def sections(axis_of_parts):
    """A number of parts, or where they begin."""

    def draw(c: Call):
        place = axis_of_parts(c)
        count = c.shape[place] if -c.ndim <= place < c.ndim else 3
        return c.pick([1, 2, max(count, 1), [1], [1, 2], [], [5], [-1], [2, 1]])

    return draw


def ends(c: Call) -> int:
    return 1 if c.ndim > 1 else 0


def joined(shapes=FULL, least=1):
    """Arrays that differ in one axis only, if at all."""

    def draw(c: Call):
        shape = c.pick(shapes)
        kinds = c.pick([DTYPES, [c.pick(DTYPES)]])
        return [
            random_array(
                c.rng, (c.rng.integers(0, 3), *shape[1:]) if shape and c.chance(0.3) else shape, c.pick(kinds)
            )
            for _ in range(c.rng.integers(least, 4))
        ]

    return draw


def axis_of_parts(c: Call):
    ndim = max(c.args[0][0].ndim, 1)
    return int(c.rng.integers(-ndim, ndim))


def axis_or_flat(c: Call):
    return None if c.chance(0.2) else axis_of_parts(c)


def axis_of_stack(c: Call):
    ndim = c.args[0][0].ndim + 1
    return int(c.rng.integers(-ndim, ndim))


def shape_of_first(c: Call):
    """Another shape of as many elements."""
    size = int(np.prod(c.shape))
    choices = [size, (size,), -1, (1, size), (size, 1), (size, -1), (-1, 1)]
    return c.pick([*choices, (2, -1), (2, size // 2)] if size % 2 == 0 else choices)


def permutation(c: Call):
    if c.chance(0.1):
        return None
    return tuple(int(i) - (c.ndim if c.chance(0.3) else 0) for i in c.rng.permutation(c.ndim))


def some_axes(c: Call):
    """One, or as many as come first in `moved`."""
    return axis(c) if c.ndim < 2 or c.chance(0.5) else tuple(int(i) for i in c.rng.permutation(c.ndim)[:2])


def as_many(c: Call):
    if isinstance(c.args[1], tuple):
        return tuple(int(i) - c.ndim for i in c.rng.permutation(c.ndim)[:2])
    return axis(c)


def wide_shape(c: Call):
    """One that the first argument broadcasts to; sometimes not."""
    wide = tuple(c.pick([n, 3]) if n == 1 else n for n in c.shape)
    return c.pick([wide, (2, *wide), (1, 0, *wide), (5,)])


def unit_axes(c: Call):
    found = [i for i, n in enumerate(c.shape) if n == 1]
    return c.pick([None, *found, tuple(found)])


def new_axes(c: Call):
    return c.pick([0, -1, c.ndim, (0, 2), (-1, 0), (0, -1), c.ndim + 1])


def shift(c: Call):
    return c.pick([1, -2, 5, 0, (1, -1), np.int64(3)])


def repeats(c: Call):
    count = c.shape[0] if c.ndim == 1 else c.rng.integers(1, 4)
    return c.pick([0, 1, 3, [2], c.rng.integers(0, 3, count).tolist()])


def places(c: Call):
    """Indices of the first argument, which are inside."""
    count = c.shape[0] if c.ndim else 1
    return c.pick([0, -1, [0], [count - 1, 0], slice(None, None, 2), slice(1, None), []])


def inserted(c: Call):
    return c.pick([7, 1.5, np.float32(2), [3]])


def indices_along(c: Call):
    """For take_along_axis: of the shape of the array but for the axis."""
    place = int(c.rng.integers(-c.ndim, c.ndim)) if c.ndim else 0
    shape = list(c.shape)
    if c.ndim:
        shape[place] = c.rng.integers(1, 4)
    c.along = place
    limit = c.shape[place] if c.ndim else 1
    return c.rng.integers(-limit, limit, shape) if limit else np.zeros([0] * max(c.ndim, 1), int)


def same_axis(c: Call):
    return c.along


def flat_indices(c: Call):
    size = int(np.prod(c.shape))
    return c.rng.integers(-size, size, c.pick([(), (2,), (2, 3)])) if size else np.zeros(0, int)


def indices_of_axis(c: Call):
    """Inside the shortest axis, so that they are inside whichever it is."""
    least = min(c.shape, default=1)
    return c.rng.integers(-least, least, c.pick([(), (2,), (2, 2)])) if least else np.zeros(0, int)


def far_indices(c: Call):
    """With a mode, they may be anywhere."""
    if c.kwargs.get("mode", "raise") == "raise":
        return flat_indices(c)
    return c.rng.integers(-20, 20, (3,))


def pad_width(c: Call):
    pairs = [tuple(int(n) for n in c.rng.integers(0, 3, 2)) for _ in range(c.ndim)]
    return c.pick([1, (2, 1), 0, pairs or 2, (1,)])


def padding(mode, keyword=None, strategy=None, **options):
    shapes = [(4,), (3, 4), (2, 3, 2), (1,)]
    keywords = {} if keyword is None else {keyword: strategy}
    arguments = [array(DTYPES[1:], shapes, low=0, special=False), pad_width]
    return Case(arguments, {"mode": mode, **keywords}, rounded=True, always=("mode",), **options)


def grow(vector, width, axis, kwargs):
    """A mode that is a function."""
    if width[0]:
        vector[: width[0]] = kwargs.get("value", 3)
    if width[1]:
        vector[-width[1] :] = kwargs.get("value", 3)


def nested(c: Call):
    one = [random_array(c.rng, (2, n), c.pick(DTYPES)) for n in (1, 2)]
    return c.pick([one, [one, one[::-1]], one[0], [[one[0]], [one[0]]]])


def dtype_of_parts(c: Call):
    """What floats that are no integers become as one is left open."""
    is_float = any(np.asarray(one).dtype.kind == "f" for one in c.args[0])
    return c.pick([None, *(DTYPES[-3:] if is_float else DTYPES)])


making = {"dtype": any_dtype, "order": pick("C", "F"), "device": device, "like": like}
filled_like = {
    "dtype": any_dtype,
    "order": memory_order,
    "subok": flag,
    "shape": pick(None, (2, 3), 4, (0,)),
    "device": device,
}
converting = {"dtype": castable, "order": memory_order, "device": device, "copy": no_copy, "like": like}
as_is = Case([array()])

viewed = Case([array()], shares=True)

TABLE = {
    # Creation
    "np.zeros": Case([extents], making),
    "np.ones": Case([extents], making),
    "np.empty": Case([extents], making, through=lambda result, *_: np.zeros_like(result)),
    "np.full": Case([extents, pick(2, 1.5, np.float32(3), True, np.int8(-1))], {**making, "dtype": pick(None, *DTYPES[-3:])}),
    "np.zeros_like": Case([array()], filled_like),
    "np.ones_like": Case([array()], filled_like),
    "np.empty_like": Case([array()], filled_like, through=lambda result, *_: np.zeros_like(result)),
    "np.full_like": Case([array(), pick(2, 1, np.float32(3), np.int8(4))], filled_like),
    "np.arange": Case([pick(5, 3.5, 0)],
        {"stop": pick(9, None), "step": pick(1, 2), "dtype": any_dtype, "device": device, "like": like}),
    "np.eye": Case([pick(3, 0, 1)], {"M": pick(None, 4, 2), "k": offset, **making}),
    "np.identity": Case([pick(3, 0)], {"dtype": any_dtype, "like": like}),
    "np.tri": Case([pick(3, 0, 1)], {"M": pick(None, 4, 2), "k": offset, "dtype": any_dtype, "like": like}),
    "np.fromfunction": Case([lambda c: lambda i, j, by=2: i * by + j, pick((2, 3), (0, 2))],
        {"dtype": pick(int, float, np.float32), "like": like, "by": pick(3)}),
    "np.array": Case([array()],
        {**{k: v for k, v in converting.items() if k != "device"}, "copy": pick(True, None), "subok": flag,
        "ndmin": pick(0, 2, 4), "ndmax": pick(3, 8)}, shares_if_jitted=True),
    "np.asarray": Case([array()], converting, shares_if_jitted=True),
    "np.asanyarray": Case([array()], converting, shares_if_jitted=True),
    "np.ascontiguousarray": Case([array()], {"dtype": castable, "like": like}, shares_if_jitted=True),
    "np.asfortranarray": Case([array()], {"dtype": castable, "like": like}, shares_if_jitted=True),
    "np.astype": Case([array(), castable], {"copy": flag, "device": device}, undefined=lambda c: c.args[1] is None, shares=True),
    "np.copy": Case([array()], {"order": memory_order, "subok": flag}, shares=True),
    "np.meshgrid": Case([array(shapes=VECTORS), array(shapes=[(), (3,), (0,)]), array(shapes=[(2,)])],
        {"copy": flag, "sparse": flag, "indexing": pick("xy", "ij")}),
    "np.ix_": Case([array(INTEGERS, [(3,), (0,)]), array(INTEGERS, [(2,)])]),
    "np.diag": Case([array(shapes=[(3,), (0,), *matrices])], {"k": offset}, shares=True),
    "np.diagflat": Case([array(shapes=[(), (3,), (2, 2)])], {"k": offset}),
    "np.tril": Case([array(shapes=[(3,), *two_axes])], {"k": offset}, shares=True),
    "np.triu": Case([array(shapes=[(3,), *two_axes])], {"k": offset}, shares=True),
    "np.tril_indices_from": Case([array(shapes=matrices)], {"k": offset}),
    "np.triu_indices_from": Case([array(shapes=matrices)], {"k": offset}),
    "np.diag_indices_from": Case([array(shapes=[(3, 3), (2, 2, 2), (3, 4), (0, 0)])]),
    # Shapes
    "np.reshape": Case([array(), shape_of_first], {"order": pick("C", "F", "A"), "copy": no_copy}, shares=True),
    "np.ravel": Case([array()], {"order": memory_order}, shares=True),
    "np.transpose": Case([array()], {"axes": permutation}, shares=True),
    "np.permute_dims": Case([array()], {"axes": permutation}, shares=True),
    "np.matrix_transpose": Case([array(shapes=two_axes)], shares=True),
    "np.swapaxes": Case([array(), axis, axis], shares=True),
    "np.moveaxis": Case([array(), some_axes, as_many], shares=True),
    "np.rollaxis": Case([array(), axis], {"start": axis}, shares=True),
    "np.squeeze": Case([array()], {"axis": unit_axes}, shares=True),
    "np.expand_dims": Case([array(), new_axes], shares=True),
    "np.broadcast_to": Case([array(), wide_shape], {"subok": flag}, shares=True),
    "np.broadcast_arrays": Case([array(), mate()], {"subok": flag}),
    "np.atleast_1d": viewed, "np.atleast_2d": viewed, "np.atleast_3d": viewed,
    "np.ndim": as_is, "np.shape": as_is,
    "np.size": Case([array()], {"axis": axis_or_none}),
    "np.flip": Case([array()], {"axis": lambda c: c.pick([None, axis(c), tuple(range(c.ndim))])}, shares=True),
    "np.fliplr": Case([array(shapes=two_axes)], shares=True),
    "np.flipud": Case([array(shapes=[(3,), *two_axes])], shares=True),
    "np.rot90": Case([array(shapes=two_axes)], {"k": pick(0, 1, 2, 3, -1, 5), "axes": pick((0, 1), (1, 0), (-1, -2), (0, 0))},
        shares=True),
    "np.roll": Case([array(), shift], {"axis": lambda c: c.pick([None, axis(c), tuple(range(c.ndim))[:2]])}, shares=True),
    "np.tile": Case([array(), pick(2, (2, 1), (0,), (), (1, 2, 2))], shares=True),
    "np.repeat": Case([array(), repeats], {"axis": axis_or_none}, shares=True),
    "np.resize": Case([array(), pick((2, 3), 5, (0,), (4, 7))], shares=True),
    # Joining and splitting
    "np.concatenate": Case([joined()], {"axis": axis_or_flat, "out": out, "dtype": dtype_of_parts, "casting": casting},
        shares=True),
    "np.concat": Case([joined()], {"axis": axis_or_flat, "out": out, "dtype": dtype_of_parts, "casting": casting}, shares=True),
    "np.stack": Case([several(array(shapes=[(2, 3)]))],
        {"axis": axis_of_stack, "out": out, "dtype": dtype_of_parts, "casting": casting}, shares=True),
    "np.hstack": Case([joined([(3,), (2, 3), ()])], {"dtype": dtype_of_parts, "casting": casting}, shares=True),
    "np.vstack": Case([joined([(3,), (2, 3), ()])], {"dtype": dtype_of_parts, "casting": casting}, shares=True),
    "np.dstack": Case([several(array(shapes=[(2, 3)]))], shares=True),
    "np.column_stack": Case([several(array(shapes=[(3,), (3, 2)]))], shares=True),
    "np.block": Case([nested]),
    "np.append": Case([array(shapes=[(), (3,), (2, 3)]), lambda c: random_array(c.rng, c.shape, c.pick(DTYPES))],
        {"axis": axis_or_none}, shares=True),
    "np.split": Case([array(), sections(lambda c: 0)], {"axis": axis}, shares=True),
    "np.array_split": Case([array(), sections(lambda c: 0)], {"axis": axis}, shares=True),
    "np.hsplit": Case([array(), sections(ends)], shares=True),
    "np.vsplit": Case([array(), sections(lambda c: 0)], shares=True),
    "np.dsplit": Case([array(), sections(lambda c: 2)], shares=True),
    "np.unstack": Case([array()], {"axis": axis}, shares=True),
    # Editing
    "np.delete": Case([array(), places], {"axis": axis_or_none}, shares=True),
    "np.insert": Case([array(shapes=[(4,), (3, 4), (17,)]), places, inserted], {"axis": axis_or_none}),
    "np.pad": Case([array(shapes=[(4,), (3, 4), (2, 3, 2), (1,), ()]), pad_width],
        {"mode": pick("constant"), "constant_values": pick(0, 3, (1, 2))}),
    "np.packbits": Case([array(BOOL + INTEGERS)], {"axis": axis_or_none, "bitorder": pick("big", "little")}),
    "np.unpackbits": Case([array([np.dtype(np.uint8)])],
        {"axis": axis_or_none, "count": pick(None, 3, -2, 20), "bitorder": pick("big", "little")},
        undefined=lambda c: c.args[0].size == 0),
    "np.apply_along_axis": Case([pick(np.sum, lambda v: v * 2, lambda v: v[::-1]), lambda c: int(c.rng.integers(-1, 1)),
        array(INTEGERS, [(4,), (3, 4), (2, 3, 4)])]),
    "np.apply_over_axes": Case([pick(np.max, np.sum), array(INTEGERS, [(3, 4), (2, 3, 4)]), pick(0, [0, 1], (-1,))]),
    # Taking and writing
    "np.take": Case([array(), indices_of_axis], {"axis": axis_or_none, "out": out, "mode": pick("raise", "wrap", "clip")}),
    "np.compress": Case([pick([True], [1, 0], []), array()], {"axis": axis_or_none, "out": out}),
    "np.take_along_axis": Case([array(), indices_along], {"axis": same_axis}, together=(("axis", "axis"),)),
    "np.put": Case([target(), far_indices, pick(3, [1, 2], 5)], {"mode": pick("raise", "wrap", "clip")}),
    "np.put_along_axis": Case([target(), indices_along, pick(1, 2), same_axis]),
    "np.copyto": Case([target(), mate()],
        {"casting": pick("same_kind", "unsafe", "safe"), "where": lambda c: c.rng.random(c.shape) < 0.5}),
    "np.place": Case([target(), lambda c: c.rng.random(c.shape) < 0.5, pick([1, 2], [3])]),
    "np.putmask": Case([target(), lambda c: c.rng.random(c.shape) < 0.5, pick([1, 2, 3], 4)]),
    "np.fill_diagonal": Case([target(shapes=[(3, 3), (3, 4), (7, 2), (2, 2, 2)]), pick(1, [1, 2])], {"wrap": flag}),
    # About arrays
    "np.real": viewed, "np.imag": as_is, "np.isreal": as_is, "np.iscomplex": as_is, "np.iscomplexobj": as_is,
        "np.isrealobj": as_is,
    "np.real_if_close": Case([array()], {"tol": pick(100, 0.5)}, shares=True),
    "np.angle": Case([array()], {"deg": flag}, ulp=4),
    "np.result_type": Case([array(), mate()]),
}  # fmt: skip

#: np.pad takes keywords that depend on the mode
PADDING = {
    "constant": padding(pick("constant"), "constant_values", pick(0, 3, (1, 2), [[4, 5]])),
    "edge": padding(pick("edge")),
    "wrap": padding(pick("wrap")),
    "empty": padding(pick("empty"), through=lambda result, *_: np.zeros_like(result)),
    "linear_ramp": padding(pick("linear_ramp"), "end_values", pick(0, 3, (1, 2))),
    "symmetric": padding(pick("symmetric"), "reflect_type", pick("even", "odd")),
    "reflect": padding(pick("reflect"), "reflect_type", pick("even", "odd")),
    "mean": padding(pick("mean"), "stat_length", pick(None, 1, 2)),
    "median": padding(pick("median"), "stat_length", pick(None, 1, 2)),
    "maximum": padding(pick("maximum"), "stat_length", pick(None, 1, (2, 1))),
    "minimum": padding(pick("minimum"), "stat_length", pick(None, 1, (2, 1))),
    "function": padding(pick(grow), "value", pick(7)),
}


@pytest.mark.parametrize("mode", PADDING)
@settings(max_examples=max(2, settings().max_examples // 12))
@given(seed=seeds)
def test_padding(mode, seed):
    check_case("np.pad", PADDING[mode], seed)


@pytest.mark.parametrize("name", TABLE)
@settings(max_examples=max(2, settings().max_examples // 12))
@given(seed=seeds)
def test_keywords(name, seed):
    check_case(name, TABLE[name], seed, signature=inspect.signature(eval(name)))
