"""Computed values written to arrays that the function makes of what is known: np.eye, np.arange, np.array([1, 2]) and the like."""

import copy
import inspect
import math
import pickle

import numpy as np
import pytest
import tokamak as tk

from support import check

CAPTURED = np.arange(9.0).reshape(3, 3)
X = np.array([0.5, 1.5, 2.5])


def identity(x):
    q = np.eye(3)
    q[0] = x
    q[1, 2] = x[1]
    for i in np.arange(3):
        q[i, i] += x[i]
    return q @ x


def in_place(x):
    i = np.arange(3.0)
    i += x
    w = np.hanning(3)
    w *= x
    return i, w


def one_element(x):
    i = np.linspace(0, 1, 3)
    i[1] = x[0]
    j = np.array([1, 2, 3])
    j[0] = x.sum()
    return i, j


def slices(x):
    i = np.array([1.0, 2, 3])
    i[1:] *= x[:2]
    d = np.diag([1.0, 2, 3])
    d[1] = x
    t = np.tile([1.0, 2, 3], (2, 1))
    t[1] = x
    return i, d, t


def like_captured(x):
    a, b, c = np.zeros_like(CAPTURED), np.copy(CAPTURED), np.array(CAPTURED)
    a[1] = x
    b[:, 0] = x
    c[c > 4] = x[0]
    return a, b, c, CAPTURED


def grids(x):
    a, b = np.meshgrid(np.arange(3.0), np.arange(2.0))
    a[0] = x
    b += x
    i = np.indices((2, 3)).astype(float)
    i[0] = x
    return a, b, i


def rotation(x):
    r = np.identity(3)
    r[:2, :2] = [[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]]
    return r


def by_functions(x):
    a, b, c, d = np.arange(3.0), np.arange(3.0), np.arange(3.0), np.eye(3)
    np.multiply(x, 2, out=a)
    np.copyto(b, x)
    c.fill(x[0])
    d.flat[::4] = x
    np.fill_diagonal(d[1:], x[1])
    return a, b, c, d


def without_axes(x):
    q = np.array(1.0)
    q += x.sum()
    return q


def beside_what_is_known(x):
    n = np.array([2, 3])
    w = np.linalg.inv(np.eye(2) * 2.0)
    if n.max() > 2:
        w = w + int(n.prod())
    o = np.eye(2)
    o[0] = x[:2]
    return o @ w, np.zeros(tuple(n)), np.ones(n), np.array(n.tolist())


def added_at_places(x):
    i = (x * 3).astype(int) % 5
    h, k, m = np.arange(5.0), np.arange(5) * 2.0, np.arange(x.size).astype(x.dtype)
    np.add.at(h, i, 1)
    np.maximum.at(k, [0, 1], x[:2])
    np.add.at(m, np.arange(x.size), x)
    g = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.multiply.at(g, (i % 2, [1] * x.size), 2)
    return h, k, m, g


@pytest.mark.parametrize(
    "function",
    [
        added_at_places,
        identity,
        in_place,
        one_element,
        slices,
        like_captured,
        grids,
        rotation,
        by_functions,
        without_axes,
        beside_what_is_known,
    ],
)
def test_arrays_made_of_what_is_known(function):
    check(function, X, ulp=2)
    names = ("array", "arange", "eye", "copy")
    assert all(getattr(np, name).__module__.startswith("numpy") for name in names)
    assert not any(hasattr(getattr(np, name), "replaces") for name in names)


def test_arrays_from_outside_are_not_written_to():
    def computed(x):
        y = CAPTURED * 2
        y += x
        return y

    with pytest.raises(tk.Unsupported, match=r"np\.array\(y\) makes an array inside the function"):
        tk.jit(computed)(X)


def copied(x):
    y = CAPTURED.copy()
    y[1] = x
    return y


def copied_by_columns(x):
    y = CAPTURED.copy(order="F")
    y += x
    return y


def copied_view(x):
    y = CAPTURED[:, ::-1].copy()
    y[0] *= x
    return y, CAPTURED.copy().sum()


def copied_and_kept(x):
    y = (CAPTURED * 2).copy()
    z = y.copy()
    y[x > 0, 0] = -1
    return y - z


@pytest.mark.parametrize("function", [copied, copied_by_columns, copied_view, copied_and_kept])
def test_copies_of_arrays_from_outside(function):
    before, method = CAPTURED.copy(), np.ndarray.copy
    check(function, X[: len(CAPTURED)] if function is copied_and_kept else X)
    assert (before == CAPTURED).all()
    assert np.ndarray.copy is method


@pytest.mark.parametrize(
    "function, instead",
    [
        (lambda x: math.exp(x.mean()), "use np.exp"),
        (lambda x: math.atan2(x[0], x[1]), "use np.arctan2"),
        (lambda x: np.uint8(x * 255), r"use x.astype\(np.uint8\)"),
        (lambda x: np.float32(x), r"use x.astype\(np.float32\)"),
        (lambda x: float(x.sum()), r"use astype\(float\)"),
    ],
)
def test_conversions_say_what_to_use(function, instead):
    with pytest.raises(TypeError, match=instead):
        tk.jit(function)(X)


@pytest.mark.parametrize("name", ["zeros", "full", "asarray", "take", "isscalar", "errstate"])
def test_functions_are_known_as_ever_while_a_function_is_traced(name):
    own = getattr(np, name)

    def told(function):
        try:
            signature = str(inspect.signature(function))
        except ValueError:
            signature = None
        return function.__name__, function.__module__, function.__doc__, repr(function), signature

    wanted = told(own)

    def f(x):
        found = getattr(np, name)
        assert told(found) == wanted
        assert copy.deepcopy(found) is found and pickle.loads(pickle.dumps(found)) is found
        z = np.zeros(x.shape)
        z[1:] = x[1:]
        return z

    check(f, X)
    assert getattr(np, name) is own


def test_methods_are_replaced_as_methods():
    call, get = np.vectorize.__call__, type(np.r_).__getitem__
    check(lambda x: np.vectorize(lambda v: v + 1)(x) + np.r_[x[:1], x[1:]], X)
    assert np.vectorize.__call__ is call and type(np.r_).__getitem__ is get
