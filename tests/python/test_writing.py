"""Writing to arrays: views see each other's writes, arguments are written to, and reading stays right meanwhile."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_same


def copied(a):
    """A copy with the strides of the original."""
    if a.ndim != 1:
        return np.copy(a, order="K")
    step = a.strides[0] // a.itemsize
    copy = np.zeros(a.size * abs(step), a.dtype)[::step]
    copy[...] = a
    return copy


def check(function, *arguments):
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


def add_to_the_middle(a, b):
    a[1:-1] += b[1:-1]
    return a * 2


def views_of_views(a):
    b = a[::2]
    c = b[::-1]
    c[1] = 7
    a[0] = 3
    return b + 1, c, a


def shift(a):
    a[1:] = a[:-1]
    return a


def shift_back(a):
    a[:-1] = a[1:]
    return a


def turn_round(a):
    a[...] = a[::-1]
    return a + 0


def differences(a):
    out = np.zeros_like(a)
    out[1:-1] = a[2:] - a[:-2]
    out[0] = out[1]
    out[-1] = out[-2]
    return out


def through_a_reshape(a):
    m = a.reshape(2, -1).T
    m[0] = 0
    m[m > 5] = -1
    return a, m


def a_copy_has_memory_of_its_own(a):
    m = a.reshape(2, -1).T.reshape(-1)  # NumPy copies here
    m[0] = 100
    n = a.flatten()
    n[1] = 100
    o = +a
    o[2] = 100
    p = a.astype(a.dtype)
    p[3] = 100
    q = np.roll(a, 0)
    q[4] = 100
    return a, m, n, o, p, q


def flat_views_and_copies(a):
    b = a[::-2]
    c = b.ravel()  # a copy, as b has gaps
    d = b.reshape(-1)  # a view
    e = np.ascontiguousarray(b)
    f = a.ravel()
    g = np.ascontiguousarray(a)
    a[...] = 3
    return b, c, d, e, f[0], g[0]


def parts(a):
    first, second = np.split(a, 2)
    first[...] = 7
    m = a.reshape(2, -1)
    d, e = np.diagonal(m), np.diag(m)
    left, right = np.hsplit(m[:, :4], 2)
    right += 1
    r = np.rollaxis(m, 1)
    r[0] = 3
    m[1, 1] = 60
    u, v = np.unstack(m)
    v *= 2
    return a, second, d, e, left, right, r, u


def the_same_object(a):
    x = a
    x *= 2
    y = x
    y += 1
    return a, x, y


def numbers_have_no_memory(a):
    s = a.sum()
    t = s
    s += 1
    u = a[0]
    v = u
    u += 1
    a[0] = 50
    return np.stack([s, t, u, v])


def an_element_with_memory(a):
    e = a[0, ...]
    a[0] = 50
    f = e + 1
    e[...] = 3
    return a, f


def into_out(a):
    np.multiply(a, 2, out=a)
    np.add(a, 1, out=a, where=a > 5)
    b = np.empty_like(a)
    np.subtract(a, 1, out=b[::-1])
    np.cumsum(a, out=b[:])
    return a, b


def filled(a):
    b = np.copy(a)
    b.fill(4)
    np.copyto(a, b, where=a > 3)
    np.putmask(b, a > 3, a)
    return a, b


def made_inside(a):
    n = a.shape[0]
    out = np.zeros(n)
    out[1:] = a[1:] - a[:-1]
    table = np.empty((3, n))
    for i in range(3):
        table[i] = a * i
    listed = np.array([a[0], a[1], 2.0])
    listed[1] = 5
    other = np.full(n, np.nan)
    other[a > 3] = 1
    ones = np.ones((2, n // 2), np.float32)
    ones *= a.reshape(2, n // 2)
    again = np.asarray(a)
    again[0] = 9
    return out, table, listed, other, ones, a


def columns(a):
    m = np.zeros((4, a.shape[0]))
    m[:, ::2] = a[::2]
    m[1] += a
    m[-1, 1:3] = [8, 9]
    m.T[0] = -1
    m[:, 1][::2] = 6
    m[..., None][0] = 5
    return m


@pytest.mark.parametrize(
    "function",
    [
        views_of_views,
        shift,
        shift_back,
        turn_round,
        differences,
        through_a_reshape,
        a_copy_has_memory_of_its_own,
        flat_views_and_copies,
        parts,
        the_same_object,
        numbers_have_no_memory,
        an_element_with_memory,
        into_out,
        filled,
        made_inside,
        columns,
    ],
)
@pytest.mark.parametrize("layout", ["dense", "strided", "reversed"])
def test_programs(function, layout):
    a = np.arange(10.0)
    if layout == "strided":
        a = np.arange(40.0)[::4]
    if layout == "reversed":
        a = a[::-1]
    check(function, a)


@pytest.mark.parametrize("order", ["C", "F"])
def test_reshapes_of_arguments(order):
    def f(a):
        b, c, d = a.ravel(), a.T.ravel(), a.reshape(2, 6)
        a[0] = 100
        return b, c, d

    check(f, np.asarray(np.arange(12.0).reshape(3, 4), order=order))


def test_two_arguments():
    check(add_to_the_middle, np.arange(10.0), np.ones(10))


@pytest.mark.parametrize("order", ["C", "F"])
def test_stencil_in_place(order):
    def relax(u):
        for _ in range(4):
            u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
            u[0] = u[1]
        u[:, -1] = 0

    u = np.asarray(np.random.default_rng(1).random((9, 13)), order=order)
    wanted, got = copied(u), copied(u)
    relax(wanted)
    assert tk.jit(relax)(got) is None
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_game_of_life():
    def step(board):
        n = np.zeros(board.shape, dtype=np.int64)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy or dx:
                    n += np.roll(np.roll(board, dy, 0), dx, 1)
        new = np.zeros_like(board)
        new[(board == 1) & ((n == 2) | (n == 3))] = 1
        new[(board == 0) & (n == 3)] = 1
        board[...] = new
        return n

    check(step, np.random.default_rng(2).integers(0, 2, (12, 17)))


def test_kinds_of_values():
    def store(a, b):
        a[0] = 2.9
        a[1] = True
        a[2:4] = b[:2]
        a[4:] = b[None, 2]
        return a

    for dtype in (np.int8, np.uint16, np.float32, np.bool_):
        check(store, np.zeros(6, dtype), np.array([1.5, 0.0, 3.25]))


def test_masks():
    def store(a, row):
        a[a[:, 0] > 3] = row
        a[a < 1] = 0
        return a

    check(store, np.arange(12.0).reshape(4, 3), np.array([0.25, 0.5, 0.75]))
    with pytest.raises(NotImplementedError, match=r"how many elements are true.*np\.where"):
        tk.jit(lambda a: a.__setitem__(a > 1, np.ones(3)))(np.arange(5.0))
    with pytest.raises(IndexError, match="mask of shape"):
        tk.jit(lambda a: a.__setitem__(a[1:] > 1, 1))(np.arange(5.0))


def test_elements_under_a_mask():
    def work(a, b):
        a[a > 5] += 1
        big = b > 0.5
        a[big] = np.sqrt(b[big]) * 2 + a[big]
        b[big] *= -1
        a[~big] -= 3
        row = a[:, 0] > 4
        a[row] *= b[0]
        return a, b, a[big].sum(), np.mean(b[big]), (a[big] > 6).any(), a[big].std()

    rng = np.random.default_rng(5)
    wanted_arguments = rng.integers(0, 10, (5, 4)).astype(float), rng.random((5, 4))
    got_arguments = [np.copy(a) for a in wanted_arguments]
    wanted, got = work(*wanted_arguments), tk.jit(work)(*got_arguments)
    for one, other in zip([*got, *got_arguments], [*wanted, *wanted_arguments], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_integers_under_a_mask():
    def work(a, b):
        divisible = b != 0
        a[divisible] //= b[divisible]
        a[a % 2 == 1] = -1
        even = a % 2 == 0
        a[even] = -a[even]
        return a

    check(work, np.arange(12).reshape(3, 4), np.arange(12).reshape(3, 4) % 3)


@pytest.mark.parametrize(
    "use",
    [
        lambda a, m: a[m] + a[~m],
        lambda a, m: a[m] + np.ones(3),
        lambda a, m: len(a[m]),
        lambda a, m: a[m][0],
        lambda a, m: a[m].shape,
        lambda a, m: np.sort(a[m]),
        lambda a, m: np.cumsum(a[m]),
        lambda a, m: list(a[m]),
        lambda a, m: np.add.reduce(a[m]),
        lambda a, m: a[m],
        lambda a, m: a.__setitem__(m, a[~m]),
        lambda a, m: bool(a[m]),
    ],
)
def test_what_needs_the_number_of_elements(use):
    with pytest.raises(NotImplementedError, match=r"how many elements are true depends on values.*np\.where"):
        tk.jit(lambda a: use(a, a > 1))(np.arange(5.0))


def test_known_indices():
    def store(a, v):
        a[[0, 2, 0]] = v[:3, None]
        a[:, [1, -1]] += 1
        a[[0, 1], [2, 3]] = 7
        a[np.array([True, False, True]), 1:3] = v[0]
        a[1, [0, 3]] = [5, 6]
        a[np.eye(3, 4, dtype=bool)] = 9
        a[[], 0] = 1
        return a

    check(store, np.arange(12.0).reshape(3, 4), np.array([20.0, 21, 22]))


def test_arrays_of_ours():
    def step(a):
        a[1:] += 1
        return a.sum()

    a = tk.array(np.arange(4.0))
    view = a[::2]
    assert float(tk.jit(step)(a)) == 9
    assert_same(np.asarray(a), np.array([0.0, 2, 3, 4]))
    assert_same(np.asarray(view), np.array([0.0, 3]))
    a[0] = 10
    view += 1
    assert_same(np.asarray(a), np.array([11.0, 2, 4, 4]))
    b = tk.asarray(np.zeros(3))
    c = tk.array(b)
    b += 1
    assert_same(np.asarray(c), np.zeros(3))


def test_an_array_shared_with_numpy_is_left_alone():
    x = np.zeros(3)
    a = tk.asarray(x)
    a[0] = 1
    assert_same(x, np.zeros(3))
    assert_same(np.asarray(a), np.array([1.0, 0, 0]))


def test_a_function_inside_another():
    @tk.jit
    def inner(a):
        a[0] = 5

    def outer(a):
        inner(a[1:])
        return a * 2

    a = np.zeros(3)
    assert_same(tk.jit(outer)(a), np.array([0.0, 10, 0]))
    assert_same(a, np.array([0.0, 5, 0]))


def test_methods_and_containers():
    def step(state):
        state["x"] += state["v"]
        state["v"][:] = 0

    state = {"x": np.ones(3), "v": np.arange(3.0)}
    x = state["x"]
    tk.jit(step)(state)
    assert state["x"] is x
    assert_same(x, np.array([1.0, 2, 3]))
    assert_same(state["v"], np.zeros(3))


def write_first(a):
    a[0] = 1


def test_what_is_refused():
    a = np.zeros(4)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tk.jit(write_first)(a)

    def add(a, b):
        a += b

    b = np.zeros(4)
    with pytest.raises(ValueError, match="shares its memory"):
        tk.jit(add)(b, b)
    with pytest.raises(ValueError, match="shares its memory"):
        tk.jit(add)(b[:2], b[1:3])
    assert_same(b, np.zeros(4))
    with pytest.raises(ValueError, match="read-only"):
        tk.jit(lambda a: np.broadcast_to(a, (2, 4)).__setitem__(0, 1))(b)
    with pytest.raises(ValueError, match=r"f64\[3\] does not fit into the shape \(4,\)"):
        tk.jit(lambda a: a.__setitem__(slice(None), a[:3]))(b)
    with pytest.raises(TypeError, match="cannot cast float64 to int64"):
        tk.jit(lambda a: a.__iadd__(0.5))(np.zeros(3, np.int64))
    with pytest.raises(IndexError, match="out of bounds"):
        tk.jit(lambda a: a.__setitem__(4, 1))(b)
    with pytest.raises(NotImplementedError, match="indices that are computed"):
        tk.jit(lambda a: a.__setitem__(a.astype(int), 1))(b)
    with pytest.raises(IndexError, match="out of bounds"):
        tk.jit(lambda a: a.__setitem__([0, 4], 1))(b)
    captured = np.zeros(4)
    with pytest.raises(NotImplementedError, match="into an ndarray"):
        tk.jit(lambda a: np.add(a, 1, out=captured))(b)


def test_numpy_is_left_as_it_was():
    before = np.zeros, np.array, np.asarray
    with pytest.raises(ZeroDivisionError):
        tk.jit(lambda a: np.zeros(3) + a / (1 // 0))(np.ones(3))
    assert (np.zeros, np.array, np.asarray) == before
    assert type(np.zeros(3)) is np.ndarray


def test_compiled_code_gets_memory():
    """What NumPy's random numbers, which are compiled, allocate with np.empty is NumPy's own."""
    rng = np.random.default_rng(3)

    def f(a):
        out = np.empty(3)
        drawn = (np.random.default_rng(3).random(3) if a is not None else np.zeros(3)) + 0
        assert type(drawn) is np.ndarray
        out[:] = a + drawn
        return [
            out,
            np.zeros(
                shape=(2, 2),
            )
            + a.sum(),
        ]

    got = tk.jit(f)(np.ones(3))
    assert_same(got[0], 1 + rng.random(3))
    assert_same(got[1], np.full((2, 2), 3.0))


def test_complex_numbers_and_lists_stay_numpys():
    def f(a):
        assert type(np.array([1, 2, 3])) is np.ndarray
        assert type(np.zeros(2, complex)) is np.ndarray
        return a + np.array([1, 2, 3])

    assert_same(tk.jit(f)(np.zeros(3)), np.array([1.0, 2, 3]))


# ---------------------------------------------------------------------------------------------------------------------
# Random programs: the same instructions on NumPy's arrays and on traced ones

VIEWS = {
    "transpose": lambda x: x.T,
    "ravel": lambda x: x.ravel(),
    "reverse": lambda x: x[::-1],
    "reverse all": lambda x: np.flip(x),
    "every second": lambda x: x[::2],
    "tail": lambda x: x[1:],
    "inner": lambda x: x[..., 1:-1],
    "backwards": lambda x: x[..., ::-2],
    "new axis": lambda x: x[None],
    "squeeze": lambda x: np.squeeze(x),
    "split axis": lambda x: x.reshape(2, -1) if x.size % 2 == 0 else x.reshape(1, -1),
    "first": lambda x: x[0],
    "last column": lambda x: x[..., -1],
    "swap": lambda x: np.swapaxes(x, 0, -1),
    "flatten": lambda x: x.flatten(),
    "flat view": lambda x: x.reshape(-1),
    "copy": lambda x: x.copy(),
    "positive": lambda x: +x,
    "plus": lambda x: x + 1,
    "itself": lambda x: x[...],
}


def write_number(env, i, j):
    env[i][...] = j


def write_part(env, i, j):
    env[i][1:] = -j


def write_backwards(env, i, j):
    env[i][...] = env[i][::-1]


def write_shifted(env, i, j):
    env[i][1:] = env[i][:-1]


def write_mask(env, i, j):
    env[i][env[i] > j] = -1


def add_number(env, i, j):
    env[i] += j


def add_part(env, i, j):
    env[i][..., ::2] += 3


def add_other(env, i, j):
    other = env[j % len(env)]
    if other.shape == env[i].shape:
        env[i] += other


def multiply_out(env, i, j):
    np.multiply(env[i], 2, out=env[i])


WRITES = [
    write_number,
    write_part,
    write_backwards,
    write_shifted,
    write_mask,
    add_number,
    add_part,
    add_other,
    multiply_out,
]


def usable(x, function):
    """Views of numbers and of arrays without elements along the first axis are NumPy's errors, not ours to compare."""
    try:
        made = function(x)
    except (IndexError, ValueError, AttributeError):
        return False
    return isinstance(made, np.ndarray)


@st.composite
def programs(draw):
    shape = draw(st.sampled_from([(6,), (4, 3), (2, 3, 4), (5,), (1, 4)]))
    env = [np.arange(float(np.prod(shape))).reshape(shape)]
    steps = []
    for _ in range(draw(st.integers(2, 9))):
        i = draw(st.integers(0, len(env) - 1))
        if draw(st.booleans()):
            name = draw(st.sampled_from(sorted(VIEWS)))
            if env[i].ndim and usable(env[i], VIEWS[name]):
                steps.append(("view", name, i, 0))
                env.append(VIEWS[name](env[i]))
        else:
            write = draw(st.sampled_from(WRITES))
            if env[i].ndim and env[i].shape[0]:
                steps.append(("write", write, i, draw(st.integers(0, 7))))
    return shape, steps


@given(programs())
@settings(max_examples=150, deadline=None)
def test_random_programs(program):
    shape, steps = program

    def run(a):
        env = [a]
        for kind, what, i, j in steps:
            if kind == "view":
                env.append(VIEWS[what](env[i]))
            else:
                what(env, i, j)
        return tuple(env)

    check(run, np.arange(float(np.prod(shape))).reshape(shape))
