"""Which arrays share memory in NumPy, and what a write to one of them does to the others.

Values never change: writing makes new ones. What changes is which value an Array stands for. Arrays that NumPy would
have share memory hang together in a tree: at its root all of the memory, below it views, each made from its
parent by one primitive. A write to a view puts the new elements into its parent, and so on up to the root; then every
Array of the tree takes its value anew. So a program that overwrites arrays becomes one that does not, and fuses as any
other.

    a = np.zeros(8)      root
    b = a[2:6]           a view of it
    b += 1               root = select(inside 2:6, b + 1, root); a and b take their values from there
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from . import _memory_order, _native
from ._errors import UserTypeError, UserValueError, fail

if TYPE_CHECKING:
    from ._array import Array
    from ._parts import Parts

Change = Callable[[Any], Any]
F = TypeVar("F", bound=Callable[..., Any])


_noted_place = _native.place_of  # where an Array lies, if anybody has asked for it; None otherwise
strides_of = _native.strides_of  # in elements, as NumPy would have them


class tracking:
    """What is recorded inside only keeps track of what memory becomes: where nothing needs it, it is not recorded after all."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _native.set_tracking(True)

    def __exit__(self, *raised: object) -> None:
        _native.set_tracking(self._before)


class Root:
    """All of the memory that some Arrays share: its value, and who has to hear of another one."""

    __slots__ = ("members", "parts", "value", "writes")

    def __init__(self, value: Array) -> None:
        self.value = value
        self.parts: Parts | None = None  # of an argument: what is written to
        self.members: list[weakref.ref[Array]] = []
        self.writes = 0

    def set(self, value: Array) -> None:
        self.value = fresh(value)  # the caller's may become another one
        self.writes += 1
        alive = []
        for member in self.members:
            array = member()
            if array is not None:
                array._become(_place_of(array).read())
                alive.append(member)
        self.members = alive


class Step(NamedTuple):
    """From an Array to a view of it, by functions; `_native.Selection` is the most frequent one."""

    forward: Change
    #: (value of the Array, new value of the view) -> new value of the Array
    put_back: Callable[[Any, Any], Any] | None
    on_memory: Change | None  # makes the same view of an ndarray


class Place:
    """Where in the memory an Array lies: all of it, or what one step makes of its parent."""

    __slots__ = ("parent", "root", "step", "strides", "writeable")

    def __init__(
        self, root: Root, strides: tuple[int, ...], parent: Place | None = None, step: Any = None
    ) -> None:
        self.root = root
        self.strides = strides  # in elements, as NumPy would have them
        self.parent = parent
        self.step = step
        self.writeable: bool = parent is None or (parent.writeable and step.put_back is not None)

    def read(self) -> Any:
        return self.root.value if self.parent is None else self.step.forward(self.parent.read())

    def write(self, value: Any) -> None:
        if self.parent is None:
            self.root.set(_memory_order.laid_out_by(value, self.strides))
        else:
            self.parent.write(self.step.put_back(self.parent.read(), value))


def _place_of(x: Array) -> Place:
    """Where an Array lies. One that nobody has asked for yet has memory of its own."""
    place: Place | None = _noted_place(x)
    if place is None:
        place = Place(Root(fresh(x)), strides_of(x))
        _settle(x, place)
    return place


def _settle(x: Array, place: Place) -> None:
    x._place = place
    members = place.root.members
    members.append(weakref.ref(x))
    if len(members) % 64 == 0:
        place.root.members = [member for member in members if member() is not None]


def dense_strides(shape: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, ...]:
    """Those of an array without gaps whose axes lie in this order, from the outermost on."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(range(len(shape)) if order is None else order):
        strides[axis] = step
        step *= shape[axis] or 1
    return tuple(strides)


@functools.lru_cache(maxsize=1024)
def row_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Those of an array without gaps that lies by rows. Most do, and are asked for it again and again."""
    return dense_strides(shape)


