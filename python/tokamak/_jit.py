"""tokamak.jit: what happens around the hot path.

The object that `jit` returns is `_native.JitCallable`. It serves calls whose arguments it has seen by itself; this
module does the rest: it takes containers apart, traces the function the first time, and keeps one table of programs
for every structure of arguments and every set of static values.
"""

from __future__ import annotations

import functools
import inspect
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from . import _dtypes, _logging, _native, _ops, _random, _sharing, _tree
from ._array import Array
from ._errors import Error, UserError, UserTypeError, UserValueError, fail
from ._numpy import masked, while_tracing

__all__ = ["CacheInfo", "Jitted", "jit"]

P = ParamSpec("P")
R = TypeVar("R")

_MAX_HOT_STATICS = 63


class CacheInfo(NamedTuple):
    hits: int
    misses: int
    programs: int


class Options(NamedTuple):
    fuse: bool
    fast_math: bool
    donate_argnums: tuple[int, ...]
    static_argnums: tuple[int, ...]
    static_argnames: frozenset[str]
    max_programs: int


class Call(NamedTuple):
    """A call, taken apart."""

    leaves: list[Any]
    structure: Any  # of (arguments that are not static, keywords)
    statics: tuple[tuple[Any, Any], ...]  # (position or name, value)
    hot: bool  # whether calls like this can take the hot path
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _is_leaf(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, Array))


def _identity(value: Any) -> Any:
    """A static value as part of a key: 1, 1.0 and True are different programs, and so are 0.0 and -0.0, however deep."""
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, complex):
        return type(value), value.real.hex(), value.imag.hex()
    if isinstance(value, tuple):
        return type(value), tuple(_identity(one) for one in value)
    return type(value), value


