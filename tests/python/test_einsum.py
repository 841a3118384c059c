"""einsum against NumPy's: a long list of subscripts, random ones, and what is wrong with invalid ones."""

import numpy as np
import pytest
import tokamak as tk
from hypothesis import given, settings
from hypothesis import strategies as st

from support import assert_products, check_products, small_array

EXTENTS = dict(
    zip("abcdefghijklmnopqrstuvwxyzABZ", [2, 3, 4, 5, 2, 3, 6, 4, 3, 4, 5, 2, 3, 4] * 3, strict=False)
)

SUBSCRIPTS = [
    # one operand: transposes, sums, diagonals
    "i", "i->", "i->i", "ij", "ij->ji", "ji", "ij->", "ij->i", "ij->j", "ijk->kij", "ijk->k", "ijk->jk", "ba",
    "ii", "ii->", "ii->i", "iij->j", "iij->ji", "iji->j", "jii->ij", "iii", "iii->i", "iijj", "iijj->ij", "ijij->ji",
    "iijj->i", "iiii->i", "ijji->", "zyx->xyz",
    # two operands
    "i,i", "i,i->", "i,i->i", "i,j", "i,j->ij", "i,j->ji", "i,j->", "i,j->i", "ij,j", "ij,j->i", "ij,i->j", "i,ij->j",
    "ij,jk", "ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ji,jk->ik", "ij,jk->", "ij,jk->i", "ij,jk->k", "ij,jk->j",
    "ij,jk->ijk", "ij,ij", "ij,ij->", "ij,ij->ij", "ij,ij->i", "ij,ij->ji", "ij,ji", "ij,ji->i", "ij,ji->ij",
    "bij,bjk->bik", "bij,bjk->ibk", "bij,bjk", "bij,bkj->bik", "bhd,dhe->bhe", "bhqd,bhkd->bhqk", "bqhd,bkhd->bhqk",
    "bhqk,bkhd->bqhd", "ijk,jkl->il", "ijk,kjl->il", "ijk,ljk->li", "abcd,dcef->abef", "abcd,bd->ac", "abcd,efcd->abef",
    "ijk,j->ik", "ijk,ilm->jklm", "ijk,ijk->", "ijk,ijk->k", "ij,k->ijk", "ij,kl->", "ij,kl->ik", "ij,kl->lkji",
    "ii,i->i", "ii,ij->j", "ii,jj", "iij,jk->ik", "ij,jj->i", "iji,ij->j", "ij,jkk->ik", "bii,bij->bj",
    ",", ",->", "i,->i", ",ij->ji", "i,", "A,a->aA", "aB,Bc", "Ba,ab->Bb",
    # several operands
    "i,i,i", "i,j,k->kji", "ij,jk,kl", "ij,jk,kl->il", "ij,jk,kl->li", "ij,jk,ki", "ij,jk,ki->", "ij,jk,kl,lm->im",
    "ij,jk,kl,lm,ma->ia", "a,ab,abc->abc", "a,ab,abc->", "ai,bj,ck,ijk->abc", "ijk,ia,jb,kc->abc", "ii,jj,kk->ijk",
    "bi,bj,bk->bijk", "ij,ij,ij->ij", "ab,bc,cd,de,ef,fg,gh->ah", "ab,bc,ca,ad,dc->d", ",,->", "i,,j->ji",
    "ab,cd,ef->ace", "a,a,a,a,a,a,a,a,a,a->a", "ab,bc,cd,de,ef,fg,gh,hi,ij,jk->ak",
    # spaces
    " ij , jk -> ik ", "i j", "i j -> j i", "ij,jk ->ki",
]  # fmt: skip

