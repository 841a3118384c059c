"""What a function takes from outside its arguments: it is never an old value that is computed with."""

import array
import collections
import functools
import gc
import random
import secrets
import subprocess
import sys
import types
import uuid
import weakref

import numpy as np
import pytest
import tokamak as tk

from support import assert_same

TABLE = np.arange(4.0)
STEP = 0.1
SETTINGS = {"scale": 2.0, "weights": np.ones(4), "names": ["a", "b"]}
X = np.linspace(0, 1, 4)


def double(x):
    return x * 2


def through_helper(x):
    return double(x) + STEP


def agree(jitted, *args):
    """The jitted function gives what the function itself gives, now: at once, and from the cache."""
    for _ in range(2):
        assert_same(jitted(*args), jitted.__wrapped__(*args))


def compiled(jitted):
    return jitted.cache_info().misses


@pytest.fixture
def _globals(monkeypatch):
    """Puts back what a test does to the globals of this file."""
    for name in ("TABLE", "STEP", "SETTINGS", "double"):
        value = globals()[name]
        copied = {
            np.ndarray: np.copy,
            dict: lambda d: {**d, "weights": d["weights"].copy(), "names": list(d["names"])},
        }
        monkeypatch.setitem(globals(), name, copied.get(type(value), lambda v: v)(value))


@pytest.mark.usefixtures("_globals")
class TestGlobals:
    def test_elements(self):
        f = tk.jit(lambda x: x + TABLE)
        agree(f, X)
        TABLE[3] = 7
        agree(f, X)
        TABLE[3] = 3
        agree(f, X)
        assert compiled(f) == 2  # the first program serves again
        assert f.cache_info().reasons == ("first call", "captured `TABLE` changed")

    def test_names_bound_anew(self):
        f = tk.jit(lambda x: (x + TABLE) * STEP)
        agree(f, X)
        globals()["STEP"] = 0.05
        agree(f, X)
        globals()["TABLE"] = np.zeros(4)
        agree(f, X)
        globals()["STEP"] = 0.1 / 2  # an equal number is no change
        agree(f, X)
        assert compiled(f) == 3

    def test_numbers_that_compare_equal(self):
        f = tk.jit(lambda x: np.copysign(x, STEP))
        for number in (0.0, -0.0, np.float64(-0.0), np.nan, np.float32(1), 1, True):
            globals()["STEP"] = number
            agree(f, X)

    def test_what_helpers_use(self):
        f = tk.jit(through_helper)
        agree(f, X)
        globals()["STEP"] = 3
        agree(f, X)
        globals()["double"] = lambda x: x * TABLE
        agree(f, X)
        TABLE[:] = -1
        agree(f, X)

    def test_contents(self):
        f = tk.jit(lambda x: x * SETTINGS["scale"] + SETTINGS["weights"] * len(SETTINGS["names"]))
        agree(f, X)
        SETTINGS["scale"] = 3.0
        agree(f, X)
        SETTINGS["weights"][0] = 5
        agree(f, X)
        SETTINGS["names"].append("c")
        agree(f, X)
        SETTINGS["new"] = 1
        agree(f, X)
        del SETTINGS["new"]
        agree(f, X)
        assert f.cache_info().reasons[1:4] == (
            "captured `SETTINGS` changed",
            "captured `SETTINGS['weights']` changed",
            "captured `SETTINGS['names']` changed",
        )

    def test_a_name_that_was_not_there(self):
        f = tk.jit(lambda x: x + (LATER if "LATER" in globals() else 0))  # noqa: F821
        agree(f, X)
        globals()["LATER"] = 5
        try:
            agree(f, X)
        finally:
            del globals()["LATER"]
        agree(f, X)


def test_closures():
    scale, table, flags = 2.0, np.arange(4), {1, 2}

    def change(what):
        nonlocal scale, table
        if what == "scale":
            scale = 3.0
        elif what == "table":
            table = np.arange(4) * 10
        elif what == "elements":
            table[1:3] = 0
        elif what == "flags":
            flags.add(3)

    f = tk.jit(lambda x: x * scale + table - len(flags))
    for what in ("nothing", "scale", "table", "elements", "flags"):
        change(what)
        agree(f, X)
    assert compiled(f) == 5


def test_defaults_and_partials():
    default, bound, keyword = np.ones(4), np.ones(4), [np.ones(4)]

    def function(a, x, w=default, *, k=None):
        return x * w + a + k[0]

    f = tk.jit(functools.partial(function, bound, k=keyword))
    for one in (default, bound, keyword[0]):
        one[2] = 9
        assert_same(f(X), function(bound, X, k=keyword))
    keyword[0] = np.zeros(4)
    assert_same(f(X), function(bound, X, k=keyword))


def test_modules(monkeypatch):
    module = types.ModuleType("settings_of_a_test")
    module.K = 2.0
    module.table = np.ones(4)
    monkeypatch.setitem(sys.modules, "settings_of_a_test", module)

    def imports(x):
        import settings_of_a_test

        return x * settings_of_a_test.K

    def imports_from(x):
        from settings_of_a_test import K, table

        return x * K + table

    for function in (imports, imports_from, lambda x: x * module.K + module.table):
        f = tk.jit(function)
        agree(f, X)
        module.K += 1
        agree(f, X)
        module.table[1] += 1
        agree(f, X)


