"""The programs of examples/numpy: with the decorator they give what they give without it."""

import copy
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


def check_equal(got, wanted):
    if isinstance(wanted, dict):
        assert isinstance(got, dict) and list(got) == list(wanted)
        for key in wanted:
            check_equal(got[key], wanted[key])
    elif isinstance(wanted, tuple | list):
        assert type(got) is type(wanted) and len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            check_equal(one, other)
    else:
        got, wanted = np.asarray(got), np.asarray(wanted)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        single = got.dtype == np.float32
        np.testing.assert_allclose(got, wanted, rtol=1e-5 if single else 1e-9, atol=1e-5 if single else 1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    module = load(name)
    arguments = module.arguments(np.random.default_rng(0))
    wanted_arguments, got_arguments = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        wanted = module.program.__wrapped__(*wanted_arguments)
    got = module.program(*got_arguments)
    check_equal(got, wanted)
    check_equal(got_arguments, wanted_arguments)


def test_there_are_fifty():
    assert len(PROGRAMS) >= 50