ELLIPSES = [
    ("...", [(2, 3)]),
    ("...->...", [(2, 3)]),
    ("i...", [(2, 3)]),
    ("i...->...i", [(2, 3, 4)]),
    ("...i->i...", [(2, 3, 4)]),
    ("...i->...", [(2, 3, 4)]),
    ("i...->...", [(2, 3, 4)]),
    ("...ii->...i", [(2, 4, 4)]),
    ("i...i->...", [(4, 2, 3, 4)]),
    ("...ij->ij", [(3, 4)]),
    ("ij->...ij", [(3, 4)]),
    ("ij->...", [(3, 4)]),
    ("...,...", [(2, 3), (2, 3)]),
    ("...,...->...", [(2, 3), (4, 1, 3)]),
    ("...,...", [(2, 3), (3,)]),
    ("...,...", [(1, 3), (2, 1)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]),
    ("...ij,...jk->...ik", [(3, 4), (2, 4, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...ij,...jk", [(2, 1, 3, 4), (1, 5, 4, 2)]),
    ("...ij,jk->...ik", [(6, 2, 3, 4), (4, 5)]),
    ("...ij,...kj->...ik", [(2, 3, 4), (2, 5, 4)]),
    ("...i,...i", [(2, 3, 4), (3, 4)]),
    ("...i,...i->...", [(2, 3, 4), (4,)]),
    ("i...,i...", [(4, 2, 3), (4, 3)]),
    ("i...j,j...->...i", [(4, 2, 3, 5), (5, 3)]),
    ("ij..., jk...->ik...", [(2, 3), (3, 2, 5)]),
    ("...a,...b,...c->...abc", [(2, 3), (1, 4), (2, 5)]),
    ("b...,bc->c...", [(2, 3, 4), (2, 5)]),
    ("...i,ij,...j", [(7, 3), (3, 4), (7, 4)]),
]

STRETCHED = [  # an extent of 1 stretches to that of the same subscript elsewhere
    ("ij,jk", [(2, 1), (3, 4)]),
    ("ij,jk->ik", [(2, 3), (1, 4)]),
    ("ij,ij->ij", [(2, 1), (1, 3)]),
    ("ij,ij", [(2, 1), (1, 3)]),
    ("bij,bjk->bik", [(1, 2, 3), (5, 3, 4)]),
    ("i,i,i->i", [(1,), (4,), (1,)]),
    ("i,i", [(1,), (1,)]),
    ("i,i->i", [(1,), (1,)]),
]

EMPTY = [
    ("ij,jk", [(2, 0), (0, 3)]),
    ("ij,jk", [(0, 2), (2, 3)]),
    ("ij->", [(0, 3)]),
    ("ii->i", [(0, 0)]),
    ("ii", [(0, 0)]),
    ("i,i->i", [(0,), (1,)]),
    ("ij,jk,kl->il", [(2, 0), (0, 3), (3, 2)]),
]


def shapes_of(subscripts):
    inputs = subscripts.replace(" ", "").partition("->")[0].split(",")
    return [tuple(EXTENTS[letter] for letter in term) for term in inputs]


def check_einsum(subscripts, arrays):
    check_products(lambda *xs: np.einsum(subscripts, *xs), *arrays, what=subscripts)


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_subscripts(subscripts, rng):
    for dtype in (np.float32, np.int16):
        check_einsum(
            subscripts, [np.asarray(small_array(rng, shape, dtype)) for shape in shapes_of(subscripts)]
        )


@pytest.mark.parametrize(("subscripts", "shapes"), ELLIPSES + STRETCHED + EMPTY)
def test_ellipsis_stretching_and_empty(subscripts, shapes, rng):
    for dtype in (np.float64, np.uint8, np.bool_):
        check_einsum(subscripts, [small_array(rng, shape, dtype) for shape in shapes])


@pytest.mark.parametrize("dtypes", ["ff", "ef", "dd", "bh", "Bb", "??", "?f", "eb", "lL"])
def test_dtypes(dtypes, rng):
    arrays = [rng.integers(0, 2, shape).astype(d) for d, shape in zip(dtypes, [(3, 4), (4, 2)], strict=True)]
    check_einsum("ij,jk->ik", arrays)
    check_einsum("ij,kl->il", [arrays[0], arrays[1]])


def test_lists(rng):
    a, b = small_array(rng, (2, 3), np.float32), small_array(rng, (3, 4), np.float32)
    check_products(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), a, b)
    check_products(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), a, b)
    check_products(lambda x, y: np.einsum(x, [5, 30], y, [30, 2]), a, b)
    check_products(lambda x, y: np.einsum(x, (Ellipsis, 1), y, (1, 2)), a, b)
    check_products(lambda x: np.einsum(x, [Ellipsis, 1], [1, Ellipsis]), a)
    check_products(lambda x: np.einsum(x, [1, 0]), a)
    np.testing.assert_allclose(tk.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tk.einsum("ij,jk", a, b), a @ b, rtol=1e-5, atol=1e-6)


def test_options(rng):
    a, b = small_array(rng, (2, 3), np.float32), small_array(rng, (3, 4), np.float32)
    for optimize in (True, False, "greedy", "optimal", ["einsum_path", (0, 1)]):
        check_products(lambda x, y, o=optimize: np.einsum("ij,jk->ik", x, y, optimize=o), a, b)
    check_products(lambda x, y: np.einsum("ij,jk->ik", x, y, dtype=np.float64), a, b)
    check_products(lambda x, y: np.einsum("ij,jk->ik", x, y, dtype=np.float16, casting="unsafe"), a, b)
    with pytest.raises(TypeError):
        tk.jit(lambda x, y: np.einsum("ij,jk->ik", x, y, dtype=np.int32))(a, b)


def test_number_operands(rng):
    x = small_array(rng, (2, 3), np.float64)
    check_products(lambda x: np.einsum("ij,,->ji", x, 2.0, 3), x)


@st.composite
def einsums(draw):
    """Valid subscripts and shapes for them."""
    letters = "abcde"
    extents = {letter: draw(st.integers(0, 4)) for letter in letters}
    broadcast = draw(st.lists(st.integers(1, 3), max_size=2))
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 4))):
        names = draw(st.lists(st.sampled_from(letters), max_size=4))
        term, shape = "".join(names), [extents[n] for n in names]
        if draw(st.booleans()):
            at = draw(st.integers(0, len(names)))
            axes = [draw(st.sampled_from([1, n])) for n in broadcast][draw(st.integers(0, len(broadcast))) :]
            term, shape = term[:at] + "..." + term[at:], shape[:at] + axes + shape[at:]
        terms.append(term)
        shapes.append(tuple(shape))
    text = ",".join(terms)
    if draw(st.booleans()):
        used = sorted(set(text) - set(".,"))
        output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        at = draw(st.integers(0, len(output)))
        text += "->" + "".join(output[:at]) + "..." + "".join(output[at:])
    return text, shapes


