"""Bad input: errors that name the operation, the types, the user's line and what to do."""

import inspect
import sys

import numpy as np
import pytest
import tokamak as tk

OUTSIDE = np.zeros((3, 4))
X = np.arange(12.0).reshape(3, 4)


def raised(function, *args):
    """The error of a jitted function; its line must be in this file."""
    with pytest.raises(tk.Error) as info:
        tk.jit(function)(*args)
    error = info.value
    assert error.where is not None
    assert error.where[0].endswith("test_errors.py"), str(error)
    assert "test_errors.py:" in str(error)
    return error


def line_after(function, offset=1):
    return inspect.getsourcelines(function)[1] + offset


def test_shapes_that_do_not_broadcast():
    def f(x):
        return x + np.ones(5)

    error = raised(f, X)
    assert isinstance(error, ValueError)
    assert "add" in str(error)
    assert "f64[3,4]" in str(error)
    assert "f64[5]" in str(error)
    assert error.where[1] == line_after(f)
    assert error.where[2] == "f"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1 if x.sum() > 0 else 2,
        lambda x: x.sum() > 0 and x,
        lambda x: not x.any(),
        lambda x: 0 < x.sum() < 5,
        lambda x: [1] if 3 in x else [],
    ],
)
def test_if_on_a_traced_value(function):
    error = raised(function, X)
    assert isinstance(error, TypeError)
    assert "np.where" in str(error)
    assert "pass it as a number" in str(error)


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda x: float(x.sum()), "float()"),
        (lambda x: int(x.sum()), "int()"),
        (lambda x: range(x.sum().astype(int)), "integer"),
        (lambda x: np.lib.stride_tricks.as_strided(x), "sliding_window_view"),
        (lambda x: x.item(), "item()"),
        (lambda x: x.tolist(), "tolist()"),
        (lambda x: memoryview(x), "buffer"),
        (lambda x: np.from_dlpack(x), "__dlpack__"),
    ],
)
def test_values_that_are_not_known_yet(function, word):
    assert word in str(raised(function, X))


def test_values_of_another_trace():
    kept = []
    with pytest.raises(tk.UserError, match=r"changes `kept`"):
        tk.jit(lambda x: kept.append(x))(X)
    with pytest.raises(tk.Error):
        _ = kept[0] + 1
    with pytest.raises(tk.Error):
        tk.jit(lambda x: x + kept[0])(X)


@pytest.mark.parametrize(
    ("function", "name", "remedy"),
    [
        (lambda x: np.linalg.inv(x), "np.linalg.inv", "outside"),
        (lambda x: np.roots(x[0]), "np.roots", "outside"),
        (lambda x: np.nonzero(x), "np.nonzero", "np.where"),
        (lambda x: np.where(x), "np.where", "three"),
        (lambda x: np.unique(x), "np.unique", "outside"),
        (lambda x: np.linalg.matrix_power(x[:3, :3], -1), "np.linalg.matrix_power", "outside"),
        (lambda x: np.add(x, x, out=OUTSIDE), "np.add", "ndarray"),
        (lambda x: x.byteswap(), "byteswap", "ndarray"),
    ],
)
def test_what_is_not_supported(function, name, remedy):
    error = raised(function, X)
    assert isinstance(error, NotImplementedError)
    assert name in str(error)
    assert remedy in str(error)


def test_an_ndarray_cannot_take_a_traced_value():
    def f(x):
        y = OUTSIDE
        y += x
        return y

    assert "y = y + x" in str(raised(f, X))

    def g(x):
        OUTSIDE[0, 0] = x[0, 0]
        return x

    raised(g, X)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x & x, TypeError),
        (lambda x: np.bitwise_and(x, 1), TypeError),
        (lambda x: x.astype("complex64"), TypeError),
        (lambda x: x.astype("U3"), TypeError),
        (lambda x: x.sum(axis=2), ValueError),
        (lambda x: x.sum(axis=(0, 0)), ValueError),
        (lambda x: x.reshape(5, -1), ValueError),
        (lambda x: x.reshape(5, 5), ValueError),
        (lambda x: np.concatenate([x, np.ones((2, 2))]), ValueError),
        (lambda x: np.stack([x, x[0]]), ValueError),
        (lambda x: np.squeeze(x, 0), ValueError),
        (lambda x: np.transpose(x, (0, 0)), ValueError),
        (lambda x: np.broadcast_to(x, (4, 4)), ValueError),
        (lambda x: np.broadcast_to(x, (-1, 4)), ValueError),
        (lambda x: np.broadcast_to(x, (float("inf"), 4)), TypeError),
        (lambda x: np.broadcast_to(x[0, 0], (1 << 70,)), MemoryError),
        (lambda x: np.broadcast_to(x[0, 0], (1 << 40, 1 << 40)), MemoryError),
        (lambda x: np.zeros_like(x, shape=(3.5,)), TypeError),
        (lambda x: np.full_like(x, 0, shape=(-3,)), ValueError),
        (lambda x: np.split(x, 2), ValueError),
        (lambda x: x.astype(int) ** -1, ValueError),
    ],
)
def test_what_has_no_meaning(function, kind):
    assert isinstance(raised(function, X), kind)


