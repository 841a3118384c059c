"""Python loops that are unrolled: the steps share their code. Each has a kernel: it reads a sum backwards."""

import numpy as np
import pytest
import tokamak as tk

rng = np.random.default_rng(11)


def cheapest_path(cost):
    best = cost[0]
    for i in range(1, cost.shape[0]):
        left = np.concatenate([[np.inf], best[:-1]])
        right = np.concatenate([best[1:], [np.inf]])
        best = cost[i] + np.minimum(np.minimum(left, best), right)
    return best


def running_columns(x):
    state = np.zeros(x.shape[0], x.dtype)
    for k in range(x.shape[1]):
        state = np.tanh(state).cumsum()[::-1] * x.dtype.type(0.1) + x[:, k]
    return state


def every_second(x):
    total = np.zeros_like(x[0, ::2])
    for k in range(1, x.shape[0] - 1):
        total = (total + x[k, ::2] * x[k + 1, ::-2] - x[k - 1, ::2]).cumsum()[::-1] * x.dtype.type(0.1)
    return total


def driven(x, steps):
    for k in range(steps):
        x = (x + np.sin(x * 0.5 + k * 0.1)).cumsum()[::-1] / (k + 2)
    return x


def driven_by_two(x, steps):
    """The number of the third step is one that all steps have."""
    for k in range(steps):
        x = (x * 2.0 + (k - 1.0)).cumsum()[::-1] * 0.01
    return x


def whole_numbers(x, steps):
    for k in range(1, steps + 1):
        x = (x // k + x % (k + 1)).cumsum()[::-1]
    return x


def writes_its_argument(x):
    for k in range(1, x.shape[0]):
        x[k] = (x[k] + x[k - 1]).cumsum()[::-1]
    return x[-1].copy()


def codes(function, *arguments):
    """The different kernels that the function becomes."""
    return {kernel.loops for kernel in function.explain(*arguments).kernels}


def check(function, *arguments, **options):
    wanted_arguments = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    wanted = function(*wanted_arguments)
    got = tk.jit(function, **options)(*arguments)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-4 if np.asarray(got).dtype == np.float32 else 1e-10)
    for given, expected in zip(arguments, wanted_arguments, strict=True):
        np.testing.assert_allclose(
            given, expected, rtol=1e-4 if np.asarray(given).dtype == np.float32 else 1e-10
        )


@pytest.mark.parametrize("function", [cheapest_path, running_columns, every_second])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_of_arguments(function, dtype):
    x = rng.random((24, 37)).astype(dtype)
    check(function, x)
    check(function, np.asfortranarray(x))
    check(function, rng.random((24, 80)).astype(dtype)[:, 3:77:2])
    check(function, x[::-1, ::-1])


@pytest.mark.parametrize("function", [driven, driven_by_two])
@pytest.mark.parametrize("shape", [(50,), (1,), (0,)])
def test_numbers(function, shape):
    check(function, rng.random(shape), 12, static_argnums=1)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_whole_numbers(dtype):
    check(whole_numbers, rng.integers(0, 100, 33).astype(dtype), 12, static_argnums=1)


def test_parts_of_an_argument_that_is_written():
    check(writes_its_argument, rng.random((12, 33)))


def test_parts_of_captured_arrays():
    table = rng.random((20, 64))

    def function(x):
        for k in range(20):
            x = (x * table[k]).cumsum()[::-1] * 0.1
        return x

    check(function, rng.random(64))
    assert len(codes(tk.jit(function), rng.random(64))) <= 3


def test_special_numbers():
    numbers = [np.nan, np.inf, -0.0, 0.0, 5e-324, -np.inf, 1.0]

    def function(x):
        results = []
        for number in numbers:
            x = np.copysign(np.minimum(np.abs(x), 2.0), number).cumsum()[::-1]
            results.append(np.where(np.isnan(x), number, x).cumsum()[::-1])
        return np.concatenate(results)

    with np.errstate(all="ignore"):
        check(function, rng.random(40))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (cheapest_path, lambda n: (rng.random((n, 50)),)),
        (running_columns, lambda n: (rng.random((50, n)),)),
        (every_second, lambda n: (rng.random((n, 50)),)),
        (driven, lambda n: (rng.random(50), n)),
    ],
)
def test_steps_share_their_code(function, arguments):
    given = arguments(60)
    jitted = tk.jit(function, static_argnums=1) if len(given) == 2 else tk.jit(function)
    assert len(jitted.explain(*given).kernels) >= 30
    assert len(codes(jitted, *given)) <= 10


