"""Changes of what usually stays as it is: methods, code, defaults, classes, memory that was read-only."""

import collections
import ctypes
import dataclasses
import functools
import itertools
import mmap
import types

import numpy as np
import pytest
import tokamak as tk
from tokamak import _native

from support import assert_same

X = np.linspace(0, 1, 4)


def agree(jitted, *args):
    """The jitted function gives what the function itself gives, now: at once, and from the cache."""
    for _ in range(2):
        assert_same(jitted(*args), jitted.__wrapped__(*args))


def reason(jitted):
    return jitted.cache_info().reasons[-1]


# -- Classes


class Scaled:
    def __init__(self, k):
        self.k = k

    def __mul__(self, x):
        return x * self.k

    def shifted(self, x):
        return x + self.k


def scaled():
    """A class of its own for every test, which may change it."""
    members = {
        name: member for name, member in vars(Scaled).items() if name not in ("__dict__", "__weakref__")
    }
    return type("Scaled", (), members)


def subclass(kind):
    return type("Derived", (kind,), {})


@pytest.mark.parametrize("derived", [False, True])
def test_special_methods_replaced(derived):
    kind = scaled()
    s = (subclass(kind) if derived else kind)(2.0)
    f = tk.jit(lambda x: s * x)
    agree(f, X)
    kind.__mul__ = lambda self, x: x - self.k
    agree(f, X)
    assert (
        reason(f) == "captured `Derived.__mul__` changed" if derived else "captured `Scaled.__mul__` changed"
    )


@pytest.mark.parametrize(
    ("name", "method", "function"),
    [
        (
            "__rmul__",
            lambda self, x: x * 7,
            lambda s, x: np.float64(1) * s if hasattr(type(s), "__rmul__") else x,
        ),
        ("__bool__", lambda self: False, lambda s, x: x if s else -x),
        ("__len__", lambda self: 0, lambda s, x: x if s else -x),
        ("__eq__", lambda self, other: True, lambda s, x: x if s == 1 else -x),
        ("__getattr__", lambda self, name: 5.0, lambda s, x: x * getattr(s, "missing", 1.0)),
        ("__getattribute__", lambda self, name: 5.0, lambda s, x: x * s.k),
        ("__call__", lambda self, x: x * 3, lambda s, x: s(x) if callable(s) else x),
        (
            "__contains__",
            lambda self, x: True,
            lambda s, x: x if hasattr(type(s), "__contains__") and 1 in s else -x,
        ),
    ],
)
def test_special_methods_added_later_and_removed(name, method, function):
    kind = scaled()
    s = kind(2.0)
    f = tk.jit(lambda x: function(s, x))
    agree(f, X)
    setattr(kind, name, method)
    agree(f, X)
    delattr(kind, name)
    agree(f, X)
    assert f.cache_info().misses == 2  # the first program serves again


def test_special_methods_of_arguments():
    kind = scaled()
    s = kind(2.0)
    f = tk.jit(lambda s, x: s * x)
    agree(f, s, X)
    kind.__mul__ = lambda self, x: x - self.k
    agree(f, s, X)


def test_methods_of_metaclasses():
    class Meta(type):
        def __getitem__(cls, x):
            return x * 2

    class Table(metaclass=Meta):
        pass

    f = tk.jit(lambda x: Table[x])
    agree(f, X)
    Meta.__getitem__ = lambda cls, x: x * 3
    agree(f, X)


def test_other_changes_of_a_class_cost_no_program():
    kind = scaled()
    s = kind(2.0)
    f = tk.jit(lambda x: s * x)
    agree(f, X)
    for i in range(20):
        kind.counter = i
        kind.helper = lambda self: 0
        agree(f, X)
    assert f.cache_info().misses == 1


def test_bases_replaced():
    class One:
        def value(self, x):
            return x + 1

    class Two:
        def value(self, x):
            return x + 2

    class Both(One):
        pass

    made = Both()
    f = tk.jit(lambda x: made.value(x))
    agree(f, X)
    Both.__bases__ = (Two,)
    agree(f, X)


# -- Instances


