"""table[index], where the table is NumPy's and the index is computed."""

import threading

import numpy as np
import pytest
import tokamak as tk

from support import check

SQUARES = np.arange(10.0) ** 2
GRID = np.arange(12, dtype=np.int16).reshape(3, 4)


class Palette:
    colours = np.arange(30, dtype=np.uint8).reshape(10, 3)


def closure(table):
    return lambda i: table[i]


@pytest.mark.parametrize(
    "function",
    [
        lambda i: SQUARES[i],
        lambda i: SQUARES[i * 2 - 3],
        lambda i: SQUARES[i[0]],
        lambda i: SQUARES[i, None],
        lambda i: SQUARES[i.reshape(3, 1)],
        lambda i: SQUARES[::-1][i],
        lambda i: GRID[i - 1, i],
        lambda i: GRID[:, i],
        lambda i: GRID[..., i] + GRID[i[0] - 1, :3],
        lambda i: Palette.colours[i],
        lambda i: np.array([3, 1, 4, 1, 5])[i],
        lambda i: np.arange(10)[i % 2 + 3],
        lambda i: np.linspace(0.0, 1.0, 7)[i] * SQUARES[2],
        lambda i: np.take(SQUARES, i),
        lambda i: np.take(GRID, i, axis=1),
        closure(np.array([True, False, True, True])),
    ],
)
def test_tables(function):
    check(function, np.array([1, 2, 3]))


def test_masks_of_tables():
    check(lambda x: SQUARES[x > 0.5].sum(), np.linspace(0, 1, 10))


def test_errors():
    with pytest.raises(IndexError):
        tk.jit(lambda i: SQUARES[i])(np.array([1, 10]))
    with pytest.raises(IndexError, match="integer type"):
        tk.jit(lambda x: SQUARES[x])(np.array([1.0]))
    with pytest.raises(IndexError, match="too many indices"):
        tk.jit(lambda i: SQUARES[i, i])(np.array([1]))
    with pytest.raises(TypeError):
        tk.jit(lambda i: np.array(["a", "b"])[i])(np.array([1]))


def test_a_table_that_changes():
    table = np.arange(4.0)
    f = tk.jit(lambda i: table[i] * 2)
    i = np.array([3, 0])
    assert f(i).tolist() == [6, 0]
    table[3] = 10
    assert f(i).tolist() == [20, 0]


def test_other_threads_are_not_disturbed():
    """While one thread traces, another indexes NumPy's arrays with Arrays that are not traced."""
    wrong = []
    stop = threading.Event()

    def index():
        place = tk.asarray(np.array([2, 4]))
        while not stop.is_set():
            found = SQUARES[place]
            if type(found) is not np.ndarray or found.tolist() != [4, 16]:
                wrong.append(found)

    thread = threading.Thread(target=index)
    thread.start()
    for n in range(20):
        tk.jit(lambda i, n=n: SQUARES[i] + n, static_argnames="n")(np.array([1, 2]))
    stop.set()
    thread.join()
    assert not wrong
