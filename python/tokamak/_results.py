"""What a traced function gives back: results, arguments that it returns, and containers among its arguments that it changed."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator, Set
from typing import Any, NamedTuple

import numpy as np

from . import _native, _ops, _recipes, _sharing, _tree
from ._array import Array
from ._errors import UserTypeError, fail
from ._numpy import masked
from ._unknown import TRACED


class Plan(NamedTuple):
    """How the results of a program become what the function returned."""

    arrays: list[Array]  # to compute
    taken: list[int]  # for every result the argument that it is, or -1; empty when none is
    form: str
    build: Any


class Change(NamedTuple):
    """One part of a container that is an argument, or is inside one."""

    path: tuple[Any, ...]  # from (args, kwargs) to the container
    kind: str  # attribute, item, or items: all of a list
    key: Any


class Container:
    """Stands for a container that is an argument, where the function returns it or puts it somewhere."""

    __slots__ = ("path",)

    def __init__(self, path: tuple[Any, ...]) -> None:
        self.path = path


def plan(returned: Any, watch: Watch, arguments: list[Array]) -> Plan:
    changes = watch.changes()
    returned = watch.with_containers(returned)
    leaves: list[Any] = []
    structure = _tree.flatten(returned, leaves)
    results = len(leaves)
    is_applied = bool(changes) or Container in map(type, leaves)
    if is_applied:
        leaves = []
        everything = (returned, *(watch.with_containers(value) for _, value in changes))
        structure = _tree.flatten(everything, leaves)
    _check_texts(structure)
    arrays: list[Array] = []
    taken: list[int] = []
    after: list[Any] = []  # for every leaf: what makes it of its result; () for the value of a constant
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, masked.Masked):
            masked.refuse_returning(leaf)
        if not isinstance(leaf, (Array, np.ndarray, np.generic)):
            _check_constant(leaf)
            after.append(functools.partial(_constant, leaf))
            continue
        position, steps = _argument_that_is(leaf, arguments, is_kept=i >= results)
        taken.append(position)
        if position < 0:
            array = _ops.as_array(leaf)
            steps = () if array._weak is None else (_python_number,)
            if array.ndim == 0 and (_sharing.is_shared(array) or isinstance(leaf, np.ndarray)):
                steps = (_array_without_axes,)
            arrays.append(array if array._weak is None else _ops.strong(array, array.dtype))
        after.append(functools.partial(_follow, steps) if steps else None)
    if max(taken, default=-1) < 0:
        taken = []
    if not is_applied and not any(after):
        if structure == _tree.LEAF:
            return Plan(arrays, taken, "one", None)
        if isinstance(structure, tuple) and structure[0] in ("tuple", "list"):
            if all(part == _tree.LEAF for part in structure[1:]):
                return Plan(arrays, taken, structure[0], None)
    done = tuple(change for change, _ in changes) if is_applied else None
    return Plan(arrays, taken, "other", _builder(structure, tuple(after), done))


def _argument_that_is(leaf: Any, arguments: list[Array], is_kept: bool) -> tuple[int, tuple[Any, ...]]:
    """An argument that was written to is returned as itself, and views of it as views; others are copied, unless they are put
    into a container, where they are kept."""
    for i, argument in enumerate(arguments):
        if leaf is argument and (is_kept or _sharing.was_written(argument)):
            return (i, ()) if _sharing.is_shared(argument) else (-1, ())
        if isinstance(leaf, Array) and _sharing.was_written(argument) and leaf.ndim > 0:
            steps = _sharing.steps_between(argument, leaf)
            if steps is not None:
                return i, tuple(steps)
    return -1, ()


def _check_texts(structure: Any) -> None:
    if isinstance(structure, _tree.Static):
        structure = structure.value
    if isinstance(structure, str) and TRACED in structure:
        fail(
            UserTypeError,
            f"a jitted function cannot return the text of values that are not known while it is traced ({structure!r}); return the "
            "values, and make text of them outside",
        )
    if isinstance(structure, tuple):
        for part in structure:
            _check_texts(part)


def _check_constant(leaf: Any) -> None:
    """What is no array is the same in every call. That does not do for what can be used once, or holds arrays in its own way."""
    kind = type(leaf).__name__
    if isinstance(leaf, Iterator):
        fail(
            UserTypeError,
            f"a jitted function cannot return a {kind}, which can be read only once; return a list",
        )
    if isinstance(leaf, (Set, deque)) and any(isinstance(item, Array) for item in leaf):
        fail(UserTypeError, f"a jitted function cannot return arrays in a {kind}; return a list")


def _python_number(result: Any) -> Any:
    """What is computed of Python's numbers is one of them."""
    return result.item() if isinstance(result, np.generic) else result


def _array_without_axes(result: Any) -> Any:
    """What NumPy has as an array, not as a scalar."""
    if isinstance(result, Array):
        return _sharing.with_memory(result)
    return np.asarray(result)


def _constant(value: Any) -> Any:
    return value


def _follow(steps: tuple[Any, ...], array: Any) -> Any:
    for step in steps:
        array = step(array)
    return array


def _builder(structure: Any, after: tuple[Any, ...], changes: tuple[Change, ...] | None) -> Any:
    """What makes everything of the list of results: native code, where it can."""
    try:
        made = _recipes.describe(structure, map(_recipe_of, after))
    except _recipes.Unclear:
        return functools.partial(_build, structure, after, changes)
    if changes is not None:
        result, *values = made[3]
        parts = (result, _recipes.leaf("constant", changes), ("tuple", None, (), values))
        made = ("named", Changed, (), parts)
    return _native.Recipe(made)


