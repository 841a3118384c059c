"""What ran when: `with tk.profile() as p: ...; p.save("trace.json")`."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _endings, _native
from ._errors import UserError, UserOSError, UserValueError, fail
from ._format import printable
from ._native import ProfileEvent

# What only pages and comparisons need is imported where they are made: importing tokamak stays quick.
if TYPE_CHECKING:
    from ._compare import Comparison

__all__ = ["Profile", "ProfileEvent", "ProfileTotal", "compare", "load_profile", "profile"]

# Pages with more would be slow to open.
_MOST_ON_A_PAGE = 200_000
_MOST_IN_A_TITLE = 3


@dataclass(frozen=True)
class ProfileTotal:
    """All events of one name and category together."""

    name: str
    category: str
    count: int
    ns: int  # of all of them
    bytes_read: int
    bytes_written: int
    flops: float


class Profile:
    """The calls, kernels, compilations and allocations of the whole process while a `profile()` block ran."""

    def __init__(self, recorded: _native.Profile | None = None, problem: str | None = None) -> None:
        self._recorded = recorded
        self._problem = problem
        self._events: list[ProfileEvent] | None = None
        self._unsaved: Exception | None = None  # why it could not be, where its block has raised something else

    def _result(self) -> _native.Profile:
        if self._recorded is None:
            fail(UserValueError, "the profile is there when its `with` block has ended")
        return self._recorded

    @property
    def events(self) -> list[ProfileEvent]:
        """By start; each has name, category (kernel, library, call, compile, allocation or worker), thread, start_ns, end_ns,
        bytes_read, bytes_written and flops."""
        if self._events is None:  # there may be millions: they are made once
            self._events = self._result().events
        return list(self._events)

    @property
    def kernels(self) -> list[ProfileEvent]:
        """The events of kernels, those around products and sorts included."""
        return [event for event in self.events if event.category in ("kernel", "library")]

    @property
    def threads(self) -> list[str]:
        """The names of the threads, by the number that events have."""
        return self._result().threads

    @property
    def duration_ns(self) -> int:
        """From the start of the block to its end."""
        return self._result().duration_ns

    @property
    def dropped(self) -> int:
        """Events that were not kept, since their thread had a million already."""
        return self._result().dropped

    @property
    def problem(self) -> str | None:
        """What is missing of a profile that was loaded from a file; None when it is whole."""
        return self._problem

    def totals(self) -> list[ProfileTotal]:
        """Events of the same name and category together, the longest first."""
        sums: dict[tuple[str, str], list[Any]] = {}
        for event in self.events:
            row = sums.setdefault((event.name, event.category), [0, 0, 0, 0, 0.0])
            row[0] += 1
            row[1] += event.end_ns - event.start_ns
            row[2] += event.bytes_read
            row[3] += event.bytes_written
            row[4] += event.flops
        rows = [ProfileTotal(name, category, *row) for (name, category), row in sums.items()]
        return sorted(rows, key=lambda row: -row.ns)

    def save(self, path: str | PathLike[str]) -> None:
        """A name that ends in .html gets a page with the flame graph and the timeline; one that ends in .json what
        chrome://tracing and ui.perfetto.dev open."""
        from . import _pages
        from ._progress import Progress

        _endings.check(path, _endings.PAGE_OR_TRACE, "a profile")
        with Progress(f"writing {path}"):
            if _endings.is_page(path):
                _pages.write(path, self._page())
            else:
                _pages.write(path, self._result().to_chrome_trace())

    def to_dict(self) -> dict[str, Any]:
        """What the page is made from. Of very many events the longest, in the order of their starts."""
        names: dict[str, int] = {}
        categories: dict[str, int] = {}
        events = self.events
        if len(events) > _MOST_ON_A_PAGE:
            longest = sorted(events, key=lambda event: event.start_ns - event.end_ns)[:_MOST_ON_A_PAGE]
            events = sorted(longest, key=lambda event: event.start_ns)
        rows = [
            [
                names.setdefault(event.name, len(names)),
                categories.setdefault(event.category, len(categories)),
                event.thread,
                event.start_ns,
                event.end_ns - event.start_ns,
                event.bytes_read,
                event.bytes_written,
                event.flops,
            ]
            for event in events
        ]
        return {
            "names": list(names),
            "categories": list(categories),
            "threads": self.threads,
            "events": rows,
            "left_out": len(self.events) - len(rows),
            "dropped": self.dropped,
            "duration_ns": self.duration_ns,
            "problem": self.problem,
        }

    def _title(self) -> str:
        """What ran, by name: the programs that took longest."""
        called = list(dict.fromkeys(row.name for row in self.totals() if row.category == "call"))
        if not called:
            return "Profile"
        shown = called if len(called) <= _MOST_IN_A_TITLE else called[: _MOST_IN_A_TITLE - 1]
        left = [f"{len(called) - len(shown)} more"] if len(shown) < len(called) else []
        *first, last = shown + left
        return f"Profile of {', '.join(first)} and {last}" if first else f"Profile of {last}"

    def _page(self) -> str:
        from . import _pages

        title = self._title()
        data = {"kind": "profile", "title": title, "runs": [{"label": "", **self.to_dict()}]}
        return _pages.page(
            title, data, scripts=["chart.js", "profile.js"], styles=["profile.css"], text=str(self)
        )

    def __str__(self) -> str:
        from . import _format

        if not self.events:
            return self.problem or "nothing was recorded: no program of Tokamak's ran or was compiled"
        lines = [
            f"{'time':>10}  {'calls':>6}  {'traffic':>9}  {'memory':>9}  {'arithmetic':>13}  {'':10}  name"
        ]
        for row in self.totals():
            traffic = row.bytes_read + row.bytes_written
            runs = row.category in ("kernel", "library")
            memory, arithmetic = (
                _format.rate_text(amount / max(row.ns, 1) * 1e9, unit) if runs and amount else ""
                for amount, unit in ((traffic, "B"), (row.flops, "FLOP"))
            )
            lines.append(
                f"{_format.time_text(row.ns / 1e9):>10}  {row.count:6d}  {_format.bytes_text(traffic) if traffic else '':>9}  "
                f"{memory:>9}  {arithmetic:>13}  {row.category:10}  {row.name}"
            )
        if self.dropped:
            lines.append(f"{self.dropped} more events were not kept")
        if self.problem:
            lines.append(self.problem)
        return "\n".join(lines)


