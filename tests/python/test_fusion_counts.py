"""How many kernels programs become, fused and not."""

import numpy as np
import pytest
import tokamak as tk

N = 4096
x, y, w, b = (np.linspace(0.1, 1.0, N) for _ in range(4))
square = np.linspace(0.1, 1.0, 64 * 64).reshape(64, 64)
row = np.linspace(0.5, 1.5, 64)


def relu_sum(w, x, b):
    return tk.relu(w * x + b).sum()


def sin_cos(x, y):
    return tk.relu((np.sin(x) * np.cos(y) + x) * y)


def ratio_of_exponentials(a, b):
    return np.exp(a) / (np.exp(b) + 1)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm_gelu(x, scale, shift):
    return tk.gelu(tk.layer_norm(x, scale, shift))


def normalise_columns(x):
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)


def siblings(x):
    return np.sin(x), np.cos(x), x.sum(), x.max()


def with_unused(x):
    np.exp(x)
    return x + 1


PROGRAMS = {
    # name: (function, arguments, fused at most, unfused exactly or None)
    "relu_sum": (relu_sum, (w, x, b), 1, 4),
    "sin_cos": (sin_cos, (x, y), 1, 6),
    "ratio_of_exponentials": (ratio_of_exponentials, (x, y), 1, 4),
    "softmax": (softmax, (square,), 1, 5),
    "softmax_of_tk": (tk.softmax, (square,), 1, 5),
    "layer_norm_gelu": (layer_norm_gelu, (square, row, row), 1, None),
    "normalise_columns": (normalise_columns, (square,), 2, None),
    "siblings": (siblings, (x,), 1, 4),
    "transposed": (lambda x, y: x + y.T, (square, square), 1, None),
    "stencil": (lambda x: x[1:-1] - x[:-2], (x,), 1, None),
    "concatenated": (lambda a, b: np.concatenate([a, b]) * 2, (x, y), 1, None),
    "with_unused": (with_unused, (x,), 1, 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_fused(name):
    function, arguments, most, _ = PROGRAMS[name]
    e = tk.jit(function).explain(*arguments)
    assert len(e.steps) <= most, str(e)
    assert len(e.kernels) <= most, str(e)


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program[3] is not None])
def test_unfused(name):
    function, arguments, _, count = PROGRAMS[name]
    e = tk.jit(function, fuse=False).explain(*arguments)
    assert len(e.steps) == count, str(e)


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name, fuse):
    function, arguments, _, _ = PROGRAMS[name]
    got = tk.jit(function, fuse=fuse)(*arguments)
    want = function(*arguments)
    for one, other in zip(
        got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_unused_work_is_not_compiled():
    kernel = tk.jit(with_unused).explain(x).kernels[0]
    assert "exp" not in kernel.ops
    assert "exp" not in kernel.graph


def test_ops_of_a_kernel():
    assert tk.jit(relu_sum).explain(w, x, b).kernels[0].ops == ["mul", "add", "max", "sum"]


def below(x):
    return np.exp(x) - np.exp(x).max(axis=-1)


def turned(x):
    e = np.exp(x)
    return e - e.max(axis=-1)[::-1][:, np.newaxis]


def both_ways(x):
    e = np.exp(x)
    m = e.max(axis=-1)
    return (e - m) + (e - m[:, np.newaxis])


def of_a_product(x):
    s = x @ x
    return s - s.max(axis=-1)


@pytest.mark.parametrize("function", [below, turned, both_ways, of_a_product])
def test_a_reduction_read_at_other_rows_than_the_kernel_is_at(function):
    # What is reduced is computed at the point at hand, so it must not bring the reduction with it.
    np.testing.assert_allclose(tk.jit(function)(square), function(square), rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (0, 1)])
def test_reductions_of_no_rows(shape):
    x = np.zeros(shape)
    for function in (softmax, lambda x: softmax(x * 2), lambda x: x - (x * x).max(axis=-1, keepdims=True)):
        assert tk.jit(function)(x).shape == shape


@pytest.mark.parametrize(("n", "kernels"), [(100, 1), (1000, 2)])
def test_a_large_product_that_is_one_row_is_shared_among_threads(n, kernels):
    # Its reduction, fused, would make one task of it.
    def function(a, p):
        ap = a @ p
        return ap, p @ ap

    rng = np.random.default_rng(3)
    a, p = rng.standard_normal((n, n)), rng.standard_normal(n)
    assert len(tk.jit(function).explain(a, p).kernels) == kernels
    for got, want in zip(tk.jit(function)(a, p), function(a, p), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