def _recipe_of(step: Any) -> _recipes.Part:
    """See `_make`."""
    if step is None:
        return _recipes.leaf("result")
    if step.func is _constant:
        return _recipes.leaf("constant", step())
    return _recipes.leaf("number") if step.args == ((_python_number,),) else _recipes.leaf("call", step)


def _build(
    structure: Any, after: tuple[Any, ...], changes: tuple[Change, ...] | None, results: list[Any]
) -> Any:
    computed = iter(results)
    everything = _tree.unflatten(structure, (_make(step, computed) for step in after))
    return everything if changes is None else Changed(everything[0], changes, everything[1:])


def _make(step: Any, computed: Iterator[Any]) -> Any:
    if step is None:
        return next(computed)
    return step() if step.func is _constant else step(next(computed))


class Changed(NamedTuple):
    """A result, and what has to be done to the containers of the call."""

    result: Any
    changes: tuple[Change, ...]
    values: tuple[Any, ...]

    def apply(self, args: Any, kwargs: Any) -> Any:
        call = (args, kwargs)
        containers = [_at(call, change.path) for change in self.changes]
        values = [_resolved(value, call) for value in self.values]
        result = _resolved(self.result, call)
        for container, change, value in zip(containers, self.changes, values, strict=True):
            _set(container, change, value)
        return result


def _at(call: Any, path: tuple[Any, ...]) -> Any:
    for kind, key in path:
        call = getattr(call, key) if kind == "attribute" else call[key]
    return call


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Nested tuples, lists and dicts, with what is inside them replaced."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind(function(one) for one in value)
    if kind is dict:
        return {key: function(one) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return kind(*(function(one) for one in value))
    return value


def _resolved(value: Any, call: Any) -> Any:
    if type(value) is Container:
        return _at(call, value.path)
    return _mapped(value, lambda one: _resolved(one, call))


def _set(container: Any, change: Change, value: Any) -> None:
    if change.kind == "items":
        container[:] = value
    elif change.kind == "removed attribute":
        delattr(container, change.key)
    elif change.kind == "removed item":
        del container[change.key]
    elif change.kind == "attribute":
        setattr(container, change.key, value)
    else:
        container[change.key] = value


def _order_after(before: dict[Any, Any], now: dict[Any, Any]) -> list[Any]:
    """The keys of a dict in their order, if each was set at most once: one that is removed and set again comes last."""
    return [key for key in before if key in now] + [key for key in now if key not in before]


class Watch:
    """The containers that were made for a trace, and what they held before the function ran."""

    def __init__(self, structure: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        self._held: list[tuple[tuple[Any, ...], Any, Any]] = []
        for i, (part, value) in enumerate(zip(structure[0][1:], args, strict=True)):
            self._add((("item", 0), ("item", i)), part, value)
        for part, name in zip(structure[1][2:], structure[1][1], strict=True):
            self._add((("item", 1), ("item", name)), part, kwargs[name])

    def _add(self, path: tuple[Any, ...], structure: Any, value: Any) -> None:
        kind = structure[0] if isinstance(structure, tuple) else None
        parts: list[tuple[str, Any, Any, Any]] = []
        if kind in ("dict", "dicts"):
            self._held.append((path, value, dict(value)))
            inner = structure[2:] if kind == "dict" else structure[4:]
            parts = [("item", key, part, value[key]) for key, part in zip(value, inner, strict=True)]
        elif kind == "list":
            self._held.append((path, value, list(value)))
            parts = [("item", i, part, value[i]) for i, part in enumerate(structure[1:])]
        elif kind in ("tuple", "named"):
            inner = structure[1:] if kind == "tuple" else structure[2:]
            parts = [("item", i, part, value[i]) for i, part in enumerate(inner)]
        elif kind == "object":
            held = _tree.attributes_of(value)
            self._held.append((path, value, held))
            parts = [("attribute", name, part, held[name]) for name, part in structure[2]]
        elif kind == "partial":
            _, function, (_, *args), (_, names, *named) = structure
            self._add((*path, ("attribute", "func")), function, value.func)
            for i, part in enumerate(args):
                self._add((*path, ("attribute", "args"), ("item", i)), part, value.args[i])
            for name, part in zip(names, named, strict=True):
                self._add((*path, ("attribute", "keywords"), ("item", name)), part, value.keywords[name])
        for step, key, part, item in parts:
            self._add((*path, (step, key)), part, item)

    def with_containers(self, value: Any) -> Any:
        """`value` with stand-ins for the containers that were made for the trace."""
        for path, container, _ in self._held:
            if container is value:
                return Container(path)
        return _mapped(value, self.with_containers)

    def changes(self) -> list[tuple[Change, Any]]:
        found: list[tuple[Change, Any]] = []
        for path, container, before in self._held:
            if type(container) is list:
                if len(container) != len(before) or any(
                    a is not b for a, b in zip(container, before, strict=True)
                ):
                    found.append((Change(path, "items", None), list(container)))
                continue
            if isinstance(container, dict) and list(container) != _order_after(before, container):
                found += [(Change(path, "removed item", key), None) for key in before]
                found += [(Change(path, "item", key), value) for key, value in container.items()]
                continue
            kind = "item" if isinstance(container, dict) else "attribute"
            now = container if kind == "item" else _tree.attributes_of(container)
            for key in before.keys() - now.keys():
                found.append((Change(path, f"removed {kind}", key), None))
            for key, value in now.items():
                if key not in before or value is not before[key]:
                    found.append((Change(path, kind, key), value))
        return found
