"""tokamak profile: what ran when."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import shlex
import sys
import warnings
from collections.abc import Callable

from .. import _endings, _profile
from .._errors import UserError
from .._progress import Progress
from . import output, target
from .failure import OK, Failure, os_error_text, usage_error

NAME = "profile"
SUMMARY = "record what a function or a script does, for Perfetto or as a page"
ABOUT = """Records kernels, library calls, compilations and allocations, prints how long they took, and saves them.

  tokamak profile script.py:function --args "f32[1024,1024]" -o trace.html
  tokamak profile script.py -o trace.json -- words that the script gets
  tokamak profile trace.json -o trace.html

With -o, events are saved while they happen: a run that is killed leaves what it had done, in trace.json or, for a page, in
trace.html.part. The third form reads such a file and makes a page of it."""


def add_options(parser: argparse.ArgumentParser) -> None:
    target.add_options(parser, what="script.py:function, module:function, script.py or trace.json")
    parser.add_argument(
        "--calls", type=int, default=10, metavar="N", help="calls of a function after the first; 10 otherwise"
    )
    output.add_json(parser)
    output.add_output(parser, "save it: .html is a page, .json for Chrome and Perfetto")


def run(options: argparse.Namespace) -> None:
    output.check_output(options, _endings.PAGE_OR_TRACE)
    is_trace = str(options.target).endswith((".json", ".part"))
    had_file = bool(options.output) and os.path.isfile(options.output)
    recorded = _loaded(options) if is_trace else _recorded(options, had_file)
    _show(recorded, options)
    if had_file and not is_trace and not recorded.events:
        output.flush()
        _tell_aside(f"{options.output} is as it was")
    else:
        output.tell_written(options)
    if recorded.problem:
        saved = f"; it is in {options.output}" if options.output else ""
        raise Failure(f"the trace is not whole, what could be read is shown{saved}")


def _show(recorded: _profile.Profile, options: argparse.Namespace, problem: str | None = None) -> None:
    if options.json:
        totals = [dataclasses.asdict(total) for total in recorded.totals()]
        about = {
            "duration_ns": recorded.duration_ns,
            "threads": recorded.threads,
            "dropped": recorded.dropped,
        }
        output.print_json({**about, "problem": problem or recorded.problem, "totals": totals})
    elif recorded.events or recorded.problem:
        output.print_text(recorded)
    else:
        output.print_text(f"{options.target}: nothing of Tokamak's ran; it calls no jitted function")


def _recorded(options: argparse.Namespace, had_file: bool) -> _profile.Profile:
    work = _work(options)  # what is not there leaves a file of an earlier run as it is
    recording = (
        _profile.written_meanwhile(options.output, keeps_for_nothing=True)
        if options.output
        else _profile.profile()
    )
    recorded: _profile.Profile | None = None
    has_run = False
    process = os.getpid()
    try:
        with recording as recorded:
            work()
            has_run = True
    except BaseException as error:
        if recorded is None or os.getpid() != process:
            raise
        is_second = isinstance(error, KeyboardInterrupt) and isinstance(error.__context__, KeyboardInterrupt)
        if not is_second and (has_run or recorded.events):  # what has no good end can be read all the same
            with contextlib.suppress(Failure, OSError):
                _show(recorded, options, _in_a_line(error))
                output.flush()
        if recorded._unsaved is not None:
            _tell_aside(f"error: {_in_a_line(recorded._unsaved)}")
        for line in _left(recorded, options.output, has_run=has_run, had_file=had_file):
            _tell_aside(line)
        if has_run and not isinstance(error, KeyboardInterrupt):  # it only cannot be written
            raise Failure(_in_a_line(error)) from None
        raise
    if os.getpid() != process:  # the child of a fork: all there is to show and to save is its parent's
        sys.exit(OK)
    return recorded


def _tell_aside(line: str) -> None:
    print(output.printable(line), file=sys.stderr)


def _in_a_line(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    text = os_error_text(error) if isinstance(error, OSError) else str(error)
    return text.partition("\n")[0]


def _left(recorded: _profile.Profile, path: str | None, *, has_run: bool, had_file: bool) -> list[str]:
    """Where the events of a run are that came to no good end."""
    if path is None:
        return []
    part = f"{path}.part"
    if _endings.is_page(path) and os.path.isfile(part) and (recorded.events or not had_file):
        name, page = shlex.quote(part), shlex.quote(path)
        return [f"what was recorded is in {part}; tokamak profile {name} -o {page} makes a page of it"]
    if had_file and not recorded.events and not has_run:
        return [f"nothing of Tokamak's ran until then; {path} is as it was"]
    if not os.path.isfile(path):
        return []
    if has_run or recorded._unsaved is not None:
        return [f"what could be written is in {path}"]
    if not recorded.events:
        return [f"nothing of Tokamak's ran until then; {path} has no events"]
    return [f"what ran until then is in {path}"]


def _work(options: argparse.Namespace) -> Callable[[], object]:
    """What is to be recorded, once it is known to be there."""
    if str(options.target).endswith(".py"):
        target.check_script(options.target)
        return lambda: target.run_script(options.target, options.words)
    if options.words:
        raise usage_error("words are for scripts; a function gets --args")
    if options.calls < 0:
        raise usage_error("--calls takes a number that is not negative")
    found = target.find(options)
    return lambda: _call(found, options.calls)


def _call(found: target.Target, calls: int) -> None:
    with Progress(f"calling {found.name}") as progress, target.failures_of(found.name):
        for turn in range(calls + 1):
            progress.say(f"calling {found.name}, {turn + 1} of {calls + 1}")
            found.jitted(*found.given.args, **found.given.kwargs)


def _loaded(options: argparse.Namespace) -> _profile.Profile:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the problem is printed with the rest
        try:
            recorded = _profile.load_profile(options.target)
        except UserError as error:  # whose line is that of this command
            raise Failure(str(error).partition("\n  at ")[0]) from None
    if options.output:
        recorded.save(options.output)
    return recorded