def test_containers_of_all_kinds():
    made = (
        [1.0, 2.0],
        collections.deque([1.0, 2.0]),
        {0: 1.0},
        collections.OrderedDict({0: 1.0}),
        collections.defaultdict(float, {0: 1.0}),
        bytearray(b"abc"),
        array.array("d", [1.0, 2.0]),
    )
    for container in made:
        f = tk.jit(lambda x, c=container: x + c[0])
        agree(f, X)
        container[0] = 5
        agree(f, X)


def test_functions_in_containers():
    k = 2.0

    def change():
        nonlocal k
        k = 3.0

    f = tk.jit(lambda x: {"a": [lambda y: y * k]}["a"][0](x))
    g = tk.jit(functools.lru_cache(lambda x: x).__wrapped__)
    agree(f, X)
    agree(g, X)
    change()
    agree(f, X)


LAYOUTS = {
    "strided": lambda a: a[::2],
    "transposed": lambda a: a.reshape(2, 8).T,
    "reversed": lambda a: a[::-1],
    "block": lambda a: a.reshape(4, 4)[1:3, 1:3],
    "broadcast": lambda a: np.broadcast_to(a, (3, 16)),
    "fortran": lambda a: np.asfortranarray(a.reshape(4, 4)),
}


@pytest.mark.filterwarnings("ignore:.*compiled anew")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.bool_])
def test_elements_wherever_they_lie(layout, dtype):
    memory = np.zeros(16, dtype)
    view = LAYOUTS[layout](memory)
    target = view if view.flags.owndata else memory
    f = tk.jit(lambda x: x + view)
    for place in np.ndindex(target.shape):
        agree(f, 1)
        target[place] = 1
    agree(f, 1)


@pytest.mark.filterwarnings("ignore:.*compiled anew")
def test_large_arrays_are_seen():
    rng = np.random.default_rng(0)
    table = rng.random((512, 513))
    f = tk.jit(lambda x: (x * table).sum())
    for _ in range(20):
        table[rng.integers(512), rng.integers(513)] += 1
        assert f(2.0) == pytest.approx((2.0 * table).sum())


def test_numpy_on_captured_arrays():
    """What NumPy computes while tracing is part of the program, too."""
    table = np.arange(4.0)
    f = tk.jit(lambda x: x * table.sum() if table[0] == 0 else x + int(table.max()))
    agree(f, X)
    table[1] = 10
    agree(f, X)
    table[0] = 1
    agree(f, X)


def test_however_the_function_gets_at_it():
    box = types.SimpleNamespace(w=np.ones(8))
    f = tk.jit(lambda x: x + getattr(box, "".join(["w"]))[::2])
    agree(f, X)
    box.w[2] = 5
    agree(f, X)


def test_read_only_arrays_are_constants():
    table = np.ones(4)
    table.flags.writeable = False
    f = tk.jit(lambda x: x + table)
    agree(f, X)
    table.flags.writeable = True
    table[0] = 2
    agree(f, X)
    whole = np.ones(8)
    view = whole[::2]
    view.flags.writeable = False
    g = tk.jit(lambda x: x + view)
    agree(g, X)
    whole[0] = 5  # the view cannot write, but others can
    agree(g, X)


def test_arrays_of_tokamak():
    a, c = tk.array(np.ones(4)), tk.constant(np.ones(4))
    f = tk.jit(lambda x: x + a + c)
    assert_same(f(X), X + 1 + 1)
    a[1:] = 5
    assert_same(f(X), X + np.asarray(a) + 1)
    a = a * 2
    assert_same(f(X), X + np.asarray(a) + 1)
    shared = np.zeros(4)
    b = tk.asarray(shared)
    g = tk.jit(lambda x: x + b)
    assert_same(g(X), X)
    shared[0] = 3
    assert_same(g(X), X + shared)


def test_static_arguments_that_change():
    class Settings:
        def __init__(self):
            self.k = 2.0

    settings = Settings()
    f = tk.jit(lambda x, s: x * s.k, static_argnums=1)
    agree(f, X, settings)
    settings.k = 3.0
    agree(f, X, settings)


def test_nested_jitted_functions():
    table = np.ones(4)
    inner = tk.jit(lambda x: x + table)
    outer = tk.jit(lambda x: inner(x) * inner(np.ones(4)))
    agree(outer, X)
    table[0] = 4
    agree(outer, X)


def library_decorator(function):
    """As an installed package would define it: its own globals are not looked at, the function inside is."""
    names = {"__name__": "functools"}
    exec("def wrap(f):\n    def call(*args):\n        return f(*args)\n    return call", names)
    return names["wrap"](function)


def test_functions_inside_those_of_libraries():
    k = 1.0

    def change():
        nonlocal k
        k += 1

    f = tk.jit(library_decorator(lambda x: x * k))
    g = tk.jit(functools.lru_cache(lambda x: x).__wrapped__)
    for _ in range(3):
        agree(f, X)
        agree(g, X)
        change()


