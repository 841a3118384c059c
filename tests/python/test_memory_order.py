"""Results lie in memory as NumPy's do, and what is written to arguments is written where they lie."""

import itertools

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_same

RNG = np.random.default_rng(0)

ARGUMENTS = {
    "rows": RNG.random((5, 6)),
    "columns": np.asfortranarray(RNG.random((5, 6))),
    "three axes": RNG.random((3, 4, 5)),
    "columns of three axes": np.asfortranarray(RNG.random((3, 4, 5))),
    "permuted": RNG.random((3, 4, 5)).transpose(1, 0, 2),
    "with gaps": np.asfortranarray(RNG.random((8, 9)))[1:6, 2:8],
    "backwards": np.asfortranarray(RNG.random((5, 6)))[::-1],
    "one column": np.asfortranarray(RNG.random((7, 1))),
    "stretched": np.broadcast_to(RNG.random(6), (5, 6)),
    "empty": np.zeros((0, 3), order="F"),
}

PROGRAMS = {
    "add": lambda x: x + 1,
    "two": lambda x: x * 2 + np.exp(x),
    "turned": lambda x: x.T,
    "of turned": lambda x: np.exp(x.T),
    "both ways": lambda x: x[:3, :3] + x.T[:3, :3] if x.ndim == 2 and min(x.shape) > 2 else x,
    "with rows": lambda x: x + np.ones(x.shape),
    "with one row": lambda x: x + np.arange(x.shape[-1]),
    "where": lambda x: np.where(x > 0.5, x, 0),
    "compared": lambda x: ~(x > 0.5),
    "converted": lambda x: x.astype(np.float32),
    "converted by rows": lambda x: x.astype(np.float32, order="C"),
    "converted by columns": lambda x: x.astype(np.float32, order="F"),
    "sum of columns": lambda x: x.sum(0),
    "sum of rows": lambda x: x.sum(-1),
    "sum kept": lambda x: x.sum(0, keepdims=True),
    "mean": lambda x: x.mean(1),
    "argmax": lambda x: (x + 1).argsort(0),
    "cumsum": lambda x: np.cumsum(x, 0),
    "accumulate": lambda x: np.add.accumulate(x, axis=1),
    "sort": lambda x: np.sort(x, axis=0),
    "concatenate": lambda x: np.concatenate([x, x]),
    "stack": lambda x: np.stack([x, x]),
    "hstack": lambda x: np.hstack([x, x]),
    "slice": lambda x: x[1:] * 2,
    "reverse": lambda x: x[::-1] + 1,
    "new axis": lambda x: x[:, None] * 2,
    "copy": lambda x: x.copy(),
    "copy of turned": lambda x: x.T.copy(),
    "copy by columns": lambda x: x.copy(order="F"),
    "copy as it is": lambda x: x.copy(order="K"),
    "np.copy": lambda x: np.copy(x),
    "np.array": lambda x: np.array(x),
    "np.array by columns": lambda x: np.array(x, order="F"),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x),
    "asfortranarray": lambda x: np.asfortranarray(x),
    "zeros_like": lambda x: np.zeros_like(x) + x,
    "zeros_like alone": lambda x: np.zeros_like(x),
    "full_like by rows": lambda x: np.full_like(x, 2, order="C"),
    "zeros by columns": lambda x: np.zeros((3, 4), order="F") + x.size,
    "ufunc by columns": lambda x: np.add(x, 1, order="F"),
    "ufunc by rows": lambda x: np.add(x, 1, order="C"),
    "ravel": lambda x: x.ravel(),
    "ravel as it is": lambda x: x.ravel(order="K"),
    "ravel A": lambda x: x.ravel(order="A"),
    "ravel by columns": lambda x: x.ravel(order="F"),
    "flatten by columns": lambda x: x.flatten(order="F"),
    "reshape": lambda x: x.reshape(x.shape[::-1]),
    "reshape by columns": lambda x: x.reshape(x.shape[::-1], order="F"),
    "reshape A": lambda x: x.reshape(-1, order="A"),
    "roll": lambda x: np.roll(x, 1, 0),
    "pad": lambda x: np.pad(x, 1),
    "round": lambda x: np.round(x, 1),
    "diff": lambda x: np.diff(x, axis=0),
    "gradient": lambda x: np.gradient(x, axis=0) if x.shape[0] > 1 else x,
    "matmul": lambda x: x @ np.swapaxes(x, -1, -2),
    "interp": lambda x: np.interp(x, [0, 1], [0, 2]),
    "searchsorted": lambda x: np.searchsorted(np.array([0.1, 0.5]), x),
    "select": lambda x: np.select([x > 0.5], [x], 0.0),
    "tensordot": lambda x: np.tensordot(x, x, axes=0),
    "outer": lambda x: np.multiply.outer(x, x),
    "ldexp": lambda x: np.ldexp(x, 1),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1) * 2 if x.shape[1] > 1 else x,
}


