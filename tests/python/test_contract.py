"""matmul and its kin against NumPy: shapes, dtypes, broadcasting, values, errors; one dot for each."""

import ml_dtypes
import numpy as np
import pytest
import tokamak as tk
from hypothesis import given
from hypothesis import strategies as st

from support import DTYPES, LAYOUTS, assert_products, check_products, seeds, small_array, with_layout

MATMUL_SHAPES = [
    ((3,), (3,)),
    ((4, 3), (3,)),
    ((3,), (3, 5)),
    ((4, 3), (3, 5)),
    ((1, 1), (1, 1)),
    ((1, 7), (7, 1)),
    ((33, 17), (17, 9)),
    ((0, 3), (3, 5)),
    ((4, 0), (0, 5)),
    ((0,), (0,)),
    ((4, 3), (3, 0)),
    ((2, 4, 3), (3, 5)),
    ((4, 3), (2, 3, 5)),
    ((2, 4, 3), (2, 3, 5)),
    ((2, 4, 3), (1, 3, 5)),
    ((1, 4, 3), (2, 3, 5)),
    ((1, 4, 3), (1, 3, 5)),
    ((2, 4, 3), (3,)),
    ((3,), (2, 3, 5)),
    ((6, 1, 4, 3), (2, 3, 5)),
    ((6, 1, 4, 3), (1, 2, 3, 5)),
    ((6, 2, 4, 3), (2, 3, 5)),
    ((6, 2, 4, 3), (6, 1, 3, 5)),
    ((0, 4, 3), (1, 3, 5)),
    ((2, 0, 3), (2, 3, 5)),
    ((7, 1, 2, 4, 3), (6, 1, 3, 5)),
]


@pytest.mark.parametrize("shapes", MATMUL_SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int32], ids=str)
def test_matmul_shapes(shapes, dtype, rng):
    a, b = (small_array(rng, shape, dtype) for shape in shapes)
    check_products(np.matmul, a, b)
    check_products(lambda x, y: x @ y, a, b)
    check_products(tk_or_numpy("matmul"), a, b)


def tk_or_numpy(name):
    """The function of tokamak for Arrays, of NumPy for ndarrays."""
    ours, theirs = getattr(tk, name), getattr(np, name)
    return lambda *args, **kw: (theirs if isinstance(args[0], np.ndarray) else ours)(*args, **kw)


@pytest.mark.parametrize("left", DTYPES, ids=str)
@pytest.mark.parametrize("right", DTYPES, ids=str)
def test_matmul_dtypes(left, right, rng):
    a, b = small_array(rng, (3, 5), left), small_array(rng, (5, 2), right)
    want = a @ b
    got = np.asarray(tk.asarray(a) @ tk.asarray(b))
    if want.dtype.kind == "f":
        magnitude = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
        if not np.isfinite(want).all():  # of f16: large integers
            np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))
            return
        assert_products(got, want, magnitude)
    else:
        assert_products(got, want, None)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_matmul_layouts(layout, rng):
    a = with_layout(rng, small_array(rng, (2, 5, 7), np.float32), layout)
    b = with_layout(rng, small_array(rng, (2, 7, 3), np.float32), layout)
    check_products(np.matmul, a, b)
    check_products(lambda x, y: np.swapaxes(y, 1, 2) @ np.swapaxes(x, 1, 2), a, b)
    check_products(lambda x, y: np.transpose(x, (1, 0, 2)) @ y[0], a, b)


BINARY_SHAPES = [
    ((), ()),
    ((), (3,)),
    ((2, 3), ()),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((2, 4, 3), (3,)),
    ((2, 4, 3), (5, 3, 6)),
    ((2, 0), (0, 4)),
    ((0,), (0,)),
    ((1, 1), (1, 1)),
]


