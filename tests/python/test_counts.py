"""How often something holds: rounds of many lanes, and numbers that are the same for all of them."""

import numpy as np
import pytest
import tokamak as tk

COUNTS = {
    "all": lambda x: (x > 100).sum(),
    "rows": lambda x: (x > 100).sum(axis=-1),
    "columns": lambda x: (x > 100).sum(axis=0),
    "two": lambda x: ((x > 100).sum(), (x < 50).sum()),
    "beside the elements": lambda x: (np.where(x > 100, x, 0), (x > 100).sum()),
    "beside another sum": lambda x: ((x > 100).sum(), x.sum()),
    "narrow": lambda x: (x > 100).sum(dtype=np.int32),
    "wrapping": lambda x: (x < 100).sum(dtype=np.uint8),
    "the same everywhere": lambda x: np.broadcast_to(x.ravel()[0] > 3, x.shape).sum(),
    "by position": lambda x: (np.arange(x.shape[-1]) < x).sum(),
    "not zero": np.count_nonzero,
    "as one of the row": lambda x: (x == x[:, :1]).sum(axis=1),
}
SHAPES = [(1, 1), (7, 63), (5, 64), (4, 65), (2, 129), (300, 700), (1, 70001), (2000, 3)]


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_counts(name, dtype):
    count = COUNTS[name]
    compiled = tk.jit(count)
    for shape in SHAPES:
        x = np.random.default_rng(1).integers(0, 120, shape).astype(dtype)
        expected, found = as_tuple(count(x)), as_tuple(compiled(x))
        for want, got in zip(expected, found, strict=True):
            np.testing.assert_array_equal(got, want, err_msg=f"{name} of {shape}")
            assert np.asarray(got).dtype == np.asarray(want).dtype