def test_many_reductions():
    def function(x):
        return sum((x * (k + 1.5)).sum() for k in range(90))

    check(function, rng.random(1000))
    kernels = tk.jit(function).explain(rng.random(1000)).kernels
    assert max(sum(op == "reduce_sum" or op == "sum" for op in kernel.ops) for kernel in kernels) <= 32


# What is worked on shrinks, or grows, from step to step: the steps share code that reads the numbers they differ in.


def gauss(a):
    a = a.copy()
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k:] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k:])
    return a


def cholesky(a):
    n = a.shape[0]
    lower = np.zeros_like(a)
    for j in range(n):
        lower[j, j] = np.sqrt(a[j, j] - lower[j, :j] @ lower[j, :j])
        lower[j + 1 :, j] = (a[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
    return lower


def solved(a, b):
    x = np.zeros_like(b)
    for i in range(a.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def shrinking_window(x):
    while x.shape[0] > 1:
        x = (np.tanh(x[1:]) + x[:-1]).cumsum()[::-1] / x.shape[0]
    return x


def growing_maximum(x):
    return np.array([np.argmax(x[:k] * np.arange(k, 0, -1)) for k in range(1, x.shape[0])])


def halves(x):
    total = 0.0
    while x.shape[0] > 1:
        x = (x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2]) / 4
        total = total + np.sort(x, axis=0)[-1].max()
    return total


def three_axes(x):
    for k in range(1, 9):
        x = np.cumsum(x[1:, :-1, k // 4 :], axis=1)[:, ::-1] + k
    return x


def padded(x):
    for k in range(1, 20):
        x[k:-k, k:-k] = np.pad(x[k + 1 : -k - 1, k + 1 : -k - 1].cumsum(axis=0) / 9, 1)[::-1]
    return x


def positive(n, dtype=np.float64):
    a = rng.random((n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


SHRINKING = [
    (gauss, lambda n: (positive(n),)),
    (gauss, lambda n: (positive(n, np.float32),)),
    (cholesky, lambda n: (positive(n),)),
    (solved, lambda n: (positive(n), rng.random(n))),
    (solved, lambda n: (positive(n), rng.random((n, 3)))),
    (shrinking_window, lambda n: (rng.random(n),)),
    (shrinking_window, lambda n: (rng.random((n, 5)),)),
    (growing_maximum, lambda n: (rng.random(n),)),
    (three_axes, lambda n: (rng.random((n, 20, 9)),)),
    (padded, lambda n: (rng.random((n + 41, 50)),)),
]


@pytest.mark.parametrize(("function", "arguments"), SHRINKING)
@pytest.mark.parametrize("n", [12, 33, 70])
def test_shrinking(function, arguments, n):
    check(function, *arguments(n))


def test_shrinking_by_half():
    check(halves, rng.random((128, 128)))


@pytest.mark.parametrize(("function", "arguments"), SHRINKING)
def test_shrinking_in_all_memory_orders(function, arguments):
    given = arguments(25)
    check(function, *(np.asfortranarray(one) for one in given))
    check(function, *(np.repeat(one, 2, axis=-1)[..., ::2] for one in given))


@pytest.mark.parametrize(
    ("function", "arguments"), [SHRINKING[i] for i in (0, 2, 3, 5, 7)], ids=lambda one: None
)
def test_steps_that_shrink_share_their_code(function, arguments):
    given = arguments(70)
    explained = tk.jit(function).explain(*given)
    assert len(explained.kernels) >= 69
    shared = {kernel.loops for kernel in explained.kernels if "share code" in kernel.schedule}
    assert 1 <= len(shared) <= 20
    assert len({kernel.loops for kernel in explained.kernels}) <= len(explained.kernels) / 3


def test_shared_code_is_as_exact_as_own():
    """The same bits as of the same steps in programs of their own, which share nothing."""
    a = positive(40)
    steps = np.asarray(tk.jit(gauss)(a))

    @tk.jit(static_argnums=1)
    def one(a, k):
        a[k + 1 :, k:] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k:])

    for k in range(39):
        one(a, k)
    np.testing.assert_array_equal(steps, a)