@pytest.mark.parametrize("shapes", BINARY_SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.bool_], ids=str)
def test_dot_inner_outer_vdot(shapes, dtype, rng):
    a, b = (small_array(rng, shape, dtype) for shape in shapes)
    check_products(np.dot, a, b, what="dot")
    check_products(tk_or_numpy("dot"), a, b, what="tk.dot")
    check_products(np.outer, a, b, what="outer")
    check_products(tk_or_numpy("outer"), a, b, what="tk.outer")
    turned = np.moveaxis(b, -2, -1) if b.ndim > 1 else b
    check_products(np.inner, a, turned, what="inner")
    check_products(tk_or_numpy("inner"), a, turned, what="tk.inner")
    if a.size == b.size:
        check_products(np.vdot, a, b, what="vdot")
        check_products(tk_or_numpy("vdot"), a, b, what="tk.vdot")
    if a.ndim:
        check_products(lambda x, y: x.dot(y), a, b, what="method")


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((2, 3), (3, 4)), 1),
        (((2, 3, 4), (3, 4, 5)), 2),
        (((2, 3), (2, 3)), 2),
        (((2, 3), (4, 5)), 0),
        (((2, 3), (4,)), 0),
        (((2, 3, 4), (4, 3)), ([1, 2], [1, 0])),
        (((2, 3, 4), (4, 3)), (-2, -1)),
        (((2, 3, 4), (5, 2)), (0, 1)),
        (((2, 3), (2, 3)), -1),
        (((2, 3), (3, 2)), ((), ())),
    ],
    ids=str,
)
def test_tensordot(shapes, axes, rng):
    a, b = (small_array(rng, shape, np.float32) for shape in shapes)
    check_products(lambda x, y: np.tensordot(x, y, axes), a, b)
    check_products(lambda x, y: tk_or_numpy("tensordot")(x, y, axes), a, b)
    check_products(lambda x, y: np.linalg.tensordot(x, y, axes=axes), a, b)


@pytest.mark.skipif(not hasattr(np, "matvec"), reason="NumPy is too old")
@pytest.mark.parametrize("batch", [(), (4,), (2, 4)], ids=str)
def test_vectors(batch, rng):
    matrix, row, column = (small_array(rng, s, np.float32) for s in ((*batch, 3, 5), (3,), (*batch[-1:], 5)))
    check_products(np.matvec, matrix, column)
    check_products(np.vecmat, row, matrix)
    check_products(np.vecdot, matrix, column[..., None, :])
    check_products(lambda x, y: np.vecdot(x, y, axis=0), matrix, matrix)
    check_products(lambda x, y: np.linalg.vecdot(x, y, axis=-2), matrix, matrix)
    check_products(np.linalg.matmul, matrix, np.swapaxes(matrix, -1, -2))
    check_products(np.linalg.outer, row, row)


def test_multi_dot(rng):
    shapes = [(10, 3), (3, 40), (40, 2), (2, 7)]
    arrays = [small_array(rng, shape, np.float64) for shape in shapes]
    check_products(lambda *xs: np.linalg.multi_dot(xs), *arrays)
    check_products(lambda *xs: np.linalg.multi_dot(xs), arrays[0][0], *arrays[1:])
    check_products(lambda *xs: np.linalg.multi_dot(xs), *arrays[:3], arrays[3][:, 0])
    check_products(lambda *xs: np.linalg.multi_dot(xs), arrays[0][0], *arrays[1:3], arrays[3][:, 0])
    check_products(lambda *xs: np.linalg.multi_dot(xs), *arrays[:2])


@st.composite
def matmul_shapes(draw):
    """Two shapes that np.matmul takes."""
    batch = draw(st.lists(st.integers(0, 3), max_size=3))

    def some_of(extents):
        kept = [draw(st.sampled_from([n, 1])) for n in extents]
        return kept[draw(st.integers(0, len(kept))) :]

    m, k, n = (draw(st.integers(0, 6)) for _ in range(3))
    left, right = some_of(batch) + [m, k], some_of(batch) + [k, n]
    if len(left) == 2 and draw(st.booleans()):
        left = [k]
    if len(right) == 2 and draw(st.booleans()):
        right = [k]
    return tuple(left), tuple(right)


