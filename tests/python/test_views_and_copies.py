"""Which results are views, and which are copies: as in NumPy, whoever writes to what."""

import linecache

import numpy as np
import pytest
import tokamak as tk

from support import assert_same, check_writes

#: Expressions of a matrix `a`, one or more in a line
EXPRESSIONS = """
np.roll(a,0) | np.tile(a,1) | np.tile(a,(1,1)) | np.repeat(a,1,0) | np.repeat(a,1) | np.concatenate([a])
np.concatenate((a,),axis=1) | np.vstack([a]) | np.hstack([a]) | np.dstack([a]) | np.block([[a]])
np.block([a]) | np.stack([a]) | np.column_stack([a]) | np.pad(a,0) | np.where(True,a,a) | np.sort(a)
a.astype(float) | a.astype(float,copy=False) | np.triu(a,-9) | np.tril(a,9) | np.diag(a) | np.diag(a,1)
np.diagonal(a) | a.diagonal() | +a | np.positive(a) | np.clip(a,-9,9) | a.clip(-9,9) | a.clip(-9)
np.clip(a,None,9) | np.clip(a,None,None) | np.round(a,9) | a.round(3) | np.squeeze(a) | np.sum(a,axis=())
np.max(a,axis=()) | np.any(a,axis=()) | np.mean(a,axis=()) | np.real(a) | a.real | a.conj() | np.conj(a)
a.conjugate() | np.conjugate(a) | np.real_if_close(a) | np.nan_to_num(a) | np.nan_to_num(a,copy=False)
np.copy(a) | a.copy() | np.array(a) | np.array(a,copy=None) | np.array(a,copy=False)
np.array(a,dtype=float) | np.asarray(a) | np.asarray(a,dtype=float) | np.asarray(a,dtype='f8')
np.asanyarray(a) | np.ascontiguousarray(a) | np.asfortranarray(a) | np.array(a,ndmin=3) | np.atleast_1d(a)
np.atleast_2d(a) | np.atleast_3d(a) | np.ravel(a) | a.ravel() | a.flatten() | a.T.ravel() | a.T.flatten()
np.reshape(a,(2,8)) | a.reshape(2,8,copy=True) | np.reshape(a,(2,8),copy=False) | a.T.reshape(2,8)
a[::2].reshape(-1) | a[:,::2].reshape(2,2,2) | a[:2].reshape(-1) | a.swapaxes(0,1) | a.transpose(1,0)
np.permute_dims(a,(1,0)) | a.mT | np.matrix_transpose(a) | np.moveaxis(a,0,1) | np.rollaxis(a,1)
np.flip(a) | np.fliplr(a) | np.flipud(a) | np.rot90(a) | np.rot90(a,0) | np.rot90(a,4)
np.expand_dims(a,0) | np.broadcast_to(a,(4,4)) | np.split(a,2)[0] | np.split(a,1)[0]
np.array_split(a,3)[1] | np.hsplit(a,2)[0] | np.vsplit(a,2)[1] | np.unstack(a)[0] | np.delete(a,[],0)
np.delete(a,0,0) | np.insert(a,0,[],0) | np.append(a,[]) | np.append(a,np.empty((0,4)),0)
np.resize(a,(4,4)) | np.take(a,[0,1,2,3],0) | a.take([0],0) | a[[0,1,2,3]] | a[:] | a[...] | a[()]
a[None] | a[0] | a[0:1] | a[np.array([True]*4)] | a[np.newaxis,...,0] | np.compress([1,1,1,1],a,0)
np.choose(np.zeros((4,4),int),[a]) | np.select([np.ones((4,4),bool)],[a]) | np.partition(a,2)
np.cumsum(a,1) | np.diff(a,0) | np.diff(a,n=0) | np.gradient(a)[0] | np.ediff1d(a) | np.unwrap(a)
np.einsum('ij->ji',a) | np.einsum('ij',a) | np.einsum('ij->ij',a) | np.einsum('ii->i',a)
np.einsum('...ij->...ji',a) | np.einsum('ij,j->ij',a,np.ones(4)) | np.tensordot(a,1.,0)
np.linalg.matrix_power(a,1) | np.linalg.diagonal(a) | np.lib.stride_tricks.sliding_window_view(a,(2,2))
np.lib.stride_tricks.sliding_window_view(a,(1,1))
np.lib.stride_tricks.sliding_window_view(a,2,axis=0,writeable=True) | np.meshgrid(a[0],a[1],copy=False)[0]
np.meshgrid(a[0],a[1],copy=False,sparse=True)[0] | np.meshgrid(a[0],a[1],sparse=True)[0]
np.broadcast_arrays(a,np.ones((2,4,4)))[0] | np.broadcast_arrays(a,1)[0]
np.apply_along_axis(lambda r:r,1,a) | np.apply_along_axis(lambda r:r,0,a) | np.add(a,0) | a*1 | a-0 | a/1
a**1 | np.multiply(a,1.) | np.maximum(a,a) | np.fmax(a,a) | np.logaddexp(a,-np.inf) | np.abs(abs(a))
a.view() | a.view(float) | a.view('f8') | a.view(np.int64).view(np.float64) | a.squeeze() | a.flat[:]
a.flat[3:6] | np.trapezoid(a) | np.astype(a,float) | np.astype(a,float,copy=False) | np.full_like(a,a)
np.interp(a,[0,1],[0,1]) | np.piecewise(a,[a>0],[lambda x:x,lambda x:x]) | np.nansum(a,axis=())
np.nanmax(a,axis=()) | np.average(a,axis=0) | np.median(a,axis=()) | np.quantile(a,.5,axis=0)
np.kron(a,1.) | np.kron(1,a) | np.outer(a,1.) | np.dot(a,1.) | np.dot(1,a) | a.dot(1.) | np.inner(a,1.)
np.fix(a) | np.cov(a) | np.prod(a,axis=()) | a.sum(axis=()) | a.min(axis=()) | np.add.reduce(a,axis=())
np.add.accumulate(a,0) | np.add.reduceat(a,[0,1,2,3]) | np.diagflat(a) | np.vander(a[0],1)
np.polyder(a[0],0) | np.polyint(a[0],0) | np.nan_to_num(a,copy=False)[0] | np.concatenate([a,a[:0]])
np.r_[a] | np.c_[a] | np.r_[a[0],a[1]] | np.c_[a[0],a[1]] | np.rot90(a,2)
"""
#: Views in NumPy of which several elements share memory, and which we do not write to
OVERLAPPING = {
    "np.lib.stride_tricks.sliding_window_view(a,2,axis=0,writeable=True)",
    "np.meshgrid(a[0],a[1],copy=False)[0]",
    "np.broadcast_arrays(a,np.ones((2,4,4)))[0]",
}


