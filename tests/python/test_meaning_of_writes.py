"""What is written, when it is read, and what stays as it was: as NumPy has it."""

import numpy as np
import pytest
import tokamak as tk

from support import assert_same, check_writes

FLOATS = np.array([-2.5, 3.7, 8.2, 5.5])
INTS = np.array([1, 7, 3, 9])


# -- where= with out= of another dtype


def add_where(b, i):
    np.add(i, 1, out=b, where=b > 4)
    return b


def compare_where(b, i):
    np.less(b, 5, out=i, where=i > 2)
    return i


def several_results_where(b, i):
    whole = np.zeros_like(i, dtype=np.float64) - 0.5
    np.divmod(i, 2, out=(whole, b), where=i > 2)
    return whole, b


def mask_is_written(b, i):
    mask = i > 2
    np.logical_not(b > 4, out=mask, where=mask)
    return mask


@pytest.mark.parametrize("function", [add_where, compare_where, several_results_where, mask_is_written])
def test_where_leaves_the_other_elements_alone(function):
    check_writes(function, FLOATS, INTS)


# -- What is read now, and what is read later


def mask_changes_after_selecting(b, i):
    mask = b > 3
    chosen = b[mask]
    mask[1] = False
    return chosen.sum(), chosen.max(), b[mask].sum()


def array_changes_after_selecting(b, i):
    chosen = b[b > 3]
    b[1] = 100
    return chosen.sum()


def selection_is_put_back_after_the_mask_changed(b, i):
    mask = b > 3
    chosen = b[mask]
    same = mask.copy()
    mask[0] = True
    b[same] = chosen * 2
    return b


def flat_iterator_sees_writes(b, i):
    flat = b.flat
    first = next(flat)
    b[1] = 50
    second = next(flat)
    b[2:] = 60
    return first, second, *flat


def iterators_see_writes(b, i):
    total = b[0] * 0
    for k, (x, y) in enumerate(zip(b, i, strict=True)):
        if k < 3:
            b[k + 1] = x + y
            i[k + 1] += 2
        total += x * y
    return total


def enumerated_sees_writes(b, i):
    rest = []
    for place, x in np.ndenumerate(b):
        b[(place[0] + 1) % 4] = x + 1
        rest.append(x)
    return tuple(rest)


def known_array_changes_after_use(b, i):
    table = np.arange(4)
    y = b + table
    table[0] = 100
    z = b + table
    return y, z


@pytest.mark.parametrize(
    "function",
    [
        mask_changes_after_selecting,
        array_changes_after_selecting,
        selection_is_put_back_after_the_mask_changed,
        flat_iterator_sees_writes,
        iterators_see_writes,
        enumerated_sees_writes,
        known_array_changes_after_use,
    ],
)
def test_operands_are_read_when_numpy_reads_them(function):
    check_writes(function, FLOATS, INTS)


# -- Scalars are replaced, arrays without axes are written to

SCALARS = {
    "wider": lambda a, b, z: _in_place(a.sum(), b.sum()),
    "quotient": lambda a, b, z: _divided(a.astype(int).sum(), 3),
    "array": lambda a, b, z: _in_place(b[0], b),
    "position": lambda a, b, z: _in_place(a.argmax(), 0.5),
    "element": lambda a, b, z: tuple(_in_place(v, 0.5) for v in a.astype(int)),
    "copy": lambda a, b, z: _in_place(b[0].copy(), a),
    "argument": lambda a, b, z: (_in_place(z, 2), z),
    "view": lambda a, b, z: (_in_place(b[0, ...], 2), b),
    "zeros": lambda a, b, z: _in_place(np.zeros((), int), a.argmax()),
    "array of a scalar": lambda a, b, z: _in_place(np.array(a[0]), b[0]),
    "where": lambda a, b, z: _in_place(np.where(z > 0, 1, 2), a.argmax()),
}


def _in_place(x, y):
    before = x
    x += y
    return x, before


def _divided(x, y):
    x /= y
    return x


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_are_replaced_and_arrays_written_to(name):
    function = SCALARS[name]
    makes = [np.array([1.5, 4.5, 2.5], np.float32), np.array([1.25, 2.25, 3.5]), np.array(2.75)]
    wanted, got = function(*[x.copy() for x in makes]), tk.jit(function)(*[x.copy() for x in makes])
    _assert_same_types(got, wanted)


def _assert_same_types(got, wanted):
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            _assert_same_types(one, other)
        return
    assert type(got) is type(wanted)
    assert_same(got, wanted)


def test_adding_to_an_element_of_integers_truncates():
    def function(b, i):
        i[2] += 0.7
        i[1] *= b[0]
        return i

    check_writes(function, FLOATS, INTS)


def test_scalars_cannot_be_written_to():
    def function(b):
        s = b.sum()
        s[...] = 1
        return s

    with pytest.raises(TypeError, match="is a scalar"):
        tk.jit(function)(FLOATS)


def test_arrays_without_axes_come_back_as_arrays():
    def function(z, b):
        return z, z.copy(), z[...], z.T, np.asarray(z), z.astype(int), z + 1, z[()], b[0], b[1, ...], b.sum()

    arguments = np.array(2.5), FLOATS
    _assert_same_types(tk.jit(function)(*arguments), function(*arguments))


# -- Views at computed places


def row_of_the_largest(v, m):
    k = v.argmax()
    row = m[k]
    row += 1
    m[k][0] = 7
    part = m[k, 1:]
    m[..., k] *= 2
    element = m[k, ..., k]
    element -= 50
    m[k, 0] = -4
    k += 1
    return row, part, element, m


def copies_at_computed_places(v, m):
    k = np.array(v.argmax())
    row = m[k]
    row += 1
    rows = m[[0, 1]]
    rows += v.argmax()
    return row, rows, m


@pytest.mark.parametrize("function", [row_of_the_largest, copies_at_computed_places])
def test_views_at_computed_places(function):
    check_writes(function, np.array([1.5, 4.5, 2.5]), np.arange(12.0).reshape(3, 4))
    check_writes(function, np.array([1.5, 4.5, 2.5]), np.arange(24.0).reshape(3, 2, 4))
