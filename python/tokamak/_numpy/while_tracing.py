"""What NumPy's functions without array arguments give while a function is traced.

`np.zeros(n)` is never asked to make an Array: no argument is one. But a function that fills the result with computed values,

    out = np.zeros(n)
    out[1:] = x[1:] - x[:-1]

needs one. So while a thread traces, the functions below are replaced in NumPy's namespace, and where the user's modules have imported
them from there; for other threads, and for all callers but the user's own lines, they do what they always do. Compiled code that calls
`np.empty` expects memory, and its caller is, as far as Python tells, the line that called the compiled code; so that line is read.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, MethodType
from typing import Any, NamedTuple

import numpy as np

from .. import _native, _random, _sharing
from .._code_names import loaded_name
from .._errors import unsupported
from .._ops import _holds_array, as_array, is_array
from .._registry import TABLE
from . import dispatch, objects, outs


def _of_our_dtype(place: int) -> Callable[..., bool]:
    """New memory is ours unless it is for complex numbers, objects or text. `place` is that of the dtype."""

    def is_ours(*args: Any, **kwargs: Any) -> bool:
        dtype = args[place] if len(args) > place else kwargs.get("dtype")
        return dtype is None or np.dtype(dtype).kind in "biufV"

    return is_ours


def _of_arrays(a: Any = None, *args: Any, **kwargs: Any) -> bool:
    return _holds_array([a])


def _at_computed_places(a: Any = None, indices: Any = None, *args: Any, **kwargs: Any) -> bool:
    """NumPy asks only the array whose function to call, not the indices."""
    return _holds_array([a, indices])


def _of_lists(*args: Any, **kwargs: Any) -> bool:
    """Lists of Arrays, of which NumPy does not ask the Arrays."""
    return any(isinstance(one, (list, tuple)) and _holds_array(one) for one in args)


def _of_vectorized(function: Any, *args: Any, **kwargs: Any) -> bool:
    return _holds_array([*args, *kwargs.values()])


def _of_key(builder: Any, key: Any) -> bool:
    return _holds_array(key if isinstance(key, tuple) else (key,))


def _refuse_strides(*args: Any, **kwargs: Any) -> None:
    unsupported(
        "np.lib.stride_tricks.as_strided of a traced array",
        "values have no memory yet; use np.lib.stride_tricks.sliding_window_view, np.broadcast_to or slices",
    )


def _refuse_nditer(*args: Any, **kwargs: Any) -> None:
    unsupported(
        "np.nditer of a traced array",
        "its elements are not known yet; use array operations, or x.flat to go through the elements",
    )


def _enumerated(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    x = as_array(arr)
    return ((index, x[index]) for index in np.ndindex(*x.shape))


def _of_number(value: Any) -> bool:
    """What NumPy would have as a scalar."""
    return is_array(value) and _sharing.is_scalar(value)


def _of_raising(all: Any = None, *args: Any, **kwargs: Any) -> bool:
    return any(one in ("raise", "call") for one in (all, *args, *kwargs.values()) if isinstance(one, str))


def _refuse_raising(*args: Any, **kwargs: Any) -> None:
    unsupported(
        'np.errstate or np.seterr with "raise" or "call" inside a jitted function',
        "compiled code does not look out for such errors; check results with np.isfinite",
    )


def _always_ours(*args: Any, **kwargs: Any) -> bool:
    return True


def _refuse_entropy(*args: Any, **kwargs: Any) -> None:
    unsupported("random numbers of the system, or a generator without a seed, inside a jitted function", _random.ADVICE)


def _asks_for_entropy(*args: Any) -> bool:
    return not _seeding.on


def _without_seed(seed: Any = None) -> bool:
    return seed is None


#: Functions that others do not import for themselves while something is traced: they would keep what replaces them.
_OF_THE_SYSTEM = [
    *(("secrets", name) for name in ("choice", "randbelow", "token_bytes", "token_hex", "token_urlsafe")),
    *(("uuid", name) for name in ("uuid1", "uuid4")),
]


class _Seeding(threading.local):
    """A RandomState asks the system for numbers also where a seed takes their place at once."""

    on = False


_seeding = _Seeding()


def _random_state(seed: Any = None) -> Any:
    if seed is None:
        _refuse_entropy()
    _seeding.on = True
    try:
        return sys.modules["numpy.random"].mtrand.RandomState(seed)
    finally:
        _seeding.on = False


class Replaced(NamedTuple):
    """A function that is another one while a thread traces."""

    owner: str | type  # a module, which may not be loaded, or a class
    name: str
    is_ours: Callable[..., bool]  # by the arguments
    make: Callable[..., Any] | None = None  # by default, what is done for Arrays
    by_anyone: bool = False  # not only by lines of the user's


_REPLACED = [
    Replaced("numpy", "zeros", _of_our_dtype(1)),
    Replaced("numpy", "empty", _of_our_dtype(1)),
    Replaced("numpy", "ones", _of_our_dtype(1)),
    Replaced("numpy", "full", _of_our_dtype(2)),
    Replaced("numpy", "array", _of_arrays),
    Replaced("numpy", "asarray", _of_arrays),
    Replaced("numpy", "asanyarray", _of_arrays),
    Replaced("numpy", "ascontiguousarray", _of_arrays),
    Replaced("numpy", "asfortranarray", _of_arrays),
    Replaced("numpy", "take", _at_computed_places),
    Replaced("numpy", "errstate", _of_raising, _refuse_raising),
    Replaced("numpy", "seterr", _of_raising, _refuse_raising),
    Replaced("numpy", "isscalar", _of_number, lambda _: True),
    Replaced("numpy.lib.stride_tricks", "as_strided", _of_arrays, _refuse_strides),
    Replaced("numpy", "nditer", _of_arrays, _refuse_nditer),
    Replaced("numpy", "ndenumerate", _of_arrays, _enumerated),
    # NumPy's random numbers, where they are loaded: see _random
    Replaced("numpy.random", "RandomState", _always_ours, _random_state, by_anyone=True),
    Replaced("numpy.random.bit_generator", "randbits", _asks_for_entropy, _refuse_entropy, by_anyone=True),
    Replaced("random", "Random", _without_seed, _refuse_entropy),
    *(Replaced(module, name, _always_ours, _refuse_entropy) for module, name in _OF_THE_SYSTEM),
    Replaced(np.vectorize, "__call__", _of_vectorized, objects.vectorize, by_anyone=True),
    Replaced(objects.Concatenator, "__getitem__", _of_key, objects.joined, by_anyone=True),
    Replaced(objects.Concatenator.__module__, "array", _of_arrays, objects.array_of_part, by_anyone=True),
]


#: Functions whose results a traced function may write computed values to, even where all that they are given is known
_MAKING = (
    "array asarray asanyarray ascontiguousarray copy arange linspace logspace geomspace eye identity tri "
    "tril triu diag diagflat vander tile repeat meshgrid indices zeros_like ones_like empty_like "
    "full_like fromiter fromfunction concatenate stack vstack hstack block outer reshape hanning hamming "
    "blackman bartlett kaiser where pad broadcast_to"
).split()


def _of_anything(*args: Any, **kwargs: Any) -> bool:
    return True


def _making(name: str) -> Replaced:
    original = getattr(np, name)
    original = getattr(original, "replaces", original)

    def make(*args: Any, **kwargs: Any) -> Any:
        if original in TABLE and _holds_array([args, tuple(kwargs.values())]):
            return dispatch.array_function(original, args, kwargs)
        return _written_to(original(*args, **kwargs))

    return Replaced("numpy", name, _of_anything, make)


def _written_to(made: Any) -> Any:
    """What NumPy has made of what is known, as Arrays, to which traced values can be written."""
    if isinstance(made, (list, tuple)):
        return type(made)(map(_written_to, made))
    is_ours = type(made) is np.ndarray and made.dtype.kind in "biuf"
    return _sharing.with_memory(as_array(made.copy())) if is_ours else made


def _made_by_method(name: str) -> Replaced:
    """A method of ndarrays whose result can be written to."""
    return Replaced(
        np.ndarray,
        name,
        _of_anything,
        lambda x, *args, **kwargs: _written_to(getattr(x, name)(*args, **kwargs)),
    )


_MAKING_ARRAYS = frozenset(
    ("zeros", "empty", "ones", "full", "array", "asarray", "asanyarray")
)  # never scalars


@functools.lru_cache(maxsize=1)
def _taking_lists() -> list[Replaced]:
    """All other functions, for lists of Arrays. NumPy does not ask Arrays that are inside lists; so these are replaced, too, but only
    for functions that turned out to need it, since others may ask whether something is np.mean. And functions that make arrays of what
    is known, which are ndarrays for functions that do not write computed values to them."""
    always = {one.name for one in _REPLACED} | set(_MAKING)
    making = [*map(_making, _MAKING), _made_by_method("copy")]
    return making + [
        Replaced(module.__name__, name, _of_lists)
        for module in (np, np.linalg)
        for name, function in vars(module).items()
        if callable(function) and name not in always and TABLE.get(function) is not None
    ]


#: Those methods of a ufunc that take arrays
UFUNC_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")


def takes_lists(name: str) -> bool:
    return name in UFUNC_METHODS or any(one.name == name for one in _taking_lists())


#: What is replaced in one module or class, and the replacements that were made, by id of the original
_Names = list[tuple[Replaced, dict[int, Any]]]


class _Replacing:
    """Functions that are replaced while at least one thread traces."""

    def __init__(self, functions: Callable[[], list[Replaced]]) -> None:
        self._functions = functions
        self._traces = 0
        self._before: list[
            tuple[Any, str, Any]
        ] = []  # owner, or the variables of a module; name; what it was

    @functools.cached_property
    def _names(self) -> list[tuple[str | type, _Names]]:
        """By owner."""
        names: dict[str | type, _Names] = {}
        for one in self._functions():
            names.setdefault(one.owner, []).append((one, {}))
        return list(names.items())

    def _loaded(self) -> Iterator[tuple[Any, _Names]]:
        """The classes, and the variables of those modules that are loaded, or that another thread is loading."""
        for owner, names in self._names:
            if type(owner) is not str:
                yield owner, names
            elif (module := sys.modules.get(owner)) is not None:
                yield module.__dict__, names

    def prepare(self) -> None:
        """Makes what replaces the functions that are there, so that the first trace finds it."""
        for owner, names in self._loaded():
            for one, made in names:
                original = owner.get(one.name) if type(owner) is dict else getattr(owner, one.name)
                if original is not None:
                    made[id(original)] = _replacement(one, original)

    def start(self) -> None:
        self._traces += 1
        if self._traces > 1:
            return
        for owner, names in self._loaded():
            is_module = type(owner) is dict
            for one, made in names:
                name = one.name
                original = owner.get(name) if is_module else getattr(owner, name)
                if original is None:
                    continue
                known = made.get(id(original))
                if known is None:
                    known = made[id(original)] = _replacement(one, original)
                self._before.append((owner, name, original))
                if is_module:
                    owner[name] = known
                else:
                    _set(owner, name, known)

    def stop(self) -> None:
        self._traces -= 1
        if self._traces == 0:
            self.put_back()

    def put_back(self) -> None:
        self._traces = 0
        for owner, name, original in reversed(self._before):
            if type(owner) is dict:
                owner[name] = original
            else:
                _set(owner, name, original)
        self._before.clear()


def _set(owner: Any, name: str, value: Any) -> None:
    if owner is np.ndarray:
        _native.set_ndarray_method(name, value)
    else:
        setattr(owner, name, value)


_lock = threading.Lock()
_always, _for_lists = _Replacing(lambda: _REPLACED), _Replacing(_taking_lists)


class _Imported:
    """Names of the user's modules (`from numpy import zeros`) that stand for what is replaced while at least one thread traces."""

    def __init__(self) -> None:
        self._traces: dict[tuple[int, str], int] = {}
        self._before: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}

    def start(self, names: list[tuple[dict[str, Any], str]]) -> None:
        for variables, name in names:
            place = (id(variables), name)
            self._traces[place] = self._traces.get(place, 0) + 1
            self._before.setdefault(place, (variables, variables.get(name)))
            self._follow_numpy(place)

    def stop(self, names: list[tuple[dict[str, Any], str]]) -> None:
        for variables, name in names:
            place = (id(variables), name)
            self._traces[place] = self._traces.get(place, 1) - 1
            if self._traces[place] <= 0:
                self._put_back(place)
            else:
                self._follow_numpy(place)

    def put_back(self) -> None:
        for place in list(self._before):
            self._put_back(place)

    def _follow_numpy(self, place: tuple[int, str]) -> None:
        variables, original = self._before[place]
        original = getattr(original, "replaces", original)
        now = getattr(np, getattr(original, "__name__", ""), None)
        if isinstance(now, _Replacement) and now.replaces is original:
            variables[place[1]] = now

    def _put_back(self, place: tuple[int, str]) -> None:
        self._traces.pop(place, None)
        variables, original = self._before.pop(place)
        if isinstance(variables.get(place[1]), _Replacement):
            variables[place[1]] = original


