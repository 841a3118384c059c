"""ufunc.reduce, accumulate, reduceat, outer, and the keywords of calls, against NumPy's own, for all ufuncs of two operands."""

import subprocess
import sys

import numpy as np
import pytest
import tokamak as tk
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import DTYPES, assert_same, check, check_writes, random_array, seeds

BINARY = sorted(
    name
    for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc)
    and getattr(np, name).nin == 2
    and getattr(np, name).nout == 1
    and getattr(np, name).signature is None
    and getattr(np, name).__name__ == name
    and name != "ldexp"
)
#: Not the same bits: transcendental, or another order of operations
ROUNDED = {
    "hypot",
    "logaddexp",
    "logaddexp2",
    "arctan2",
    "power",
    "float_power",
    "add",
    "multiply",
    "subtract",
}


def small(rng, shape, dtype):
    """Without what makes the order of operations matter much."""
    if dtype.kind == "f":
        return (rng.random(shape) + 0.5).astype(dtype)
    return random_array(rng, shape, dtype, 0, 3, special=False)


def compare(got, want, name):
    got, want = np.asarray(got), np.asarray(want)
    if name in ROUNDED and want.dtype.kind == "f":
        assert got.dtype == want.dtype and got.shape == want.shape
        rtol = {2: 2e-2, 4: 1e-5, 8: 1e-12}[want.dtype.itemsize]
        np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=rtol)
    else:
        assert_same(got, want, what=name)


def both(function, *arguments):
    """What NumPy gives or raises, and what the jitted function does, and the function of Arrays."""
    try:
        want = function(*arguments)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        with pytest.raises(kind):
            tk.jit(function)(*arguments)
        return None
    return want, tk.jit(function)(*arguments), function(*[tk.asarray(a) for a in arguments])


def check_method(method, name, x, **options):
    ufunc = getattr(np, name)
    found = both(lambda x: getattr(ufunc, method)(x, **options), x)
    if found is not None:
        want, jitted, eager = found
        compare(jitted, want, name)
        compare(eager, want, name)


@pytest.mark.parametrize("name", BINARY)
def test_reduce_and_accumulate(name, rng):
    for dtype in (np.dtype(np.float64), np.dtype(np.int32)):
        x = small(rng, (3, 5), dtype)
        check_method("reduce", name, x, axis=1)
        check_method("reduce", name, x, axis=None)
        check_method("accumulate", name, x)


@given(
    seeds,
    st.sampled_from(BINARY),
    st.sampled_from(DTYPES),
    st.sampled_from([(5,), (1,), (0,), (3, 4), (4, 0), (2, 3, 9), ()]),
    st.sampled_from([0, -1, 1, None, (0, 1), ()]),
    st.booleans(),
)
@settings(max_examples=8 * settings().max_examples)
@example(0, "subtract", np.dtype(np.int8), (), -1, False)
@example(0, "bitwise_and", np.dtype(np.uint8), (0,), 0, False)
@example(0, "hypot", np.dtype(np.float64), (1,), 0, False)
def test_reduce(seed, name, dtype, shape, axis, keepdims):
    check_method(
        "reduce", name, small(np.random.default_rng(seed), shape, dtype), axis=axis, keepdims=keepdims
    )


@given(
    seeds,
    st.sampled_from(BINARY),
    st.sampled_from(DTYPES),
    st.sampled_from([(5,), (1,), (0,), (3, 4), (2, 9)]),
    st.sampled_from([0, -1]),
)
@settings(max_examples=4 * settings().max_examples)
def test_accumulate(seed, name, dtype, shape, axis):
    check_method("accumulate", name, small(np.random.default_rng(seed), shape, dtype), axis=axis)


@pytest.mark.parametrize("name", BINARY)
def test_reduceat(name, rng):
    ufunc = getattr(np, name)
    for dtype in (np.float64, np.int32, np.bool_):
        x = small(rng, (3, 11), np.dtype(dtype))
        for starts in ([0, 4, 2, 2, 10], [5], []):
            found = both(lambda x, starts=starts: ufunc.reduceat(x, np.array(starts, int), axis=1), x)
            if found is not None:
                compare(found[1], found[0], name)