def test_large_arrays_are_let_go():
    table = np.ones(200_000)
    first = weakref.ref(table)
    f = tk.jit(lambda x: (x * table).sum())
    assert f(2.0) == 400_000
    table = np.full(200_000, 3.0)
    assert f(2.0) == 1_200_000
    gc.collect()
    assert first() is None
    assert f.cache_info().programs == 1


# -- What a function does to the world


def test_random_numbers_of_python():
    own = random.Random(1)
    for function in (
        lambda x: x + random.random(),
        lambda x: x + own.random(),
        lambda x: x * helper_that_draws(),
    ):
        with pytest.raises(NotImplementedError, match="draw them outside"):
            tk.jit(function)(X)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng().random(),
        lambda: np.random.RandomState().rand(),
        lambda: np.random.RandomState(seed=None).rand(),
        lambda: np.random.Generator(np.random.PCG64()).random(),
        lambda: np.random.SeedSequence().generate_state(1)[0],
        lambda: random.Random().random(),
        lambda: secrets.randbelow(100),
        lambda: uuid.uuid4().int % 100,
    ],
)
def test_generators_without_a_seed_are_refused(draw):
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="draw them outside"):
            tk.jit(lambda x: x + draw())(X)
    draw()  # outside all are as they were


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng(7).random(),
        lambda: np.random.RandomState(7).rand(),
        lambda: np.random.Generator(np.random.PCG64(7)).random(),
        lambda: np.random.SeedSequence(7).generate_state(1)[0],
        lambda: random.Random(7).random(),
        lambda: 1.0 * isinstance(np.random.RandomState(7), np.random.RandomState),
    ],
)
def test_generators_with_a_seed_are_constants(draw):
    assert isinstance(np.random.RandomState, type)
    f = tk.jit(lambda x: x + draw())
    for _ in range(2):
        np.testing.assert_array_equal(f(X), X + draw())
    assert isinstance(np.random.RandomState, type)


def test_random_numbers_are_loaded_by_the_function():
    program = """
import numpy as np, sys, tokamak as tk
assert "numpy.random" not in sys.modules
seeded = tk.jit(lambda x: x + np.random.default_rng(7).random())
print(float(seeded(0.0)) == np.random.default_rng(7).random())
"""
    drawn = """
import numpy as np, tokamak as tk
for _ in range(2):
    try:
        tk.jit(lambda x: x + np.random.random())(0.0)
    except NotImplementedError as error:
        print("draw them outside" in str(error))
"""
    for text, told in ((program, ["True"]), (drawn, ["True"] * 2)):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        assert done.stdout.split() == told


def helper_that_draws():
    return RANDOM.random()


RANDOM = np.random.default_rng(0)


def test_a_function_that_changes_what_it_captures():
    count, seen, table = 0, [], np.zeros(4)

    def counts(x):
        nonlocal count
        count += 1
        return x + count

    def collects(x):
        seen.append(1)
        return x

    def writes(x):
        table[0] += 1
        return x + table

    for function, name in ((counts, "count"), (collects, "seen"), (writes, "table")):
        with pytest.raises(tk.UserError, match=f"changes `{name}`, which is not one of its arguments"):
            tk.jit(function)(X)


def test_what_is_made_at_the_first_use():
    table, cache = None, {}

    def lazy(x):
        nonlocal table
        if table is None:
            table = np.arange(4.0)
        if x.size not in cache:
            cache[x.size] = np.full(x.size, 3.0)
        return x + table + cache[x.size]

    f = tk.jit(lazy)
    agree(f, X)
    cache[4][0] = 1
    agree(f, X)


def test_many_changes_are_warned_of():
    step = 0

    def change():
        nonlocal step
        step += 1

    f = tk.jit(lambda x: x + step)
    with pytest.warns(RuntimeWarning, match=r"8 times because `step` changed") as caught:
        for _ in range(12):
            agree(f, X)
            change()
    assert caught[0].filename.endswith("test_captured.py")


def test_what_is_captured_is_let_go():
    def make():
        table = np.ones(1000)
        f = tk.jit(lambda x: x + table if f else x)
        f(np.ones(1000))
        return weakref.ref(table), weakref.ref(f)

    table, f = make()
    gc.collect()
    assert table() is None
    assert f() is None


def test_temporary_arrays_are_not_kept():
    held = []
    table = np.ones(1000)

    def function(x):
        made = table * 2
        held[:] = [weakref.ref(made)]
        return x + made

    held.append(None)
    with pytest.raises(tk.UserError, match="held"):
        tk.jit(function)(np.ones(1000))
    gc.collect()
    assert held[0]() is None


def test_a_captured_array_that_is_also_an_argument():
    u = np.arange(4.0)

    def step(a):
        a += 1
        return a.sum() + u.sum()

    f = tk.jit(step)
    with pytest.raises(ValueError, match="reads from elsewhere"):
        f(u[1:])
    assert_same(u, np.arange(4.0))
    assert f(np.zeros(4)) == 4 + 6
    with pytest.raises(ValueError, match="reads from elsewhere"):
        f(u)
    g = tk.jit(lambda a: a + u)
    agree(g, u)