class JitCore:
    """The Python side of one jitted function."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.options = options
        self.name = getattr(function, "__name__", type(function).__name__)
        self.hot_table = _native.CallTable(options.max_programs)
        self._parameters = _parameter_names(function)
        self._static_names = options.static_argnames | {
            self._parameters[i] for i in options.static_argnums if i < len(self._parameters)
        }
        self._static_positions = set(options.static_argnums) | {
            i for i, name in enumerate(self._parameters) if name in options.static_argnames
        }
        self._tables: dict[Any, Any] = {}
        self._compiling: dict[Any, threading.RLock] = {}
        self._lock = threading.Lock()
        self._misses = 0
        self._is_method = False

    @property
    def static_mask(self) -> int:
        return sum(1 << i for i in self._static_positions if i <= _MAX_HOT_STATICS)

    # -- What users call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._take_apart(args, kwargs)
        if _is_traced(call.leaves):
            return self.function(*args, **kwargs)  # inside another jitted function: it becomes part of that
        as_arrays = any(type(leaf) is Array for leaf in call.leaves)
        table = self._table_for(call)
        result = table.call(call.leaves, as_arrays)
        if result is NotImplemented:
            self._compile(table, call)
            result = table.call(call.leaves, as_arrays)
            table.hits -= 1
        return result

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """What the function compiles to for these arguments: kernels, code, memory. Does not run it."""
        call = self._take_apart(args, kwargs)
        if _is_traced(call.leaves):
            fail(UserTypeError, f"{self.name}: explain takes arrays; call it outside the jitted function")
        table = self._table_for(call)
        found = table.explanation(call.leaves)
        if found is None:
            self._compile(table, call)
            found = table.explanation(call.leaves)
        table.hits -= 1
        return found

    def cache_info(self) -> CacheInfo:
        """How often a program was found, how often one had to be compiled, and how many there are."""
        tables = self._all_tables()
        return CacheInfo(
            sum(table.hits for table in tables),
            self._misses,
            sum(len(table) for table in self._tables.values()),
        )

    def clear_cache(self) -> None:
        """Forgets all compiled programs."""
        for table in self._all_tables():
            table.clear()

    def set_name(self, owner: type, name: str) -> None:
        self._is_method = True

    def __repr__(self) -> str:
        return f"<jitted {getattr(self.function, '__qualname__', self.name)}>"

    # -- Taking a call apart

    def _take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        leaves: list[Any] = []
        statics: list[tuple[Any, Any]] = []
        parts: list[Any] = []
        flat = True
        for i, value in enumerate(args):
            if i in self._static_positions:
                statics.append((i, value))
                parts.append(_STATIC_PART)
                continue
            if i == 0 and self._is_method and not _is_leaf(value):
                part = self._take_instance(value, leaves)
            else:
                part = _tree.flatten(value, leaves)
            flat = flat and part is _tree.LEAF
            parts.append(part)
        names = [name for name in kwargs if name not in self._static_names]
        if kwargs:
            statics += [(name, kwargs[name]) for name in sorted(kwargs) if name in self._static_names]
            names.sort()
        structure = (
            ("tuple", *parts),
            ("dict", tuple(names), *[_tree.flatten(kwargs[name], leaves) for name in names]),
        )
        return Call(leaves, structure, tuple(statics), flat and not kwargs, args, kwargs)

    def _take_instance(self, instance: Any, leaves: list[Any]) -> Any:
        if not hasattr(instance, "__dict__"):
            return _tree.flatten(instance, leaves)
        return _tree.flatten_instance(instance, leaves, _is_leaf)

    def _table_for(self, call: Call) -> Any:
        try:
            key = (call.structure, tuple((where, _identity(value)) for where, value in call.statics))
            table = self._tables.get(key)
        except TypeError:
            for where, value in call.statics:
                _check_hashable(self.name, where, value)
            raise
        if table is None:
            with self._lock:
                own = (
                    self.hot_table
                    if call.hot and not call.statics
                    else _native.CallTable(self.options.max_programs)
                )
                table = self._tables.setdefault(key, own)
                while (
                    len(self._tables) > self.options.max_programs
                ):  # the structures and static values seen first
                    self._tables.pop(next(iter(self._tables)))
        return table

    def _all_tables(self) -> list[Any]:
        tables = {id(table): table for table in self._tables.values()}
        tables[id(self.hot_table)] = self.hot_table
        return list(tables.values())

    # -- Compiling

    def _compile(self, table: Any, call: Call) -> None:
        """Adds the program for this call to the table. One thread compiles; others that want the same wait for it."""
        key = (id(table), self._leaf_key(call))
        with self._lock:
            turn = self._compiling.setdefault(key, threading.RLock())
        try:
            with turn:
                if table.explanation(call.leaves) is None:
                    self._trace_and_compile(table, call)
                else:
                    table.hits -= 1
        finally:
            with self._lock:
                self._compiling.pop(key, None)

    def _leaf_key(self, call: Call) -> Any:
        key = _native.key_of(call.leaves)
        if isinstance(key, int) and _dtypes.know_bfloat16() is not None:
            key = _native.key_of(call.leaves)
        if isinstance(key, int):
            names = self._leaf_names(call)
            _refuse(self.name, names[key] if key < len(names) else str(key), call.leaves[key])
        return key

    def _leaf_names(self, call: Call) -> list[str]:
        names: list[str] = []
        for i, part in enumerate(call.structure[0][1:]):
            known = self._parameters[i] if i < len(self._parameters) else f"arg{i}"
            names += _tree.paths(part, known)
        for name, part in zip(call.structure[1][1], call.structure[1][2:], strict=True):
            names += _tree.paths(part, name)
        return names

    def _trace_and_compile(self, table: Any, call: Call) -> None:
        self._misses += 1
        if _logging.is_open("recompiles"):
            types = ", ".join(_type_text(leaf) for leaf in call.leaves)
            _logging.log("recompiles", f"{self.name}: program {self._misses}, for ({types})")
        donated = self._donated_leaves(call)
        trace = _native.Trace(_identifier(self.name))
        try:
            parameters = _unique([_identifier(name) for name in self._leaf_names(call)])
            values = [trace.parameter(name, leaf) for name, leaf in zip(parameters, call.leaves, strict=True)]
            for value, leaf in zip(values, call.leaves, strict=True):
                if isinstance(leaf, (np.ndarray, Array)):
                    _sharing.give_memory(value, [stride // leaf.itemsize for stride in leaf.strides])
            returned = self._run_traced(call, values)
            outputs: list[Any] = []
            structure = _tree.flatten(returned, outputs)
            arrays, form, build = _output_plan(self.name, structure, outputs)
            written = [i for i, value in enumerate(values) if _sharing.was_written(value)]
            graph = trace.finish(arrays + [values[i] for i in written])
        finally:
            trace.abandon()
        hot = self.hot_table if call.hot and table is not self.hot_table else None
        table.compile(
            hot,
            call.leaves,
            graph,
            self.options.fuse,
            self.options.fast_math,
            donated,
            written,
            form,
            build,
            [value for _, value in call.statics],
        )

    def _run_traced(self, call: Call, values: list[Any]) -> Any:
        leaves = iter(values)
        statics = dict(call.statics)
        args = [
            statics[i] if part == _STATIC_PART else _tree.unflatten(part, leaves)
            for i, part in enumerate(call.structure[0][1:])
        ]
        before = dict(vars(args[0])) if args and self._is_object(call) else None
        kwargs = _tree.unflatten(call.structure[1], leaves)
        kwargs.update({name: value for name, value in call.statics if isinstance(name, str)})
        drawn = _random.states(self.function)
        try:
            with while_tracing.recording():
                returned = self.function(*args, **kwargs)
        except ValueError as error:
            if isinstance(error.__cause__, Error):  # NumPy hides it: y[0] = x says "setting an array element"
                raise error.__cause__ from None
            raise
        _random.check_unchanged(self.name, drawn)
        if before is not None:
            _check_unchanged(self.name, args[0], before)
        return returned

    def _is_object(self, call: Call) -> bool:
        first = call.structure[0][1] if len(call.structure[0]) > 1 else None
        return isinstance(first, tuple) and first[0] == "object"

    def _donated_leaves(self, call: Call) -> list[int]:
        wanted = set(self.options.donate_argnums)
        donated: list[int] = []
        position = 0
        for i, part in enumerate(call.structure[0][1:]):
            count = sum(1 for _ in _tree.paths(part, ""))
            if i in wanted:
                donated += range(position, position + count)
            position += count
        if wanted and max(wanted) >= len(call.args):
            fail(
                UserValueError,
                f"{self.name}: donate_argnums names argument {max(wanted)} of {len(call.args)}",
            )
        return donated


_STATIC_PART = ("static",)


def _is_traced(leaves: list[Any]) -> bool:
    return any(type(leaf) is Array and leaf._traced for leaf in leaves)


def _parameter_names(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _identifier(name: str) -> str:
    """A name that text IR takes."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return name if name and not name[0].isdigit() else f"_{name}"