def order_of(x):
    """The axes from the outermost to the innermost, as far as they are more than one element."""
    axes = [axis for axis in range(x.ndim) if x.shape[axis] > 1]
    return sorted(axes, key=lambda axis: -abs(x.strides[axis]))


def is_a_view_of_few(x):
    return any(stride == 0 and extent > 1 for stride, extent in zip(x.strides, x.shape, strict=True))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_results_lie_as_numpys_do(program, argument):
    function, x = PROGRAMS[program], ARGUMENTS[argument]
    want = function(x)
    got = tk.jit(function)(x)
    assert_same(got, want, ulp=2)
    if want.size and not is_a_view_of_few(want) and argument != "stretched":
        assert order_of(got) == order_of(want)


@given(st.permutations(range(4)), st.permutations(range(4)), st.sampled_from([1, 2]), st.data())
@settings(max_examples=60)
def test_what_is_made_of_several_arrays(first, second, step, data):
    """NumPy keeps an order that all agree on; where they do not, that of rows counts."""
    shape = (2, 3, 1, 4)

    def lying(order):
        extents = [shape[axis] * step for axis in order]
        back = [order.index(axis) for axis in range(4)]
        return np.arange(float(np.prod(extents))).reshape(extents).transpose(back)[:2, :3, :1, :4]

    x, y = lying(list(first)), lying(list(second))
    axes = data.draw(st.sets(st.integers(0, 3)))
    y = y[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(4))]
    for function in (np.add, lambda x, y: np.where(x > y, x, y), lambda x, y: np.concatenate([x + y, x], 1)):
        want = function(x, y)
        got = tk.jit(function)(x, y)
        assert_same(got, want)
        assert order_of(got) == order_of(want)


def test_one_function_for_arrays_that_lie_differently():
    f = tk.jit(lambda x: x * 2 + 1)
    for x in itertools.chain(ARGUMENTS.values(), reversed(ARGUMENTS.values())):
        assert_same(f(x), x * 2 + 1)
    x = np.asfortranarray(RNG.random((16, 12, 8)))
    for y in (x, x[:, :, ::2], x[::2], x.transpose(1, 0, 2), x.transpose(2, 0, 1), x[::-1], x[:, ::-1, :]):
        assert_same(f(y), y * 2 + 1)


def test_captured_arrays_lie_as_they_do():
    table = np.asfortranarray(RNG.random((4, 5)))
    f = tk.jit(lambda x: x + table)
    assert f(np.float64(1)).flags.f_contiguous
    assert f(np.ones((4, 5))).flags.c_contiguous


def test_copies_by_rows_are_not_views():
    def f(x):
        y = x * 2
        flat = y.ravel()
        flat[0] = 50
        return y

    for x in (ARGUMENTS["rows"], ARGUMENTS["columns"]):
        assert_same(tk.jit(f)(x), f(x))


def changes_all(x):
    x *= 2


def changes_rows(x):
    x[1:-1] += 1


def changes_columns(x):
    x[:, 1:-1] += 1


def changes_inside(x):
    x[1:-1, 1:-1] *= 3


def shifts(x):
    x[1:] = x[:-1]


def turns(x):
    x[...] = x[::-1, ::-1]


def adds_neighbours(x):
    x[1:-1] += x[2:] - x[:-2]


def centres(x):
    x -= x.mean(axis=1, keepdims=True)


def changes_twice(x):
    x[:4] += 1
    x[2:] *= 2


def changes_less_and_less(x):
    x[1:6] = 1
    x[1:4] = 2
    x[1:4, 1:9] += 3
    x[1:4, 1:5] = 4


def changes_and_returns(x):
    x += 1
    return x * 2, x.sum()


def adds_its_transpose(x):
    x += np.ones((x.shape[1], x.shape[0])).T


def fills(x):
    x[...] = 7


def multiplies(x):
    x[...] = x @ np.eye(x.shape[1])


def adds_product(x):
    x += np.ones((x.shape[0], 3)) @ np.ones((3, x.shape[1]))


