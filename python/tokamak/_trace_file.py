"""Traces as files: reading them, also when their end is missing."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import _native
from ._format import plural, printable

__all__ = ["Read", "read"]

_LARGEST = 2.0**52  # of the numbers in a trace; times are in microseconds


class Read(NamedTuple):
    profile: _native.Profile
    problem: str | None


def read(text: str, name: str) -> Read:
    """The profile in the text of a trace: of one that is cut off or damaged what can be read, and `problem` says what cannot. Raises
    ValueError when it is no trace."""
    problems = []
    text = text.removeprefix("\ufeff")  # which editors write before it
    try:
        document = _json(text)
    except json.JSONDecodeError:
        lines = _complete_lines(text)
        if not lines.entries:
            raise ValueError("it has no complete event") from None
        document = {**lines.head, "traceEvents": lines.entries}
        problems.append(_what_is_missing(lines, name))
    if isinstance(document, dict):
        entries, about = document.get("traceEvents"), document.get("otherData")
        about = about if isinstance(about, dict) else {}
    else:
        entries, about = document, {}
    if not isinstance(entries, list):
        raise ValueError("it has no list of events")
    damage = _Damage()
    profile = _profile(entries, about, damage)
    if damage.first is not None:
        if not profile.events:
            raise ValueError(damage.first)
        problems.append(
            f"{name} is damaged: {damage.count} of its {len(entries)} entries could not be read, of the first of them {damage.first}"
        )
    return Read(profile, "; ".join(problems) or None)


class _Damage:
    """What could not be read of a trace."""

    count = 0
    first: str | None = None

    @contextlib.contextmanager
    def passed_over(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            self.count += 1
            self.first = self.first or str(error)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(value: Any, what: str) -> float:
    """One that a trace can have."""
    try:
        number = float(value)
    except (ValueError, TypeError, OverflowError):
        number = math.nan
    if not abs(number) <= _LARGEST:
        raise ValueError(f"{value!r:.40} is no {what}")
    return number


def _amount(value: Any, what: str) -> float:
    """A number that is not negative."""
    number = _number(value, what)
    if number < 0:
        raise ValueError(f"{value!r:.40} is no {what}")
    return number


class _Lines(NamedTuple):
    entries: list[Any]
    head: dict[str, Any]  # what else the trace says
    damaged: int  # lines between those that could be read
    rest: int  # characters at the end that were of no use
    is_whole: bool  # the end is there


def _complete_lines(text: str) -> _Lines:
    """The entries of a trace that is not whole: each is a line of its own."""
    entries: list[Any] = []
    head: dict[str, Any] = {}
    damaged = unread = 0
    rest = 0
    is_whole = False
    for line in text.splitlines(keepends=True):
        stripped = line.strip().rstrip(",")
        is_whole = stripped == ("]}" if head else "]") or (is_whole and not stripped)
        if is_whole or stripped in ("", "["):
            continue
        value = _value_of(stripped if stripped.startswith('{"ph"') else f"{stripped}]}}")
        if value is None:
            unread += 1
            rest += len(line)
        elif stripped.startswith('{"ph"'):
            entries.append(value)
            damaged += unread
            unread = rest = 0
        else:
            head = value
    return _Lines(entries, head, damaged + (unread if is_whole else 0), 0 if is_whole else rest, is_whole)


def _value_of(line: str) -> dict[str, Any] | None:
    try:
        value = _json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _what_is_missing(lines: _Lines, name: str) -> str:
    found = f"{plural(len(lines.entries), 'complete entry', 'complete entries')} could be read"
    damaged = f"{plural(lines.damaged, 'line')} among them could not"
    if lines.is_whole:
        return f"{name} is damaged. {found}; {damaged}"
    unread = [f"; the last {lines.rest} bytes could not"] if lines.rest else []
    unread += [f"; {damaged}"] if lines.damaged else []
    return f"{name} ends early: its run was killed, or the file was cut off. {found}{''.join(unread)}"


def _profile(entries: list[Any], about: dict[str, Any], damage: _Damage) -> _native.Profile:
    names: dict[int, str] = {}
    happened = []
    for entry in entries:
        with damage.passed_over():
            if not isinstance(entry, dict):
                raise ValueError("it has no list of events")
            if entry.get("ph") == "M" and entry.get("name") == "thread_name":
                names[_thread(entry)] = _text(_about(entry).get("name"))
            elif entry.get("ph") == "M" and entry.get("name") == "recording":
                about = {**about, **_about(entry)}  # of a list of events; the last one counts
            elif entry.get("ph") == "X":
                happened.append((_thread(entry), _event(entry)))
    threads = sorted({*names, *(thread for thread, _ in happened)})
    numbers = {thread: i for i, thread in enumerate(threads)}
    events = [_native.ProfileEvent(**event, thread=numbers[thread]) for thread, event in happened]
    events.sort(key=lambda event: event.start_ns)
    duration, dropped = max((event.end_ns for event in events), default=0), 0
    with damage.passed_over():
        duration = max(duration, int(_amount(about.get("duration_ns", 0), "duration")))
        dropped = int(_amount(about.get("dropped_events", 0), "number of events"))
    threads_by_number = [names.get(thread, f"thread {thread}") for thread in threads]
    return _native.Profile(events, threads_by_number, duration, dropped)


def _thread(entry: dict[str, Any]) -> int:
    return int(_number(entry.get("tid", 0), "thread"))


def _about(entry: dict[str, Any]) -> dict[str, Any]:
    about = entry.get("args") or {}
    return about if isinstance(about, dict) else {}


def _text(value: Any) -> str:
    return printable(str(value))


def _event(entry: dict[str, Any]) -> dict[str, Any]:
    """What an event is made of, but for its thread."""
    if not {"name", "ts", "dur"} <= entry.keys():
        raise ValueError("it has an event without name, start or duration")
    start = round(_number(entry["ts"], "time") * 1000)
    about = _about(entry)
    return {
        "name": _text(entry["name"]),
        "category": _text(entry.get("cat", "")),
        "start_ns": start,
        "end_ns": start + round(_amount(entry["dur"], "duration") * 1000),
        "bytes_read": int(_amount(about.get("bytes_read", 0), "number of bytes")),
        "bytes_written": int(_amount(about.get("bytes_written", 0), "number of bytes")),
        "flops": _amount(about.get("flops", 0), "number of operations"),
    }
