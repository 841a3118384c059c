"""x.view(dtype) with elements of another size: the bytes of the last axis, which both share."""

import numpy as np
import pytest
import tokamak as tk

from agreement import agree
from support import DTYPES, check_writes, random_array

KINDS = [dtype for dtype in DTYPES if dtype != np.float16]


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize("wanted", [dtype for dtype in KINDS if dtype != bool], ids=str)
def test_views(dtype, wanted, rng):
    x = random_array(rng, (3, 8), dtype)
    for part in (x, x[1:, ::2], x[:, :1], x[:, 1:7], x[0], x[:0], np.asfortranarray(x), x[::-1], x[:, :3]):
        agree(lambda a: a.view(wanted), part)
    agree(lambda a: a.view(wanted), random_array(rng, (40_008,), dtype))
    agree(lambda a: a.view(wanted), np.array(x[0, 0]))
    agree(lambda a: a.view(wanted), x[0, 0])


def test_writes():
    def to_bytes(a):
        v = a.view(np.uint8)
        v[..., 0] = 7
        v[..., 3] += 1
        return a * 2

    def to_larger(a):
        v = a.view(np.uint64)
        v += 1
        b = v.view(np.uint8)
        b[0] = 9
        return v.copy(), b.copy()

    check_writes(to_bytes, np.arange(6, dtype=np.int32).reshape(2, 3))
    check_writes(to_bytes, np.arange(6.0))
    check_writes(to_larger, np.arange(16, dtype=np.uint8))
    check_writes(to_larger, np.arange(4, dtype=np.int32))
    swapped = lambda a: a.view(np.uint8).reshape(-1, 4)[:, ::-1].copy().view(np.int32)  # noqa: E731
    check_writes(swapped, np.arange(10, dtype=np.int32))


def test_what_is_refused():
    for program in (
        lambda a: a[:, ::2].view(np.int8),
        lambda a: a[:, :3].view(np.int64),
        lambda a: a.T.view(np.int8),
    ):
        for run in (program, tk.jit(program)):
            with pytest.raises(ValueError):
                run(np.ones((4, 6), np.int16))
    with pytest.raises(ValueError, match="0d"):
        tk.jit(lambda a: a.view(np.int8))(np.array(1))
    with pytest.raises(NotImplementedError, match="32 or 64 bits"):
        tk.jit(lambda a: a.view(np.int16))(np.ones(3, np.float16))


def test_bytes_beside_what_is_written_to_a_view_of_bools_stay_what_they_are():
    """A bool is not known as the byte that it is."""

    def as_bools(a):
        v = a.view(bool)
        v[0] = True
        return a

    def as_bytes(a):
        v = a.view(np.uint8)
        v[0] = 7
        return v

    def there_and_back(a):
        return a.view(bool).view(np.uint8)

    for x in (np.array([3, 4, 5], np.uint8), np.array([3, 4, 5], np.int32)):
        before = x.copy()
        with pytest.raises(NotImplementedError, match="its bytes may be other ones"):
            tk.jit(as_bools)(x)
        with pytest.raises(NotImplementedError, match="view the bytes themselves"):
            tk.jit(there_and_back)(x)
        np.testing.assert_array_equal(x, before)
    with pytest.raises(NotImplementedError, match="its bytes may be other ones"):
        tk.jit(as_bytes)(np.array([True, False]))


def test_views_of_bools_are_read():
    x = np.array([3, 0, 5], np.uint8)

    def sees_later_writes(a):
        v = a.view(bool)
        a[1], a[2] = 4, 0
        return ~v

    check_writes(sees_later_writes, x)
    agree(lambda a: a.view(np.uint8) * 2, np.array([True, False, True]))
    agree(lambda a: a[::-1].view(np.int8).sum(), np.array([True, False, True]))
