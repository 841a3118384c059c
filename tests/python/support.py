"""What the tests share: data to draw from, and comparison with NumPy."""

import math
import re

import numpy as np
import tokamak as tk
from hypothesis import strategies as st

BOOL = [np.dtype(np.bool_)]
SIGNED = [np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64)]
UNSIGNED = [np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64)]
INTEGERS = SIGNED + UNSIGNED
FLOATS = [np.dtype(t) for t in (np.float16, np.float32, np.float64)]
DTYPES = BOOL + INTEGERS + FLOATS

#: rank 0, empty, one element, and sizes on both sides of every vector width
SHAPES = [
    (),
    (0,),
    (1,),
    (3,),
    (7,),
    (8,),
    (9,),
    (15,),
    (17,),
    (33,),
    (65,),
    (3, 0),
    (1, 5),
    (5, 1),
    (4, 9),
    (3, 1, 5),
    (2, 3, 17),
    (2, 1, 3, 4),
    (2, 3, 2, 3, 5),
]

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 1e-8, -2.5, 3.5, 1e4, 6e-8, -1e-40, 1e30]


def random_array(rng, shape, dtype, low=-10.0, high=10.0, special=True):
    """Elements from [low, high], with special values and the limits of the dtype among them."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = rng.integers(max(int(low), info.min), min(int(high), info.max), shape, endpoint=True).astype(
            dtype
        )
        chosen = np.array([info.min, info.max, 0, 1, 2], dtype)
    else:
        values = (rng.random(shape) * (high - low) + low).astype(dtype)
        chosen = np.array(SPECIAL, np.float64).astype(dtype)
    values = np.asarray(values)
    if special and values.size:
        places = rng.random(shape) < 0.15
        values = np.where(places, chosen[rng.integers(0, len(chosen), shape)], values).astype(dtype)
    return values


LAYOUTS = ["dense", "sliced", "reversed", "transposed", "broadcast", "offset"]


def with_layout(rng, array, layout):
    """An array with these elements (or, broadcast, some of them) lying in memory otherwise."""
    array = np.asarray(array)
    if layout == "sliced" and array.ndim:
        wide = np.repeat(np.repeat(array, 2, axis=0), 3, axis=-1)
        return wide[::2, ..., ::3] if array.ndim > 1 else np.repeat(array, 2)[::2]
    if layout == "reversed" and array.ndim:
        return np.flip(np.ascontiguousarray(np.flip(array)))
    if layout == "transposed" and array.ndim > 1:
        return np.ascontiguousarray(array.T).T
    if layout == "broadcast" and array.ndim and array.shape[0]:
        return np.broadcast_to(array[:1], array.shape)
    if layout == "offset" and array.ndim:
        padded = np.concatenate([array.ravel()[:1], array.ravel()]) if array.size else array.ravel()
        return padded[1:].reshape(array.shape) if array.size else array
    return array


def ulp_distance(a, b):
    """How many floats lie between a and b, for arrays of one float dtype."""
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]

    def ordered(x):
        bits = x.view(kind).astype(object if kind is np.int64 else np.int64)
        return np.where(bits < 0, np.iinfo(kind).min - bits, bits) if x.size else bits

    return np.abs(ordered(np.atleast_1d(a)) - ordered(np.atleast_1d(b)))


def assert_same(got, want, ulp=0, what=""):
    """Same dtype, shape and values: the same bits but for the payload of NaNs, or within `ulp` units in the last place."""
    got_array, want_array = np.asarray(got), np.asarray(want)
    assert got_array.dtype == want_array.dtype, (
        f"{what}: dtype {got_array.dtype}, NumPy has {want_array.dtype}"
    )
    assert got_array.shape == want_array.shape, (
        f"{what}: shape {got_array.shape}, NumPy has {want_array.shape}"
    )
    if want_array.dtype.kind != "f":
        np.testing.assert_array_equal(got_array, want_array, err_msg=what)
        return
    nan_got, nan_want = np.isnan(got_array), np.isnan(want_array)
    np.testing.assert_array_equal(nan_got, nan_want, err_msg=f"{what}: NaN in other places")
    if not want_array.size:
        return
    clean_got, clean_want = np.where(nan_got, 0, got_array), np.where(nan_want, 0, want_array)
    distance = ulp_distance(clean_got.astype(want_array.dtype), clean_want.astype(want_array.dtype))
    worst = np.argmax(distance)
    assert distance.flat[worst] <= ulp, (
        f"{what}: {distance.flat[worst]} ULP at {worst}: {clean_got.flat[worst]!r}, NumPy has {clean_want.flat[worst]!r}"
    )


def check(function, *args, ulp=0, what="", **kwargs):
    """Compiled and not, the function gives the same; and it is compiled (not run by NumPy)."""
    want = function(*args, **kwargs)
    compiled = tk.jit(function)
    got = compiled(*args, **kwargs)
    again = compiled(*args, **kwargs)  # by the hot path
    compare_trees(got, want, ulp, what)
    compare_trees(again, want, ulp, what)


def compare_trees(got, want, ulp, what):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            compare_trees(one, other, ulp, what)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for name in want:
            compare_trees(got[name], want[name], ulp, what)
    else:
        assert_same(got, want, ulp, what)


shapes = st.sampled_from(SHAPES)
layouts = st.sampled_from(LAYOUTS)
seeds = st.integers(0, 2**32 - 1)


def assert_products(got, want, magnitude, what=""):
    """Like `want` (NumPy's result) but for the rounding of sums of products: exact for integers and bool, and for floats
    within a few units of the sum of the absolute products, `magnitude`."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, NumPy has {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, NumPy has {want.shape}"
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    bound = 16 * np.finfo(got.dtype).eps * np.asarray(magnitude, np.float64) + np.finfo(got.dtype).tiny
    difference = np.abs(got.astype(np.float64) - want.astype(np.float64))
    assert np.all(difference <= bound), (
        f"{what}: off by {np.max(difference / bound)} times what rounding explains"
    )


def check_products(function, *args, what=""):
    """A function that is linear in each argument: jitted, and on Arrays, it gives what NumPy gives."""
    want = function(*args)
    magnitude = (
        function(*[np.abs(np.asarray(a).astype(np.float64)) for a in args])
        if want.dtype.kind == "f"
        else None
    )
    assert_products(tk.jit(function)(*args), want, magnitude, f"{what} jitted")
    assert_products(function(*[tk.asarray(a) for a in args]), want, magnitude, f"{what} eager")


def small_array(rng, shape, dtype):
    """Without special values; integers use all bits, so that products wrap."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


def copied(a):
    """A copy with the strides of the original."""
    if a.ndim != 1:
        return np.copy(a, order="K")
    step = a.strides[0] // a.itemsize or 1  # an empty one may have no stride
    copy = np.zeros(a.size * abs(step), a.dtype)[::step]
    copy[...] = a
    return copy


def check_writes(function, *arguments):
    """The jitted function gives what NumPy gives, and leaves the arguments as NumPy leaves them. Twice, for the cache."""
    jitted = tk.jit(function)
    for _ in range(2):
        wanted_arguments = [copied(a) for a in arguments]
        got_arguments = [copied(a) for a in arguments]
        wanted = function(*wanted_arguments)
        got = jitted(*got_arguments)
        many = isinstance(wanted, tuple)
        for one_got, one_wanted in zip(got if many else [got], wanted if many else [wanted], strict=True):
            assert_same(np.asarray(one_got), np.asarray(one_wanted))
        for one_got, one_wanted in zip(got_arguments, wanted_arguments, strict=True):
            assert_same(one_got, one_wanted)


def written_in_place(function, *args):
    """The arguments that a jitted function writes to where they lie: nothing is computed apart and copied to them at the end."""
    found = [
        re.fullmatch(r"computed where %(\w+) lies", one.decision) for one in function.explain(*args).layouts
    ]
    return {match[1] for match in found if match}


def with_threads(count, call):
    """What the call gives with so many threads."""
    before = tk.num_threads()
    tk.set_num_threads(count)
    try:
        return call()
    finally:
        tk.set_num_threads(before)


def with_any_threads(call):
    """What the call gives with 1, 2 and 7 threads: the same bits."""
    first, *others = (np.asarray(with_threads(count, call)) for count in (1, 2, 7))
    for other in others:
        assert other.tobytes() == first.tobytes()
    return first
