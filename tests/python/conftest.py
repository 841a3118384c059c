"""Settings of all Python tests."""

import os
import shutil
import tempfile

# NumPy is the oracle, but not with AVX-512: NumPy 2.4 reduces arctan2 and power wrongly there (rows of a few elements),
# leaves float16 unsorted, and rounds powers otherwise than it does everywhere else.
os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The tests, and the processes that they start, have a disk cache of their own.
_folder = tempfile.mkdtemp(prefix="tokamak-tests-")
os.environ["TOKAMAK_CACHE_DIR"] = os.path.join(_folder, "cache")
for _name in ("TOKAMAK_CACHE_SIZE", "XDG_CACHE_HOME"):
    os.environ.pop(_name, None)


def pytest_unconfigure():
    shutil.rmtree(_folder, ignore_errors=True)


# `make test` tries the same examples every time, so that what it says is about the change at hand; `make explore`
# draws new ones, and what it finds becomes an @example.
settings.register_profile(
    "tokamak",
    derandomize=True,
    max_examples=25,
    deadline=None,  # the first call of every signature compiles
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
    print_blob=True,
)
settings.register_profile(
    "explore", parent=settings.get_profile("tokamak"), derandomize=False, max_examples=200
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "tokamak"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)


@pytest.fixture(autouse=True)
def _quiet_numpy():
    """NumPy is the oracle; what it warns of (overflow, invalid) is part of what is tested."""
    with np.errstate(all="ignore"):
        yield