def test_the_class_of_an_instance():
    kind = scaled()
    other = type("Other", (kind,), {"shifted": lambda self, x: x * 100})
    s = kind(2.0)
    captured = tk.jit(lambda x: s.shifted(x))
    taken = tk.jit(lambda s, x: s.shifted(x))
    for _ in range(2):
        agree(captured, X)
        agree(taken, s, X)
        s.__class__ = other
    assert reason(captured) == "captured `s` changed"


def test_an_attribute_in_front_of_a_method():
    kind = scaled()
    s = kind(2.0)
    f = tk.jit(lambda x: s.shifted(x))
    g = tk.jit(lambda s, x: s.shifted(x))
    for _ in range(2):
        agree(f, X)
        agree(g, s, X)
        s.shifted = lambda x: x * 50
    assert reason(f) == "captured `s.shifted` changed"
    del s.shifted
    agree(f, X)
    agree(g, s, X)


def test_another_dict_of_attributes():
    s = scaled()(2.0)
    f = tk.jit(lambda x: x * s.k)
    agree(f, X)
    s.__dict__ = {"k": 5.0}
    agree(f, X)
    s.k = 6.0
    agree(f, X)


def test_attributes_in_front_of_those_of_slots():
    class Slotted:
        __slots__ = ("k",)

    class Open(Slotted):
        def twice(self, x):
            return x * 2 * self.k

    s = Open()
    s.k = 1.5
    f = tk.jit(lambda x: s.twice(x))
    agree(f, X)
    s.twice = lambda x: x
    agree(f, X)


# -- Functions


def helper():
    def g(x, a=1.0, *, b=2.0):
        return x * a + b

    return g


CHANGES = {
    "defaults": lambda g: setattr(g, "__defaults__", (3.0,)),
    "keyword defaults": lambda g: setattr(g, "__kwdefaults__", {"b": 7.0}),
    "one keyword default": lambda g: g.__kwdefaults__.__setitem__("b", 8.0),
    "code": lambda g: setattr(g, "__code__", (lambda x, a=1.0, *, b=2.0: x - a - b).__code__),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "how", ["called", "jitted", "argument", "in a list", "method", "partial", "decorated"]
)
def test_what_a_function_is_made_of(change, how):
    g = helper()
    kind = type("Holder", (), {"g": staticmethod(g)})
    wrapped = functools.wraps(g)(lambda x: g(x))
    f = {
        "called": lambda: tk.jit(lambda x: g(x)),
        "jitted": lambda: tk.jit(g),
        "argument": lambda: functools.partial(tk.jit(lambda g, x: g(x)), g),
        "in a list": lambda: tk.jit(lambda x, gs=[g]: gs[0](x)),
        "method": lambda: tk.jit(lambda x: kind.g(x)),
        "partial": lambda: tk.jit(functools.partial(g)),
        "decorated": lambda: tk.jit(lambda x: wrapped(x)),
    }[how]()
    assert_same(f(X), g(X))
    CHANGES[change](g)
    assert_same(f(X), g(X))
    assert_same(f(X), g(X))


def test_arrays_among_new_defaults():
    g = helper()
    f = tk.jit(lambda x: g(x))
    agree(f, X)
    table = np.ones(4)
    g.__defaults__ = (table,)
    agree(f, X)
    table[2] = 4
    agree(f, X)


def test_partials():
    def g(x, a, b=1.0):
        return x * a + b

    bound = functools.partial(g, a=2.0)
    jitted, called = tk.jit(bound), tk.jit(lambda x: bound(x))
    agree(called, X)
    assert_same(jitted(X), bound(X))
    bound.keywords["b"] = 5.0
    agree(called, X)
    assert_same(jitted(X), bound(X))
    bound.keywords["a"] = table = np.ones(4)
    agree(called, X)
    table[0] = 3
    agree(called, X)
    assert_same(jitted(X), bound(X))
    bound.__setstate__((lambda x, k=0: x - k, (), {"k": 2}, {}))
    agree(called, X)
    assert_same(jitted(X), bound(X))