def is_stretched(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements are repeated along an axis."""
    return 0 in strides and any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))


def fresh(x: Array) -> Array:
    """The same value with memory of its own: what a copy is."""
    return x._with_weak(x._weak)


def is_scalar(x: Array) -> bool:
    """Whether NumPy would have it as a scalar, which never changes: the result of a reduction, say, or an element. Arrays without
    axes, such as arguments and np.zeros(()), have memory."""
    return x.ndim == 0 and not is_shared(x)


def with_memory(x: Array) -> Array:
    """An array that can be written to, also where it has no axes: never a number."""
    if x.ndim == 0 and not is_shared(x):
        x = fresh(x)
        _place_of(x)
    return x


def with_gaps(x: Array, strides: tuple[int, ...]) -> Array:
    """A new array that in NumPy is a part of more memory."""
    x = fresh(x)
    _settle(x, Place(Root(fresh(x)), strides))
    return x


def gives_array(function: F) -> F:
    """Marks a function whose result is an array, also where it has no axes."""

    @functools.wraps(function)
    def giving(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return with_memory(fresh(result) if is_shared(result) else result)

    return giving  # type: ignore[return-value]


def copied(x: Array) -> Array:
    """What x.copy() is: a scalar of a scalar, an array of an array."""
    return fresh(x) if is_scalar(x) else with_memory(fresh(x))


class _Viewing(threading.local):
    on = False


_viewing = _Viewing()


def shares(function: F) -> F:
    """Marks a function whose result shares the memory of its argument, as far as the primitives it is made of do."""

    @functools.wraps(function)
    def viewing(*args: Any, **kwargs: Any) -> Any:
        before, _viewing.on = _viewing.on, True
        try:
            return function(*args, **kwargs)
        finally:
            _viewing.on = before

    viewing.is_view = True  # type: ignore[attr-defined]
    return viewing  # type: ignore[return-value]


def may_be_argument(function: F) -> F:
    """Marks a function that gives one of its arguments itself where NumPy does, and a copy otherwise."""
    function.is_view = True  # type: ignore[attr-defined]
    return function


def read_only(x: Array) -> Array:
    """A view of all of x that cannot be written to."""
    on, _viewing.on = _viewing.on, True
    try:
        return view(x, fresh(x), lambda: strides_of(x), fresh, None, lambda memory: memory)
    finally:
        _viewing.on = on


def whole(x: Array) -> Array:
    """A view of all of x: another array, which can be given another shape."""
    on, _viewing.on = _viewing.on, True
    try:
        return view(
            x, fresh(x), lambda: strides_of(x), fresh, lambda parent, new: new, lambda memory: memory[...]
        )
    finally:
        _viewing.on = on


def never_itself(function: F) -> F:
    """Marks a function that gives a view of its argument also where that shows all of it as it is."""

    @functools.wraps(function)
    def giving(x: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(x, *args, **kwargs)
        return whole(result) if result is x and x.ndim else result

    return giving  # type: ignore[return-value]


def is_view(function: Callable[..., Any]) -> bool:
    return getattr(function, "is_view", False)


def owned(result: Any, inputs: Sequence[Any]) -> Any:
    """The result of a function that NumPy gives memory of its own: never one of the inputs."""
    if issubclass(type(result), (tuple, list)):  # of an Array its class would have to be asked for
        return type(result)(owned(one, inputs) for one in result)
    for one in inputs:
        if one is result and issubclass(type(result), _native.ArrayBase):
            return fresh(result)
    return result


def view(
    x: Array,
    made: Array,
    strides: Callable[[], Sequence[int] | None],
    forward: Change,
    put_back: Callable[[Any, Any], Any] | None,
    on_memory: Change | None = None,
) -> Array:
    """Notes that `made`, which is forward(x), shares the memory of x, if it is for that that it was made. `on_memory` makes the
    same view of an ndarray."""
    if not _viewing.on:
        return made
    known = strides()
    if known is None or is_scalar(x):  # NumPy copies here
        return with_memory(made)
    parent = _place_of(x)
    _settle(made, Place(parent.root, tuple(known), parent, Step(forward, put_back, on_memory)))
    return made


def is_viewing() -> bool:
    """Whether what is made shares the memory of what it is made of, as far as that is possible."""
    return _viewing.on


def selected(x: Array, selection: _native.Selection) -> Array:
    """The view of x that integers, slices and new axes select; x itself where that is all of it."""
    made = selection.forward(x)
    if made is x:
        return x
    if is_scalar(x):  # which has no memory
        return with_memory(made)
    parent = _noted_place(x) or _place_of(x)
    _settle(made, Place(parent.root, selection.strides(parent.strides), parent, selection))
    return made


def reshaped_strides(x: Array, shape: Sequence[int]) -> tuple[int, ...] | None:
    """The strides of x in another shape; None where NumPy has to copy."""
    own = strides_of(x)
    if [extent for extent in x.shape if extent != 1] == list(shape) and 0 not in shape:
        return tuple(stride for stride, extent in zip(own, x.shape, strict=True) if extent != 1)
    # The elements are not there: nothing may read them, as setting `shape` does where it has to copy.
    like = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), x.shape, own)
    try:
        return like.reshape(tuple(shape), copy=False).strides
    except ValueError:
        return None


def given_strides_of(x: Array) -> tuple[int, ...]:
    """Those that tell how it lies in memory as a result."""
    return strides_of(x) if not x._traced or is_argument(x) else x._given_strides()


def is_contiguous(x: Array) -> bool:
    """Whether NumPy would have its elements next to each other, in their order."""
    return x.size == 0 or is_dense(x.shape, strides_of(x))


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    wanted = row_strides(tuple(shape))
    if strides == wanted:
        return True
    return all(n == 1 or got == want for n, got, want in zip(shape, strides, wanted, strict=True))


def become(x: Array, view: Array) -> None:
    """Makes x what a view of it is."""
    x._become(view)
    x._place = view._place


def is_shared(x: Array) -> bool:
    """Whether it is known to have memory: an argument, a view, or what has views or was written to."""
    return _noted_place(x) is not None


def is_part(x: Array) -> bool:
    """Whether the memory is that of another array."""
    return is_shared(x) and x._place.parent is not None


def is_seen_as(x: Array, kind: str) -> bool:
    """Whether the memory of a view is that of an array of another kind of dtype than this one."""
    return is_part(x) and x._place.root.value.dtype.kind != kind


def base_of(x: Array) -> Array | None:
    """What NumPy has as the base of a view: the array that the memory was made for."""
    if not is_part(x):
        return None
    whole = [one for member in x._place.root.members if (one := member()) is not None and not is_part(one)]
    return whole[0] if whole else x._place.root.value


def is_read_only(x: Array) -> bool:
    """Whether its memory must not be written to; scalars have none."""
    return is_shared(x) and not x._place.writeable


def is_writeable(x: Array) -> bool:
    return not is_scalar(x) and not is_read_only(x)


def make_read_only(x: Array) -> None:
    _place_of(x).writeable = False


def give_memory(x: Array, strides: Sequence[int], parts: Parts) -> None:
    """For arguments: what is written to them is written to the caller's memory, even where they have no axes. The strides,
    in elements, tell which of their reshapes are views."""
    if is_stretched(x.shape, strides):
        x._say_numpy_strides(strides)
    place = Place(Root(fresh(x)), tuple(strides))
    place.root.parts = parts
    _settle(x, place)


def is_argument(x: Array) -> bool:
    """Whether the memory is that of an argument."""
    return is_shared(x) and x._place.root.parts is not None


def was_written(x: Array) -> bool:
    return count_writes(x) > 0


def count_writes(x: Array) -> int:
    """How often the memory of x was written to."""
    place = _noted_place(x)
    return 0 if place is None else place.root.writes


def parts_of(argument: Array) -> Parts:
    parts = argument._place.root.parts
    assert parts is not None
    return parts


def steps_between(whole: Array, part: Array) -> list[Change] | None:
    """How NumPy gets from an argument to a view of it; None when it is no view of that, or nobody knows how."""
    top, place = _noted_place(whole), _noted_place(part)
    if top is None or place is None or place.root is not top.root:
        return None
    return _steps_to(place)


def _steps_to(place: Place) -> list[Change] | None:
    steps: list[Change] = []
    above: Place | None = place
    while above is not None and above.parent is not None:
        if above.step.on_memory is None:
            return None
        steps.append(above.step.on_memory)
        above = above.parent
    return steps[::-1]


def refuse_scalar(x: Array, what: str) -> NoReturn:
    fail(
        UserTypeError,
        f"{what}: {x._type_text} is a scalar, which cannot be written to; np.array(x) makes an array of it",
    )


def write(x: Array, value: Any, what: str) -> None:
    """x[...] = value, of the dtype and shape of x."""
    if is_scalar(x):
        refuse_scalar(x, what)
    _write_at(_place_of(x), value, what)


def write_selected(x: Array, selection: _native.Selection, value: Any, what: str) -> None:
    """The same for what is selected of an x that has memory."""
    parent = _noted_place(x) or _place_of(x)
    _write_at(Place(parent.root, selection.strides(parent.strides), parent, selection), value, what)


def _write_at(place: Place, value: Any, what: str) -> None:
    if not place.writeable:
        fail(
            UserValueError,
            f"{what}: {value._type_text} is read-only: it was made so, or several of its elements share memory, as "
            "windows and what np.broadcast_to gives do; write to the array that they are elements of",
        )
    if place.root.parts is not None:
        place.root.parts.note(_steps_to(place), fresh(value))
    with tracking():
        place.write(value)
