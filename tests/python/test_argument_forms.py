"""Calls whose form has been seen before are taken apart by native code, which must see what Python would see."""

import collections
import copy
import dataclasses
import enum
import functools
import gc
import threading
import types
import weakref
from typing import NamedTuple

import numpy as np
import pytest
import tokamak as tk
from hypothesis import example, given
from hypothesis import strategies as st

from support import assert_same

X = np.arange(4.0)


class Pair(NamedTuple):
    first: object
    second: object


@dataclasses.dataclass
class Data:
    value: object
    other: object = 1


class Plain:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Slotted:
    __slots__ = ("first", "second")

    def __init__(self, first):
        self.first = first  # the second is set later, if ever


class Mode(enum.Enum):
    ONE = 1
    TWO = 2


def function_one(x):
    return x + 1


def function_two(x):
    return x * 2


# -- Everything that an argument is made up of


def weigh(value, weight=1):
    """A number that depends on types, order, keys and values."""
    if value is None:
        return 3 * weight
    if isinstance(value, str):
        return weight * (5 + sum(map(ord, value)))
    if isinstance(value, Mode):
        return weight * value.value
    if isinstance(value, (range, slice)):
        return weight * (value.stop or 1)
    if isinstance(value, dict):
        kind = [dict, collections.OrderedDict, collections.defaultdict].index(type(value))
        parts = [part for item in value.items() for part in item]
        return weigh_all(parts, weight * (7 + kind))
    if isinstance(value, (list, tuple)):
        return weigh_all(value, weight * (11 + [list, tuple, Pair].index(type(value))))
    if isinstance(value, functools.partial):
        return weigh_all((*value.args, value.keywords), weight * 13)
    if isinstance(value, types.FunctionType):
        return value(weight) + value.__code__.co_firstlineno
    if isinstance(value, (Data, Plain)):
        return weigh_all([part for item in vars(value).items() for part in item], weight * 17)
    if isinstance(value, Slotted):
        names = [name for name in ("first", "second") if hasattr(value, name)]
        return weigh_all([part for name in names for part in (name, getattr(value, name))], weight * 19)
    return np.sum(value) * weight


def weigh_all(parts, weight):
    total = weight
    for i, part in enumerate(parts):
        total = total + weigh(part, weight * (i % 5 + 2) % 1009)
    return total


LEAVES = {
    "array": lambda: np.arange(4.0),
    "integers": lambda: np.arange(3),
    "scalar": lambda: np.float64(2.5),
    "float": lambda: 1.5,
    "int": lambda: 4,
    "bool": lambda: True,
    "text": lambda: "abc",
    "longer": lambda: "abcd",
    "none": lambda: None,
    "enum": lambda: Mode.TWO,
    "range": lambda: range(3),
    "slice": lambda: slice(1, 4),
    "function": lambda: function_one,
    "other function": lambda: function_two,
    "Array": lambda: tk.array(np.arange(4.0)),
}


def slotted(items):
    made = Slotted(items[0] if items else None)
    if len(items) > 1:
        made.second = items[1]
    return made


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "dict": lambda items: {f"k{i}": item for i, item in enumerate(items)},
    "numbered": lambda items: dict(enumerate(items)),
    "ordered": lambda items: collections.OrderedDict((f"k{i}", item) for i, item in enumerate(items)),
    "default": lambda items: collections.defaultdict(list, {i: item for i, item in enumerate(items)}),
    "pair": lambda items: Pair(items[0] if items else 1, items[-1] if items else 2),
    "data": lambda items: Data(*items[:2]) if items else Data(1),
    "plain": lambda items: Plain(**{f"a{i}": item for i, item in enumerate(items)}),
    "slotted": slotted,
    "partial": lambda items: functools.partial(function_one, *items),
}

TREES = st.recursive(
    st.sampled_from(sorted(LEAVES)),
    lambda inner: st.tuples(st.sampled_from(sorted(CONTAINERS)), st.lists(inner, max_size=3)),
    max_leaves=6,
)


def make(tree):
    if isinstance(tree, str):
        return LEAVES[tree]()
    kind, items = tree
    return CONTAINERS[kind]([make(item) for item in items])


def change(value, where, new):
    """Changes one part of a container, in place where that can be; gives the container."""
    if isinstance(value, (list, collections.deque)) and value:
        value[where % len(value)] = new
    elif isinstance(value, dict) and value:
        if where % 3 == 0:  # the same items in another order
            key = next(iter(value))
            value[key] = value.pop(key)
        else:
            value[list(value)[where % len(value)]] = new
    elif isinstance(value, (Data, Plain)) and vars(value):
        setattr(value, list(vars(value))[where % len(vars(value))], new)
    elif isinstance(value, Slotted):
        value.second = new
    elif isinstance(value, functools.partial):
        value.keywords["k"] = new
    elif isinstance(value, tuple) and value:
        return type(value)(*value[:-1], new) if type(value) is Pair else (*value[:-1], new)
    else:
        return new
    return value


