"""Settings of all Python tests."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "tokamak",
    max_examples=25,
    deadline=None,  # the first call of every signature compiles
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
    print_blob=True,
)
settings.load_profile("tokamak")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)


@pytest.fixture(autouse=True)
def _quiet_numpy():
    """NumPy is the oracle; what it warns of (overflow, invalid) is part of what is tested."""
    with np.errstate(all="ignore"):
        yield
