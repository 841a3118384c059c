"""One object that the arguments of a call lead to twice: it is one while tracing, too, and changes are made once."""

import dataclasses
import functools

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st


class Box:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def same_changes(function, make):
    """The jitted function changes its arguments as the function does, in the first call and in later ones."""
    jitted = tk.jit(function)
    for _ in range(3):
        plain, ours = make(), make()
        expected, got = function(*plain), jitted(*ours)
        np.testing.assert_array_equal(got, expected)
        for one, other in zip(arrays_in(ours), arrays_in(plain), strict=True):
            np.testing.assert_array_equal(one, other)
    return jitted


def arrays_in(value, seen=None):
    seen = set() if seen is None else seen
    if isinstance(value, np.ndarray):
        return [value]
    if not isinstance(value, tuple):
        if id(value) in seen:
            return []
        seen.add(id(value))
    held = (
        value.values()
        if isinstance(value, dict)
        else vars(value).values()
        if isinstance(value, Box)
        else value
    )
    return (
        [found for one in held for found in arrays_in(one, seen)]
        if isinstance(value, (dict, Box, list, tuple))
        else []
    )


def twice(make):
    def both():
        one = make()
        return one, one

    return both


def test_a_dict_given_twice_is_one():
    def f(a, b):
        a["x"] = a["x"] + 1
        b["x"] = b["x"] * 2
        b["y"] = a["x"] + 5
        return a["x"] + a["y"] if a is b else a["x"]

    jitted = same_changes(f, twice(lambda: {"x": np.ones(3)}))
    jitted({"x": np.ones(3)}, {"x": np.ones(3), "z": 1.0})
    plain, ours = [({"x": np.ones(3)}, {"x": np.zeros(3)}) for _ in range(2)]
    np.testing.assert_array_equal(jitted(*ours), f(*plain))
    np.testing.assert_array_equal(ours[1]["x"], plain[1]["x"])
    same_changes(f, twice(lambda: {"x": np.ones(3)}))


def test_forms_tell_one_from_two():
    def f(a, b):
        a.append(a[0] + 1)
        return b[-1] * (2 if a is b else 3)

    jitted = tk.jit(f)
    for _ in range(3):
        one = [np.ones(2)]
        np.testing.assert_array_equal(jitted(one, one), [4, 4])
        assert len(one) == 2
        first, second = [np.ones(2)], [np.ones(2) * 5]
        np.testing.assert_array_equal(jitted(first, second), [15, 15])
        assert len(first) == 2 and len(second) == 1


def test_an_object_reached_by_two_paths_is_one():
    def step(s):
        s.solver.grid.u = s.solver.grid.u + 1
        s.grid.u = s.grid.u * 2
        return s.grid.u if s.solver.grid is s.grid else s.grid.u * 0

    def make():
        grid = Box(u=np.ones(3))
        return (Box(grid=grid, solver=Box(grid=grid)),)

    same_changes(step, make)


def test_an_array_reached_by_two_paths_is_one():
    def step(s):
        s.u += 1
        s.solver.u *= 2
        return s.u + s.solver.u if s.u is s.solver.u else s.u * 0

    def make():
        u = np.ones(3)
        return (Box(u=u, solver=Box(u=u)),)

    same_changes(step, make)
    jitted = tk.jit(step)
    for _ in range(2):
        (shared,) = make()
        np.testing.assert_array_equal(jitted(shared), [8, 8, 8])
        apart = Box(u=np.ones(3), solver=Box(u=np.ones(3)))
        np.testing.assert_array_equal(jitted(apart), [0, 0, 0])
        np.testing.assert_array_equal(apart.solver.u, [2, 2, 2])


def test_an_array_given_twice_is_written_to():
    def f(a, b):
        a += 1
        b *= 2
        return a + b

    jitted = same_changes(f, twice(lambda: np.arange(4.0)))
    for _ in range(2):
        a, b = np.ones(3), np.zeros(3)
        np.testing.assert_array_equal(jitted(a, b), [2, 2, 2])
        np.testing.assert_array_equal(jitted(a, a), [12, 12, 12][: len(a)])
        np.testing.assert_array_equal(a, [6, 6, 6])
    both = tk.array(np.ones(3))
    np.testing.assert_array_equal(np.asarray(tk.jit(f)(both, both)), [8, 8, 8])
    np.testing.assert_array_equal(np.asarray(both), [4, 4, 4])
    assert len(tk.jit(f).explain(a, a).kernels) == 1


def test_an_array_given_twice_to_a_function_that_reads_is_no_other_program():
    jitted = tk.jit(lambda a, b: a + b)
    a, b = np.ones(3), np.zeros(3)
    for args in ((a, b), (a, a), (b, b)):
        np.testing.assert_array_equal(jitted(*args), args[0] + args[1])
    assert jitted.cache_info().misses == 1


def test_views_of_one_array_are_still_refused():
    def f(a, b):
        a += 1
        return a + b

    x = np.ones(4)
    with pytest.raises(ValueError, match="shares its memory"):
        tk.jit(f)(x[:3], x[1:])


