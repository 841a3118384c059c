"""x.flat: the elements of an array one after the other, to read, to write and to go through."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _sharing
from .._errors import UserIndexError, UserValueError, fail, naming, unsupported
from .._ops import as_number, convert, reshape, stored
from . import indexing, shapes, writing


def _check_key(key: Any) -> Any:
    """What NumPy takes: an integer, a slice, an ellipsis, integers or a mask."""
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if key is None or isinstance(key, tuple):
        fail(UserIndexError, f"x.flat takes one index, not {key!r}")
    return key


class Flat:
    """Stands for an array, as if it had one axis. Functions of NumPy see that array."""

    __slots__ = ("base", "index")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    def __init__(self, base: Any) -> None:
        self.base = base
        self.index = 0  # of the element whose turn it is

    def _elements(self) -> Any:
        return _sharing.fresh(reshape(self.base, [self.base.size]))

    @property
    def coords(self) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(self.index, self.base.shape))

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Every element as it is when its turn comes."""
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return indexing.getitem(self._elements(), self.index - 1)

    @naming("x.flat")
    def __getitem__(self, key: Any) -> Any:
        self.index = 0  # as in NumPy
        return _sharing.fresh(self._elements()[_check_key(key)])

    @naming("x.flat")
    def __setitem__(self, key: Any, value: Any) -> None:
        """The values are taken again from the first on when there are fewer than places."""
        self.index = 0
        elements = self._elements()
        key = _check_key(key)
        places = elements[key]
        given = shapes.ravel(stored(as_number(value, elements.dtype), elements.dtype))
        if given.size == 0:
            if np.ndim(places) == 0 or places.size:
                fail(UserValueError, "x.flat[...] = y: there is nothing to take elements from")
            return
        if given.size == 1:
            writing.setitem(elements, key, convert(reshape(given, []), elements.dtype))
        else:
            count = int(places.size)
            fitting: Any = np.resize(given, count) if given.size != count else given
            writing.setitem(elements, key, reshape(convert(fitting, elements.dtype), places.shape))
        _sharing.write(self.base, reshape(elements, self.base.shape), "x.flat[...] = y")

    def copy(self) -> Any:
        return self._elements()

    # -- NumPy's protocols: an array of one axis

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "at" or "out" in options:
            unsupported("writing to x.flat by a ufunc", "use x.ravel(), or x.flat[...] = y")
        return getattr(ufunc, method)(*map(_as_elements, inputs), **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map(_as_elements, args), **{name: _as_elements(one) for name, one in kwargs.items()})

    def __eq__(self, other: object) -> Any:
        return self._elements() == _as_elements(other)

    def __ne__(self, other: object) -> Any:
        return self._elements() != _as_elements(other)

    def __lt__(self, other: Any) -> Any:
        return self._elements() < _as_elements(other)

    def __le__(self, other: Any) -> Any:
        return self._elements() <= _as_elements(other)

    def __gt__(self, other: Any) -> Any:
        return self._elements() > _as_elements(other)

    def __ge__(self, other: Any) -> Any:
        return self._elements() >= _as_elements(other)


def _as_elements(value: Any) -> Any:
    if isinstance(value, Flat):
        return value._elements()
    if isinstance(value, (list, tuple)):
        return type(value)(_as_elements(one) for one in value)
    return value
