"""Reading and writing elements under masks, and at indices that are known."""

import numpy as np
import pytest
import tokamak as tk

from agreement import agree
from support import check_writes


def test_masks():
    def store(a, row):
        a[a[:, 0] > 3] = row
        a[a < 1] = 0
        return a

    check_writes(store, np.arange(12.0).reshape(4, 3), np.array([0.25, 0.5, 0.75]))
    with pytest.raises(NotImplementedError, match=r"how many elements are true.*np\.where"):
        tk.jit(lambda a: a.__setitem__(a > 1, np.ones(3)))(np.arange(5.0))
    with pytest.raises(IndexError, match="mask of shape"):
        tk.jit(lambda a: a.__setitem__(a[1:] > 1, 1))(np.arange(5.0))


KNOWN = np.arange(12).reshape(3, 4) % 5 < 2
KNOWN_IN_FRONT = np.array([True, False, True])


@pytest.mark.parametrize(
    "write",
    [
        lambda a: a.__setitem__(KNOWN, -1),
        lambda a: a.__setitem__(KNOWN, np.float64(2.5)),
        lambda a: a.__setitem__(KNOWN_IN_FRONT, a[0, 0, 0]),
        lambda a: a.__setitem__((..., np.array([False, True])), 7),
        lambda a: a.__setitem__((slice(1, None), KNOWN[0], 1), 7),
        lambda a: a.__setitem__((0, KNOWN[0]), 7),
        lambda a: a.__setitem__((KNOWN_IN_FRONT, None, slice(None), 0), 7),
        lambda a: a[..., ::-1].__setitem__(KNOWN, 3),
        lambda a: a.__setitem__(np.zeros((3, 4), bool), 3),
        lambda a: a.__setitem__([True, False, True], 3),
    ],
)
@pytest.mark.parametrize("copies", [1, 2000], ids=["small", "large"])
def test_numbers_under_a_known_mask(write, copies):
    """In memory of the caller's, and in what is computed: small, and larger than what is written otherwise."""
    a = np.tile(np.arange(24.0).reshape(3, 4, 2), (copies, 1, 1, 1))

    def to_argument(a):
        write(a[0])
        return a

    def to_result(a):
        b = a[-1] * 2
        write(b)
        return b + 1

    def to_all(a):
        b = np.moveaxis(a * 2, 0, -1)
        b[KNOWN] = 5
        b[..., KNOWN[0, :2], :] = 7
        return b + 1

    check_writes(to_argument, a)
    check_writes(to_result, a)
    check_writes(to_all, a)


def test_known_masks_behind_an_ellipsis():
    def work(a, row):
        b = a * 2
        b[..., KNOWN] = row
        b[..., None, KNOWN_IN_FRONT, :] += 1
        return b, a[..., KNOWN], a[..., KNOWN_IN_FRONT, 1:], a[0, ..., KNOWN[2]]

    a = np.arange(72.0).reshape(2, 3, 3, 4)
    check_writes(work, a, np.arange(float(KNOWN.sum())))


def test_known_masks_that_do_not_fit():
    for key in ((..., np.ones(3, bool)), np.ones((3, 2), bool), (0, np.ones(5, bool))):
        with pytest.raises(IndexError, match="mask of shape"):
            tk.jit(lambda a, key=key: (a * 2).__setitem__(key, 0))(np.ones((3, 4, 2)))


def test_elements_under_a_mask():
    def work(a, b):
        a[a > 5] += 1
        big = b > 0.5
        a[big] = np.sqrt(b[big]) * 2 + a[big]
        b[big] *= -1
        a[~big] -= 3
        row = a[:, 0] > 4
        a[row] *= b[0]
        return a, b, a[big].sum(), np.mean(b[big]), (a[big] > 6).any(), a[big].std()

    rng = np.random.default_rng(5)
    wanted_arguments = rng.integers(0, 10, (5, 4)).astype(float), rng.random((5, 4))
    got_arguments = [np.copy(a) for a in wanted_arguments]
    wanted, got = work(*wanted_arguments), tk.jit(work)(*got_arguments)
    for one, other in zip([*got, *got_arguments], [*wanted, *wanted_arguments], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_integers_under_a_mask():
    def work(a, b):
        divisible = b != 0
        a[divisible] //= b[divisible]
        a[a % 2 == 1] = -1
        even = a % 2 == 0
        a[even] = -a[even]
        return a

    check_writes(work, np.arange(12).reshape(3, 4), np.arange(12).reshape(3, 4) % 3)


@pytest.mark.parametrize(
    "use",
    [
        lambda a, m: a[m] + a[~m],
        lambda a, m: a[m] + np.ones(3),
        lambda a, m: len(a[m]),
        lambda a, m: a[m][0],
        lambda a, m: a[m].shape,
        lambda a, m: np.sort(a[m]),
        lambda a, m: np.cumsum(a[m]),
        lambda a, m: list(a[m]),
        lambda a, m: np.add.reduce(a[m]),
        lambda a, m: a[m],
        lambda a, m: a.__setitem__(m, a[~m]),
        lambda a, m: bool(a[m]),
    ],
)
def test_what_needs_the_number_of_elements(use):
    with pytest.raises(
        NotImplementedError, match=r"how many elements are true depends on values.*(np\.where|mask)"
    ):
        tk.jit(lambda a: use(a, a > 1))(np.arange(5.0))


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        (lambda a, m: a[m], "return x and the mask"),
        (lambda a, m: len(a[m]), r"mask\.sum\(\)"),
        (lambda a, m: a[m].size, r"mask\.sum\(\)"),
        (lambda a, m: a[m][0], r"np\.argmax\(mask\)"),
        (lambda a, m: np.sort(a[m]), r"np\.sort\(np\.where\(mask, x, np\.inf\)\)"),
    ],
)
def test_advice_for_masks(use, advice):
    with pytest.raises(NotImplementedError, match=advice) as raised:
        tk.jit(lambda a: use(a, a > 1))(np.arange(5.0))
    assert raised.value.where[1] == use.__code__.co_firstlineno