def expressions():
    lines = EXPRESSIONS.strip().splitlines()
    return [one.strip() for line in lines for one in line.split(" | ")]


def made(expression, *body):
    """A function of `a` that has the expression as `r`."""
    source = "\n    ".join(["def f(a):", f"r = {expression}", *body]) + "\n"
    file = f"<{expression}; {body}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"np": np}
    exec(compile(source, file, "exec"), namespace)
    return namespace["f"]


def outcome(function, matrix):
    """What it gives, or the kind of error that it raises."""
    try:
        with np.errstate(all="ignore"):
            return function(matrix), matrix
    except (ValueError, TypeError, IndexError):
        return None


def compare(function):
    matrix = np.random.default_rng(0).standard_normal((4, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **kwargs: None)
        wanted = outcome(function, matrix.copy())
    got = outcome(tk.jit(function), matrix.copy())
    assert (wanted is None) == (got is None)
    if wanted is not None:
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
            assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("expression", expressions())
def test_writing_to_the_result(expression):
    function = made(expression, "r[...] = 77", "return a")
    if expression in OVERLAPPING:
        with pytest.raises(ValueError, match="read-only"):
            tk.jit(function)(np.ones((4, 4)))
        return
    compare(function)


@pytest.mark.parametrize("expression", expressions())
def test_writing_to_the_argument(expression):
    compare(made(expression, "a[...] = 77", "return r.copy()"))


def test_a_diagonal_is_cleared_by_einsum():
    def clear(a, b):
        np.einsum("ii->i", a)[:] = 0
        np.einsum("iji->ji", b)[1] += a[0, 1]
        return a, b

    a, b = np.arange(9.0).reshape(3, 3), np.arange(12.0).reshape(2, 3, 2)
    wanted = clear(a.copy(), b.copy())
    for got, want in zip(tk.jit(clear)(a, b), wanted, strict=True):
        assert_same(got, want)


@pytest.mark.parametrize(
    "view",
    [
        lambda y: y[:],
        lambda y: y[...],
        lambda y: y[0:2, ::1],
        lambda y: y.view(),
        lambda y: y.reshape(2, 3),
        lambda y: y.transpose(0, 1),
        lambda y: np.moveaxis(y, 0, 0),
        lambda y: np.swapaxes(y, 1, 1),
        lambda y: np.flip(y, ()),
    ],
)
def test_views_of_all_of_an_array(view):
    """They are other arrays, which can have another shape."""

    def shaped(x):
        y = x + 1
        v = view(y)
        v.shape = (6,)
        v[0] = 9
        return y, v, y[0, 0]

    def compared(x):
        y = x + 1
        v = view(y)
        return v is y, v.base is y, y.base is None

    def written(x):
        v = view(x)
        v += 1
        v.shape = (3, 2)
        v[0] = 7

    x = np.arange(6.0).reshape(2, 3)
    for got, want in zip(tk.jit(shaped)(x), shaped(x), strict=True):
        np.testing.assert_array_equal(got, want)
    assert tk.jit(compared)(x) == compared(x)
    got, want = x.copy(), x.copy()
    tk.jit(written)(got)
    written(want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1), (1, 2, 1), (2, 1, 3)])
@pytest.mark.parametrize(
    "ask",
    [
        lambda a: np.asfortranarray(a),
        lambda a: np.asfortranarray(a.T),
        lambda a: np.asfortranarray(a[:1]),
        lambda a: a.astype(a.dtype, order="F", copy=False),
        lambda a: np.asarray(a, order="F"),
        lambda a: np.ascontiguousarray(a),
    ],
)
def test_rows_that_are_columns_too_are_not_copied(shape, ask):
    def write(a):
        columns = ask(a)
        a += 1
        columns *= 2
        return columns, a.copy()

    check_writes(write, np.arange(float(np.prod(shape))).reshape(shape))


def test_a_reshape_that_has_to_copy_is_told_from_the_strides_alone():
    """An array that is traced has no elements that could be read, however many it would have."""

    def flat(a):
        return np.swapaxes(a + a, 0, 1).reshape(-1)[:5]

    a = np.broadcast_to(np.float32(1), (1 << 14, 1 << 14))  # their sum would be a gigabyte
    assert_same(tk.jit(flat)(a), np.full(5, 2, np.float32))