def _is_called_by(frame: Any, function: _Replacement) -> bool:
    """Whether the line that a frame is at calls the function by its name, or one that it was imported as, and is not a line of NumPy
    or this package."""
    if frame.f_globals.get("__name__", "").partition(".")[0] in ("tokamak", "numpy"):
        return False
    called = called_name(frame.f_code, frame.f_lasti)
    return called == function._one.name or (called is not None and frame.f_globals.get(called) is function)


@functools.lru_cache(maxsize=4096)
def called_name(code: CodeType, offset: int) -> str | None:
    """The last name of what the call at an offset calls: "zeros" for np.zeros(3). The names of a.b(c) begin where the call
    does, and what is called is loaded after all others that do. None where Python does not tell."""
    places = _places_in(code)
    if not 0 <= offset // 2 < len(places) or places[offset // 2][0] is None:
        return None
    line, end_line, column, end_column = places[offset // 2]
    for i in range(offset // 2 - 1, -1, -1):
        first, end, start, stop = places[i]
        if start == column and first == line and (end, stop) < (end_line, end_column):
            name = loaded_name(code, i)
            if name is not None:
                return name
    return None


@functools.lru_cache(maxsize=64)
def _places_in(code: CodeType) -> list[tuple[Any, Any, Any, Any]]:
    """By instruction: first and last line, first and last column."""
    return list(code.co_positions()) if sys.version_info >= (3, 11) else []


def is_store(code: CodeType, offset: int) -> bool:
    """Whether the instruction at an offset is that of y[...] = x."""
    return 0 <= offset < len(code.co_code) and dis.opname[code.co_code[offset]] == "STORE_SUBSCR"


def _make_for_arrays(original: Any, args: Any, kwargs: Any) -> Any:
    """What is done for Arrays; where there is an out=, by the way that writes to it."""
    if outs.has_out(original):
        return dispatch.array_function(original, args, kwargs)
    return TABLE[original](*args, **kwargs)


class _Replacement:
    # A function while a thread traces. All of them are made by the first trace, of which few are ever called: what they have of the
    # original is looked up when it is asked for.

    def __init__(self, one: Replaced, original: Any) -> None:
        self._one = one
        self.__wrapped__ = original
        self.__module__: Any = getattr(original, "__module__", None)  # that of the class would be found first
        self.replaces: Any = original.replaces if type(original) is _Replacement else original

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    __doc__ = property(lambda self: self.__wrapped__.__doc__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        one, original = self._one, self.__wrapped__
        if not _native.is_tracing():
            return original(*args, **kwargs)
        wanted = {key: value for key, value in kwargs.items() if key != "like"}
        if not (is_array(kwargs.get("like")) or one.is_ours(*args, **wanted)):
            return original(*args, **kwargs)
        caller = sys._getframe(1)
        is_users = one.by_anyone or (_is_called_by(caller, self) and not _is_memoised(caller))
        if not is_users:
            return original(*args, **kwargs)
        if one.make is None:
            made = _make_for_arrays(original, args, wanted)
        else:
            made = one.make(*args, **wanted)
        is_new = one.name in _MAKING_ARRAYS and is_array(made) and made.ndim == 0
        return _sharing.with_memory(made) if is_new else made

    def __instancecheck__(self, instance: Any) -> bool:
        """It may be a class that makes what it is called for."""
        return isinstance(instance, self.__wrapped__)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The function of a class is a method of its instances."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> str:
        return str(self.__wrapped__.__qualname__)  # it is pickled, and copied, by name


def _replacement(one: Replaced, original: Any) -> Any:
    """It holds the original, so that nothing else has its id."""
    if isinstance(original, np.ufunc):
        from .of_lists import OfLists  # few functions need it

        return OfLists(original)
    return _Replacement(one, original)


class _Memoised(threading.local):
    """The code of functions whose results functools.lru_cache keeps. They are given no traced values, which cannot be hashed; what they
    make is kept for callers outside of the traced function, too."""

    codes: frozenset[CodeType] = frozenset()


_memoised = _Memoised()


def _is_memoised(frame: Any) -> bool:
    while _memoised.codes and frame is not None:
        if frame.f_code in _memoised.codes:
            return True
        frame = frame.f_back
    return False


_imported = _Imported()
_always.prepare()
_native.set_replacing_type(_Replacement)


class recording:
    """Inside, arrays that the traced function makes are Arrays, to which traced values can be written; and, if that is asked for, all
    functions take lists of Arrays. `imported`: where the user's modules have functions of NumPy, by variables and name."""

    __slots__ = ("_before", "_memoised", "_names", "_parts")

    def __init__(
        self,
        of_lists: bool = False,
        memoised: frozenset[CodeType] = frozenset(),
        imported: list[tuple[dict[str, Any], str]] | None = None,
    ) -> None:
        self._names = imported or []
        self._memoised = memoised
        self._parts = (_always, _for_lists) if of_lists else (_always,)

    def __enter__(self) -> None:
        with _lock:
            for part in self._parts:
                part.start()
            _imported.start(self._names)
        self._before = _memoised.codes
        _memoised.codes = self._before | self._memoised

    def __exit__(self, *raised: object) -> None:
        _memoised.codes = self._before
        with _lock:
            for part in reversed(self._parts):
                part.stop()
            _imported.stop(self._names)


def _forget_other_threads() -> None:
    """In the child of a fork: threads that traced are not there any more."""
    global _lock
    _lock = threading.Lock()
    if not _native.is_tracing():
        _for_lists.put_back()
        _always.put_back()
        _imported.put_back()


os.register_at_fork(after_in_child=_forget_other_threads)