def test_known_indices():
    def store(a, v):
        a[[0, 2, 0]] = v[:3, None]
        a[:, [1, -1]] += 1
        a[[0, 1], [2, 3]] = 7
        a[np.array([True, False, True]), 1:3] = v[0]
        a[1, [0, 3]] = [5, 6]
        a[np.eye(3, 4, dtype=bool)] = 9
        a[[], 0] = 1
        return a

    check_writes(store, np.arange(12.0).reshape(3, 4), np.array([20.0, 21, 22]))


@pytest.mark.parametrize("reduction", ["sum", "mean", "var", "std", "prod", "any", "all"])
@pytest.mark.parametrize(
    "options", [{"axis": 0}, {"axis": -2}, {"axis": (0, 1)}, {"axis": 0, "keepdims": True}, {}]
)
def test_reductions_of_rows_under_a_mask(rng, reduction, options):
    x, labels = rng.standard_normal((20, 3)), rng.integers(0, 2, 20)
    agree(lambda x, l: getattr(x[l == 1], reduction)(**options), x, labels, rounded=True)
    agree(lambda x, l: getattr(np, reduction)(x[l == 1], **options), x, labels, rounded=True)


def test_reductions_behind_a_mask(rng):
    def norms(x, labels):
        out = np.zeros(len(labels))
        out[labels > 0] = np.sqrt((x[labels > 0] ** 2).sum(axis=1))
        return out, x[labels > 0].var(axis=0, ddof=1), x[labels > 0].mean(0)

    agree(norms, rng.standard_normal((20, 3)), rng.integers(0, 2, 20), rounded=True)


def test_a_mask_computed_twice_is_the_same(rng):
    def roots(x):
        x[x > 0] = np.sqrt(x[x > 0])
        x[(x < -1) & (x > -2)] *= 2
        return x

    check_writes(roots, rng.standard_normal((6, 7)) * 3)


def test_masks_of_other_values_are_not_the_same(rng):
    def wrong(x):
        before = x[x > 0]
        x += 1
        x[x > 0] = before
        return x

    with pytest.raises(tk.Unsupported, match="other_mask"):
        tk.jit(wrong)(rng.standard_normal(9))


def test_errors_of_reductions_under_a_mask(rng):
    x = rng.standard_normal((5, 3))
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds"):
        tk.jit(lambda x: x[x[:, 0] > 0].sum(axis=2))(x)
    with pytest.raises(tk.Unsupported, match="with these arguments"):
        tk.jit(lambda x: x[x[:, 0] > 0].sum(axis=0, initial=3.0))(x)


def test_masks_beside_integers_and_slices(rng):
    def work(hsv, row, cube):
        red = hsv[..., 0] > 0.5
        hsv[red, 0] += 0.25
        hsv[red, 1:] = hsv[red, 1:] * 2 - 1
        hsv[~red, ..., 2] = 7
        row[1, row[1] > 0] *= -1
        row[-1, row[0] > 0] = 3
        cube[:, red] = 0
        cube[..., row[0] > 0] = 5
        cube[0, red] -= 1
        return cube

    def sums(hsv, row):
        red = hsv[..., 0] > 0.5
        return hsv[red, 0].sum(), hsv[red, 1:].mean(axis=0), row[2, row[2] > 0].sum()

    hsv, row = rng.random((4, 5, 3)), rng.standard_normal((3, 5))
    check_writes(work, hsv, row, rng.random((2, 4, 5)))
    agree(sums, hsv, row, rounded=True)


