"""The function that a command is about: script.py:function or module:function."""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.util
import inspect
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .. import _native
from .._errors import Error
from .._jit import jit
from . import arguments, output
from .arguments import Arguments
from .failure import Failure, usage_error

__all__ = ["Target", "add_options", "failures_of", "find", "run_script"]


class Target(NamedTuple):
    name: str
    function: Callable[..., Any]  # as NumPy runs it
    jitted: Any
    given: Arguments

    @property
    def text(self) -> str:
        return f"{self.name}({self.given.text})"


def add_options(
    parser: argparse.ArgumentParser, *, what: str = "script.py:function or module:function"
) -> None:
    parser.add_argument("target", metavar="TARGET", help=what)
    parser.add_argument(
        "--args", metavar="ARGS", help='what it is called with: "f32[1024,1024], f32[1024], axis=0"'
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the made-up numbers; 0 otherwise"
    )


def find(options: argparse.Namespace, *, is_called: bool = True) -> Target:
    """`is_called`: not only compiled, for which what is in the arrays does not count."""
    place, colon, name = str(options.target).rpartition(":")
    if not colon or not place or not name:
        raise usage_error(
            f"'{options.target}' names no function; write script.py:function or module:function"
        )
    given = arguments.parse(options.args or "", options.seed, is_filled=is_called)
    found: Any = _load(place)
    parts = name.split(".")
    for i, part in enumerate(parts):
        if not hasattr(found, part):
            raise Failure(_missing(found, f"{'.'.join(parts[:i])} of {place}" if i else place, part))
        if _is_method(found, part):
            found = _made(found, part)
        found = getattr(found, part)
    if not callable(found):
        raise Failure(f"{name} of {place} is no function: its type is {type(found).__name__}")
    is_jitted = isinstance(found, _native.JitCallable)
    with failures_of(name):
        jitted = found if is_jitted else jit(found)
    function = found.__wrapped__ if is_jitted else found
    _check_call(name, function, given)
    return Target(name, function, jitted, given)


def _is_method(owner: Any, name: str) -> bool:
    """Whether it is called with an instance of the class first, which cannot be written as an argument."""
    if not isinstance(owner, type):
        return False
    attribute = inspect.getattr_static(owner, name)
    return not isinstance(attribute, (staticmethod, classmethod, type)) and hasattr(attribute, "__get__")


def _made(owner: type, method: str) -> Any:
    """An instance, for the method."""
    try:
        inspect.signature(owner).bind()
    except TypeError as error:
        raise Failure(
            f"{owner.__name__}.{method} needs an instance, and {owner.__name__} cannot be made without arguments: {error}; make one in "
            f"the script, model = {owner.__name__}(...), and name model.{method}"
        ) from None
    except ValueError:  # it does not tell what it takes
        pass
    with failures_of(f"{owner.__name__}()"):
        return owner()


def _check_call(name: str, function: Callable[..., Any], given: Arguments) -> None:
    """Before anything runs: whoever forgets --args, or a part of it, is told what the function takes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not all that can be called tell
        return
    try:
        signature.bind(*given.args, **given.kwargs)
    except TypeError as error:
        called = f"with --args \"{given.text}\"" if given.text else f"without --args, {arguments.EXAMPLE}"
        raise Failure(f"{name}{signature} cannot be called {called}: {error}") from None


def _missing(owner: Any, called: str, name: str) -> str:
    public = [key for key in _names_in(owner) if not key.startswith("_")]
    there = [key for key in public if callable(getattr(owner, key, None))]
    if isinstance(owner, ModuleType):  # what it has imported may be meant, and is not what it offers
        own = [key for key in there if getattr(vars(owner)[key], "__module__", None) == owner.__name__]
    else:
        own = there
    close = difflib.get_close_matches(name, there, n=1)
    hint = f"; did you mean {close[0]}?" if close else f"; it has {', '.join(own)}" if own else ""
    return f"{called} has no function {name}{hint}"


def _names_in(owner: Any) -> Iterable[str]:
    """In the order of the source, if there is one."""
    return vars(owner) if isinstance(owner, (ModuleType, type)) else dir(owner)


def _load(place: str) -> ModuleType:
    if not place.endswith(".py") and os.sep not in place:
        sys.path.insert(0, os.getcwd())
        with failures_of(place):  # one that exits is not there to be asked for its functions
            try:
                return importlib.import_module(place)
            except ModuleNotFoundError as error:
                if error.name is not None and place.startswith(error.name):
                    raise Failure(f"there is no module {place}; a script is named with its .py") from None
                raise
    path = _script(place)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Failure(f"cannot load {place}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, os.fspath(path.parent))
    with failures_of(place, may_exit=True):
        spec.loader.exec_module(module)
    return module


def _script(place: str) -> Path:
    path = Path(place).resolve()
    if not path.is_file():
        raise Failure(f"there is no script {place}")
    return path


def check_script(place: str) -> None:
    """That there is such a script."""
    _script(place)


def run_script(place: str, words: list[str]) -> dict[str, Any]:
    """Runs a whole script, as `python script.py words...` does. Gives the names of its module; none if it
    exits early."""
    path = _script(place)
    sys.argv = [place, *words]
    sys.path.insert(0, os.fspath(path.parent))
    process = os.getpid()
    with failures_of(place, may_exit=True):
        try:
            return runpy.run_path(os.fspath(path), run_name="__main__")
        except KeyboardInterrupt:  # which is for its threads, too
            process = -1
            raise
        finally:
            if os.getpid() == process:
                _wait_for_threads()
    return {}


def _wait_for_threads() -> None:
    """Those that a script has started belong to it: Python waits for them before it ends, in the same way, which also tells the
    executors that wait for work to end."""
    threading._shutdown()  # type: ignore[attr-defined]


@contextmanager
def failures_of(what: str, *, may_exit: bool = False) -> Iterator[None]:
    """What the user's own code raises becomes one message that names the line. A script may exit, which is no failure if it says so; a
    function that does has no result. The child of a fork ends as it would without a command."""
    process = os.getpid()
    try:
        yield
    except (Error, Failure, KeyboardInterrupt):
        raise
    except SystemExit as error:
        if os.getpid() != process:
            raise
        code = 0 if error.code is None else error.code
        if code != 0 or not may_exit:
            raise Failure(f"{what} exited with {code}") from None
    except BaseException as error:
        if os.getpid() != process:
            raise
        raise Failure(f"{what} raised {_described(error)}") from None
    finally:
        output.restore_standard_error()


def _described(error: BaseException) -> str:
    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    if isinstance(error, SyntaxError):  # the last line says what is wrong
        where = f"\n  at {error.filename}:{error.lineno}" if error.filename else ""  # NUL bytes are at no line
        return f"{lines[-1]}{where}"
    text = "\n".join(lines)
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not os.path.abspath(frame.filename).startswith((ours, os.path.realpath(ours), "<frozen"))
        and "runpy" not in frame.filename
    ]
    if not frames:
        return text
    return f"{text}\n  at {frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name}"
