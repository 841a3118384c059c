"""Ufuncs that are given lists of traced values, which NumPy makes an array of without asking them."""

import functools
import pickle

import numpy as np
import pytest
import tokamak as tk

from support import check

X = np.array([0.5, 1.5, 2.5])
Y = np.array([3.0, -1.0, 1.5])
I8 = np.array([1, 2, 3], np.int8)

FUNCTIONS = {
    "elements": lambda x, y: np.sqrt([x[0], y[0]]),
    "rows": lambda x, y: np.abs([x, y, x * y]),
    "nested": lambda x, y: np.exp([[x[0], 1], [2, y[1]]]),
    "two lists": lambda x, y: np.add([x[0], 1], [y[0], y[1]]),
    "list and array": lambda x, y: np.multiply([x[0], y[0], 2], y),
    "array and list": lambda x, y: np.hypot(x, (y[2], x[1], 1.0)),
    "tuple": lambda x, y: np.arctan2((x[0], x[1]), (y[0], y[1])),
    "powers": lambda x, y: np.power([x[0], x[1]], 2) + np.power([x[0], x[1]], [2, 3]),
    "comparison": lambda x, y: np.not_equal([x[0], y[0]], [0.5, y[0]]),
    "differences": lambda x, y: np.subtract([x, y], 1) - np.subtract.outer([x[0], y[0]], [1, 2]).sum(),
    "keywords": lambda x, y: np.sqrt([x[0], x[1]], dtype=np.float32),
    "into": lambda x, y: np.add([x[0], x[1], x[2]], y, out=np.zeros(3)),
    "largest": lambda x, y: np.maximum.reduce([x, y, x * 2]),
    "all of them": lambda x, y: np.logical_and.reduce([x > 0, y > 0, x > y]),
    "running": lambda x, y: np.add.accumulate([x[0], x[1], y[0]]),
    "by columns": lambda x, y: np.minimum.reduce((x, y), axis=1),
    "folded": lambda x, y: functools.reduce(np.maximum, [x, y, np.sqrt([x[0], x[1], x[2]])]),
    "known": lambda x, y: np.sqrt([4.0, 9.0])[0] + np.sqrt([x[0], 1])[0],
    "constants of ufuncs": lambda x, y: np.sqrt([x[0], np.sqrt.nin, np.add.identity]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name):
    check(FUNCTIONS[name], X, Y, ulp=2)


def test_dtypes():
    def f(i):
        return np.add([i[0], i[1]], 1), np.multiply([i[0], 2], 3), np.true_divide([i[0], i[1]], 2)

    check(f, I8)


def test_what_a_ufunc_is_meanwhile():
    """Only functions that need it see others, which behave alike."""
    before = np.sqrt

    def f(x):
        y = np.sqrt([x[0], x[1]])
        assert isinstance(np.sqrt, np.ufunc)
        assert np.sqrt == before
        assert before == np.sqrt
        assert {before: 1}[np.sqrt] == 1
        assert repr(np.sqrt) == "<ufunc 'sqrt'>"
        return y, pickle.loads(pickle.dumps(np.exp))(x)

    check(f, X, ulp=2)
    assert np.sqrt is before


def test_subtracting_booleans_is_refused_as_before():
    def f(x):
        return np.sqrt([x[0], x[1]]), np.subtract.reduce(x > 0)

    with pytest.raises(TypeError):
        tk.jit(f)(X)