def test_bound_methods_of_instances():
    kind = scaled()
    s = kind(2.0)
    method = s.shifted
    f = tk.jit(lambda x: method(x))
    agree(f, X)
    s.k = 9.0
    agree(f, X)
    kind.shifted.__defaults__ = None
    kind.shifted.__code__ = (lambda self, x: x - self.k).__code__
    agree(f, X)


# -- Memory


def test_read_only_arrays_that_change_nevertheless():
    table = np.ones(4)
    view = table[1:]
    table.flags.writeable = False
    f = tk.jit(lambda x: x + table)
    agree(f, X)
    view[0] = 5  # made before, and writes where the array itself cannot
    agree(f, X)
    table.flags.writeable = True
    table[3] = 7
    table.flags.writeable = False
    agree(f, X)


def test_bytes_do_not_change():
    table = np.frombuffer(np.arange(4.0).tobytes())
    f = tk.jit(lambda x: x + table)
    agree(f, X)
    buffer = bytearray(np.arange(4.0).tobytes())
    other = np.frombuffer(memoryview(buffer).toreadonly())
    g = tk.jit(lambda x: x + other)
    agree(g, X)
    buffer[7] = 64
    agree(g, X)


@pytest.mark.filterwarnings("ignore:Setting the")
def test_arrays_that_are_seen_otherwise():
    table = np.arange(16.0).reshape(4, 4)
    f = tk.jit(lambda x: x + table)
    agree(f, X)
    table.strides = (8, 32)
    agree(f, X)
    table.dtype = np.int64
    agree(f, X)


SIZES = [
    1,
    7,
    63,
    64,
    65,
    511,
    512,
    513,
    1023,
    1024,
    1025,
    1088,
    4096,
    100_003,
    1 << 20,
    (1 << 20) + 77,
    3_000_001,
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fill", ["zeros", "random"])
def test_every_byte_counts(size, fill):
    rng = np.random.default_rng(size)
    memory = rng.integers(0, 256, size).astype(np.uint8) if fill == "random" else np.zeros(size, np.uint8)
    guards = _native.Guards()
    guards.memory(memory)
    assert guards.broken() < 0
    places = {0, size - 1, *rng.integers(0, size, 40), *(p for p in (8, 64, 1024, 1 << 18) if p < size)}
    for place in places:
        for bit in (1, 128):
            memory[place] ^= bit
            assert guards.broken() == 0
            memory[place] ^= bit
    assert guards.broken() < 0
    for block in (8, 32, 64, 1024, 1 << 18):  # what is hashed by itself, in another order
        if size >= 2 * block and fill == "random":
            memory[: 2 * block] = np.roll(memory[: 2 * block], block)
            assert guards.broken() == 0
            memory[: 2 * block] = np.roll(memory[: 2 * block], block)


def test_namespaces():
    space = types.SimpleNamespace(k=2.0)
    f = tk.jit(lambda x: x * space.k)
    agree(f, X)
    space.__dict__.clear()
    space.k = 3.0
    agree(f, X)


# -- Ways to get at values that do not name them


@dataclasses.dataclass
class Settings:
    gain: float = 2.0
    shift: int = 1


@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: x * sum(vars(s).values()),
        lambda s, x: x * sum(s.__dict__.values()),
        lambda s, x: x * dataclasses.asdict(s)["gain"],
        lambda s, x: x * dataclasses.astuple(s)[1],
        lambda s, x: x * sum(getattr(s, field.name) for field in dataclasses.fields(s)),
        lambda s, x: x * dataclasses.replace(s, gain=1.0).shift,
    ],
)
def test_all_attributes_at_once(function):
    s = Settings()
    f = tk.jit(lambda x: function(s, x))
    agree(f, X)
    s.gain = 5.0
    agree(f, X)
    s.shift = 7
    agree(f, X)
    s.new = 9.0
    agree(f, X)


def test_attributes_that_are_not_taken_do_not_count():
    s = Settings()
    s.fields, s.calls = [1.0], 0
    f = tk.jit(lambda x: x * s.gain * s.fields[0])
    for _ in range(12):
        agree(f, X)
        s.calls += 1
    assert f.cache_info().misses == 1


