"""The programs of examples/numpy: with the decorator they give what they give without it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "numpy"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run")


def load(name):
    spec = importlib.util.spec_from_file_location(f"examples_numpy_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copies(arguments):
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]


def flat(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    module = load(name)
    arguments = module.arguments(np.random.default_rng(0))
    wanted_arguments, got_arguments = copies(arguments), copies(arguments)
    with np.errstate(all="ignore"):
        wanted = flat(module.program.__wrapped__(*wanted_arguments))
    got = flat(module.program(*got_arguments))
    pairs = [*zip(got, wanted, strict=True), *zip(got_arguments, wanted_arguments, strict=True)]
    for one, other in pairs:
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5 if one.dtype == np.float32 else 1e-9, atol=1e-12)


def test_there_are_enough():
    assert len(PROGRAMS) >= 15