@given(matmul_shapes(), st.sampled_from(DTYPES), seeds)
def test_matmul_any_shapes(shapes, dtype, seed):
    rng = np.random.default_rng(seed)
    check_products(np.matmul, *(small_array(rng, shape, dtype) for shape in shapes), what=str(shapes))


def test_numbers_are_arrays(rng):
    """As in NumPy, Python's numbers do not adopt the dtype of the other operand here."""
    x = small_array(rng, (2, 3), np.float32)
    for function in (
        lambda x: np.dot(x, 2.0),
        lambda x: np.dot(2, x),
        lambda x: np.inner(x, 2.0),
        lambda x: np.outer(x, 2.0),
        lambda x: np.einsum("ij,", x, 2.0),
        lambda x: np.tensordot(x, 2.0, 0),
    ):
        check_products(function, x)


def test_dtype_argument(rng):
    x = small_array(rng, (3, 3), np.float32)
    check_products(lambda x: np.matmul(x, x.T, dtype=np.float64), x)


def test_in_place(rng):
    a, b = small_array(rng, (3, 3), np.float64), small_array(rng, (3, 3), np.float64)

    def f(x, y):
        x = x + 0.0
        x @= y
        return x

    np.testing.assert_allclose(tk.jit(f)(a, b), a @ b, rtol=1e-13)


def test_bfloat16_stays(rng):
    a = small_array(rng, (4, 30), np.float32).astype(ml_dtypes.bfloat16)
    b = small_array(rng, (30, 5), np.float32).astype(ml_dtypes.bfloat16)
    wide = a.astype(np.float32) @ b.astype(np.float32)
    for function in (np.matmul, lambda x, y: x @ y, np.dot, tk.matmul, lambda x, y: tk.einsum("ij,jk", x, y)):
        got = tk.jit(function)(a, b)
        assert got.dtype == ml_dtypes.bfloat16
        # Summed in f32, rounded once.
        np.testing.assert_allclose(got.astype(np.float32), wide, rtol=2**-8, atol=1e-6)
    assert tk.jit(np.matmul)(a, b.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.clip(x, -0.5, 0.5),
        lambda x: np.clip(x, 0, 1),
        lambda x: np.clip(x, None, 1),
        lambda x: np.clip(x, x, x),
        lambda x: x.clip(np.float32(0), None),
        lambda x: abs(x) ** 0.5,
        lambda x: x**2.0,
        lambda x: x**2,
        lambda x: x**-1.0,
    ],
)
def test_bfloat16_becomes_what_it_does_in_numpy(rng, function):
    x = (small_array(rng, (4, 30), np.float32) + 3).astype(ml_dtypes.bfloat16)
    with np.errstate(all="ignore"):
        wanted = function(x)
    got = tk.jit(function)(x)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=2**-8)


def test_numbers_for_others_of_bfloat16():  # of which NumPy takes it for an integer
    x = np.array([np.nan, np.inf, -np.inf, 1], ml_dtypes.bfloat16)
    most = ml_dtypes.finfo(ml_dtypes.bfloat16).max
    assert tk.jit(np.nan_to_num)(x).tolist() == [0, most, -most, 1]


def test_float16_is_summed_wide():
    ones = np.ones((1, 4096), np.float16)
    assert tk.matmul(ones, ones.T)[0, 0] == 4096  # in f16, 2048 + 1 is 2048
    assert tk.jit(lambda x: np.einsum("ij,ij->i", x, x))(ones)[0] == 4096


def test_empty_contractions_are_zeros():
    a, b = np.ones((3, 0), np.float32), np.ones((0, 4), np.float32)
    for function in (
        np.matmul,
        np.dot,
        lambda x, y: np.einsum("ij,jk", x, y),
        lambda x, y: np.tensordot(x, y, 1),
    ):
        np.testing.assert_array_equal(tk.jit(function)(a, b), np.zeros((3, 4), np.float32))
    assert tk.dot(np.ones(0), np.ones(0)) == 0.0


