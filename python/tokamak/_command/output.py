"""What commands print and write."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from .. import _endings
from .failure import Failure, usage_error

__all__ = [
    "add_json",
    "add_output",
    "check_output",
    "flush",
    "give_up_what_cannot_be_written",
    "hold_standard_error",
    "print_json",
    "print_text",
    "printable",
    "restore_standard_error",
    "results_apart",
    "saving",
    "tell",
    "tell_written",
]


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_output(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=help)


def check_output(options: argparse.Namespace, endings: Sequence[str]) -> None:
    """Before the work is done: a page that cannot be written is known at once. Its path is made to lead there wherever a script goes."""
    path = options.output
    if path is None:
        return
    if path == "":
        raise usage_error("-o needs the name of a file")
    options.output = os.path.abspath(path)
    folder = os.path.dirname(options.output)
    source = str(options.target).rpartition(":")[0] or str(options.target)
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise Failure(f"{path} would be overwritten by what is made of it")
    if not os.path.isdir(folder):
        raise Failure(f"cannot write {path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise Failure(f"cannot write {path}: it is a folder")
    if not _endings.fits(path, endings):
        raise usage_error(f"-o: the name of what is written ends in {' or '.join(endings)}, not as {path}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise Failure(f"cannot write {path}: permission denied")


def tell_written(options: argparse.Namespace) -> None:
    """When it is there; aside from what is printed, which may be read by a program."""
    if options.output:
        flush()
        tell(f"written to {options.output}")


def tell(message: str) -> None:
    """On the standard error; never elsewhere, where it would be taken for a result."""
    with contextlib.suppress(OSError):  # there is nobody else to tell
        print(printable(message), file=sys.stderr, flush=True)


_standard_error: tuple[int, int] | None = None  # the file behind descriptor 2: its device and number


def hold_standard_error() -> None:
    """Before anything else is opened. Where there is none, nothing else may take its place: neither the standard output, which `print`
    falls back on, nor a file that is given its descriptor."""
    global _standard_error
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    _standard_error = _file_of_descriptor(2)


def restore_standard_error() -> None:
    """After the user's code, which may have closed it: for itself."""
    if sys.stderr is None or sys.stderr.closed:
        is_there = _standard_error is not None and _file_of_descriptor(2) == _standard_error
        sys.stderr = open(2 if is_there else os.devnull, "w", closefd=not is_there)  # noqa: SIM115


def _file_of_descriptor(descriptor: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


# The standard output, if there is one, while that of the user's code is another.
_for_results: list[TextIO | None] = []


@contextlib.contextmanager
def results_apart() -> Iterator[None]:
    """Inside, what the user's code prints goes to the standard error: the standard output has what commands
    print, and nothing else."""
    _for_results.append(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _for_results.pop()


def _output() -> TextIO | None:
    return _for_results[-1] if _for_results else sys.stdout


def _open_output() -> TextIO:
    stream = _output()
    if stream is None or stream.closed:
        raise Failure("cannot write to the standard output: it is closed")
    return stream


def printable(text: str) -> str:
    """Text that any terminal takes: names of files may have bytes that are no characters."""
    encoding = getattr(_output(), "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def print_text(text: object) -> None:
    with _arriving():
        print(printable(str(text)), file=_open_output())


def print_json(data: Any) -> None:
    print_text(json.dumps(data, indent=2, ensure_ascii=False))


def flush() -> None:
    """Raises when what was printed does not arrive."""
    with _arriving():
        _open_output().flush()


@contextlib.contextmanager
def saving(options: argparse.Namespace, save: Callable[[str], None]) -> Iterator[None]:
    """What is printed inside and the file that is asked for: each is there where the other cannot be written."""
    if not options.output:
        yield
        return
    try:
        yield
        flush()
    finally:
        save(options.output)
    tell_written(options)


@contextlib.contextmanager
def _arriving() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"cannot write to the standard output: {error.strerror}") from None


def give_up_what_cannot_be_written() -> None:
    """Python would try once more when it ends, and complain in its own way."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
