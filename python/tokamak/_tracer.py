"""Tracing a function: from a call to the graph of what the function does with its arguments.

It may take more than one attempt. A function that needs to know a number, or passes lists of arrays to NumPy, is traced again with
that given to it; one that fills a cache at its first use, too.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import (
    _arguments,
    _captured,
    _native,
    _numbers,
    _parts,
    _random,
    _reasons,
    _results,
    _sharing,
    _unknown,
)
from ._arguments import Call
from ._array import Array
from ._errors import Error, UserError, fail
from ._numpy import while_tracing
from ._type_of import replacing_type

_MOST_ATTEMPTS = 8


class Traced(NamedTuple):
    graph: _native.Graph
    orders: list[list[int]]  # of the axes of its outputs in memory
    written: list[_parts.Written]
    plan: _results.Plan
    captured: _captured.Captured
    known: _numbers.Known


class Tracer:
    """Traces one function."""

    def __init__(
        self, function: Callable[..., Any], name: str, arguments: _arguments.Arguments, home: str | None
    ) -> None:
        self.numbers = _numbers.Numbers(name)
        self._function = function
        self._name = name
        self._arguments = arguments
        self._home = home  # the module of the function
        self._is_ours = (home or "").partition(".")[0] == "tokamak"  # captures nothing that changes
        self._takes_lists = False  # whether it calls NumPy's functions with lists of Arrays

    def give(self, needed: _numbers.NumbersNeeded, names: list[str], leaves: list[Any]) -> None:
        """What a trace asked for is given to the next ones."""
        self.numbers.need(needed.uses, names, leaves)
        self._takes_lists = self._takes_lists or needed.lists

    def trace(self, call: Call, names: list[str]) -> Traced:
        """Traces the function with the numbers that it is known to need. Raises NumbersNeeded when there are more."""
        try:
            return self._trace_or_find(call, names)
        except Error as error:
            if error.ours:
                _unknown.note(error)  # a function that is traced around this one may catch it
            raise

    def _trace_or_find(self, call: Call, names: list[str]) -> Traced:
        try:
            return self._trace_settled(call, names, self.numbers.known(names, call.leaves))
        except _numbers.NumbersNeeded:
            raise
        except Exception:
            unknown = self.numbers.unknown(names, call.leaves)
            if not unknown:
                raise
        return self._trace_finding(call, names, unknown)

    def _trace_finding(self, call: Call, names: list[str], unknown: list[str]) -> Traced:
        """Traces a function that has failed with numbers that are only computed with. Where it works with numbers that are known
        (it may have asked for their types), those that it needs are found by leaving out one after the other."""
        needed: dict[str, Any] = dict.fromkeys(unknown)
        traced = self._trace_settled(call, names, self.numbers.known(names, call.leaves, needed))
        for name in unknown if len(unknown) <= _MOST_ATTEMPTS else ():
            fewer = {other: None for other in needed if other != name}
            try:
                traced = self._trace_settled(call, names, self.numbers.known(names, call.leaves, fewer))
            except Exception:
                continue
            needed = fewer
        self.numbers.need(needed, names, call.leaves)
        return traced

    def _trace_settled(self, call: Call, names: list[str], known: _numbers.Known) -> Traced:
        """Traces the function. One that changes what it captures is traced once more: if it has filled a cache, or made something
        at its first use, it does not do that again. With other threads there may be others who change it, or draw numbers."""
        changed = ""
        drawn: _random.DrawnMeanwhile | None = None
        is_alone = threading.active_count() == 1
        for attempt in range(2 if is_alone else _MOST_ATTEMPTS):
            try:
                with _random.undisturbed if attempt > 0 else contextlib.nullcontext():
                    traced = self._trace(call, names, known)
            except _random.DrawnMeanwhile as drawn_now:
                drawn = drawn_now
                if is_alone:
                    break
                continue
            drawn = None
            changed = traced.captured.changed() or ""
            if not changed:
                return traced
        if drawn is not None:
            raise drawn.refusal
        fail(
            UserError,
            f"{self._name}: it changes {_reasons.quoted(changed)}, which is not one of its arguments: that would happen only while the "
            "function is traced, not in every call; pass it as an argument, or return the new value",
        )

    def reached(self, call: Call) -> _captured.Captured:
        if self._is_ours:
            return _captured.Captured()
        statics = self._arguments.static_values(call)
        captured = _captured.captured_by([(self._name, self._function), *statics], self._home)
        captured.refuse_iterators(self._name)
        return captured

    def _trace(self, call: Call, names: list[str], known: _numbers.Known) -> Traced:
        captured = self.reached(call)
        trace = _native.Trace(_arguments.identifier(self._name))
        try:
            parameters = _arguments.identifiers(names)
            values = list(map(trace.parameter, parameters, call.leaves))
            for value, leaf in zip(values, call.leaves, strict=True):
                if isinstance(leaf, (np.ndarray, Array)):
                    strides = [stride // leaf.itemsize for stride in leaf.strides]
                    _sharing.give_memory(value, strides, _parts.Parts(value.shape, strides))
            given = list(values)
            for i in known.positions:
                given[i] = call.leaves[i]
            numbers = frozenset(
                i for i, leaf in enumerate(call.leaves) if given[i] is values[i] and _numbers.is_number(leaf)
            )
            package = (self._home or "").partition(".")[0] or None
            asked = _unknown.Asked(trace, values, names, numbers, self._takes_lists, package)
            with _unknown.asking(asked):
                returned, watch = self._run_asked(call, given, captured, asked)
            plan = _results.plan(returned, watch, values)
            written, elements = _parts.written(values, trace)
            lying = list(map(_sharing.given_strides_of, plan.arrays))
            for argument, part, _ in written:
                lying.append(_parts.strides_of(values[argument], part))
            graph, orders = trace.finish(plan.arrays + elements, lying)
        finally:
            trace.abandon()
            if not _native.is_tracing():
                captured.as_numpy_would_leave()
        del returned, watch, values, given, asked  # what only they hold cannot change
        if not self._is_ours:
            captured.add_owners(trace.captured())
        return Traced(graph, orders, written, plan._replace(arrays=[]), captured, known)

    def _run_asked(
        self, call: Call, values: list[Any], captured: _captured.Captured, asked: _unknown.Asked
    ) -> tuple[Any, _results.Watch]:
        """Runs the function, and raises NumbersNeeded when it has asked for some, even if it made something else of the error. So
        are errors raised that it has met only because it is traced: without jit it would not have gone on as it did."""
        try:
            result = self._run_traced(call, values, captured)
        except Exception as error:
            if not asked.needed and not asked.needs_lists:
                refused = None if isinstance(error, Error) else _unknown.hidden(asked)
                if refused is not None:
                    raise refused from error
                raise
        if asked.needed or asked.needs_lists:
            raise _numbers.NumbersNeeded(asked.needed, asked.needs_lists)
        refused = _unknown.caught_by_user(asked)
        if refused is not None:
            refused.args = (
                f"{refused.args[0]}\n  (caught by the function, which would not meet it without jit)",
            )
            raise refused
        return result

    def _run_traced(
        self, call: Call, values: list[Any], captured: _captured.Captured
    ) -> tuple[Any, _results.Watch]:
        args, kwargs = _arguments.put_together(call, values)
        watch = _results.Watch(call.structure, args, kwargs)
        for name, value in call.statics:
            if isinstance(name, str):
                kwargs[name] = value
        drawn = _random.states(captured.generators)
        try:
            with (
                while_tracing.recording(self._takes_lists, captured.memoised, captured.imported),
                replacing_type(captured.asking_types),
            ):
                returned = self._function(*args, **kwargs)
        except ValueError as error:
            if isinstance(error.__cause__, Error):  # NumPy hides it: y[0] = x says "setting an array element"
                raise error.__cause__ from None
            raise
        if _random.are_loaded_since(drawn):
            raise _numbers.NumbersNeeded({})  # but will be after another trace
        if _random.is_drawn(drawn):
            run_again = functools.partial(self._function, *args, **kwargs)
            raise _random.DrawnMeanwhile(_random.refusal(self._name, captured.generators, run_again))
        return returned, watch