def dots_of(function, *args):
    return [line.strip() for line in tk.jit(function).explain(*args).graph.splitlines() if " = dot " in line]


def ops_of(function, *args):
    lines = tk.jit(function).explain(*args).optimized.splitlines()
    return [line.split(" = ")[1].split()[0] for line in lines if " = " in line]


def test_weights_are_no_batch(rng):
    x, w = np.ones((8, 4, 16), np.float32), np.ones((16, 5), np.float32)
    (dot,) = dots_of(np.matmul, x, w)
    assert "lhs_batch=[], rhs_batch=[], lhs_contract=[2], rhs_contract=[0]" in dot
    assert ops_of(np.matmul, x, w) == ["dot"]
    assert ops_of(np.matmul, x, w[None]) == ["reshape", "dot"]
    (dot,) = dots_of(np.matmul, np.ones((3, 1, 4, 16)), np.ones((1, 2, 16, 5)))
    assert "lhs_batch=[], rhs_batch=[]" in dot
    assert ops_of(np.matmul, x, np.ones((8, 16, 5), np.float32)) == ["dot"]


def test_results_come_in_order(rng):
    """No transposes where the operands can change places, also where the result lies by columns, as NumPy's does."""
    a, b = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    assert ops_of(lambda x, y: np.einsum("ij,jk->ki", x, y), a, b) == ["dot"]
    assert ops_of(lambda x, y: np.tensordot(x, y, 1), a, b) == ["dot"]