WRITERS = [
    changes_all,
    changes_rows,
    changes_columns,
    changes_inside,
    shifts,
    turns,
    adds_neighbours,
    centres,
    changes_twice,
    changes_less_and_less,
    changes_and_returns,
    adds_its_transpose,
    fills,
    multiplies,
    adds_product,
]


def large(order):
    """Large enough for several threads and stores past the caches; at an address that is not aligned."""
    memory = np.zeros(700 * 901 + 1)
    x = memory[1:].reshape((700, 901), order=order)
    x[...] = RNG.random((700, 901))
    return x


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["small", "large", "gaps"])
def test_writing_to_arguments(write, order, kind):
    x = large(order) if kind == "large" else np.array(RNG.random((9, 13)), order=order)
    if kind == "gaps":
        x = x[::2, 1:-1]
    want = x.copy(order="K")
    returned = write(want)
    f = tk.jit(write)
    before = x.copy(order="K")
    for _ in range(2):
        x[...] = before
        got = f(x)
        np.testing.assert_allclose(x, want, rtol=1e-13, atol=1e-13)
        if returned is not None:
            for one, other in zip(got, returned, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


def test_nothing_is_written_when_the_program_fails():
    def f(x, i):
        x += 1
        x[i] = 0

    x = np.zeros(5)
    with pytest.raises(IndexError):
        tk.jit(f)(x, np.array([7]))
    assert_same(x, np.zeros(5))


def test_an_array_that_is_one_of_ours_stays_what_it_was_elsewhere():
    def f(x):
        x *= 2

    x = tk.asarray(np.ones(4))
    y = x.copy()
    tk.jit(f)(x)
    assert_same(np.asarray(x), np.full(4, 2.0))
    assert_same(np.asarray(y), np.ones(4))


def test_an_argument_that_is_donated_and_written_to_has_what_was_written():
    def f(x):
        x += 1
        return x * 2

    x = np.arange(5.0)
    got = tk.jit(f, donate_argnums=0)(x)
    assert_same(x, np.arange(5.0) + 1)
    assert_same(got, x * 2)


def test_writing_needs_no_second_buffer():
    def f(x):
        x *= 2

    x = np.ones((1000, 1000))
    tk.trim_memory()
    before = tk.memory_stats()["misses"]
    tk.jit(f)(x)
    assert tk.memory_stats()["misses"] == before


# ----------------------------------------------------------------------------------------------------------
# What is made of arrays that lie in every way: seen by x.ravel("K"), and by which reshapes are views

BOX = np.arange(24).reshape(2, 3, 4)

WAYS = {
    "rows": BOX,
    "columns": np.asfortranarray(BOX),
    "middle first": BOX.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "last before middle": BOX.transpose(0, 2, 1).copy().transpose(0, 2, 1),
    "turned": BOX.transpose(1, 2, 0).copy().transpose(2, 0, 1),
    "backwards": BOX[::-1, :, ::-1],
    "columns backwards": np.asfortranarray(BOX)[:, ::-1],
    "with gaps": np.repeat(BOX, 2, 2)[..., ::2],
    "stretched": np.broadcast_to(BOX[:1], (2, 3, 4)),
    "one inside": np.asfortranarray(np.arange(8).reshape(2, 1, 4)),
}

MADE = """
x+1 | x*x.transpose(1,0,2)[:1,:1] | x+np.arange(x.shape[2]) | x+np.ones(x.shape) | -x | x>3 | x//2
np.fmod(x,3)
np.where(x>3,x,0) | np.where(x>3,x,x.copy()) | np.clip(x,2,9) | np.maximum(x,x[::-1]) | np.divmod(x,3)[0]
np.modf(x*1.)[1]
x.copy() | x.copy('K') | x.copy('F') | np.copy(x) | np.array(x) | np.array(x,order='K') | x.astype(float)
x.astype(float,order='C')
np.ones_like(x) | np.zeros_like(x,shape=(3,2,4)) | np.full_like(x,2) | np.empty_like(x)*0
np.ascontiguousarray(x) | np.asfortranarray(x)
x[:,:,1:].copy() | x[...,::2]+0 | x[...,1:3].copy() | np.array(x[:,:,:2])
np.sort(x,axis=0) | np.sort(x,axis=-1) | np.argsort(x,axis=1,kind='stable') | np.partition(x,1,axis=0)*0
np.cumsum(x,axis=0)
x.sum(0) | x.sum(1) | x.sum(2) | x.sum(0,keepdims=True) | x.max(axis=1) | x.mean(axis=1) | x.std(axis=0)
np.sum(x,axis=(0,2))
np.median(x,axis=0) | np.median(x,axis=1) | np.percentile(x,[20,40],axis=1) | np.nanmedian(x*1.,axis=0)
np.nanmedian(x*1.,axis=2)
x.argmax(0) | x.argmax(1) | np.ptp(x,axis=2) | np.prod(x,axis=0,dtype='f4')
np.average(x,axis=2,weights=np.arange(1,5))
np.average(x,axis=0,weights=np.arange(1,3)) | np.quantile(x,.3,axis=(0,1)) | np.diff(x,axis=0)
np.diff(x,axis=2) | np.gradient(x,axis=2)
np.roll(x,1) | np.roll(x,1,axis=0) | np.roll(x,1,axis=2) | np.flip(x,0) | np.flip(x,0)+0 | np.rot90(x)
np.rot90(x)*2
np.concatenate([x,x]) | np.concatenate([x,x],axis=2) | np.concatenate([x,x.copy()],axis=1)
np.stack([x,x]) | np.stack([x,x],axis=-1)
np.hstack([x,x]) | np.dstack([x,x]) | np.vstack([x[0],x[1]]) | np.block([[x[0],x[1]]])
np.column_stack([x[0,0],x[0,0]])
np.tile(x,(1,2,1)) | np.tile(x,(1,1,1)) | np.tile(x[:,:1],(1,2,1)) | np.repeat(x,2,axis=1)
np.repeat(x,2,axis=0) | np.repeat(x[:1],3,axis=0)
np.repeat(x[...,:1],3,axis=2) | np.tile(x[0,0][:,None],(1,3))
np.broadcast_to(x[0,0][:,None],(4,2)).copy() | np.array(np.broadcast_to(x[:,:1],x.shape))
np.broadcast_to(x[0],x.shape)+np.asfortranarray(np.ones(x.shape))
np.broadcast_to(x[0],x.shape).copy()+np.asfortranarray(np.ones(x.shape))
np.pad(x,1) | np.pad(x,((0,0),(1,1),(0,0)),mode='edge') | np.delete(x,1,axis=2) | np.insert(x,1,5,axis=2)
np.resize(x,(3,5))
np.take(x,[1,0],axis=0) | np.take(x,[0,0],axis=1) | np.take(x,[1,0],axis=2) | x.take(1,axis=2)
np.compress([True,True],x,axis=0)
x[[1,0]] | x[:,[0,0]] | x[...,[1,0]] | x[[0,1],:,[1,0]] | x[[0,1],[0,0]] | x[:,[0,0],[1,0]]
x[[[0,1]],...] | x[:,[[0],[0]]] | x[1,:,[0,1]]
x[:,0,[0,1]] | x[::-1,[0,0]] | x[[1,0]][:,[0]] | x[:,:,np.array([True,False,True,True])] | x.T[[1,0]]
x.T[:,[0]] | x[...,[1,0]]*2 | x[:,[0,0]].T
x[:,[0,0]]+np.ones((2,2,4)) | np.copy(x[:,[0,0]]) | x[...,[1,0]].copy() | x[...,[1,0]].astype('f4')
np.take_along_axis(x,np.argsort(x,axis=0,kind='stable'),0)
np.take_along_axis(x,np.argsort(x,axis=2,kind='stable'),2)
np.round(x*0.5) | np.round(x*0.5,1) | np.round(x) | np.round(x,-1) | np.nan_to_num(x*1.) | np.triu(x)
np.unwrap(x*1.,axis=1)
np.einsum('ijk->kji',x) | np.einsum('ijk->ik',x) | np.einsum('ijk,ijk->ij',x,x)
np.einsum('ijk,kl->ijl',x,np.eye(x.shape[2]))
np.einsum('ijk,kl->lij',x,np.eye(x.shape[2])) | np.einsum('ij,jk->ki',x[0],np.eye(4))
np.einsum('...k,...k',x,x) | np.einsum('iij->j',x[:,:1][[0,1]][:,[0,0]])
x@np.eye(x.shape[2]) | np.eye(x.shape[1])@x | np.matmul(x,x.swapaxes(1,2))
np.tensordot(x,np.eye(x.shape[2]),1) | np.dot(x,np.eye(x.shape[2]))
np.tensordot(x,x,((0,),(0,))) | np.outer(x[0,0],x[0,0]) | np.kron(x[0],x[1])
np.cross(x[...,:3],x[...,:3]) | np.eye(4)@x[None].T
np.swapaxes(x,0,2) | x.T | np.moveaxis(x,0,2)*2 | np.expand_dims(x,1) | np.broadcast_to(x,(2,)+x.shape)*1
x[...,None]+np.arange(2)
np.isin(x,[3]) | np.choose(x%2,[x,1]) | np.select([x>3],[x],0) | np.interp(x,[0,9],[1,2])
np.digitize(x,[3,7]) | np.searchsorted([3,7],x)
np.add.outer(x[0],x[1,0]) | np.add.reduceat(x,[0,1],axis=0) | np.add.reduceat(x,[0,0],axis=1)
np.add.reduceat(x,[0,1],axis=2) | np.add.accumulate(x,1)
np.piecewise(x,[x>3],[1,2]) | np.polyval([1,2],x) | np.packbits(x>3,axis=1)
np.unpackbits(x.astype('u1'),axis=1) | np.trapezoid(x,axis=2)
np.meshgrid(x[0,0],x[0,0])[0] | np.meshgrid(x[0,0],x[0,0])[1]
np.meshgrid(x[0,0],x[0,0],indexing='ij')[1] | np.indices((2,3))+x[0,0,0]
np.histogram2d(x.ravel(),x.ravel(),bins=(2,3),range=((0,9),(0,9)))[0]
np.histogram2d(x.ravel(),x.ravel(),bins=2,range=((0,9),(0,9)),density=True)[0]
np.lib.stride_tricks.sliding_window_view(x,2,axis=2)
np.lib.stride_tricks.sliding_window_view(x,2,axis=2)*2 | x.diagonal() | x.squeeze()
x.reshape(4,-1) | x.reshape(-1,2) | x.reshape(2,-1,order='F') | x.reshape(x.shape[::-1])
x.flatten('F').reshape(x.shape,order='F')
"""
EXPRESSIONS = [one.strip() for line in MADE.strip().splitlines() for one in line.split(" | ")]


def seen(made, is_open):
    """What tells how an array lies: its elements as they do, and itself after writes to what may be views of it."""
    lying = made.ravel("K")
    flat, turned = made.reshape(-1), made.T.reshape(-1)
    if is_open:
        flat[:1], turned[-1:] = 77, 55
    return made, lying.copy(), flat, turned


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_is_made_lies_as_numpys_does(expression):
    make = eval(f"lambda x: {expression}", {"np": np})
    for way, x in WAYS.items():
        try:
            made = make(x)
        except (IndexError, ValueError):  # it is too short along an axis
            continue
        is_open = made.flags.writeable and not np.shares_memory(made, x)
        want = seen(made, is_open)
        got = tk.jit(lambda x, is_open=is_open: seen(make(x), is_open))(x)
        for one, other, what in zip(got, want, ("itself", "as it lies", "flat", "flat of turned"), strict=True):
            assert_same(one, other, ulp=4, what=f"{way}, {what}")


def test_what_is_looked_up_in_columns_lies_by_rows_as_a_result_and_by_columns_where_that_is_asked_for():
    x, i = RNG.random((5, 6)), np.array([1, 4, 0])
    assert tk.jit(lambda x, i: x[:, i])(x, i).flags.c_contiguous
    assert tk.jit(lambda x, i: x[:, i] + 1)(x, i).flags.c_contiguous
    for ask in (lambda y: np.asfortranarray(y), lambda y: y.copy(order="F"), lambda y: np.array(y, order="F")):
        assert tk.jit(lambda x, i, ask=ask: ask(x[:, i]))(x, i).flags.f_contiguous


def writes_to_a_mesh(x, y):
    a, b = np.meshgrid(x, y)
    flat = a.reshape(-1)
    flat[flat > 1] = 0
    return a + b


def writes_to_tiles(x, y):
    a = np.tile(x[:, None], (1, 3))
    a.ravel()[::4] = 9
    return a * y[0]


def writes_to_columns(x, y):
    a = np.stack([x, y])[:, [0, 1]]
    a.reshape(-1)[0] = 9
    return a


@pytest.mark.parametrize("write", [writes_to_a_mesh, writes_to_tiles, writes_to_columns])
def test_writing_to_flat_views(write):
    x, y = np.arange(3.0), np.arange(3.0) + 1
    assert_same(tk.jit(write)(x, y), write(x, y))