def test_axis_errors_are_numpys():
    with pytest.raises(np.exceptions.AxisError):
        tk.jit(lambda x: x.sum(axis=2))(X)


def test_what_jit_does_not_take():
    with pytest.raises(TypeError, match="function"):
        tk.jit(3)
    with pytest.raises(ValueError, match="static_argnums"):
        tk.jit(lambda x: x, static_argnums=-1)
    with pytest.raises(ValueError, match="donate_argnums"):
        tk.jit(lambda x: x, donate_argnums=4)(X)
    with pytest.raises(TypeError):
        tk.jit(lambda x: x)()


def test_errors_of_the_function_itself_pass_through():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tk.jit(f)(X)


def test_eager_errors_have_lines():
    with pytest.raises(ValueError, match=r"(?s)add.*test_errors\.py:") as info:
        _ = tk.array([1.0, 2.0]) + tk.array([1.0, 2.0, 3.0])
    assert isinstance(info.value, tk.UserError)


def test_sizes_beyond_everything():
    x = np.ones(1)
    for function in (lambda a: np.tile(a, 2**63), lambda a: np.pad(a, 2**63)):
        with pytest.raises(tk.UserError):
            tk.jit(function)(x)
    with pytest.raises(MemoryError) as raised:
        tk.jit(lambda a: np.zeros_like(a, shape=(2**50,)) + 1)(x)
    assert isinstance(raised.value, tk.Error)
    np.testing.assert_array_equal(tk.jit(lambda a: a + 1)(x), [2])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x.sum(axis=2), ["sum: axis 2"]),
        (lambda x: np.sum(x, axis=2), ["np.sum: axis 2"]),
        (lambda x: np.concatenate([x, x], axis=5), ["np.concatenate: axis 5"]),
        (lambda x: x.sum(dim=1), ["sum() got", "'dim'", "axis"]),
        (lambda x: x.max(0, None, True, 1, 2, 3, 4), ["max() takes"]),
        (lambda x: x.argmax(keepdim=True), ["argmax()", "keepdims"]),
        (lambda x: tk.softmax(x, axis=4), ["softmax: axis 4"]),
        (lambda x: tk.layer_norm(x, np.ones(5)), ["layer_norm: ", "broadcast"]),
        (lambda x: tk.softmax(x, dim=1), ["softmax() got", "axis"]),
        (lambda x: x + 1j, ["add: complex"]),
        (lambda x: x * np.ones(4, complex), ["complex128"]),
    ],
)
def test_errors_name_what_was_called(function, words):
    text = str(raised(function, X))
    for word in words:
        assert word in text


def asserts(x):
    assert (x > 0).all()
    return x


def loops(x):
    while x.max() > 1:
        x = x / 2
    return x


@pytest.mark.parametrize(
    ("function", "what", "remedy"),
    [
        (asserts, "`assert`", "check it outside"),
        (loops, "`while`", "fixed number of times"),
        (lambda x: x if x.sum() > 0 else -x, "`if`", "np.where"),
        (lambda x: max(x[0, 0], x[0, 1]), "max()", "np.maximum"),
        (lambda x: any(x[0] > 1), "any()", "np.any"),
        (lambda x: not x, "`not`", "np.logical_not"),
        (lambda x: 0 < x < 3, "bool()", "np.logical_and"),
        (lambda x: int(x.sum()), "int()", "astype(int)"),
        (lambda x: f"{float(x[0, 0])}", "float()", "astype(float)"),
        (lambda x: [1, 2][x[0, 0].astype(int)], "integer", "static"),
    ],
)
def test_values_that_are_asked_for(function, what, remedy):
    text = str(raised(function, X))
    if sys.version_info >= (3, 11) or function in (asserts, loops):
        assert what in text
    assert remedy in text


def test_the_argument_whose_elements_are_needed_is_named():
    with pytest.raises(TypeError, match=r"the elements of the argument n, i64\[\].*pass n.item\(\)"):
        tk.jit(lambda x, n: [x for _ in range(n)])(X, np.array(3))


def test_what_works_on_traced_values(capsys):
    def f(x):
        print("x:", x, f"{x.sum():.3f}")
        return len(x) * sum(row for row in x)

    np.testing.assert_array_equal(tk.jit(f)(X), len(X) * sum(X))
    assert capsys.readouterr().out == "x: <traced f64[3,4]> <traced f64[]>\n"


@pytest.mark.parametrize(
    "text", [lambda x: f"{x.sum():.3f}", lambda x: str(x), lambda x: "sum: %s" % x.sum()]
)
def test_text_of_traced_values_is_not_returned(text):
    with pytest.raises(TypeError, match="cannot return the text of values that are not known.*<traced f64"):
        tk.jit(lambda x: {"value": x, "text": text(x)})(np.ones(3))
