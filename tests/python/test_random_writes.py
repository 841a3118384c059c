"""Random programs of views and writes: the same instructions on NumPy's arrays and on traced ones."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support import check_writes

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


def places(x, j):
    """Computed from the elements themselves: from both ends, with duplicates."""
    n = x.shape[0]
    return (np.abs(x).ravel()[: j + 1] % (2 * n)).astype(int) - n


def write_computed(env, i, j):
    env[i][places(env[i], j)] = j


def write_computed_last(env, i, j):
    x = env[i]
    x[..., (np.abs(x).ravel()[:j] % x.shape[-1]).astype(int)] = -j


def add_computed(env, i, j):
    env[i][places(env[i], j)] += j


def add_at(env, i, j):
    np.add.at(env[i], places(env[i], j), env[i][0])


def permute(env, i, j):
    env[i][...] = env[i][places(env[i], j)][0]


def put_flat(env, i, j):
    np.put(env[i], (np.abs(env[i]).ravel()[:j] % env[i].size).astype(int), [7, 8, 9])


WRITES = [
    write_computed,
    write_computed_last,
    add_computed,
    add_at,
    permute,
    put_flat,
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

    check_writes(run, np.arange(float(np.prod(shape))).reshape(shape))
