"""Calls of a function with all its keywords, drawn at random, and their comparison with NumPy.

`check_case` gives every keyword in turn, and some of the others with it; jitted, with Arrays, and with ndarrays the call has to give
the same, write the same, and raise the same.
"""

import inspect
import warnings
import zlib
from typing import Any

import numpy as np
import scipy.special
import tokamak as tk
from agreement import compare_rounded
from keyword_strategies import ALL_ERRORS, Call, Case, copied, put_together, take_apart

from support import assert_same

NO_VALUE = np._NoValue


def program_of(function: Any, parts: Any, case: Case, touched: bool, seen: list[Any]) -> Any:
    """The call as a function of the arrays in it. If it writes to one of these, `seen` says which one it returns; if its result
    is `touched`, it is written to where NumPy, which is first, allows that, so that the arguments tell whether it shares their
    memory."""
    writeable: list[bool] = []

    def program(*leaves: Any) -> Any:
        args, kwargs = put_together(parts, leaves)
        result = function(*args, **kwargs)
        results = result if isinstance(result, tuple) else (result,)
        if "out" in kwargs:
            seen[:] = [next((i for i, leaf in enumerate(leaves) if leaf is one), None) for one in results]
        if not touched:
            return result if case.through is None else case.through(result, args, kwargs)
        results = result if isinstance(result, (tuple, list)) else [result]
        kept = [np.copy(one) for one in results]
        if not writeable:
            writeable[:] = [isinstance(one, np.ndarray) and one.flags.writeable for one in results]
        for one, is_open in zip(results, writeable, strict=True):
            if is_open:
                one[...] = 1
        return kept

    return program


def is_refused_alike(error: Exception, raised: Exception) -> bool:
    return any(isinstance(error, kind) and isinstance(raised, kind) for kind in ALL_ERRORS)


def compare(got: Any, want: Any, case: Case, what: str) -> None:
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), f"{what}: {len(got)} results, not {len(want)}"
        for one, other in zip(got, want, strict=True):
            compare(one, other, case, what)
    elif want is None or isinstance(want, np.dtype):
        assert got == want, f"{what}: {got}, not {want}"
    elif case.rounded:
        compare_rounded(got, want, what)
    else:
        assert_same(got, want, case.ulp, what)


def compare_kinds(got: Any, want: Any, what: str) -> None:
    """Scalars where NumPy has scalars, and arrays without axes where it has these."""
    if isinstance(want, (tuple, list)):
        for one, other in zip(got, want, strict=True):
            compare_kinds(one, other, what)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert isinstance(got, np.ndarray) == isinstance(want, np.ndarray), f"{what}: {got!r}, not {want!r}"


def check_call(call: Call, case: Case, touched: bool = False) -> bool:
    """Jitted and with Arrays, the call does what it does with ndarrays: gives the same, writes the same, raises the same. Whether
    it gives something."""
    leaves: list[np.ndarray] = []
    parts = take_apart((call.args, call.kwargs), leaves)
    seen: list[Any] = []
    program = program_of(call.function, parts, case, touched, seen)
    if touched:
        leaves = [one if one.flags.writeable else one.copy("K") for one in leaves]
    written = [copied(one) for one in leaves]
    error, want = None, None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            want = program(*written)
        except ALL_ERRORS as raised:
            error = raised
        aliases = list(seen)
        text = str(call)
        for way in ("eager", "jitted"):  # jitted last: it writes to the arrays
            arrays = [tk.asarray(one) for one in leaves] if way == "eager" else leaves
            if way == "eager" and (not leaves or (touched and case.shares_if_jitted)):
                continue
            try:
                got = program(*arrays) if way == "eager" else tk.jit(program)(*arrays)
            except ALL_ERRORS as raised:
                assert error is not None, f"{text} {way}: {raised!r}, NumPy gives {want}"
                assert is_refused_alike(error, raised), f"{text} {way}: {raised!r}, not {error!r}"
                continue
            assert error is None, f"{text} {way}: {got}, NumPy raises {error!r}"
            assert seen == aliases, f"{text} {way}: returns arguments {seen}, NumPy {aliases}"
            compare(got, want, case, f"{text} {way}")
            if way == "jitted" and case.through is None:
                compare_kinds(got, want, text)
            left = slice(1 if call.has_scratch else 0, None)
            compare(list(arrays)[left], written[left], case, f"{text} {way}, arguments")
    return error is None


# ---------------------------------------------------------------------------------------------------------------------
# Drawing calls


def caller(name: str) -> Any:
    """The function as a line of a program that calls it by its name, which is looked up in the call."""
    line = f"lambda *args, **kwargs: {name}(*args, **kwargs)"
    function = eval(line, {"np": np, "scipy": scipy})
    function.__name__ = name
    return function


def method(name: str) -> Any:
    """The method of the first argument."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    call.__name__ = f"ndarray.{name}"
    return call


def drawn(name: str, function: Any, case: Case, focus: str | None, seed: int) -> Call:
    """A call with a keyword, and some of the others."""
    call = Call(np.random.default_rng([seed, zlib.crc32(f"{name} {focus}".encode())]), function)
    for strategy in case.arguments:
        call.args.append(strategy(call))
    given = {one for one in case.keywords if one == focus or one in case.always or call.chance(0.25)}
    given |= {other for one, other in case.together if one in given}
    for one in sorted(case.keywords, key=lambda one: one == "out"):  # out= last: it needs to know the result
        if one in given:
            call.kwargs[one] = case.keywords[one](call)
    call.has_scratch = bool(call.kwargs.get("overwrite_input"))
    if call.has_scratch:
        call.args[0] = call.args[0].copy()
    return call


def by_place(call: Call, signature: inspect.Signature) -> None:
    """Gives keywords by position as far as that goes; what comes before them as it is by default."""
    parameters = list(signature.parameters.values())
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
        return
    for one in parameters[len(call.args) :]:
        if one.kind is inspect.Parameter.KEYWORD_ONLY or not call.kwargs or one.default is NO_VALUE:
            return
        if one.name not in call.kwargs and one.default is inspect.Parameter.empty:
            return
        call.args.append(call.kwargs.pop(one.name, one.default))


def check_case(
    name: str, case: Case, seed: int, function: Any = None, signature: Any = None, most: int | None = None
) -> dict[str | None, bool]:
    """Calls the function with every keyword in turn, or with `most` of them. Tells with which it gave something."""
    given = {}
    turns = [None, *case.keywords]
    if most is not None:
        np.random.default_rng([seed, zlib.crc32(name.encode())]).shuffle(turns)
    for focus in turns[:most]:
        call = drawn(name, function or caller(name), case, focus, seed)
        if case.undefined is not None and case.undefined(call):
            continue
        if signature is not None and case.by_place and call.chance(0.3):
            by_place(call, signature)
        given[focus] = check_call(call, case, (case.shares or case.shares_if_jitted) and call.chance(0.4))
    return given