@pytest.mark.parametrize(
    "kind", [Settings, types.SimpleNamespace, functools.partial(types.ModuleType, "made_here")]
)
def test_attributes_that_were_not_there(kind):
    s = kind()
    with_default = tk.jit(lambda x: x * getattr(s, "extra", 3.0))
    asking = tk.jit(lambda x: x * s.extra if hasattr(s, "extra") else -x)
    for _ in range(2):
        agree(with_default, X)
        agree(asking, X)
        s.extra = 5.0
        agree(with_default, X)
        agree(asking, X)
        del s.extra


def test_attributes_of_classes_that_were_not_there():
    kind = scaled()
    s = kind(2.0)
    f = tk.jit(lambda x: x * getattr(s, "extra", 3.0) + getattr(kind, "other", 1.0))
    agree(f, X)
    kind.extra = 5.0
    agree(f, X)
    kind.other = 5.0
    agree(f, X)


def test_globals_as_a_dict(monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    f = tk.jit(lambda x: x * globals()["FACTOR"])
    agree(f, X)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    agree(f, X)


def test_wrapped_containers():
    inner = {"k": 2.0, "w": np.ones(4)}
    made = (
        types.MappingProxyType(inner),
        collections.ChainMap({}, inner),
        collections.UserDict(inner),
    )
    for container in made:
        held = container.data if isinstance(container, collections.UserDict) else inner
        f = tk.jit(lambda x, c=container: x * c["k"] + c["w"])
        agree(f, X)
        held["k"] += 1
        agree(f, X)
        held["w"][0] += 1
        agree(f, X)
    items = collections.UserList([1.0, 2.0])
    g = tk.jit(lambda x: x + items[0])
    agree(g, X)
    items[0] = 7.0
    agree(g, X)


def test_other_memory():
    raw = bytearray(np.arange(8.0).tobytes())
    numbers = (ctypes.c_double * 4)(1, 2, 3, 4)
    mapped = mmap.mmap(-1, 32)
    whole, part = memoryview(raw), memoryview(np.arange(8.0))[::2]
    for f, write in (
        (tk.jit(lambda x: x + np.frombuffer(whole)[:4]), lambda: whole.__setitem__(7, 65)),
        (tk.jit(lambda x: x + part[1]), lambda: part.__setitem__(1, 50.0)),
        (tk.jit(lambda x: x + np.frombuffer(numbers)), lambda: numbers.__setitem__(2, 9.0)),
        (tk.jit(lambda x: x + np.frombuffer(mapped)), lambda: mapped.__setitem__(7, 65)),
    ):
        agree(f, X)
        write()
        agree(f, X)


def test_iterators_are_refused():
    counter, numbers, pairs = itertools.count(), iter([1.0, 2.0, 3.0]), zip([1.0], [2.0], strict=True)
    made = (k * 2.0 for k in range(5))
    holder = types.SimpleNamespace(numbers=iter([1.0]))
    for function, name in (
        (lambda x: x + next(counter), "counter"),
        (lambda x: x + sum(numbers), "numbers"),
        (lambda x: x + sum(a * b for a, b in pairs), "pairs"),
        (lambda x: x + next(made), "made"),
        (lambda x: x + next(holder.numbers), "holder.numbers"),
    ):
        with pytest.raises(tk.UserError, match=f"`{name}`.*only while the function is traced"):
            tk.jit(function)(X)


@pytest.mark.parametrize("kind", ["method of an array", "operator of an array", "method of a dict"])
def test_what_methods_of_built_in_types_are_bound_to(kind):
    x, numbers = np.ones(3), {"n": 1.0}
    total, plus, get = x.sum, x.__add__, numbers.get
    f = {
        "method of an array": lambda y: y + total(),
        "operator of an array": lambda y: y + plus(1.0),
        "method of a dict": lambda y: y + get("n"),
    }[kind]
    compiled, y = tk.jit(f), np.zeros(3)
    np.testing.assert_array_equal(compiled(y), f(y))
    x[:], numbers["n"] = 5, 7.0
    np.testing.assert_array_equal(compiled(y), f(y))
