"""Random programs: whole functions of exact operations, views and reductions, against NumPy, bit for bit."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st

from support import compare_trees, random_array, seeds, with_layout

ELEMENTWISE = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: np.maximum(a, b),
    lambda a, b: np.minimum(a, b),
    lambda a, b: np.where(a > b, a, b * 2),
    lambda a, b: a * 3 - b,
    lambda a, b: np.clip(a, -5, 5) + b,
    lambda a, b: abs(a) + (b <= a),
]
VIEWS = [
    lambda a: a.T,
    lambda a: a[::-1],
    lambda a: a[..., ::-1],
    lambda a: a[1:],
    lambda a: a[..., ::2],
    lambda a: a.reshape(-1),
    lambda a: a[None],
    lambda a: np.roll(a, 1, axis=-1),
    lambda a: np.concatenate([a, a[:1]]),
    lambda a: np.pad(a, 1),
    lambda a: np.repeat(a, 2, axis=0),
]
REDUCTIONS = [
    lambda a: a.max(axis=-1, keepdims=True),
    lambda a: a.min(axis=0),
    lambda a: a.max(),
    lambda a: a.argmax(axis=-1),
    lambda a: np.cumsum(a.astype(np.int64), axis=0),
    lambda a: a.astype(np.int64).sum(axis=0),
    lambda a: a.astype(np.int64).sum(axis=-1, keepdims=True),
    lambda a: (a > 0).any(axis=0),
]


def can_broadcast(a, b):
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


def make_program(choices):
    """A function of a list of arrays. Which operation meets which value is fixed by `choices`; what does not fit the
    shapes is left out."""

    def program(*arrays):
        values = list(arrays)
        for kind, op, left, right in choices:
            a, b = values[left % len(values)], values[right % len(values)]
            if kind == "elementwise" and can_broadcast(a, b) and a.dtype != bool and b.dtype != bool:
                made = ELEMENTWISE[op % len(ELEMENTWISE)](a, b)
            elif kind == "view" and a.ndim and a.ndim < 5 and a.shape[0] > 1:
                made = VIEWS[op % len(VIEWS)](a)
            elif kind == "reduction" and a.ndim and a.size:
                made = REDUCTIONS[op % len(REDUCTIONS)](a)
            else:
                continue
            if made.size <= 20_000:
                values.append(made)
        return tuple(values[len(arrays) :][-3:]) or (values[0] + 0,)

    return program


numbers = st.integers(0, 99)
kinds = st.sampled_from(["elementwise", "elementwise", "elementwise", "view", "reduction"])
programs = st.lists(st.tuples(kinds, numbers, numbers, numbers), min_size=1, max_size=14)
shapes = st.lists(st.sampled_from([1, 2, 3, 5, 8, 17]), min_size=0, max_size=3).map(tuple)


@settings(max_examples=80)
@given(
    choices=programs,
    shape=shapes,
    dtype=st.sampled_from([np.int32, np.float32, np.float64, np.int8, np.uint16]),
    layout=st.sampled_from(["dense", "dense", "sliced", "reversed", "transposed"]),
    fuse=st.booleans(),
    seed=seeds,
)
def test_random_programs(choices, shape, dtype, layout, fuse, seed):
    rng = np.random.default_rng(seed)
    special = np.dtype(dtype).kind != "f"  # integers of inf and NaN are not NumPy's promise
    arrays = [
        with_layout(rng, random_array(rng, shape, dtype, special=special), layout),
        random_array(rng, shape[-1:], dtype, special=special),
    ]
    program = make_program(choices)
    with np.errstate(all="ignore"):
        want = program(*arrays)
    got = tk.jit(program, fuse=fuse)(*arrays)
    compare_trees(got, want, 0, f"{choices} {shape} {dtype} {layout} fuse={fuse}")


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
def test_other_processors(cpu):
    """The same answers from code for older processors."""
    files = ["test_functions.py", "test_programs.py", "test_fusion_counts.py"]
    here = os.path.dirname(__file__)
    if os.environ.get("TOKAMAK_CPU"):
        pytest.skip("inside such a test")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-k",
            "not processors and not conversions",
        ]
        + [os.path.join(here, file) for file in files],
        env={**os.environ, "TOKAMAK_CPU": cpu},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stdout[-3000:]