@pytest.mark.filterwarnings("ignore:.*compiled anew")
@given(
    TREES,
    st.lists(st.tuples(st.integers(0, 5), TREES, st.booleans()), min_size=1, max_size=4),
    st.sampled_from(["positional", "keyword", "nested", "mixed"]),
)
@example(("list", ["array", "int"]), [(1, "float", False), (1, "bool", False)], "positional")
@example(("plain", [("list", ["int", "array"])]), [(0, ("list", ["array", "array"]), False)], "nested")
def test_random_arguments(tree, changes, how):
    def function(value, x):
        return weigh(value) + x

    jitted = tk.jit(function)

    def same(value):
        for _ in range(3):
            if how == "positional":
                got = jitted(value, X)
            elif how == "keyword":
                got = jitted(x=X, value=value)
            elif how == "nested":
                got = jitted(value=[value], x=X)
                assert_same(np.asarray(got), np.asarray(function([value], X)))
                continue
            else:
                got = jitted(value, x=X)
            assert_same(np.asarray(got), np.asarray(function(value, X)))

    value = make(tree)
    same(value)
    for where, new, in_place in changes:
        before = value
        value = change(value if in_place else copy.copy(value), where, make(new))
        same(value)
        same(before)


# -- One by one


def counted(function):
    """The function, jitted; and how often Python took a call apart."""
    jitted = tk.jit(function)
    core = jitted.clear_cache.__self__
    calls = []
    original = core.arguments.take_apart
    core.arguments.take_apart = lambda args, kwargs: calls.append(1) or original(args, kwargs)
    return jitted, calls


class Model:
    def __init__(self):
        self.w = np.ones(4)
        self.scale = 2.0
        self.layers = [np.ones(4), np.zeros(4)]
        self.options = {"mode": "a", "n": 3}
        self.me = self
        self.nothing = None

    def total(self, x):
        return (self.w + self.layers[0]) * self.scale + x


NATIVE = {
    "keyword": (lambda x, k: x + k, (X,), {"k": X}),
    "text": (lambda x, k: x + len(k), (X, "abc"), {}),
    "list": (lambda v: v[0] + v[1], ([X, X],), {}),
    "nested": (lambda v: v["a"][0] + v["b"][1].first, ({"a": [X], "b": (1, Pair(X, 2.0))},), {}),
    "dataclass": (lambda v: v.value + v.other, (Data(X, 2.0),), {}),
    "object": (lambda m, x: m.total(x), (Model(), X), {}),
    "slots": (lambda s: s.first + 1, (Slotted(X),), {}),
    "scalar": (lambda a, b: a * b, (X, np.float32(2)), {}),
    "Array": (lambda a, b: a * b, (tk.array(X), 2.0), {}),
    "function": (lambda f, x: f(x), (function_one, X), {}),
    "partial": (lambda f, x: f(x), (functools.partial(np.multiply, X), X), {}),
    "ordered": (lambda d: d["a"] + d["b"], (collections.OrderedDict(a=X, b=X),), {}),
    "default": (lambda d: d["a"], (collections.defaultdict(int, a=X),), {}),
    "namespace": (lambda s: s.a * 2, (types.SimpleNamespace(a=X, b="text"),), {}),
    "method": (lambda f, x: f(x), (Model().total, X), {}),
    "dataclass back": (lambda v: Data(v.value + 1, v.other), (Data(X, 2.0),), {}),
    "changed": (lambda v: v.append(v[0]), ([X],), {}),
    "many": (lambda *xs: sum(xs), (X,) * 40, {}),
}


@pytest.mark.parametrize("name", NATIVE)
def test_what_native_code_takes_apart(name):
    function, args, kwargs = NATIVE[name]
    jitted, calls = counted(function)
    for i in range(4):
        given = copy.deepcopy((args, kwargs)) if name == "changed" else (args, kwargs)
        jitted(*given[0], **given[1])
        assert len(calls) == 1, f"call {i}"
    assert jitted.cache_info().hits == 3


def test_order_of_items_counts():
    f = tk.jit(lambda d: np.stack(list(d.values())))
    one, two = {"a": X, "b": X + 1}, {"b": X + 1, "a": X}
    for _ in range(3):
        for given_ in (one, two):
            assert_same(f(given_), np.stack(list(given_.values())))
    moved = collections.OrderedDict(one)
    for _ in range(4):
        moved.move_to_end(next(iter(moved)))
        assert_same(f(moved), np.stack(list(moved.values())))


