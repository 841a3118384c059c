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
    """Floats are arguments, integers part of the program: they may be sizes."""

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
    assert step.cache_info().reasons[-1] == "static state.n: 2 -> 3"


# -- Writing to containers


def test_items_and_attributes_that_are_set():
    def update(parameters, state, items):
        parameters["w"] = parameters["w"] - 1
        parameters["new"] = parameters["w"] * 2
        del parameters["old"]
        state.u = state.u + state.t
        state.t += 0.5
        items.append(state.u)
        items[0] = items[1]

    def data():
        return {"w": X.copy(), "old": Y}, State(Y.copy(), 1.0), [X, Y]

    jitted = tk.jit(update)
    for _ in range(2):
        got, want = data(), data()
        jitted(*got)
        update(*want)
        for one, other in zip(got, want, strict=True):
            same_tree(one, other)
        assert got[2][0] is got[2][1]  # the caller's own array


def test_exchanged_arrays():
    class Field:
        def __init__(self):
            self.now, self.next, self.count = X.copy(), Y.copy(), 0

        @tk.jit
        def step(self):
            self.next[:] = self.now + 1
            self.now, self.next = self.next, self.now
            self.count += 1

    field = Field()
    now, following = field.now, field.next
    for i in range(4):
        field.step()
        assert (field.now is now) == (i % 2 == 1)
        assert (field.next is following) == (i % 2 == 1)
    assert_same(field.now, X + 4.0)
    assert field.count == 4


def test_containers_that_are_returned_are_the_callers():
    class Chain:
        def __init__(self):
            self.x = X.copy()
            self.parts = {"a": [X], "b": [Y]}

        @tk.jit
        def double(self):
            self.x = self.x * 2
            return self

        @tk.jit
        def swap(self):
            self.parts["a"], self.parts["b"] = self.parts["b"], self.parts["a"]
            return {"parts": self.parts, "new": (self.x + 1, self)}

    chain = Chain()
    assert chain.double().double() is chain
    assert_same(chain.x, X * 4)
    first, second = chain.parts["a"], chain.parts["b"]
    for _ in range(2):
        result = chain.swap()
        assert result["parts"] is chain.parts
        assert result["new"][1] is chain
        assert_same(result["new"][0], X * 4 + 1)
    assert chain.parts["a"] is first
    assert chain.parts["b"] is second


def test_numbers_that_change_become_arguments():
    class Clock:
        def __init__(self):
            self.t, self.count, self.n, self.x = 0.0, 0, 1, X.astype(np.float32)

        @tk.jit
        def tick(self, dt):
            self.t += dt
            self.count += 1
            for _ in range(self.n):
                self.x = self.x * self.t
            return self.x

    clock, plain = Clock(), Clock()
    for i in range(12):
        plain.n = clock.n = 1 + i % 4  # a size: it stays part of the program
        assert_same(clock.tick(0.5), Clock.tick.__wrapped__(plain, 0.5))
        assert (clock.t, clock.count) == (plain.t, plain.count)
        assert (type(clock.t), type(clock.count)) == (float, int)
    assert Clock.tick.cache_info().misses <= 12
    before = Clock.tick.cache_info().misses
    for _ in range(3):
        clock.tick(0.5)
    assert Clock.tick.cache_info().misses == before


# -- Arguments that are returned


def test_written_arguments_are_returned_as_themselves():
    def f(a):
        a += 1
        return a

    def g(a, b):
        a[0] = b[1]
        return {"b": b, "a": a, "both": (a, a * 2)}

    jitted = tk.jit(f)
    for _ in range(2):
        a = X.copy()
        assert jitted(a) is a
        assert_same(a, X + 1)
    a = X.copy()
    result = tk.jit(g)(a, Y)
    assert result["a"] is result["both"][0] is a
    assert_same(result["both"][1], a * 2)
    assert result["b"] is not Y  # not written to: a copy
    assert_same(result["b"], Y)
    t = tk.array(X)
    assert jitted(t) is t
    zero = np.array(1.0)
    assert jitted(zero) is zero


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[1:],
        lambda a: a[::-2],
        lambda a: a.reshape(2, 3).T,
        lambda a: a[np.newaxis, 2:],
        lambda a: np.flip(a)[1:3],
        lambda a: np.broadcast_to(a, (2, 6)),
        lambda a: (a[:3], a),
    ],
)
@pytest.mark.parametrize("strided", [False, True])
def test_views_of_written_arguments(view, strided):
    def f(a):
        a += 1
        return view(a)

    jitted = tk.jit(f)
    for _ in range(2):
        a = (np.arange(12.0)[::2] if strided else np.arange(6.0)).copy()
        if strided:
            a = np.repeat(a, 2)[::2]
        got, want = jitted(a), view(a)
        for one, other in zip(*((got, want) if isinstance(want, tuple) else ([got], [want])), strict=True):
            assert_same(one, other)
            assert np.shares_memory(one, a)
            long = [axis for axis, n in enumerate(other.shape) if n > 1]
            assert [one.strides[axis] for axis in long] == [other.strides[axis] for axis in long]
            assert one.flags.writeable == other.flags.writeable


def test_elements_of_written_arguments_are_scalars():
    def f(a):
        a += 1
        return a[0]

    a = X.copy()
    got = tk.jit(f)(a)
    assert type(got) is np.float64
    a[0] = 100
    assert got == 1


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
    def method(self, x, *rest, power=1, **named):
        return (x * self.k) ** power + sum(rest) + sum(named.values())


def test_methods_of_all_kinds(monkeypatch):
    m = Multiplier(3)
    assert_same(Multiplier.of_none(X), X + 1)
    assert_same(m.of_none(X), X + 1)
    assert_same(m.of_class(X), X * 10)
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