def test_containers_that_hold_themselves():
    def f(items):
        return items[0] * (2 if items[1] is items else 3)

    def named(held):
        held["x"] = held["self"]["x"] + 1
        return held["x"] * (2 if held["self"]["self"] is held else 3)

    items = [np.ones(3)]
    items.append(items)
    for _ in range(2):
        np.testing.assert_array_equal(tk.jit(f)(items), [2, 2, 2])
    held = {"x": np.ones(3)}
    held["self"] = held
    jitted = tk.jit(named)
    for i in range(2):
        np.testing.assert_array_equal(jitted(held), [4 + 2 * i] * 3)


def test_partials_and_keywords_share():
    def f(work, *, parts, more):
        parts["x"] = parts["x"] + 1
        return work(1.0) + more["x"]

    def make():
        parts = {"x": np.ones(2)}
        return functools.partial(lambda held, k: held["x"] * k, parts), parts

    jitted = tk.jit(f)
    for _ in range(3):
        work, parts = make()
        np.testing.assert_array_equal(jitted(work, parts=parts, more=parts), [4, 4])
        np.testing.assert_array_equal(parts["x"], [2, 2])


# -- Random arguments with parts that are the same object


@st.composite
def shared_arguments(draw):
    """What makes arguments: arrays, and containers of what was made before them, some of it several times."""
    arrays = draw(st.integers(1, 3))
    containers = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["list", "dict", "box", "tuple"]),
                st.lists(st.integers(0, 20), min_size=1, max_size=3),
            ),
            min_size=1,
            max_size=4,
        )
    )
    given = draw(st.lists(st.integers(0, 20), min_size=1, max_size=3))

    def make():
        made = [np.arange(3.0) + i for i in range(arrays)]
        for kind, parts in containers:
            held = [made[i % len(made)] for i in parts]
            named = {f"k{i}": one for i, one in enumerate(held)}
            made.append({"list": held, "dict": named, "box": Box(**named), "tuple": tuple(held)}[kind])
        return tuple(made[-1 - i % len(made)] for i in given)

    return make


def change_everything(*args, in_place):
    """Changes what is reached, once for each path to it, and gives a sum that depends on the order."""
    total = 0.0
    for arg in args:
        total = total * 2 + change(arg, in_place, 4)
    return total


def change(value, in_place, depth):
    if isinstance(value, np.ndarray):
        if in_place:
            value += 1
        return value.sum()
    if depth == 0 or not isinstance(value, (Box, dict, list, tuple)):
        return 0.0 if depth == 0 else value
    items = vars(value) if isinstance(value, Box) else value
    keys = list(items) if isinstance(items, dict) else range(len(items))
    total = 0.0
    for key in keys:
        total = total * 3 + change(items[key], in_place, depth - 1)
        if isinstance(items[key], np.ndarray) and not in_place and not isinstance(value, tuple):
            if isinstance(value, Box):
                setattr(value, key, items[key] * 2 + 1)
            else:
                items[key] = items[key] * 2 + 1
    if isinstance(value, list):
        value.append(total)
    return total


@given(shared_arguments(), shared_arguments(), st.booleans())
def test_random_arguments_with_shared_parts(make, other, in_place):
    jitted = tk.jit(functools.partial(change_everything, in_place=in_place))
    for maker in (make, other, make, other, make):
        ours, plain = maker(), maker()
        expected, got = change_everything(*plain, in_place=in_place), jitted(*ours)
        np.testing.assert_allclose(got, expected)
        for one, theirs in zip(arrays_in(ours), arrays_in(plain), strict=True):
            np.testing.assert_array_equal(one, theirs)


def test_donated_arrays_are_given_once():
    x = np.ones(3)
    read = tk.jit(lambda a, b: a["x"] + b["x"], donate_argnums=0)
    np.testing.assert_array_equal(read({"x": np.ones(3)}, {"x": x}), [2, 2, 2])
    with pytest.raises(ValueError, match="shares its memory"):
        read({"x": x}, {"x": x})

    def write(a, b, c):
        b += 1
        return a + c

    with pytest.raises(ValueError, match="given twice"):
        tk.jit(write, donate_argnums=0)(np.ones(3), x, x)
    np.testing.assert_array_equal(x, [1, 1, 1])


def test_arrays_beside_numbers_inside_attributes():
    """Containers and dataclasses that an object holds, with arrays and numbers in them, are written to as the caller's."""

    @dataclasses.dataclass
    class State:
        x: np.ndarray
        v: np.ndarray
        dt: float = 0.5
        steps: int = 2

    class Simulation:
        def __init__(self):
            self.state = State(np.zeros(3), np.ones(3))
            self.layers = [np.ones(2), 0.25, {"w": np.ones(2), "rate": 2}]

        def step(self):
            for _ in range(self.state.steps):
                self.state.x += self.state.v * self.state.dt
            self.layers[0] -= self.layers[1]
            self.layers[2]["w"] *= self.layers[2]["rate"]
            return self.state.x.sum() + self.layers[0].sum()

    plain, compiled = Simulation(), Simulation()
    step = tk.jit(Simulation.step)
    for turn in range(5):
        if turn == 2:
            plain.state.dt = compiled.state.dt = 3.0
            plain.layers[1] = compiled.layers[1] = 1.5
        if turn == 3:
            plain.state.steps = compiled.state.steps = 4
        assert step(compiled) == plain.step()
        np.testing.assert_array_equal(compiled.state.x, plain.state.x)
        np.testing.assert_array_equal(compiled.layers[0], plain.layers[0])
        np.testing.assert_array_equal(compiled.layers[2]["w"], plain.layers[2]["w"])
    assert step.cache_info().misses <= 4