def test_order_of_keywords_counts():
    f = tk.jit(lambda **named: np.stack(list(named.values())))
    for _ in range(3):
        assert_same(f(a=X, b=X + 1), np.stack([X, X + 1]))
        assert_same(f(b=X + 1, a=X), np.stack([X + 1, X]))
    g = tk.jit(lambda a, b: a - b)
    for _ in range(2):
        assert_same(g(a=X, b=X + 1), X - (X + 1))
        assert_same(g(b=X + 1, a=X), X - (X + 1))
    assert g.cache_info().misses == 1


def test_keys_that_compare_equal_are_different():
    f = tk.jit(lambda d: sum(x * key for key, x in d.items()))
    for key in (1, True, 1.0, np.float32(1)):
        for _ in range(2):
            assert_same(f({key: np.arange(3)}), np.arange(3) * key)


def test_numbers_of_other_types_in_objects():
    f = tk.jit(lambda p, x: x * p.k)
    for k in (1, True, 1.0, np.float64(1), np.int8(1), X, 1, 1.0):
        for _ in range(2):
            assert_same(f(Plain(k=k), np.arange(4)), np.arange(4) * k)


def test_what_an_object_holds_becomes_arrays():
    p = Plain(items=[1.0, 2.0])
    f = tk.jit(lambda p, x: x * p.items[0])
    for item in (1.0, 3.0, X, 2, X * 2):
        p.items[0] = item
        for _ in range(2):
            assert_same(f(p, X), X * item)
    p.items[:] = [X, X]
    assert_same(f(p, X), X * X)
    p.items[0] = X * 5
    assert_same(f(p, X), X * X * 5)


def test_objects_that_hold_each_other():
    def make():
        a, b = Plain(x=X), Plain(x=X * 2)
        a.other, b.other = b, a
        return a, b

    f = tk.jit(lambda a: a.other.x + a.other.other.x * 10)
    a, b = make()
    for _ in range(3):
        assert_same(f(a), b.x + a.x * 10)
    c, d = make()
    d.other = Plain(x=X * 7, other=d)  # no longer the same
    for _ in range(3):
        assert_same(f(c), d.x + d.other.x * 10)


@pytest.mark.parametrize(
    ("make", "held", "other"), [(lambda: Plain(x=X), "x", "y"), (lambda: Slotted(X), "first", "second")]
)
def test_attributes_that_come_and_go(make, held, other):
    p = make()
    f = tk.jit(lambda p: getattr(p, held) + getattr(p, other, 0))
    for _ in range(2):
        assert_same(f(p), X)
        setattr(p, other, 5.0)
        assert_same(f(p), X + 5)
        assert_same(f(p), X + 5)
        delattr(p, other)


class Tracked:
    """Is not what it holds."""

    def __init__(self):
        self.x = X

    def __getattribute__(self, name):
        return X * 2 if name == "x" else object.__getattribute__(self, name)


def test_objects_with_ways_of_their_own():
    f = tk.jit(lambda t, x: t.x * 0 + x)
    for _ in range(3):
        assert_same(f(Tracked(), X), X)

    class Property:
        __slots__ = ("_x",)

        @property
        def x(self):
            return self._x * 2

    p = Property()
    p._x = X
    g = tk.jit(lambda p: p.x)
    for _ in range(3):
        assert_same(g(p), X * 2)
        p._x = p._x + 0


def test_static_keywords():
    f = tk.jit(lambda x, n=1, how="a": x * n + len(how), static_argnames=("n", "how"))
    for n in (1, 1.0, True, 2, 1):
        for how in ("a", "".join(["a", "b"])):
            for _ in range(2):
                assert_same(f(np.arange(3), n=n, how=how), np.arange(3) * n + len(how))
                assert_same(f(np.arange(3), how=how, n=n), np.arange(3) * n + len(how))
    assert f.cache_info().misses == 8


def test_shapes_and_dtypes_inside_containers():
    f = tk.jit(lambda d: d["w"] + d["b"][0])
    for w in (np.ones(3), np.ones((2, 3)), np.ones(3, np.float32), np.ones((3, 3)).T, np.ones(6)[::2], 2):
        for b in (np.ones(3), 1.5, np.int8(3)):
            for _ in range(2):
                assert_same(f({"w": w, "b": [b]}), w + b)


