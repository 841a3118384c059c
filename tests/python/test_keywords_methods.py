"""The methods of ndarray with every keyword, against NumPy."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st
from keyword_strategies import SHAPES, Call, Case, array, axis, castable, flag, memory_order, pick, target
from keywords import check_case, method
from test_keywords_numeric import TABLE as NUMERIC
from test_keywords_reductions import TABLE as REDUCTIONS
from test_keywords_shapes import TABLE as SHAPING

from support import DTYPES, FLOATS, INTEGERS, assert_same, layouts, random_array, seeds, with_layout


def like(name, table, *without):
    """As the function of the same name."""
    case = table[f"np.{name}"]
    keywords = {key: one for key, one in case.keywords.items() if key not in without}
    changed = {"keywords": keywords, "by_place": case.by_place and name not in ("any", "all", "choose")}
    return replace(case, **changed)  # NumPy tells of another order than these have


def sorts(c: Call):
    """Sorts in place, so that the array tells."""
    return target()(c)


def kth(c: Call):
    return 0 if c.ndim == 0 or 0 in c.shape else int(c.rng.integers(-min(c.shape), min(c.shape)))


TABLE = {
    **{name: like(name, REDUCTIONS) for name in ("sum", "prod", "max", "min", "any", "all", "mean", "argmax", "argmin", "cumsum",
        "cumprod")},
    "var": like("var", REDUCTIONS, "correction"),
    "std": like("std", REDUCTIONS, "correction"),
    "clip": Case([array()], {key: one for key, one in NUMERIC["np.clip"].keywords.items() if not key.startswith("a_")},
        together=(("where", "out"),)),
    "round": like("round", NUMERIC),
    "take": like("take", SHAPING),
    "choose": like("choose", NUMERIC),
    "put": like("put", SHAPING),
    "dot": like("dot", NUMERIC),
    "trace": like("trace", NUMERIC),
    "diagonal": like("diagonal", NUMERIC),
    "repeat": like("repeat", SHAPING),
    "squeeze": like("squeeze", SHAPING),
    "swapaxes": like("swapaxes", SHAPING),
    "ravel": like("ravel", SHAPING),
    "reshape": like("reshape", SHAPING),
    "searchsorted": like("searchsorted", NUMERIC),
    "argsort": like("argsort", NUMERIC),
    "argpartition": like("argpartition", NUMERIC),
    "partition": Case([target(shapes=[(4,), (3, 4)]), kth],
        {"axis": pick(-1, 0), "kind": pick("introselect"), "order": pick(None)}, undefined=lambda c: True),
    "sort": Case([sorts], {"axis": axis, "kind": pick(None, "stable", "quicksort"), "order": pick(None), "stable": pick(None)}),
    "transpose": Case([array()], shares=True),
    "flatten": Case([array()], {"order": memory_order}, shares=True),
    "copy": Case([array()], {"order": memory_order}, shares=True),
    "astype": Case([array(), castable],
        {"order": memory_order, "casting": pick("unsafe", "same_kind", "safe"), "subok": flag, "copy": flag},
        undefined=lambda c: c.args[1] is None, shares=True),
    "fill": Case([target(), pick(1, 2.5)]),
    "conj": Case([array(INTEGERS)]),
    "conjugate": Case([array(INTEGERS)]),
    "view": Case([array(INTEGERS + FLOATS[1:], [(), (4,), (3, 4), (0,), (2, 8), (3, 1)])],
        {"dtype": pick(*INTEGERS, *FLOATS[1:])}, by_place=False),
}  # fmt: skip

#: Methods of ndarray that are tested elsewhere, or give no arrays
ELSEWHERE = {
    "item": "a number, which has to be known; test_array",
    "tolist": "a list, which has to be known; test_array",
    "tobytes": "bytes, which have to be known; test_array",
    "to_device": "the array API's; test_array_api_objects",
    "compress": "its shape depends on values: outside of jitted functions only",
    "nonzero": "its shape depends on values: outside of jitted functions only",
}


@pytest.mark.parametrize("name", TABLE)
@settings(max_examples=max(1, settings().max_examples // 25))
@given(seed=seeds)
def test_keywords(name, seed):
    check_case(f"ndarray.{name}", TABLE[name], seed, method(name), signature_of(name))


def signature_of(name):
    """Of the method; None where it does not name all it takes."""
    found = inspect.signature(getattr(np.ndarray, name))
    return None if any(one.kind is one.VAR_KEYWORD for one in found.parameters.values()) else found


#: Attributes of ndarray, and what is looked at of them
ATTRIBUTES = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "flat": lambda x: x.flat[...],
    "shape": lambda x: np.array(x.shape, int),
    "strides": lambda x: np.array(x.strides, int),
    "ndim": lambda x: np.array(x.ndim),
    "size": lambda x: np.array(x.size),
    "itemsize": lambda x: np.array(x.itemsize),
    "nbytes": lambda x: np.array(x.nbytes),
    "dtype": lambda x: np.zeros(1, x.dtype),
    "flags": lambda x: np.array([x.flags.c_contiguous, x.flags.f_contiguous, x.flags.writeable]),
    "base": lambda x: np.array([(x + 1).base is None, x.ndim == 0 or (x + 1)[...].base is None]),
}
#: What is about memory, or of the array API
OTHER_ATTRIBUTES = {"ctypes", "data", "device"}


@pytest.mark.parametrize("name", ATTRIBUTES)
@given(shape=st.sampled_from(SHAPES), dtype=st.sampled_from(DTYPES), layout=layouts, seed=seeds)
def test_attributes(name, shape, dtype, layout, seed):
    rng = np.random.default_rng(seed)
    x = with_layout(rng, random_array(rng, shape, dtype), layout)
    if name == "flags" and not x.flags.writeable:
        return  # what is written is told when it is written
    want = error = None
    try:
        want = ATTRIBUTES[name](x)
    except ValueError as raised:
        error = raised
    if error is not None:
        with pytest.raises(type(error)):
            tk.jit(ATTRIBUTES[name])(x)
    else:
        assert_same(tk.jit(ATTRIBUTES[name])(x), want, what=f"{name} of {x.dtype}{x.shape}, {layout}")


def test_every_attribute_is_listed():
    attributes = {
        name for name in dir(np.ndarray) if not name.startswith("_") and not callable(getattr(np.ndarray, name))
    }
    assert attributes == set(ATTRIBUTES) | OTHER_ATTRIBUTES
    assert set(ATTRIBUTES) <= set(dir(tk.Array))


def test_partition_in_place(rng):
    """In which order the others are, NumPy leaves open."""

    def program(x):
        x.partition(2, axis=0, kind="introselect", order=None)
        return x

    for dtype in DTYPES:
        x = random_array(rng, (5, 3), dtype)
        got = tk.jit(program)(x.copy())
        np.testing.assert_array_equal(got[2], np.sort(x, axis=0)[2])
        np.testing.assert_array_equal(np.sort(got, axis=0), np.sort(x, axis=0))


def test_every_method_is_listed():
    """Those of ndarray that Array has."""
    methods = {
        name for name in dir(np.ndarray) if not name.startswith("_") and callable(getattr(np.ndarray, name))
    }
    here = {name for name in methods if name in dir(tk.Array)}
    assert here == set(TABLE) | set(ELSEWHERE)
    for name in TABLE:
        found = signature_of(name)
        if found is None:
            continue
        wanted = [one for one in found.parameters if one not in ("self", "axes")][
            len(TABLE[name].arguments) - 1 :
        ]
        missing = [one for one in wanted if one not in TABLE[name].keywords and one not in ("args", "shape")]
        assert not missing, f"{name}: {missing}"


def test_outside_only(rng):
    x = rng.integers(0, 3, (3, 4))
    y = tk.asarray(x)
    for got, want in zip(y.nonzero(), x.nonzero(), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(
        y.compress([True, False, True], axis=0), x.compress([True, False, True], axis=0)
    )
    with pytest.raises(NotImplementedError, match="depends on values"):
        tk.jit(lambda x: x.nonzero())(x)
