"""The array API standard, version 2024.12: names, signatures, constants, and what the namespace tells about itself."""

import inspect

import numpy as np
import pytest
import tokamak as tk

#: As the standard's page of each function has it
SIGNATURES = """
__array_namespace_info__()

arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)

astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)

abs(x, /)
acos(x, /)
acosh(x, /)
add(x1, x2, /)
asin(x, /)
asinh(x, /)
atan(x, /)
atan2(x1, x2, /)
atanh(x, /)
bitwise_and(x1, x2, /)
bitwise_invert(x, /)
bitwise_left_shift(x1, x2, /)
bitwise_or(x1, x2, /)
bitwise_right_shift(x1, x2, /)
bitwise_xor(x1, x2, /)
ceil(x, /)
clip(x, /, min=None, max=None)
conj(x, /)
copysign(x1, x2, /)
cos(x, /)
cosh(x, /)
divide(x1, x2, /)
equal(x1, x2, /)
exp(x, /)
expm1(x, /)
floor(x, /)
floor_divide(x1, x2, /)
greater(x1, x2, /)
greater_equal(x1, x2, /)
hypot(x1, x2, /)
imag(x, /)
isfinite(x, /)
isinf(x, /)
isnan(x, /)
less(x1, x2, /)
less_equal(x1, x2, /)
log(x, /)
log10(x, /)
log1p(x, /)
log2(x, /)
logaddexp(x1, x2, /)
logical_and(x1, x2, /)
logical_not(x, /)
logical_or(x1, x2, /)
logical_xor(x1, x2, /)
maximum(x1, x2, /)
minimum(x1, x2, /)
multiply(x1, x2, /)
negative(x, /)
nextafter(x1, x2, /)
not_equal(x1, x2, /)
positive(x, /)
pow(x1, x2, /)
real(x, /)
reciprocal(x, /)
remainder(x1, x2, /)
round(x, /)
sign(x, /)
signbit(x, /)
sin(x, /)
sinh(x, /)
sqrt(x, /)
square(x, /)
subtract(x1, x2, /)
tan(x, /)
tanh(x, /)
trunc(x, /)

take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)

matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)

broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, axis)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)

argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)

unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)

argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)

cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)

all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
"""

#: Ours where they take more calls than the standard's: by position what it has as keywords only, or nothing for a default
WIDER = {
    "asarray": "(obj, /, dtype=None, *, device=None, copy=None)",
    "expand_dims": "(x, /, axis=0)",
    "tensordot": "(x1, x2, /, axes=2)",
}

#: Methods and attributes of the array object
METHODS = """
__abs__(self, /)
__add__(self, other, /)
__and__(self, other, /)
__array_namespace__(self, /, *, api_version=None)
__bool__(self, /)
__complex__(self, /)
__dlpack__(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)
__dlpack_device__(self, /)
__eq__(self, other, /)
__float__(self, /)
__floordiv__(self, other, /)
__ge__(self, other, /)
__getitem__(self, key, /)
__gt__(self, other, /)
__index__(self, /)
__int__(self, /)
__invert__(self, /)
__le__(self, other, /)
__lshift__(self, other, /)
__lt__(self, other, /)
__matmul__(self, other, /)
__mod__(self, other, /)
__mul__(self, other, /)
__ne__(self, other, /)
__neg__(self, /)
__or__(self, other, /)
__pos__(self, /)
__pow__(self, other, /)
__rshift__(self, other, /)
__setitem__(self, key, value, /)
__sub__(self, other, /)
__truediv__(self, other, /)
__xor__(self, other, /)
to_device(self, device, /, *, stream=None)
"""
IN_PLACE = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "pow",
    "mod",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
]
ATTRIBUTES = ["T", "device", "dtype", "mT", "ndim", "shape", "size"]
DTYPES = ["bool", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)), "float32", "float64"]


def names(text):
    return [line.partition("(")[::2] for line in text.splitlines() if line]


def shape_of(signature):
    """What callers see of a signature: names, kinds and defaults."""
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


def parsed(parameters):
    made = {}
    exec(f"def function({parameters}: ...", made)
    return inspect.signature(made["function"])


@pytest.mark.parametrize(("name", "rest"), names(SIGNATURES), ids=[n for n, _ in names(SIGNATURES)])
def test_signature(name, rest):
    got = inspect.signature(getattr(tk, name))
    wanted = parsed(WIDER[name][1:] if name in WIDER else rest)
    assert shape_of(got) == shape_of(wanted), f"{name}{got}"
    assert getattr(tk, name).__name__ == name
    assert getattr(tk, name).__doc__
    assert name in tk.__all__


@pytest.mark.parametrize(("name", "rest"), names(METHODS), ids=[n for n, _ in names(METHODS)])
def test_method(name, rest):
    """Keywords by their names; how many may come by position."""
    got, wanted = inspect.signature(getattr(tk.Array, name)), parsed(rest)
    kinds = [
        [p.kind == p.KEYWORD_ONLY and (p.name, p.default) for p in one.parameters.values()]
        for one in (got, wanted)
    ]
    assert kinds[0] == kinds[1], f"{name}{got}"


@pytest.mark.parametrize("name", IN_PLACE)
def test_reflected_and_in_place(name):
    assert hasattr(tk.Array, f"__r{name}__")
    assert hasattr(tk.Array, f"__i{name}__")


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attribute(name):
    assert hasattr(tk.ones((2, 3)), name)


def test_constants():
    assert (tk.e, tk.pi, tk.inf, tk.newaxis) == (np.e, np.pi, np.inf, None)
    assert tk.nan != tk.nan
    for name in DTYPES:
        dtype = getattr(tk, name)
        assert dtype == tk.zeros((), dtype=dtype).dtype
        assert dtype == np.dtype(name)
        assert {dtype: name}[tk.zeros((), dtype=dtype).dtype] == name
    assert tk.float32 != tk.float64
    assert not hasattr(tk, "complex64")
    assert not hasattr(tk, "fft")


def test_namespace():
    @tk.jit
    def f(x):
        assert x.__array_namespace__(api_version="2024.12") is tk
        return x

    f(np.ones(3))
    assert tk.ones(3).__array_namespace__() is tk
    assert tk.__array_api_version__ == "2024.12"
    for version in ("2021.12", "2022.12", "2023.12", "2024.12"):
        assert tk.ones(3).__array_namespace__(api_version=version) is tk
    with pytest.raises(ValueError, match=r"2019.*2024\.12"):
        tk.ones(3).__array_namespace__(api_version="2019.01")


def test_info():
    info = tk.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert info.default_dtypes() == {
        "real floating": tk.float64,
        "integral": tk.int64,
        "indexing": tk.int64,
    }
    assert info.dtypes() == {name: getattr(tk, name) for name in DTYPES}
    assert set(info.dtypes(kind="integral")) == set(DTYPES[1:9])
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert info.dtypes(kind="complex floating") == {}
    assert set(info.dtypes(device="cpu", kind="numeric")) == set(DTYPES[1:])
    with pytest.raises(ValueError, match="complicated"):
        info.dtypes(kind="complicated")
    with pytest.raises(ValueError, match="gpu"):
        info.default_dtypes(device="gpu")


def test_capabilities_while_traced():
    @tk.jit
    def f(x):
        capabilities = tk.__array_namespace_info__().capabilities()
        assert capabilities == {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": 64,
        }
        return x

    f(np.ones(3))


def test_the_most_axes():
    assert tk.ones((1,) * 64).sum().item() == 1
