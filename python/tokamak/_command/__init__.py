"""The `tokamak` command.

What needs Python is here, a file for each subcommand; what works on text IR is the native program that comes with the package, and is
handed over to it: `opt`, `run`, and `explain` of a .tok file. Both exit with the same codes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from .. import _starting

_starting.begin()

from .._errors import Error, InternalError  # noqa: E402
from .._native import __version__  # noqa: E402
from . import bench, cache, compare, completion, doctor, explain, native, output, profile  # noqa: E402
from .failure import INPUT_ERROR, INTERNAL_ERROR, OK, USAGE_ERROR, Failure, os_error_text  # noqa: E402

__all__ = ["main"]

_PARTS = (explain, profile, compare, bench, doctor, cache, completion)

_ABOUT = """Looks at what Tokamak makes of NumPy functions and of text IR.

A function is named as script.py:function or module:function. What it is called with is written as types,
--args "f32[1024,1024], f32[1024]": arrays of made-up numbers; or as numbers, texts, tuples, lists and dicts, also by name, axis=0."""

_CODES = f"""exit codes: {OK} all is well; {INPUT_ERROR} something is wrong with the script, the function or a file; {USAGE_ERROR} with the
command line; {INTERNAL_ERROR} with Tokamak."""


class _Parser(argparse.ArgumentParser):
    """One whose help has to arrive, too."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stderr:
            super()._print_message(message, file)
        elif message:
            output.print_text(message.removesuffix("\n"))


def make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tokamak",
        description=_ABOUT,
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tokamak {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for part in _PARTS:
        own = commands.add_parser(
            part.NAME,
            help=part.SUMMARY,
            description=part.ABOUT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        part.add_options(own)
        own.set_defaults(run=part.run, make_parser=make_parser)
    for name, summary in native.COMMANDS.items():  # for the list; they do not get here
        commands.add_parser(name, help=summary, add_help=False)
    return parser


def _parse(words: list[str]) -> argparse.Namespace:
    """What follows -- is for the script that is run, if there is one."""
    runs_scripts = bool(words) and words[0] in (profile.NAME, cache.NAME)
    end = words.index("--") if runs_scripts and "--" in words else len(words)
    options = make_parser().parse_args(words[:end])
    options.words = words[end + 1 :]
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    started = os.path.abspath(sys.argv[0])  # scripts are told another name
    output.hold_standard_error()
    try:
        _starting.end()
        if native.is_for_it(words):
            return native.hand_over(words)
        return _run(words)
    except BrokenPipeError:  # whoever read has had enough
        return INPUT_ERROR
    except KeyboardInterrupt:
        output.tell("interrupted")
        return 130
    except Failure as failure:
        output.tell(f"error: {failure}")
        return failure.code
    except InternalError as error:
        output.tell(f"internal error (a bug in Tokamak): {error}")
        return INTERNAL_ERROR
    except Error as error:
        # What is wrong at no line of the user's is said to be at that which started the command.
        message, _, where = str(error).rpartition("\n  at ")
        output.tell(f"error: {message if where.startswith((started, '<frozen runpy>')) else error}")
        return INPUT_ERROR
    except MemoryError:
        output.tell("error: out of memory")
        return INPUT_ERROR
    except OSError as error:
        output.tell(f"error: {os_error_text(error)}")
        return INPUT_ERROR
    finally:
        output.give_up_what_cannot_be_written()


def _run(words: list[str]) -> int:
    try:
        options = _parse(words)
    except SystemExit as end:
        if end.code == OK:  # --help and the like, which have printed something
            output.flush()
        raise
    with output.results_apart() if getattr(options, "json", False) else contextlib.nullcontext():
        code = options.run(options)
        output.flush()
    return int(code or OK)