ERRORS = [
    (lambda x, y: x @ y, (2, 3), (2, 3), ValueError, "axis 1 of the first is 3, axis 0 of the second is 2"),
    (lambda x, y: x @ y, (2, 3), (), ValueError, "matmul"),
    (
        lambda x, y: x @ y,
        (3, 2, 2),
        (2, 2, 2),
        ValueError,
        "axis 0 of the first is 3, axis 0 of the second is 2",
    ),
    (lambda x, y: x @ y, (2, 1), (3, 2), ValueError, "matmul"),
    (np.dot, (2, 3), (2, 3), ValueError, "dot"),
    (np.dot, (2, 1), (3,), ValueError, "dot"),
    (np.inner, (2, 3), (3, 2), ValueError, "inner"),
    (np.vdot, (2, 3), (3, 3), ValueError, "vdot"),
    (lambda x, y: np.tensordot(x, y, 1), (2, 3), (2, 3), ValueError, "tensordot"),
    (lambda x, y: np.tensordot(x, y, 3), (2, 3), (2, 3), IndexError, "tensordot"),
    (lambda x, y: np.tensordot(x, y, ([5], [0])), (2, 3), (2, 3), IndexError, "tensordot"),
    (lambda x, y: np.tensordot(x, y, ([0, 1], [0])), (2, 3), (2, 3), ValueError, "tensordot"),
    (lambda x, y: np.tensordot(x, y, ([0, 0], [0, 0])), (2, 3), (2, 3), ValueError, "tensordot"),
    (np.vecdot, (2, 3), (2, 1), ValueError, "vecdot"),
    (lambda x, y: np.linalg.multi_dot([x]), (2, 3), (), ValueError, "multi_dot"),
    (lambda x, y: np.linalg.multi_dot([x, y, x.T]), (2, 3), (2, 3), ValueError, "multi_dot"),
    (lambda x, y: np.linalg.multi_dot([x, y, x]), (2, 3), (3, 3, 3), np.linalg.LinAlgError, "multi_dot"),
    (lambda x, y: np.linalg.multi_dot([x, y]), (2, 3), (2, 3), ValueError, "dot"),
    (np.linalg.outer, (2, 3), (3,), ValueError, "outer"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    function, left, right, kind, words = ERRORS[case]
    a, b = np.ones(left, np.float32), np.ones(right, np.float32)
    with pytest.raises(kind):
        function(a, b)
    for call in (lambda: tk.jit(function)(a, b), lambda: function(tk.asarray(a), tk.asarray(b))):
        with pytest.raises(kind) as caught:
            call()
        assert isinstance(caught.value, tk.UserError)
        assert words in str(caught.value)
        assert "test_contract.py" in str(caught.value)


def test_out():
    x, outside = np.ones((2, 2)), np.empty((2, 2))
    np.testing.assert_array_equal(tk.jit(lambda a: np.matmul(a, a, out=np.empty((2, 2))))(x), x @ x)
    np.testing.assert_array_equal(tk.jit(lambda a: np.einsum("ij,jk", a, a, out=np.empty((2, 2))))(x), x @ x)
    with pytest.raises(tk.Unsupported):
        tk.jit(lambda a: np.matmul(a, a, out=outside))(x)


def test_dot_general(rng):
    a, b = small_array(rng, (5, 2, 3, 4), np.float32), small_array(rng, (4, 6, 2, 3), np.float32)
    want = np.einsum("abcd,dfbc->bcaf", a, b)
    got = tk.dot_general(a, b, contract=((3,), (0,)), batch=((1, -2), (2, 3)))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    with pytest.raises(tk.UserValueError, match="do not match"):
        tk.dot_general(a, b, contract=((0,), (0,)))
    with pytest.raises(tk.UserValueError, match="out of range"):
        tk.dot_general(a, b, contract=((9,), (0,)))


@pytest.mark.parametrize("axes", [[3], 3, ((3,),), ((3,), (0,), (1,))])
@pytest.mark.parametrize("name", ["contract", "batch"])
def test_dot_general_needs_axes_of_both(rng, name, axes):
    a, b = small_array(rng, (5, 4), np.float32), small_array(rng, (4, 6), np.float32)

    def product(a, b):
        return tk.dot_general(a, b, **{"contract": ([1], [0]), name: axes})

    for call in (product, tk.jit(product)):
        with pytest.raises(tk.UserValueError) as caught:
            call(a, b)
        words = f"dot_general: {name} is a list of axes for each of f32[5,4] and f32[4,6], not {axes!r}"
        assert words in str(caught.value)
        assert "test_contract.py" in str(caught.value)


@pytest.mark.parametrize("axes", [-3, -1, 0])
def test_tensordot_over_no_axes(rng, axes):
    a, b = small_array(rng, (2, 3), np.float32), small_array(rng, (4, 5), np.float32)
    want = np.tensordot(a, b, axes)
    np.testing.assert_array_equal(tk.jit(lambda a, b: np.tensordot(a, b, axes))(a, b), want)
    np.testing.assert_array_equal(tk.tensordot(a, b, axes), want)


def test_constants_are_part_of_the_program(rng):
    x, w = small_array(rng, (4, 3), np.float32), small_array(rng, (3, 5), np.float32)
    f = tk.jit(lambda x, p: x @ p["w"])
    frozen = tk.constant(w)
    assert "constant" in f.explain(x, {"w": frozen}).graph
    np.testing.assert_allclose(f(x, {"w": frozen}), x @ w, rtol=1e-5, atol=1e-6)
    before = w.copy()
    w[:] = 0
    np.testing.assert_allclose(f(x, {"w": frozen}), x @ before, rtol=1e-5, atol=1e-6)
    f(x, {"w": frozen})
    assert f.cache_info().misses == 1
    other = tk.constant(before * 2)
    np.testing.assert_allclose(f(x, {"w": other}), x @ before * 2, rtol=1e-5, atol=1e-5)
    assert f.cache_info().misses == 2
    with pytest.raises(tk.UserTypeError):
        tk.jit(lambda x: tk.constant(x))(x)


def test_constants_cannot_be_written_to():
    x = np.ones((2, 2), np.float32)
    frozen = tk.constant(x)
    f = tk.jit(lambda x, w: x @ w)
    before = f(x, frozen)

    @tk.jit
    def writes(x, w):
        w += 1
        return x @ w

    def assign():
        frozen[0] = 3

    def through_dlpack():
        np.from_dlpack(frozen)[0] = 3

    for write in (
        assign,
        through_dlpack,
        lambda: frozen.__iadd__(1),
        lambda: frozen.T.fill(3),
        lambda: np.add(frozen, 1, out=frozen),
        lambda: np.asarray(frozen).fill(3),
        lambda: writes(x, frozen),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    np.testing.assert_array_equal(f(x, frozen), before)
    np.testing.assert_array_equal(frozen.copy() + 1, x + 1)


def test_constant_attributes(rng):
    class Layer:
        def __init__(self, w):
            self.w = tk.constant(w)

        @tk.jit
        def __call__(self, x):
            return x @ self.w

    w, x = small_array(rng, (3, 5), np.float64), small_array(rng, (2, 3), np.float64)
    np.testing.assert_allclose(Layer(w)(x), x @ w, rtol=1e-12)


LARGE = [
    ((130, 257), (257, 70)),
    ((1, 300), (300, 400)),
    ((400, 300), (300, 1)),
    ((300,), (300, 40)),
    ((65, 1), (1, 129)),
    ((3, 70, 33), (33, 65)),
    ((4, 40, 64), (4, 64, 48)),
    ((50, 8, 8), (50, 8, 8)),
    ((2, 1, 33, 70), (3, 70, 17)),
]


@pytest.mark.parametrize("shapes", LARGE, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.uint8, np.bool_], ids=str)
def test_larger_than_blocks(shapes, dtype, rng):
    a, b = (small_array(rng, shape, dtype) for shape in shapes)
    check_products(np.matmul, a, b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_larger_than_blocks_in_any_layout(layout, rng):
    for dtype in (np.float32, np.float64):
        a = with_layout(rng, small_array(rng, (70, 130), dtype), layout)
        b = with_layout(rng, small_array(rng, (130, 90), dtype), layout)
        check_products(np.matmul, a, b)
        check_products(lambda x, y: y.T @ x.T, a, b)
        check_products(lambda x, y: x[::2, 1:] @ y[1:, ::-1], a, b)


def test_what_surrounds_products(rng):
    """Values only; how many kernels they make is tested elsewhere."""
    x, w, v, b = (small_array(rng, s, np.float64) for s in ((70, 40), (40, 90), (90, 30), (90,)))

    def softmax(s):
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    for function in (
        lambda x, w, v, b: np.maximum(x @ w + b, 0),
        lambda x, w, v, b: np.maximum(x @ w + b, 0) @ v,
        lambda x, w, v, b: (x @ w).sum(axis=0),
        lambda x, w, v, b: (x @ w).sum(axis=1) * 2 + 1,
        lambda x, w, v, b: (x @ w).sum(),
        lambda x, w, v, b: softmax(x @ w),
        lambda x, w, v, b: softmax(x @ w) @ v,
        lambda x, w, v, b: np.tanh(x * 2) @ np.exp(w * 0.1),
        lambda x, w, v, b: (x @ w, (x @ w).T + 1, np.abs(x) @ w),
        lambda x, w, v, b: (x @ w).reshape(7, 10, 90)[2:5, ::3] * b,
        lambda x, w, v, b: (x @ w).T @ x,
        lambda x, w, v, b: np.concatenate([x @ w, np.ones((3, 90))]),
        lambda x, w, v, b: x.astype(np.float32) @ w.astype(np.float32) + b.astype(np.float32),
        lambda x, w, v, b: x @ w + x @ w * 3 - (x + 1) @ w,
        lambda x, w, v, b: np.where((x @ w) > 0, x @ w, b),
        lambda x, w, v, b: ((x @ w) @ v).argmax(axis=1),
    ):
        want, got = function(x, w, v, b), tk.jit(function)(x, w, v, b)
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            tolerance = 1e-3 if one.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_sums_of_products(axis, rng):
    """An ordered sweep over what a block product gives."""
    a, b = small_array(rng, (2, 30, 20), np.int32), small_array(rng, (2, 20, 40), np.int32)
    check_products(lambda x, y: np.cumsum(x @ y, axis=axis), a, b)
