"""While the command starts, Ctrl-C ends it at once: it has nothing to save yet, and half imported modules have nothing to tell."""

from __future__ import annotations

import os
import signal
import sys
import threading

__all__ = ["begin", "end"]

_is_begun = False


def _is_command() -> bool:
    """Whether this process is `tokamak ...` or `python -m tokamak ...`, and not a program that imports the package."""
    program = next(iter(getattr(sys, "argv", ())), "")  # an embedded Python may have none
    return os.path.basename(program) == "tokamak" or sys.orig_argv[1:3] == ["-m", "tokamak"]


def begin() -> None:
    global _is_begun
    is_ours = _is_command() and threading.current_thread() is threading.main_thread()
    if is_ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _is_begun = True


def end() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt again."""
    global _is_begun
    if _is_begun:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _is_begun = False