def test_errors_stay_as_they_are():
    f = tk.jit(lambda d: d["w"] + 1)
    f({"w": X})
    f({"w": X})
    for value, word in ((np.ma.masked_array(X), "MaskedArray"), (X.astype(complex), "complex"), ({1}, "set")):
        with pytest.raises(TypeError, match=word):
            f({"w": value})
    with pytest.raises(TypeError, match="unexpected keyword"):
        f({"w": X}, other=X)
    g = tk.jit(lambda d: d["w"].__iadd__(1) is None)
    assert g({"w": X.copy()}) is False
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        g({"w": frozen})


def test_donated_arrays_inside_containers():
    f = tk.jit(lambda d: d["w"] * 2, donate_argnums=0)
    a = tk.array(X)
    f({"w": tk.array(X)})
    f({"w": a})
    with pytest.raises(ValueError, match="donated"):
        f({"w": a})


def test_calls_inside_traced_functions():
    inner = tk.jit(lambda d, k: d["w"] * k)
    outer = tk.jit(lambda x: inner({"w": x}, k=2.0) + inner({"w": np.ones(4)}, k=3.0))
    for _ in range(3):
        assert_same(inner({"w": X}, k=2.0), X * 2)
        assert_same(outer(X), X * 2 + 3.0)


def test_what_is_remembered_is_let_go():
    class Own:
        pass

    f = tk.jit(lambda o, x: o.w + x)
    own = Own()
    own.w, own.text, own.held = X, "text", [1, X]
    f(own, X)
    f(own, X)
    reference, kind = weakref.ref(own), weakref.ref(Own)
    del own, Own, f
    gc.collect()
    assert reference() is None
    assert kind() is None


def test_cleared_caches_compile_again():
    f = tk.jit(lambda d: d["w"] + 1)
    f({"w": X})
    f({"w": X})
    f.clear_cache()
    assert_same(f({"w": X}), X + 1)
    assert f.cache_info().misses == 2
    few = tk.jit(lambda x, mode: x + len(mode), max_programs=3)
    for n in (*range(1, 9), *range(1, 9)):
        for _ in range(2):
            assert_same(few(X, "a" * n), X + n)
    assert few.cache_info().programs == 3


def test_results_of_all_kinds():
    def function(d):
        w = d["w"]
        return {
            "pair": Pair(w + 1, (w, None)),
            "data": Data(w * 2, [w.sum(), "text"]),
            "plain": Plain(x=w, n=3),
            "space": types.SimpleNamespace(x=w),
            "number": d["k"] + 1,
            "ordered": collections.OrderedDict(b=w, a=1),
            "slotted": Slotted(w),
        }

    f = tk.jit(function)
    for _ in range(3):
        got, want = f({"w": X, "k": 2}), function({"w": X, "k": 2})
        assert list(got) == list(want)
        assert type(got["number"]) is int
        for name in ("pair", "data", "plain", "space", "ordered", "slotted"):
            assert type(got[name]) is type(want[name])
        assert_same(got["pair"].first, X + 1)
        assert got["pair"].second[1] is None
        assert_same(got["data"].other[0], X.sum())
        assert vars(got["plain"])["n"] == 3
        assert_same(got["space"].x, X)
        assert list(got["ordered"]) == ["b", "a"]
        assert_same(got["slotted"].first, X)
        assert got["data"].other is not f({"w": X, "k": 2})["data"].other


def test_changes_of_containers():
    def function(d, p):
        d["w"] = d["w"] + 1
        d["new"] = {"list": [d["w"]]}
        p.x = p.x * 2
        p.held = d
        del d["old"]
        d["items"].append(p.x)
        return p

    f = tk.jit(function)
    for _ in range(3):
        d, p = {"w": X, "old": X, "items": [X]}, Plain(x=X, held=None)
        assert f(d, p) is p
        assert p.held is d
        assert list(d) == ["w", "items", "new"]
        assert_same(d["w"], X + 1)
        assert_same(d["new"]["list"][0], X + 1)
        assert_same(d["items"][1], X * 2)
        assert_same(p.x, X * 2)


def test_containers_that_other_threads_change():
    items, holder, is_done = [np.zeros(20_000)], Plain(x=np.zeros(20_000)), threading.Event()

    def change():
        while not is_done.is_set():
            for i in range(8):
                items[0] = np.full(20_000, float(i))
                holder.x = np.full(20_000, float(i))

    f = tk.jit(lambda v, h: (np.sqrt(v[0]) ** 2 + h.x * 8).sum())
    changer = threading.Thread(target=change)
    changer.start()
    try:
        found = [f(items, holder) / 20_000 for _ in range(300)]
    finally:
        is_done.set()
        changer.join()
    np.testing.assert_allclose(found, np.round(found), atol=1e-9)