@settings(max_examples=150)
@given(einsums(), st.integers(0, 2**32 - 1))
def test_random(case, seed):
    subscripts, shapes = case
    rng = np.random.default_rng(seed)
    arrays = [np.asarray(small_array(rng, shape, np.int32)) for shape in shapes]
    want = np.einsum(subscripts, *arrays)
    assert_products(
        np.einsum(subscripts, *[tk.asarray(a) for a in arrays]), want, None, f"{subscripts} {shapes}"
    )


@settings(max_examples=25)
@given(einsums(), st.integers(0, 2**32 - 1))
def test_random_jitted(case, seed):
    subscripts, shapes = case
    rng = np.random.default_rng(seed)
    check_einsum(subscripts, [np.asarray(small_array(rng, shape, np.float64)) for shape in shapes])


def graph_of(subscripts, *shapes):
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    graph = tk.jit(lambda *xs: np.einsum(subscripts, *xs)).explain(*arrays).graph
    return [line.split(" = ")[1] for line in graph.splitlines() if " = " in line]


def test_one_dot_per_pair():
    ops = [line.split()[0] for line in graph_of("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))]
    assert ops == ["dot", "dot"]
    ops = [line.split()[0] for line in graph_of("bhd,dhe->bhe", (6, 4, 10), (10, 4, 5))]
    assert ops == ["dot", "transpose", "convert"]  # a copy in row-major order, as NumPy would have it
    assert [line.split()[0] for line in graph_of("ij,ij->ij", (2, 3), (2, 3))] == ["mul"]


def test_order_is_good():
    """A chain of matrices and a vector is multiplied from the vector."""
    lines = graph_of("ab,bc,cd,d->a", (50, 60), (60, 70), (70, 80), (80,))
    assert [line.split()[0] for line in lines] == ["dot"] * 3
    assert "xs_3" in lines[0]
    # Sums of one operand come before the product.
    assert [line.split()[0] for line in graph_of("ij,jk->k", (50, 60), (60, 70))] == ["reduce_sum", "dot"]


def test_diagonals_are_views():
    ops = [line.split()[0] for line in graph_of("bii->bi", (3, 4, 4))]
    assert set(ops) <= {"reshape", "slice", "transpose"}


ERRORS = [
    ("ij->ijk", [(2, 3)]),
    ("ij->ii", [(2, 3)]),
    ("i", [(2, 3)]),
    ("ijk", [(2, 3)]),
    ("ij,jk", [(2, 3)]),
    ("ij", [(2, 3), (2, 3)]),
    ("i$", [(2, 3)]),
    ("ij->j->i", [(2, 3)]),
    ("ij-j", [(2, 3)]),
    ("ij>j", [(2, 3)]),
    ("i..j", [(2, 3)]),
    ("...i...", [(2, 3)]),
    ("ij.->", [(2, 3)]),
    ("i1", [(2, 3)]),
    ("ié", [(2, 3)]),
    ("i\u20acj", [(2, 3)]),
    ("ij->j,i", [(2, 3)]),
    ("ij,jk->ik", [(2, 3), (2, 3)]),
    ("ii", [(2, 3)]),
    ("ii->i", [(1, 3)]),
    ("...ij->ij", [(2, 3, 3)]),
    ("i...->", [(2, 3)]),
    ("...,...", [(2, 3), (4, 5, 3)]),
    ("ij,ij,ij", [(2, 3), (2, 3), (2, 4)]),
    ("->i", [(2,)]),
]


@pytest.mark.parametrize(("subscripts", "shapes"), ERRORS)
def test_errors(subscripts, shapes):
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    with pytest.raises(ValueError):
        np.einsum(subscripts, *arrays)
    with pytest.raises(tk.UserValueError) as caught:
        tk.jit(lambda *xs: np.einsum(subscripts, *xs))(*arrays)
    assert f"'{subscripts}'" in str(caught.value)
    assert "test_einsum.py" in str(caught.value)
    with pytest.raises(tk.UserValueError):
        np.einsum(subscripts, *[tk.asarray(a) for a in arrays])


def test_more_errors():
    x = tk.asarray(np.ones((2, 3)))
    for call in (
        lambda: np.einsum(x, [0, 60]),
        lambda: np.einsum(x),
        lambda: tk.einsum(),
        lambda: tk.einsum("i"),
        lambda: tk.einsum("i,j", np.ones(3)),
    ):
        with pytest.raises(tk.UserValueError):
            call()
    with pytest.raises(TypeError):
        np.einsum(x, [0, "a"])
