"""tokamak.jit: what happens around the hot path.

The object that `jit` returns is `_native.JitCallable`. It serves calls whose arguments it has seen by itself; this
module does the rest: it traces the function the first time, and keeps one table of programs for every structure of arguments
and every set of static values. _arguments takes calls apart, _tracer traces, _results puts results together, _captured sees to it
that what programs took from elsewhere is still so, and _numbers knows which numbers programs are compiled for.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from . import _arguments, _forms, _native, _numbers, _reasons, _results, _tracer
from ._arguments import Call
from ._array import Array
from ._errors import UserError, UserTypeError, UserValueError, fail
from ._format import printable

if TYPE_CHECKING:
    from ._explanation import Explanation

__all__ = ["CacheInfo", "Jitted", "jit"]

P = ParamSpec("P")
R = TypeVar("R")

_MAX_HOT_STATICS = 63
_MOST_ATTEMPTS = 8


class CacheInfo(NamedTuple):
    """How the programs of a jitted function are doing."""

    hits: int  # calls that found a program
    misses: int  # programs that were compiled
    programs: int  # those that are kept
    reasons: tuple[str, ...] = ()  # why each program was compiled, the last 256


class Options(NamedTuple):
    fuse: bool
    optimize: bool
    fast_math: bool
    donate_argnums: tuple[int, ...]
    static_argnums: tuple[int, ...]
    static_argnames: frozenset[str]
    max_programs: int


class _WritesToOneOfTwo(Exception):
    """A function that writes to arrays has been given one twice: its arguments have to be taken apart with that in mind."""


def _has_one_twice(leaves: list[Any]) -> bool:
    arrays = [id(leaf) for leaf in leaves if isinstance(leaf, (np.ndarray, Array))]
    return len(set(arrays)) < len(arrays)


class JitCore:
    """The Python side of one jitted function."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.options = options
        self.name = _name_of(function)
        self.hot_table = _native.CallTable(options.max_programs)
        self.arguments = _arguments.Arguments(
            function, self.name, options.static_argnums, options.static_argnames
        )
        self.arguments.donates = bool(options.donate_argnums)
        self.forms = _forms.Forms(options.max_programs)
        home = _home_of(function)
        self._tables: dict[Any, Any] = {}
        self._compiling: dict[Any, threading.RLock] = {}
        self._lock = threading.Lock()
        self._history = _reasons.History(self.name)
        self._tracer = _tracer.Tracer(function, self.name, self.arguments, home)
        self._misses = 0
        self._changes_arguments = False  # some program writes to them, or takes their memory
        _cores.add(self)

    @property
    def static_mask(self) -> int:
        return sum(1 << i for i in self.arguments.static_positions if i <= _MAX_HOT_STATICS)

    # -- What users call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._call(args, kwargs)
        except _WritesToOneOfTwo:
            self.arguments.writes = True
            return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = self.arguments.take_apart(args, kwargs)
        as_arrays = Array in map(type, call.leaves)
        if as_arrays and _arguments.is_traced(call):
            return self.function(*args, **kwargs)  # inside another jitted function: it becomes part of that
        table = self._table_for(call)
        result = table.call(call.leaves, as_arrays)
        if result is NotImplemented and _native.is_tracing() and self._tracer.reached(call).is_traced:
            return self.function(*args, **kwargs)  # inside the function whose values it captures
        if result is NotImplemented:
            result = self._compile_until(table, call, lambda: table.call(call.leaves, as_arrays))
        self.forms.remember(call, table)
        if type(result) is _results.Changed:
            return result.apply(args, kwargs)
        return result

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What the function compiles to for these arguments: kernels, code, memory. Does not run it."""
        try:
            return self._explain(args, kwargs)
        except _WritesToOneOfTwo:
            self.arguments.writes = True
            return self._explain(args, kwargs)

    def _explain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Explanation:
        call = self.arguments.take_apart(args, kwargs)
        if _arguments.is_traced(call):
            fail(UserTypeError, f"{self.name}: explain takes arrays; call it outside the jitted function")
        table = self._table_for(call)
        found = _or_not_implemented(table.explanation(call.leaves))
        if found is NotImplemented:
            from ._progress import Progress

            with Progress(f"compiling {self.name}"):
                found = self._compile_until(
                    table, call, lambda: _or_not_implemented(table.explanation(call.leaves))
                )
        else:
            table.hits -= 1
        from ._explanation import Explanation  # when it is asked for: importing the package shall be quick
        from ._measure import Runner

        return Explanation(found, self.name, Runner(table, call.leaves, self._changes_arguments))

    def cache_info(self) -> CacheInfo:
        """How often a program was found, how often one had to be compiled, how many there are, and why each was compiled."""
        tables = self._all_tables()
        return CacheInfo(
            sum(table.hits for table in tables),
            self._misses,
            sum(len(table) for table in list(self._tables.values())),
            tuple(self._history.reasons),
        )

    def clear_cache(self) -> None:
        """Forgets all compiled programs."""
        for table in self._all_tables():
            table.clear()
        self.forms.clear()

    def set_name(self, owner: type, name: str) -> None:
        self.arguments.is_method = True

    def reduce(self, jitted: Any) -> Any:
        """How the jitted function is pickled: by name where that leads to it, as functions are; else with the function inside."""
        name = getattr(self.function, "__qualname__", None)
        found: Any = sys.modules.get(getattr(self.function, "__module__", None) or "")
        for part in name.split(".") if name else ():
            found = getattr(found, part, None)
        return name if name and found is jitted else (_jit_again, (self.function, self.options))

    def __repr__(self) -> str:
        return f"<jitted {getattr(self.function, '__qualname__', self.name)}>"

    # -- Tables of programs

    def _table_for(self, call: Call) -> Any:
        key = self.arguments.key(call)
        try:
            table = self._tables.get(key)
        except TypeError:
            self.arguments.explain_unhashable(call)
            raise
        if table is None:
            with self._lock:
                own = (
                    self.hot_table
                    if call.hot and not call.statics
                    else _native.CallTable(self.options.max_programs)
                )
                table = self._tables.setdefault(key, own)
                while len(self._tables) > self.options.max_programs:  # those seen first
                    self.forms.forget(self._tables.pop(next(iter(self._tables))))
        return table

    def _all_tables(self) -> list[Any]:
        tables = {id(table): table for table in list(self._tables.values())}
        tables[id(self.hot_table)] = self.hot_table
        return list(tables.values())

    # -- Compiling

    def _compile_until(self, table: Any, call: Call, attempt: Callable[[], Any]) -> Any:
        """Compiles until there is a program that holds: other threads may change what the function captures meanwhile."""
        for _ in range(_MOST_ATTEMPTS):
            self._compile(table, call)
            result = attempt()
            if result is not NotImplemented:
                table.hits -= 1
                return result
        fail(UserError, f"{self.name}: what it captures changes all the time; pass it as an argument")

    def _compile(self, table: Any, call: Call) -> None:
        """Adds the program for this call to the table. One thread compiles; others that want the same wait for it. Starts again
        when it turns out that numbers have to be known: then it may be for others to wait."""
        leaf_key = self.arguments.leaf_key(call)
        names = self.arguments.leaf_names(call)
        done = False
        while not done:
            known = self._tracer.numbers.known(names, call.leaves)
            key = (id(table), leaf_key, known.key)
            with self._lock:
                turn = self._compiling.setdefault(key, threading.RLock())
            try:
                with turn:
                    if self._tracer.numbers.known(names, call.leaves).positions != known.positions:
                        continue
                    done = True
                    if table.explanation(call.leaves) is None:
                        self._trace_and_compile(table, call, leaf_key, names)
                    else:
                        table.hits -= 1
            except _numbers.NumbersNeeded as needed:
                self._tracer.give(needed, names, call.leaves)
                done = False
            finally:
                with self._lock:
                    self._compiling.pop(key, None)

    def _trace_and_compile(self, table: Any, call: Call, leaf_key: Any, names: list[str]) -> None:
        donated = self.arguments.donated_leaves(call, set(self.options.donate_argnums))
        start = _native.profile_clock_ns()
        traced = self._tracer.trace(call, names)
        tracing = (_native.profile_clock_ns() - start) / 1e6
        if _native.profiling():
            _native.record_compiling(f"trace {printable(self.name)}", start)
        self._changes_arguments = self._changes_arguments or bool(donated or traced.written)
        if traced.written and not call.distinct and _has_one_twice(call.leaves):
            if self.arguments.donates:
                fail(
                    UserValueError,
                    f"{self.name}: it writes to an array that is given twice, beside one that is donated; pass a copy of one of them",
                )
            raise _WritesToOneOfTwo
        self._misses += 1
        self._tell_why(call, leaf_key, names, traced)
        hot = self.hot_table if call.hot and table is not self.hot_table else None
        guards = traced.captured.guards if traced.captured.names else None
        table.compile(
            hot,
            call.leaves,
            traced.graph,
            self.options.fuse,
            self.options.optimize,
            self.options.fast_math,
            donated,
            traced.written,
            traced.plan.taken,
            traced.plan.form,
            traced.plan.build,
            [value for _, value in call.statics] if call.statics else [],
            guards,
            traced.known.positions,
            traced.orders,
            tracing,
            printable(self.name),
        )

    def _tell_why(self, call: Call, leaf_key: Any, names: list[str], traced: _tracer.Traced) -> None:
        """Notes why a program is compiled; attributes that turn out to change become arguments."""
        statics = self.arguments.static_values(call)
        key = (self.arguments.key(call), leaf_key, traced.known.key)
        changed = self._history.add(
            _reasons.record(key, names, call.leaves, statics, traced.known.values, traced.captured),
            call.leaves,
            self._tracer.numbers.compiled_for(traced.known),
        )
        for name in changed:
            self.arguments.note_change(name, dict(statics).get(name))


_cores: weakref.WeakSet[JitCore] = weakref.WeakSet()


def _forget_other_threads() -> None:
    """In the child of a fork: threads that compiled are not there any more."""
    for core in list(_cores):
        core._lock = threading.Lock()
        core._compiling = {}


os.register_at_fork(after_in_child=_forget_other_threads)


def _or_not_implemented(found: Any) -> Any:
    return NotImplemented if found is None else found


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return printable(str(getattr(function, "__name__", None) or type(function).__name__))


def _home_of(function: Any) -> str | None:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__module__", None)


def _jit_again(function: Callable[..., Any], options: Options) -> Any:
    return jit(function, **options._asdict())


def _positions(name: str, given: Any) -> tuple[int, ...]:
    numbers = (given,) if isinstance(given, int) else tuple(given)
    if any(not isinstance(i, int) or i < 0 for i in numbers):
        fail(UserValueError, f"jit: {name} takes positions that are not negative, not {given!r}")
    return numbers


class Jitted(Protocol[P, R]):
    """What `jit` returns: the function, compiled. It is called as the function is, and is a method where that would be; the function
    itself is `__wrapped__`."""

    # In fact a `_native.JitCallable` over a `JitCore`, whose docstrings its methods have.

    __wrapped__: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., R]: ...
    def explain(self, *args: Any, **kwargs: Any) -> Explanation: ...
    def cache_info(self) -> CacheInfo: ...
    def clear_cache(self) -> None: ...


@overload
def jit(
    function: Callable[P, R],
    /,
    *,
    fuse: bool = ...,
    optimize: bool = ...,
    fast_math: bool = ...,
    donate_argnums: int | Sequence[int] = ...,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    max_programs: int = ...,
) -> Jitted[P, R]: ...
@overload
def jit(
    *,
    fuse: bool = ...,
    optimize: bool = ...,
    fast_math: bool = ...,
    donate_argnums: int | Sequence[int] = ...,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    max_programs: int = ...,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    fuse: bool = True,
    optimize: bool = True,
    fast_math: bool = False,
    donate_argnums: int | Sequence[int] = (),
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    max_programs: int = 64,
) -> Any:
    """Compiles a function that is written with NumPy.

    The function is traced once for every combination of dtypes, shapes, layouts and static values of its
    arguments. Arguments are arrays, numbers, and tuples, lists, dicts, dataclasses and objects of them; numbers adopt
    the dtype of the arrays they meet, as in NumPy, and other values of them need no new program, unless the function
    needs to know them: as a size, a number of turns, a condition. Text, functions, types and the like are part of the
    program. What the function reads from elsewhere is looked at in every call: where it has changed, the function is
    traced anew. Works as a decorator, with or without options:

    - `fuse=False` makes one kernel of every operation.
    - `optimize=False` leaves the recorded operations as they are, dead and repeated ones included, and runs one kernel after the other.
    - `fast_math=True` lets `a * b + c` be rounded once.
    - `donate_argnums`: positions of arguments whose memory results may take over. They are gone after the call.
    - `static_argnums`, `static_argnames`: arguments that are part of the program. They have to be hashable.
    - `max_programs`: how many programs are kept of each kind of call.
    """
    if function is None:
        return functools.partial(
            jit,
            fuse=fuse,
            optimize=optimize,
            fast_math=fast_math,
            donate_argnums=donate_argnums,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            max_programs=max_programs,
        )
    if isinstance(function, _native.JitCallable):
        function = function.__wrapped__
    if not callable(function) and not isinstance(function, classmethod):
        fail(UserTypeError, f"jit takes a function, not a {type(function).__name__}")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        fail(
            UserTypeError,
            f"jit takes functions that return arrays; {_name_of(function)} is a generator or coroutine",
        )
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    options = Options(
        fuse,
        optimize,
        fast_math,
        _positions("donate_argnums", donate_argnums),
        _positions("static_argnums", static_argnums),
        frozenset(names),
        max_programs,
    )
    if isinstance(function, (staticmethod, classmethod)):  # below it in a class, as if it were above
        return type(function)(_jit_again(function.__func__, options))
    core = JitCore(function, options)
    return functools.update_wrapper(
        _native.JitCallable(core, core.hot_table, core.forms.native, core.static_mask), function
    )