def test_parts_of_elements_under_a_mask(rng):
    def bounce(f, wall):
        bounced = f[wall, :]
        bounced = bounced[:, [0, 3, 4, 1, 2]]
        f += 1
        f[wall, :] = bounced
        f[wall, 0] = f[wall][:, 1] * 2
        f[wall, 1:3] = f[wall][:, ::-1][:, 1:3]
        return f

    check_writes(bounce, rng.random((4, 6, 5)), rng.random((4, 6)) > 0.5)
    for key in [np.s_[1:], np.s_[0], np.s_[:, [0, 1], 0], np.s_[1:, 0]]:
        with pytest.raises(NotImplementedError, match="depends on values"):
            tk.jit(lambda x, key=key: x[x[:, 0, 0] > 0][key].sum())(rng.random((3, 4, 5)))


def test_errors_of_masks_beside_others(rng):
    x = rng.random((3, 4))
    with pytest.raises(NotImplementedError, match="depends on values"):
        tk.jit(lambda x: x[:, x[0] > 0].sum())(x)
    with pytest.raises(NotImplementedError, match="not a number"):
        tk.jit(lambda x: x.__setitem__((slice(None), x[0] > 0), x[:, :1]))(x)
    with pytest.raises(IndexError, match="mask of shape"):
        tk.jit(lambda x: x.__setitem__((x[0] > 0, 0), 1))(x)
    with pytest.raises(IndexError, match="too many indices"):
        tk.jit(lambda x: x.__setitem__((x > 0, 0), 1))(x)


# -- Reductions of x[mask] that are not sums

A = np.array([[6.0, -1.5, 7.0, 2.0], [0.0, -0.0, 8.5, 8.5], [-4.0, 1.0, 1.0, 6.0]])


@pytest.mark.parametrize(
    "use",
    [
        lambda a, m: a[m].max(),
        lambda a, m: a[m].min(),
        lambda a, m: np.max(a[m]) - np.min(a[m]),
        lambda a, m: np.ptp(a[m]),
        lambda a, m: a[m].argmax(),
        lambda a, m: np.argmin(a[m]),
        lambda a, m: np.argmax(a[m] % 2),
        lambda a, m: np.median(a[m]),
        lambda a, m: np.median(a[m] * 2 + 1),
        lambda a, m: np.percentile(a[m], 30),
        lambda a, m: np.percentile(a[m], [10, 90]),
        lambda a, m: np.quantile(a[m], 0.75),
        lambda a, m: np.count_nonzero(a[m]),
        lambda a, m: np.linalg.norm(a[m]),
        lambda a, m: np.dot(a[m], a[m] + 1),
        lambda a, m: a[m] @ a[m],
        lambda a, m: np.average(a[m], weights=a[m] * a[m] + 1),
        lambda a, m: np.average(a[m]),
        lambda a, m: a[m[:, 0]].max(axis=0),
        lambda a, m: np.min(a[m[:, 0]], axis=0, keepdims=True),
        lambda a, m: np.median(a[m[:, 0]], axis=0),
        lambda a, m: np.quantile(a[m[:, 0]], [0.2, 0.5], axis=0, keepdims=True),
        lambda a, m: a[m[:, 0]].max(axis=1).sum(),
        lambda a, m: a[m[:, 0]].max(),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
def test_reductions_of_elements_under_a_mask(use, dtype):
    a = A.astype(dtype) if np.dtype(dtype).kind == "f" else np.abs(A).astype(dtype)
    for limit in (-10, 0, 2, 5):
        with np.errstate(all="ignore"):
            wanted = use(a, a >= limit)
            got = tk.jit(lambda a: use(a, a >= limit))(a)  # noqa: B023
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-6 if dtype == np.float32 else 1e-12)


def test_nans_under_a_mask():
    a = A.copy()
    a[0, 2] = a[2, 3] = np.nan
    for mask in (a < 5, ~(a < 5), a != 3):
        for use in (np.max, np.min, np.argmax, np.argmin, np.median):
            np.testing.assert_array_equal(tk.jit(lambda a, m: use(a[m & True]))(a, mask), use(a[mask]))  # noqa: B023


@pytest.mark.parametrize("use", [np.max, np.min, np.argmax, np.ptp])
def test_extremes_of_nothing(use):
    f = tk.jit(lambda a: use(a[a > 100]) * 2)
    with pytest.raises(ValueError, match=r"(?s)no identity: the mask is true nowhere.*test_masks.py"):
        f(A)
    np.testing.assert_array_equal(f(A * 50), use((A * 50)[A * 50 > 100]) * 2)


def test_the_median_of_nothing_is_nan():
    assert np.isnan(tk.jit(lambda a: np.median(a[a > 100]))(A))