@pytest.mark.parametrize("name", BINARY)
def test_initial_and_where(name, rng):
    ufunc = getattr(np, name)
    x = small(
        rng,
        (4, 6),
        np.dtype(np.int64 if name in ("gcd", "lcm") or "bitwise" in name or "shift" in name else float),
    )
    mask = rng.random((4, 6)) > 0.4
    for options in (
        {"initial": 2},
        {"initial": None},
        {"axis": 1, "initial": 1},
        {"dtype": np.float32},
        {"dtype": int},
    ):
        found = both(lambda x, options=options: ufunc.reduce(x, **options), x)
        if found is not None:
            compare(found[1], found[0], name)
    for options in ({}, {"initial": 2}, {"axis": 1, "initial": 1}):
        found = both(lambda x, mask, options=options: ufunc.reduce(x, where=mask, **options), x, mask)
        if found is not None:
            compare(found[1], found[0], name)


@pytest.mark.parametrize("name", BINARY)
def test_outer(name, rng):
    ufunc = getattr(np, name)
    integer = name in ("gcd", "lcm") or "bitwise" in name or "shift" in name
    x = small(rng, (3, 2), np.dtype(np.int64 if integer else np.float64))
    y = small(rng, (4,), np.dtype(np.int32 if integer else np.float32))
    want, jitted, eager = both(ufunc.outer, x, y)
    for got in (jitted, eager):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-13)


def test_long_axes(rng):
    """Associative ufuncs take any length, and so do subtractions one after the other."""
    x = rng.random((3, 5000)) + 0.5
    n = rng.integers(1, 100, (3, 5000))
    for name in ("hypot", "logaddexp", "fmax", "fmin", "logaddexp2"):
        ufunc = getattr(np, name)
        np.testing.assert_allclose(tk.jit(lambda x, u=ufunc: u.reduce(x, axis=1))(x), ufunc.reduce(x, axis=1))
        np.testing.assert_allclose(
            tk.jit(lambda x, u=ufunc: u.accumulate(x, axis=1))(x), ufunc.accumulate(x, axis=1), rtol=1e-11
        )
    for name in ("bitwise_xor", "bitwise_and", "gcd", "subtract", "logical_xor"):
        ufunc = getattr(np, name)
        check(lambda n, u=ufunc: u.reduce(n, axis=1), n)
    check(lambda n: np.subtract.accumulate(n, axis=1), n)
    check(lambda n: np.bitwise_xor.accumulate(n, axis=1), n)


