"""Writing to arrays: views see each other's writes, arguments are written to, and reading stays right meanwhile."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st

from support import assert_same, check_writes, copied


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
    check_writes(function, a)


@pytest.mark.parametrize("order", ["C", "F"])
def test_reshapes_of_arguments(order):
    def f(a):
        b, c, d = a.ravel(), a.T.ravel(), a.reshape(2, 6)
        a[0] = 100
        return b, c, d

    check_writes(f, np.asarray(np.arange(12.0).reshape(3, 4), order=order))


def test_two_arguments():
    check_writes(add_to_the_middle, np.arange(10.0), np.ones(10))


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

    check_writes(step, np.random.default_rng(2).integers(0, 2, (12, 17)))


def test_kinds_of_values():
    def store(a, b):
        a[0] = 2.9
        a[1] = True
        a[2:4] = b[:2]
        a[4:] = b[None, 2]
        return a

    for dtype in (np.int8, np.uint16, np.float32, np.bool_):
        check_writes(store, np.zeros(6, dtype), np.array([1.5, 0.0, 3.25]))


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


def parts_that_lie_apart(z):
    n = len(z)
    yield z[::2], z[1::2]
    yield z[:, :2], z[:, 2:4]
    yield z[:, ::-3], z[:, 1::3]
    yield z[1], z[::2]
    yield z.ravel()[1::4], z.ravel()[-2::-2]
    yield z[::-2, 1], z[: n // 2, 3]
    yield z.T[0], z[:, 1:5]
    yield z[2:2], z
    yield z.view("f4")[:, ::2], z.view("f4")[:, 1::2]


@pytest.mark.parametrize("rows", [6, 40_000])
def test_arguments_that_lie_between_each_other(rows):
    def step(p, v):
        p *= 2
        p += v.sum()
        return v + 1

    jitted = tk.jit(step)
    for make in range(9):
        ours, plain = np.arange(rows * 7.0).reshape(rows, 7), np.arange(rows * 7.0).reshape(rows, 7)
        p, v = list(parts_that_lie_apart(ours))[make]
        q, w = list(parts_that_lie_apart(plain))[make]
        assert not np.shares_memory(p, v)
        np.testing.assert_allclose(jitted(p, v), step(q, w), rtol=1e-4)
        np.testing.assert_allclose(ours, plain, rtol=1e-4)


def test_arrays_from_elsewhere_that_lie_between_arguments():
    state = np.arange(12.0).reshape(2, 6)
    velocity = state[:, 3:]

    @tk.jit
    def step(position):
        position += velocity

    step(state[:, :3])
    step(state[:, :3])
    assert_same(state, np.array([[6.0, 9, 12, 3, 4, 5], [24, 27, 30, 9, 10, 11]]))
    with pytest.raises(ValueError, match="shares its memory"):
        step(state[:, 1:4])


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32 - 1))
def test_views_are_refused_if_they_share_memory(seed):
    rng = np.random.default_rng(seed)
    z = np.zeros((6, 5, 4))

    def view():
        x = z
        for _ in range(rng.integers(1, 3)):
            cuts = [slice(*sorted(rng.integers(0, n + 1, 2)), int(rng.integers(1, 4))) for n in x.shape]
            x = x[tuple(cuts)].transpose(rng.permutation(x.ndim))
            x = x[:: int(rng.choice([-1, 1]))]
        is_halved = rng.random() < 0.2 and x.flags.c_contiguous
        return x.view("f4")[..., int(rng.integers(0, 2)) :: 2] if is_halved else x

    a, b = view(), view()
    z[...] = 0

    def write(a, b):
        a += 1
        return b.sum()

    if a.size and np.shares_memory(a, b):
        with pytest.raises(ValueError, match="shares its memory"):
            tk.jit(write)(a, b)
        assert not z.any()
    else:
        assert tk.jit(write)(a, b) == 0
        assert not b.any()


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
    with pytest.raises(IndexError, match="out of bounds"):
        tk.jit(lambda a: a.__setitem__(a.astype(int) + 4, 1))(b)
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
