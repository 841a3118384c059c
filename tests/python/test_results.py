"""What jitted functions do to containers and arrays among their arguments, and what they return."""

import collections

import numpy as np
import pytest
import tokamak as tk

from support import assert_same
from test_arguments import State, X, Y, same_tree


def test_results_that_are_refused():
    for function in (lambda x: (a for a in x), lambda x: zip(x, x), lambda x: [map(np.sin, x)]):
        with pytest.raises(TypeError, match="return a list"):
            tk.jit(function)(X)
    with pytest.raises(TypeError, match="return a list"):
        tk.jit(lambda x: collections.deque([x]))(X)

    def generator(x):
        yield x

    async def coroutine(x):
        return x

    for function in (generator, coroutine):
        with pytest.raises(TypeError, match="generator or coroutine"):
            tk.jit(function)


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