def _unique(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        unique.append(name if count == 0 else f"{name}_{count}_")
    return unique


def _type_text(leaf: Any) -> str:
    if isinstance(leaf, (np.ndarray, np.generic, Array)):
        return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
    return type(leaf).__name__


def _check_hashable(name: str, where: Any, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        fail(
            UserValueError,
            f"{name}: the static argument {where!r} is a {type(value).__name__}, which cannot be hashed; "
            "static arguments choose the program, so pass a number, a string or a tuple",
        )


def _refuse(name: str, argument: str, value: Any) -> None:
    if isinstance(value, int):
        fail(UserValueError, f"{name}: argument {argument} is an integer beyond 64 bits")
    if isinstance(value, np.ndarray):
        if type(value) is not np.ndarray:
            _ops.plain_ndarray(value)
        if not value.dtype.isnative:
            fail(UserTypeError, f"{name}: argument {argument} is not in native byte order; use astype first")
        _dtypes.check(value.dtype)
    fail(
        UserTypeError,
        f"{name}: argument {argument} is a {type(value).__name__}, not an array or a number; pass an array, or name "
        "it in static_argnums or static_argnames if it is part of the program",
    )


def _check_unchanged(name: str, instance: Any, before: dict[str, Any]) -> None:
    after = vars(instance)
    for attribute in before.keys() | after.keys():
        if after.get(attribute) is not before.get(attribute):
            fail(
                UserError,
                f"{name}: the method sets self.{attribute}, which would happen only once, while it is traced; "
                "return the new value instead",
            )


def _output_plan(name: str, structure: Any, leaves: list[Any]) -> tuple[list[Array], str, Any]:
    """The arrays among what the function returned, and how the rest goes around them."""
    arrays = []
    fixed: list[Any] = []  # per leaf: (True, value) when it is no array
    for leaf in leaves:
        if isinstance(leaf, masked.Masked):
            masked.refuse("returning x[mask]")
        if isinstance(leaf, (Array, np.ndarray, np.generic)):
            array = _ops.as_array(leaf)
            arrays.append(array if array._weak is None else _ops.strong(array, array.dtype))
            fixed.append(None)
        else:
            fixed.append((leaf,))
    if all(value is None for value in fixed):
        if structure == _tree.LEAF:
            return arrays, "one", None
        if isinstance(structure, tuple) and all(part == _tree.LEAF for part in structure[1:]):
            if structure[0] in ("tuple", "list"):
                return arrays, structure[0], None
    return arrays, "other", functools.partial(_build, structure, tuple(fixed))


def _build(structure: Any, fixed: tuple[Any, ...], results: list[Any]) -> Any:
    computed = iter(results)
    leaves = (next(computed) if value is None else value[0] for value in fixed)
    return _tree.unflatten(structure, leaves)


def _numbers(name: str, given: Any) -> tuple[int, ...]:
    numbers = (given,) if isinstance(given, int) else tuple(given)
    if any(not isinstance(i, int) or i < 0 for i in numbers):
        fail(UserValueError, f"jit: {name} takes positions that are not negative, not {given!r}")
    return numbers


class Jitted(Protocol[P, R]):
    """What `jit` returns: the function, compiled. In fact a `_native.JitCallable` over a `JitCore`."""

    __wrapped__: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., R]: ...
    def explain(self, *args: Any, **kwargs: Any) -> _native.Explanation: ...
    def cache_info(self) -> CacheInfo: ...
    def clear_cache(self) -> None: ...


@overload
def jit(
    function: Callable[P, R],
    /,
    *,
    fuse: bool = ...,
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
    fast_math: bool = False,
    donate_argnums: int | Sequence[int] = (),
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    max_programs: int = 64,
) -> Any:
    """Compiles a function that is written with NumPy.

    The function is traced once for every combination of dtypes, shapes, layouts and static values of its
    arguments. Arguments are arrays, numbers, and nested tuples, lists and dicts of them; numbers adopt the dtype of
    the arrays they meet, as in NumPy, and other values of them need no new program.

    fuse=False makes one kernel of every operation; fast_math=True lets a*b+c be rounded once;
    donate_argnums are arguments whose memory results may take over; static_argnums and static_argnames are arguments
    that are part of the program. Works as a decorator, with or without options.
    """
    if function is None:
        return functools.partial(
            jit,
            fuse=fuse,
            fast_math=fast_math,
            donate_argnums=donate_argnums,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            max_programs=max_programs,
        )
    if isinstance(function, _native.JitCallable):
        function = function.__wrapped__
    if not callable(function):
        fail(UserTypeError, f"jit takes a function, not a {type(function).__name__}")
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    options = Options(
        fuse,
        fast_math,
        _numbers("donate_argnums", donate_argnums),
        _numbers("static_argnums", static_argnums),
        frozenset(names),
        max_programs,
    )
    core = JitCore(function, options)
    return functools.update_wrapper(_native.JitCallable(core, core.hot_table, core.static_mask), function)
