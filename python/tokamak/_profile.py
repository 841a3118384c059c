"""What ran when: `with tk.profile() as p: ...; p.save("trace.json")`."""

# NumPy's functions take and give anything; the types are checked where they run.
# mypy: no-warn-return-any

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from . import _native
from ._errors import UserValueError, fail

__all__ = ["Profile", "profile"]


class Profile:
    """The kernels, compilations and allocations of the whole process while a `profile()` block ran."""

    def __init__(self) -> None:
        self._recorded: Any = None

    def _result(self) -> Any:
        if self._recorded is None:
            fail(UserValueError, "the profile is there when its `with` block has ended")
        return self._recorded

    @property
    def events(self) -> list[Any]:
        """By start; each has name, category, thread, start_ns, end_ns, bytes_read, bytes_written and flops."""
        return self._result().events

    @property
    def duration_ns(self) -> int:
        return self._result().duration_ns

    def save(self, path: str | PathLike[str]) -> None:
        """Writes JSON that chrome://tracing and ui.perfetto.dev open."""
        Path(path).write_text(self._result().to_chrome_trace())

    def __str__(self) -> str:
        times: dict[str, tuple[int, int]] = {}
        for event in self.events:
            count, total = times.get(event.name, (0, 0))
            times[event.name] = (count + 1, total + event.end_ns - event.start_ns)
        rows = sorted(times.items(), key=lambda row: -row[1][1])
        return "\n".join(f"{total / 1e6:10.3f} ms  {count:6d} x  {name}" for name, (count, total) in rows)


@contextlib.contextmanager
def profile() -> Iterator[Profile]:
    """Records what runs inside the block, on all threads."""
    session = _native.ProfileSession()
    result = Profile()
    try:
        yield result
    finally:
        result._recorded = session.finish()
