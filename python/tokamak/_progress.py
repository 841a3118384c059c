"""Says on the standard error what is being done, when that takes long and somebody is looking."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import ClassVar

from ._terminal import is_terminal, width_of

__all__ = ["Progress"]

_BEFORE_THE_FIRST = 0.4  # seconds
_BETWEEN = 0.1
_TURNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Progress:
    """with Progress("compiling f") as progress: ...; progress.say("timing f, round 3 of 9")

    A line that is overwritten and gone in the end; on a terminal only. Inside another, it changes what that one says.
    """

    _outermost: ClassVar[Progress | None] = None

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._shown_by: Progress = self
        self._said_before = ""
        self._shown = 0  # characters

    def say(self, doing: str) -> None:
        self._shown_by._doing = doing

    def __enter__(self) -> Progress:
        outer = Progress._outermost
        if outer is not None:
            self._shown_by, self._said_before = outer, outer._doing
            outer._doing = self._doing
        elif is_terminal(sys.stderr):
            Progress._outermost = self
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._shown_by is not self:
            self._shown_by._doing = self._said_before
        if self._thread is not None:
            Progress._outermost = None
            self._over.set()
            self._thread.join()

    def _show(self) -> None:
        start = time.monotonic()
        if self._over.wait(_BEFORE_THE_FIRST):
            return
        turn = 0
        while not self._over.wait(_BETWEEN):
            mark = _TURNS[turn % len(_TURNS)]
            self._write(f"{mark} {self._doing} ({time.monotonic() - start:.0f} s)")
            turn += 1
        self._write("")

    def _write(self, line: str) -> None:
        """In the place of the line before. One that went on in the next could not be taken away again."""
        stream = sys.stderr
        if is_terminal(stream):  # which what is being done may have closed
            most = width_of(stream) - 1
            line = line if len(line) <= most else line[: most - 1] + "…"
            # Spaces take the line before away on any terminal, also on one that knows no escape sequences.
            stream.write("\r" + line.ljust(self._shown) + ("" if line else "\r"))
            stream.flush()
            self._shown = len(line)