@contextlib.contextmanager
def profile(path: str | PathLike[str] | None = None) -> Iterator[Profile]:
    """Records what runs inside the block, on all threads.

    With a path, events are written to it while they happen, so that a run that is killed leaves what it had done until then, for
    `load_profile`. For a path that ends in .html they go to a file beside it, `PATH.part`, until the block ends and the page is written.
    What an earlier run has left there stays until there is something to write, and for good if the block raises before that.
    """
    if path is None:
        session, result = _native.ProfileSession(), Profile()
        try:
            yield result
        finally:
            result._recorded = session.finish()
        return
    with written_meanwhile(path) as result:
        yield result


@contextlib.contextmanager
def written_meanwhile(path: str | PathLike[str], *, keeps_for_nothing: bool = False) -> Iterator[Profile]:
    """`profile` with a path. What an earlier run has left there stays where nothing was recorded: also for a block that raises nothing,
    if it `keeps_for_nothing`."""
    _endings.check(path, _endings.PAGE_OR_TRACE, "a profile")
    recording = _Recording(os.fsdecode(path))
    try:
        yield recording.result
    except BaseException as error:
        try:
            recording.end(keeps_for_nothing=True)
        except Exception as second:  # the first one is what the user needs to know
            recording.result._unsaved = second
            _note(error, f"its profile could not be saved: {_without_line(second)}")
            for note in getattr(second, "__notes__", ()):
                _note(error, note)
        raise
    recording.end(keeps_for_nothing=keeps_for_nothing)


class _Recording:
    """What is written to a file while it is recorded. In the child of a fork it ends without a trace: the file is its parent's."""

    def __init__(self, name: str) -> None:
        self.result = Profile()
        self._name = name
        self._is_page = _endings.is_page(name)
        self._stream = f"{name}.part" if self._is_page else name
        self._had_stream = os.path.exists(self._stream)
        self._process = os.getpid()
        self._session = _native.ProfileSession()
        with _as_os_error():
            self._writer = _native.ProfileWriter(self._session, os.fsencode(self._stream))

    def end(self, *, keeps_for_nothing: bool) -> None:
        try:
            with _as_os_error():
                if keeps_for_nothing:
                    self._writer.close_after_failure()
                else:
                    self._writer.close()
        finally:
            self.result._recorded = self._session.finish()
        if not self._is_page or os.getpid() != self._process:
            return
        is_for_nothing = keeps_for_nothing and not self.result.events and os.path.exists(self._name)
        if not is_for_nothing:
            _save_or_tell(self.result, self._name, self._stream)
        if not is_for_nothing or not self._had_stream:
            with contextlib.suppress(OSError):
                os.unlink(self._stream)


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        fail(UserOSError, _without_line(error))


def _without_line(error: Exception) -> str:
    return str(error).partition("\n  at ")[0]


def _note(error: BaseException, text: str) -> None:
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(text)
    else:
        warnings.warn(text, stacklevel=2)


def _save_or_tell(result: Profile, name: str, stream: str) -> None:
    """Makes the page; an error says where the events are all the same."""
    try:
        result.save(name)
    except BaseException as error:
        _note(error, f"what was recorded is in {_shown(stream)}, which tk.load_profile reads")
        raise


def _shown(path: str | PathLike[str]) -> str:
    return printable(os.fsdecode(path))


def load_profile(path: str | PathLike[str]) -> Profile:
    """A profile that was saved as JSON. Of a file that ends early, as that of a run that was killed does, it has what could be read;
    `problem` then says what is missing, and so does a warning."""
    from . import _trace_file
    from ._progress import Progress

    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        fail(UserError, f"cannot read {_shown(path)}: {error.strerror}")
    except ValueError:
        fail(UserValueError, f"{_shown(path)} is no name that a file could have")
    try:
        with Progress(f"reading {path}"):
            read = _trace_file.read(text, _shown(path))
    except ValueError as error:
        fail(UserValueError, f"{_shown(path)} is no trace of Tokamak: {error}")
    if read.problem is not None:
        warnings.warn(read.problem, stacklevel=2)
    return Profile(read.profile, read.problem)


def compare(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Comparison:
    """Runs the function one kernel per operation, as it was recorded, and compiled; in turns, and shows the fastest run of each.

    Arguments that the function writes to are copied for every run: the caller's stay as they are.
    """
    from . import _compare

    return _compare.compare(f, args, kwargs)
