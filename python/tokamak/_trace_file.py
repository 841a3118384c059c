"""Traces as files: reading them, also when their end is missing."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from . import _native
from ._format import printable

__all__ = ["Read", "read"]

_LARGEST = 2.0**52  # of the numbers in a trace; times are in microseconds


class Read(NamedTuple):
    profile: _native.Profile
    problem: str | None


def read(text: str, name: str) -> Read:
    """The profile in the text of a trace. Raises ValueError when it is none."""
    problem = None
    try:
        document = _json(text)
    except json.JSONDecodeError:
        document, rest = _complete_lines(text)
        if not document:
            raise ValueError("it has no complete event") from None
        unread = f"; the last {rest} bytes could not" if rest else ""
        problem = (
            f"{name} ends early: its run was killed, or the file was cut off. "
            f"{len(document)} complete entries could be read{unread}"
        )
    if isinstance(document, dict):
        entries, about = document.get("traceEvents"), document.get("otherData")
        about = about if isinstance(about, dict) else {}
    else:
        entries, about = document, {}
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("it has no list of events")
    return Read(_profile(entries, about), problem)


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


def _complete_lines(text: str) -> tuple[list[Any], int]:
    """The entries of a trace whose end is missing: each is a line of its own. And how many characters were of no use."""
    entries = []
    used = 0
    for line in text.splitlines(keepends=True):
        stripped = line.strip().rstrip(",")
        if stripped.startswith('{"ph"'):
            try:
                entries.append(_json(stripped))
            except json.JSONDecodeError:
                break
        used += len(line)
    return entries, len(text) - used


def _profile(entries: list[dict[str, Any]], about: dict[str, Any]) -> _native.Profile:
    names: dict[int, str] = {}
    happened = []
    for entry in entries:
        if entry.get("ph") == "M" and entry.get("name") == "thread_name":
            names[_thread(entry)] = _text(_about(entry).get("name"))
        elif entry.get("ph") == "X":
            if not {"name", "ts", "dur"} <= entry.keys():
                raise ValueError("it has an event without name, start or duration")
            happened.append(entry)
    threads = sorted({*names, *map(_thread, happened)})
    numbers = {thread: i for i, thread in enumerate(threads)}
    events = [_event(entry, numbers[_thread(entry)]) for entry in happened]
    events.sort(key=lambda event: event.start_ns)
    end = max((event.end_ns for event in events), default=0)
    return _native.Profile(
        events,
        [names.get(thread, f"thread {thread}") for thread in threads],
        int(_number(about.get("duration_ns", end), "duration")),
        int(_number(about.get("dropped_events", 0), "number of events")),
    )


def _thread(entry: dict[str, Any]) -> int:
    return int(_number(entry.get("tid", 0), "thread"))


def _about(entry: dict[str, Any]) -> dict[str, Any]:
    about = entry.get("args") or {}
    return about if isinstance(about, dict) else {}


def _text(value: Any) -> str:
    return printable(str(value))


def _event(entry: dict[str, Any], thread: int) -> _native.ProfileEvent:
    start = round(_number(entry["ts"], "time") * 1000)
    about = _about(entry)
    return _native.ProfileEvent(
        name=_text(entry["name"]),
        category=_text(entry.get("cat", "")),
        thread=thread,
        start_ns=start,
        end_ns=start + round(_number(entry["dur"], "time") * 1000),
        bytes_read=int(_number(about.get("bytes_read", 0), "number of bytes")),
        bytes_written=int(_number(about.get("bytes_written", 0), "number of bytes")),
        flops=_number(about.get("flops", 0), "number of operations"),
    )