@pytest.mark.parametrize(
    "name",
    ["maximum", "minimum", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"],
)
def test_running_truths_are_one_pass(name, rng):
    """Not a kernel for each of the distances 1, 2, 4 and so on, which take half a second to compile."""
    ufunc = getattr(np, name)
    program = tk.jit(lambda x: ufunc.accumulate(x, axis=-1))
    for x in (rng.random((3, 1000)) < 0.01, rng.random((3, 1000)) > 0.01, rng.random(1) < 0.5):
        assert_same(program(x), ufunc.accumulate(x, axis=-1))
        assert len(program.explain(x).kernels) == 1
    if name.startswith("logical"):
        check(lambda x: ufunc.accumulate(x, axis=0), rng.integers(-1, 2, (1000, 3)))


def test_long_sequences_are_refused(rng):
    for method in ("reduce", "accumulate"):
        with pytest.raises(NotImplementedError, match="depend on each other"):
            tk.jit(lambda x, method=method: getattr(np.power, method)(x))(np.ones(1000))
    check(lambda x: np.divide.reduce(x), rng.random(100) + 0.5)


def test_methods_write_to_out(rng):
    def program(x, sums, running, table):
        np.add.reduce(x, axis=0, out=sums)
        np.add.accumulate(x, axis=1, out=running)
        np.multiply.outer(x[0], x[1], out=table)
        return np.maximum.reduce(x, axis=1, out=sums[:3])

    x = rng.random((3, 4))
    check_writes(program, x, np.zeros(4), np.zeros((3, 4)), np.zeros((4, 4)))
    check_writes(lambda x, out: np.add.reduce(x, out=out), rng.random((3, 4)).astype(np.float32), np.zeros(4))
    check_writes(lambda x, out: np.add.reduce(x, out=out), x * 9, np.zeros(4, np.int64))


def test_methods_refuse_what_numpy_refuses():
    cases = [
        lambda x: np.negative.reduce(x),
        lambda x: np.divmod.reduce(x),
        lambda x: np.negative.outer(x, x),
        lambda x: np.negative.accumulate(x),
        lambda x: np.add.accumulate(x, axis=(0, 1)),
        lambda x: np.subtract.reduce(x, axis=(0, 1)),
        lambda x: np.subtract.reduce(x[:0]),
        lambda x: np.maximum.reduce(x[:0]),
        lambda x: np.maximum.reduce(x, where=x > 0),
        lambda x: np.add.reduce(x, axis=2),
        lambda x: np.add.accumulate(x[0, 0]),
        lambda x: np.add.reduceat(x, [0, 9]),
        lambda x: np.bitwise_and.reduce(x),
        lambda x: np.add.reduce(x, nonsense=1),
    ]
    x = np.ones((2, 3))
    for function in cases:
        with pytest.raises((TypeError, ValueError, IndexError)) as wanted:
            function(x)
        kind = next(k for k in (TypeError, IndexError, ValueError) if isinstance(wanted.value, k))
        if isinstance(wanted.value, np.exceptions.AxisError):
            kind = np.exceptions.AxisError
        with pytest.raises(kind):
            tk.jit(function)(x)


# ---------------------------------------------------------------------------------------------------------------------
# Keywords of calls


def test_out_and_where(rng):
    def program(x, y, out):
        np.add(x, y, out=out)
        np.divide(x, y, out=out, where=y > 0.5)
        np.sqrt(x, where=x > 0.5, out=out)
        z = np.multiply(x, 2, out=np.zeros_like(x), where=[True, False, True])
        np.multiply.outer(x[0], x[1], out=out[:3, :3], where=x[0] > 0.2)
        return z

    check_writes(program, rng.random((4, 3)), rng.random((4, 3)), np.zeros((4, 3)))


def test_two_results_into_out(rng):
    def program(x, whole, rest):
        np.divmod(x, 3, out=(whole, rest))
        np.modf(x, out=(rest, None))
        return whole + rest

    check_writes(program, rng.random(7) * 10, np.zeros(7), np.zeros(7))


def test_dtype_casting_and_signature(rng):
    x = rng.random(5) * 10
    n = np.arange(5)
    check(lambda x: np.add(x, 1, dtype=np.float32), x)
    check(lambda x: np.add(x, x, dtype=np.int64, casting="unsafe"), x)
    check(lambda n: np.add(n, 1, signature="dd->d"), n)
    check(lambda n: np.add(n, 1, sig=(None, None, np.float64)), n)
    check(lambda n: np.multiply(n, n, signature="ff->f", casting="unsafe"), n)
    check(lambda x: np.add(x, x, order="C", subok=False), x)
    check_writes(lambda x, out: np.add(x, 1, out=out, casting="unsafe"), x, np.zeros(5, np.int32))
    for function in (
        lambda x: np.add(x, x, dtype=np.int64),
        lambda x: np.add(x, x, dtype=np.float32, casting="safe"),
        lambda x: np.add(x, 1, out=np.zeros_like(x, dtype=np.int64)),
        lambda x: np.add(x, 1, nonsense=1),
        lambda x: np.add(x, 1, dtype=float, signature="dd->d"),
        lambda x: np.add(x, 1, signature=float),
    ):
        with pytest.raises(TypeError):
            function(x)
        with pytest.raises(TypeError):
            tk.jit(function)(x)


@pytest.mark.parametrize("ufunc", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_running_bits_of_reversed_bytes(ufunc):
    """Shuffles of bytes that the processor has an instruction for, which LLVM never was done with: so in a process that can be ended."""
    program = f"""if True:
        import numpy as np, tokamak as tk
        for count in (33, 50, 65):
            for dtype in (np.uint8, np.int8):
                x = (np.arange(count) * 37 % 127).astype(dtype)
                running = lambda x: np.{ufunc}.accumulate(x[::-1])
                np.testing.assert_array_equal(tk.jit(running)(x), running(x))
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
