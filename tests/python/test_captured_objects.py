"""Objects that a function takes from outside its arguments, or that hold its arguments, and what happens to them."""

import functools
import types

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from support import assert_same

X = np.linspace(0, 1, 4)


def agree(jitted, *args):
    """The jitted function gives what the function itself gives, now: at once, and from the cache."""
    for _ in range(2):
        assert_same(jitted(*args), jitted.__wrapped__(*args))


class Layer:
    gain = 2.0

    def __init__(self, w):
        self.w = w
        self.steps = 3

    def apply(self, x):
        for _ in range(self.steps):
            x = x * self.w
        return x * self.gain


class Model:
    def __init__(self):
        self.layers = [Layer(np.full(4, 0.5)), Layer(np.full(4, 2.0))]
        self.options = {"shift": 1.0}
        self.name = "model"
        self.owner = self

    @tk.jit
    def forward(self, x):
        for layer in self.layers:
            x = layer.apply(x)
        return x + self.options["shift"]

    def plain(self, x):
        for layer in self.layers:
            x = layer.apply(x)
        return x + self.options["shift"]


@pytest.mark.parametrize("kind", ["method", "bound method", "global instance", "argument"])
def test_instances(kind, monkeypatch):
    model = Model()
    call = {
        "method": lambda x: model.forward(x),
        "bound method": tk.jit(model.plain),
        "global instance": tk.jit(lambda x: model.plain(x)),
        "argument": functools.partial(tk.jit(lambda m, x: m.plain(x)), model),
    }[kind]

    def same():
        for _ in range(2):
            assert_same(call(X), model.plain(X))

    same()
    model.layers[0].w[1] = 3
    same()
    model.layers[1].w = np.full(4, 3.0)
    same()
    model.layers[1].steps = 1
    same()
    model.layers.append(Layer(np.full(4, 4.0)))
    same()
    model.layers[0].gain = 5.0  # hides that of the class
    same()
    monkeypatch.setattr(Layer, "gain", 7.0)
    same()
    model.options["shift"] = -1.0
    same()
    monkeypatch.setattr(Layer, "apply", lambda self, x: x + self.w)
    same()


class Slotted:
    __slots__ = ("k", "w")

    def __init__(self, k, w):
        self.k = k
        self.w = w


def test_slots_and_namespaces():
    for made in (Slotted(2.0, np.ones(4)), types.SimpleNamespace(k=2.0, w=np.ones(4))):
        captured = tk.jit(lambda x, made=made: x * made.k + made.w)
        for _ in range(2):
            agree(captured, X)
            made.k += 1
            agree(captured, X)
            made.w[0] += 1
            agree(captured, X)
            made.w = made.w * 2
            agree(captured, X)


# -- Random changes


class Node:
    shared = 1.0

    def __init__(self):
        self.k = 1.0
        self.w = np.ones(3)
        self.items = [1.0, np.zeros(3)]
        self.child = None

    def scaled(self, x, by=1.0):
        return x * self.k * by

    def __add__(self, x):
        return self.w + x

    def total(self, x):
        y = self + (self.scaled(x) + self.items[0] * self.shared)
        for item in self.items[1:]:
            y = y - item
        return y if self.child is None else self.child.total(y)


class Other(Node):
    def scaled(self, x, by=2.0):
        return x - by

    def __add__(self, x):
        return x


SCALED, ADD = Node.scaled, Node.__add__

CHANGES = {
    "in front": lambda node, v: setattr(node, "scaled", lambda x: x + v),
    "no longer in front": lambda node, v: vars(node).pop("scaled", None),
    "class": lambda node, v: setattr(node, "__class__", Other if type(node) is Node else Node),
    "method": lambda node, v: setattr(Node, "scaled", lambda self, x: x * self.k - v),
    "special method": lambda node, v: setattr(Node, "__add__", lambda self, x: x * v),
    "defaults": lambda node, v: setattr(SCALED, "__defaults__", (v,)),
    "number": lambda node, v: setattr(node, "k", v),
    "array": lambda node, v: setattr(node, "w", np.full(3, v)),
    "element": lambda node, v: node.w.__setitem__(int(v) % 3, v),
    "item": lambda node, v: node.items.__setitem__(0, v),
    "append": lambda node, v: node.items.append(np.full(3, v)),
    "item's element": lambda node, v: node.items[-1].__setitem__(0, v) if len(node.items) > 1 else None,
    "pop": lambda node, v: node.items.pop() if len(node.items) > 1 else None,
    "hide": lambda node, v: setattr(node, "shared", v),
    "show": lambda node, v: vars(node).pop("shared", None),
    "child": lambda node, v: setattr(node, "child", Node()),
    "of class": lambda node, v: setattr(Node, "shared", v),
    "none": lambda node, v: None,
}


@pytest.mark.filterwarnings("ignore:.*compiled anew")
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(CHANGES)), st.booleans(), st.sampled_from([0.0, 1.0, 2.5])),
        max_size=6,
    ),
    st.sampled_from(["closure", "bound", "argument", "static", "partial", "nested"]),
)
def test_random_changes(changes, how):
    Node.shared, Node.scaled, Node.__add__ = 1.0, SCALED, ADD
    SCALED.__defaults__ = (1.0,)
    node = Node()
    node.child = Node()
    jitted = {
        "closure": lambda: tk.jit(lambda x: node.total(x)),
        "bound": lambda: tk.jit(node.total),
        "argument": lambda: functools.partial(tk.jit(lambda n, x: n.total(x)), node),
        "static": lambda: functools.partial(tk.jit(lambda n, x: n.total(x), static_argnums=0), node),
        "partial": lambda: tk.jit(functools.partial(Node.total, node)),
        "nested": lambda: tk.jit(lambda x, d={"n": [node]}: d["n"][0].total(x)),
    }[how]()
    x = np.arange(3.0)
    assert_same(jitted(x), node.total(x))
    for name, below, value in changes:
        CHANGES[name](node.child if below and node.child is not None else node, value)
        assert_same(jitted(x), node.total(x), what=name)
