"""What jitted functions take and return: containers, objects, static values, arguments that they write to and return."""

import collections
import dataclasses
import enum
import functools
import operator
import types
from typing import NamedTuple

import numpy as np
import pytest
import tokamak as tk

from support import assert_same, check

X = np.linspace(0, 1, 5)
Y = np.arange(5.0)


class Point(NamedTuple):
    x: object
    y: object


@dataclasses.dataclass
class State:
    u: object
    t: float = 0.0
    n: int = 2
    label: str = "state"


@dataclasses.dataclass(frozen=True)
class Frozen:
    u: object
    inner: object = None


@dataclasses.dataclass(slots=True)
class Slots:
    u: object
    t: float = 0.0


class Mode(enum.Enum):
    SUM = 1
    MAX = 2


# -- Containers


@pytest.mark.parametrize(
    "value",
    [
        [X, (Y, {"a": [X]})],
        {"a": {"b": (X, [Y])}, "c": None},
        Point(X, Point(Y, [X])),
        collections.OrderedDict(a=X, b=[Y]),
        collections.defaultdict(list, a=[X, Y]),
        Frozen(X, Frozen(Y, {"k": X})),
        State(X, 0.5),
        Slots(X, 0.5),
        (),
        [],
        {},
        ((), [X], {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_containers_there_and_back(value):
    f = tk.jit(lambda v, x: (v, x + 1))
    for _ in range(2):
        got, _ = f(value, X)
        same_tree(got, value)
    assert f.cache_info().misses == 1


def same_tree(got, want):
    assert type(got) in (type(want), np.float64)
    if isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            same_tree(got[key], want[key])
        assert getattr(got, "default_factory", 0) == getattr(want, "default_factory", 0)
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same_tree(one, other)
    elif dataclasses.is_dataclass(want):
        for field in dataclasses.fields(want):
            same_tree(getattr(got, field.name), getattr(want, field.name))
    elif isinstance(want, np.ndarray):
        assert_same(got, want)
    else:
        assert got == want


def test_numbers_of_dataclasses():
    """They are arguments; a number of turns is part of the program."""

    @tk.jit
    def step(state, dt):
        u = state.u
        for _ in range(state.n):
            u = u + dt
        return State(u, state.t + dt, state.n, state.label)

    state = State(X)
    for _ in range(5):
        state = step(state, 0.1)
        assert isinstance(state, State)
    np.testing.assert_allclose(state.u, X + 1.0)
    assert state.t == pytest.approx(0.5)
    assert type(state.t) is float
    assert step.cache_info().misses == 1
    step(dataclasses.replace(state, n=3), 0.1)
    assert step.cache_info().reasons[-1] == "number state.n: 2 -> 3"


# -- Static values


def test_values_that_are_part_of_the_program():
    def f(x, how, extra=None):
        if how == "sum" or how is Mode.SUM or how == b"sum":
            return x.sum()
        if isinstance(how, (range, slice)):
            return x[how] if isinstance(how, slice) else x[how.start]
        if isinstance(how, type):
            return x.astype(how)
        return how(x)

    jitted = tk.jit(f)
    kinds = [
        "sum",
        b"sum",
        Mode.SUM,
        range(2, 3),
        slice(1, None),
        slice(2, None),
        np.float32,
        int,
        np.sqrt,
        np.max,
    ]
    for how in kinds:
        assert_same(jitted(X, how), f(X, how))
        assert_same(jitted(X, how=how), f(X, how))
    assert jitted.cache_info().misses == 2 * len(kinds)
    for how in kinds:
        jitted(X, how)
    assert jitted.cache_info().misses == 2 * len(kinds)


def test_functions_as_arguments():
    apply = tk.jit(lambda function, x: function(x))
    for _ in range(3):
        assert_same(apply(lambda x: x * 2, X), X * 2)  # every time a new function of the same code
    assert apply.cache_info().misses == 1
    scale = 3.0
    assert_same(apply(lambda x: x * scale, X), X * scale)
    for scale in (4.0, 5.0):
        assert_same(apply(lambda x, s=scale: x * s, X), X * scale)
        assert_same(apply(functools.partial(operator.mul, scale), X), X * scale)
        assert_same(apply(functools.partial(np.add, X * scale), X), X + X * scale)
    assert_same(apply(tk.jit(np.sqrt), X), np.sqrt(X))
    assert_same(apply(Multiplier(2).twice, X), X * 4)


class Multiplier:
    factor = 10

    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k

    def twice(self, x):
        return self(self(x))

    @classmethod
    @tk.jit
    def of_class(cls, x):
        return x * cls.factor

    @staticmethod
    @tk.jit
    def of_none(x):
        return x + 1

    @tk.jit
    @staticmethod
    def static_below(x):
        return x + 2

    @tk.jit
    @classmethod
    def class_below(cls, x):
        return x + cls.factor

    @tk.jit
    def method(self, x, *rest, power=1, **named):
        return (x * self.k) ** power + sum(rest) + sum(named.values())


def test_methods_of_all_kinds(monkeypatch):
    m = Multiplier(3)
    assert_same(Multiplier.of_none(X), X + 1)
    assert_same(m.of_none(X), X + 1)
    assert_same(m.of_class(X), X * 10)
    assert_same(m.static_below(X), X + 2)
    assert_same(m.class_below(X), X + 10)
    monkeypatch.setattr(Multiplier, "factor", 20)
    assert_same(m.of_class(X), X * 20)
    assert_same(m.method(X), X * 3)
    assert_same(m.method(X, Y, 2, power=2, a=Y, b=1), (X * 3) ** 2 + (Y + 2) + (Y + 1))
    m.k = 4
    assert_same(m.method(X), X * 4)
    assert_same(tk.jit(m)(X), X * 4)
    assert_same(tk.jit(m.twice)(X), X * 16)
    assert_same(tk.jit(functools.partial(m, X))(), X * 4)


def test_signatures():
    def f(a, /, b=2, *rest, c, d=4.0, **named):
        return a + b + sum(rest) + c * d + sum(named.values())

    check(f, X, c=Y)
    check(f, X, Y, X, 3, c=1.5, d=Y)
    check(f, X, c=2, e=Y, g=1)
    check(functools.partial(f, X, c=Y), 1, 2)
    jitted = tk.jit(f, static_argnames=("c", "d"))
    assert_same(jitted(X, c=2, d=3), X + 2 + 6)
    assert_same(jitted(X, d=3, c=2), X + 2 + 6)
    assert jitted.cache_info().misses == 1


def test_generic_objects():
    class Grid:
        def __init__(self, n):
            self.n = n
            self.h = 1 / n
            self.x = np.linspace(0, 1, n)
            self.me = self

        def spacing(self):
            return self.h

    f = tk.jit(lambda grid, u: u * grid.spacing() + grid.x[: grid.n])
    grid = Grid(5)
    assert_same(f(grid, X), X * 0.2 + grid.x)
    grid.x[0] = 4
    assert_same(f(grid, X), X * 0.2 + grid.x)
    assert f.cache_info().misses == 1
    grid.h = 0.5
    assert_same(f(grid, X), X * 0.5 + grid.x)
    assert f.cache_info().reasons[-1] == "static grid.h: 0.2 -> 0.5"
    space = types.SimpleNamespace(k=X, name="s")
    assert_same(tk.jit(lambda s: s.k + 1)(space), X + 1)


# -- What is refused


class Tagged(np.ndarray):
    pass


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ma.masked_array(X, [True] * 5), ["MaskedArray", "filled"]),
        (X.view(Tagged), ["Tagged", "np.asarray(p['w'][0])"]),
        (X.view(np.matrix), ["matrix", "np.asarray"]),
        (X.astype(complex), ["complex128", ".real"]),
        (1j, ["complex", "real"]),
        (np.complex64(1), ["complex64"]),
        (np.array(["a"]), ["<U1"]),
        (np.array([b"a"]), ["S1"]),
        (np.array([None]), ["object", "astype(float)"]),
        (np.array(["2020-01-01"], "M8[D]"), ["datetime64", "int64"]),
        (np.zeros(2, [("a", float)]), ["fields"]),
        (X.astype(">f8"), ["byte order", "astype"]),
        (np.longdouble(1), ["dtype"]),
        (2**70, ["64 bits"]),
        (memoryview(b"abc"), ["memoryview", "static_argnums"]),
        (object(), ["object", "static_argnums"]),
        ({1, 2}, ["set", "static_argnums"]),
    ],
)
def test_what_is_no_argument(value, words):
    f = tk.jit(lambda p, x: x)
    with pytest.raises((TypeError, ValueError)) as raised:
        f({"w": [value]}, X)
    text = str(raised.value)
    assert isinstance(raised.value, tk.UserError)
    assert "argument p['w'][0] is" in text
    assert "test_arguments.py:" in text
    for word in words:
        assert word in text


def test_memory_maps(tmp_path):
    mapped = np.memmap(tmp_path / "m", np.float64, "w+", shape=(5,))
    mapped[:] = X
    got = tk.jit(lambda x: x + 1)(mapped)
    assert type(got) is np.ndarray
    assert_same(got, X + 1)


def test_static_values_that_cannot_be_hashed():
    with pytest.raises(ValueError, match=r"static argument.*cannot be hashed"):
        tk.jit(lambda x, s: x, static_argnames="s")(X, s=[1])


# -- Why programs were compiled


def test_reasons():
    f = tk.jit(lambda x, n=None, mode="a": x + 1, static_argnames="n")
    f(np.ones(3))
    f(np.ones(4))
    f(np.ones(4, np.float32))
    f(np.ones((4, 4)).T[::2])
    f(np.ones((2, 4)))
    f(np.ones(3), n=3)
    f(np.ones(3), n=4)
    f(np.ones(3), mode="b")
    f(np.ones(3), mode="c")
    f(2)
    assert f.cache_info().reasons == (
        "first call",
        "x: shape (3,) -> (4,)",
        "x: dtype float64 -> float32",
        "x: shape (4,) -> (2, 4)",
        "layout in memory",
        "other arguments: x, n",
        "static n: 3 -> 4",
        "other arguments: x, mode",
        "static mode: 'b' -> 'c'",
        "x: dtype float64 -> int, x: shape (2, 4) -> ()",
    )


def test_reasons_in_the_log(caplog):
    tk.set_logs("recompiles")
    try:
        with caplog.at_level("DEBUG", logger="tokamak"):
            f = tk.jit(lambda x: x + 1)
            f(np.ones(3))
            f(np.ones(4))
    finally:
        tk.set_logs("")
    assert [record.getMessage() for record in caplog.records] == [
        "<lambda>: program 1, for (float64[3]): first call",
        "<lambda>: program 2, for (float64[4]): x: shape (3,) -> (4,)",
    ]
