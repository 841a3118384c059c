"""Traces as files: reading them, also when their end is missing."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import _native

__all__ = ["Read", "read"]


class Read(NamedTuple):
    profile: _native.Profile
    problem: str | None


def read(text: str, name: str) -> Read:
    """The profile in the text of a trace. Raises ValueError when it is none."""
    problem = None
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        document, rest = _complete_lines(text)
        if not document:
            raise ValueError("it has no complete event") from None
        problem = (
            f"{name} ends early: its run was killed, or the file was cut off. "
            f"{len(document)} complete entries could be read; the last {rest} bytes could not"
        )
    if isinstance(document, dict):
        entries, about = document.get("traceEvents"), document.get("otherData") or {}
    else:
        entries, about = document, {}
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("it has no list of events")
    return Read(_profile(entries, about), problem)


def _complete_lines(text: str) -> tuple[list[Any], int]:
    """The entries of a trace whose end is missing: each is a line of its own. And how many characters were of no use."""
    entries = []
    used = 0
    for line in text.splitlines(keepends=True):
        stripped = line.strip().rstrip(",")
        if stripped.startswith('{"ph"'):
            try:
                entries.append(json.loads(stripped))
            except json.JSONDecodeError:
                break
        used += len(line)
    return entries, len(text) - used


def _profile(entries: list[dict[str, Any]], about: dict[str, Any]) -> _native.Profile:
    threads: dict[int, str] = {}
    events = []
    for entry in entries:
        if entry.get("ph") == "M" and entry.get("name") == "thread_name":
            threads[int(entry["tid"])] = str(entry["args"]["name"])
        elif entry.get("ph") == "X":
            if not {"name", "ts", "dur"} <= entry.keys():
                raise ValueError("it has an event without name, start or duration")
            events.append(_event(entry))
    events.sort(key=lambda event: event.start_ns)
    count = max([*threads, *(event.thread for event in events)], default=-1) + 1
    end = max((event.end_ns for event in events), default=0)
    return _native.Profile(
        events,
        [threads.get(i, f"thread {i}") for i in range(count)],
        int(about.get("duration_ns", end)),
        int(about.get("dropped_events", 0)),
    )


def _event(entry: dict[str, Any]) -> _native.ProfileEvent:
    start = round(float(entry["ts"]) * 1000)
    about = entry.get("args") or {}
    return _native.ProfileEvent(
        name=str(entry["name"]),
        category=str(entry.get("cat", "")),
        thread=int(entry.get("tid", 0)),
        start_ns=start,
        end_ns=start + round(float(entry["dur"]) * 1000),
        bytes_read=int(about.get("bytes_read", 0)),
        bytes_written=int(about.get("bytes_written", 0)),
        flops=float(about.get("flops", 0)),
    )
