"""The pages of the Python reference, made from the signatures and docstrings of the package.

Every public name of `tokamak` is on one of them, and has a docstring of its own
(tests/python/test_docstrings.py). What the reports of the compiler hold is said in the C++ headers, and taken
from there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cpp_reference
import numpy as np
import tokamak
from tokamak import _compare, _jit, _measure, _native, _standard

GROUPS = {
    "Compiling": ["jit", "Jitted", "CacheInfo", "constant"],
    "Arrays": ["Array", "array", "asarray", "from_dlpack"],
    "Explaining": ["Explanation"],
    "Profiling": ["profile", "load_profile", "Profile", "ProfileEvent", "ProfileTotal", "compare"],
    "Memory, threads, logs": [
        *["memory_stats", "trim_memory", "num_threads", "set_num_threads", "set_logs", "set_checks"],
    ],
    "Functions": [
        *["relu", "gelu", "silu", "sigmoid", "softmax", "log_softmax", "logsumexp"],
        *["layer_norm", "rms_norm", "batch_norm", "erf", "erfc", "rsqrt"],
    ],
    "Products, windows, attention": [
        *["matmul", "dot", "inner", "outer", "vdot", "tensordot", "einsum", "dot_general"],
        *["conv", "conv_transpose", "max_pool", "avg_pool", "window", "attention"],
    ],
    "Errors": [
        *["Error", "UserError", "UserValueError", "UserTypeError", "UserIndexError", "UserMemoryError"],
        *["UserOSError", "UserOverflowError", "UserZeroDivisionError", "UserFloatingPointError"],
        *["Unsupported", "InternalError"],
    ],
}
# What results of public functions are made of.
PARTS = {
    "Explaining": [
        *[_native.KernelReport, _native.OperationReport, _native.PassReport, _native.MemoryReport],
        *[_native.BufferReport, _native.LayoutReport, _native.RefusedFusion, _native.StageTime],
        *[_measure.Measured, _measure.KernelTime],
    ],
    "Profiling": [_compare.Comparison, _compare.Run],
}
# The files of the standard's names, with what to call them.
STANDARD = {
    "creation": "Making arrays",
    "elementwise": "Element by element",
    "reductions": "Reducing and searching",
    "manipulation": "Shapes, order, sets",
    "dtypes": "Dtypes",
    "constants": "Constants",
}
VALUES = {
    "e": "Euler's number.",
    "inf": "Infinity.",
    "nan": "Not a number.",
    "newaxis": "As an index, a new axis: `None`.",
    "pi": "The circle's circumference over its diameter.",
    "__array_api_version__": "The version of the standard that the package follows.",
}
VAGUE = ("Any", "A")  # types that say nothing
ROOT = Path(__file__).resolve().parents[2]
HEADERS = [ROOT / "include/tokamak/explanation.h", ROOT / "src/runtime/profiler.h"]
STUBS = ROOT / "python/tokamak/_native.pyi"


def own_doc(thing: Any) -> str:
    """Its docstring, not that of a class above it."""
    if inspect.isclass(thing):
        return inspect.cleandoc(vars(thing).get("__doc__") or "")
    if getattr(thing, "__qualname__", "").startswith("Jitted."):  # those of the object behind it
        thing = getattr(_jit.JitCore, thing.__name__)
    return inspect.getdoc(thing) or ""


def members_of(one: type) -> dict[str, Any]:
    """The methods and properties that a class itself has for its users; of an Array, those NumPy lacks."""
    return {
        name: member
        for name, member in vars(one).items()
        if not name.startswith("_")
        and not (one is tokamak.Array and hasattr(np.ndarray, name))
        and (inspect.isfunction(member) or isinstance(member, property))
    }


def shown(annotation: str) -> str:
    """A type as users know it."""
    return re.sub(r"\b_\w+\.", "", annotation)


def signature_of(thing: Any, *, is_method: bool = False) -> str:
    """As it stands in the code, without types that say nothing."""
    signature = inspect.signature(thing)
    parts = list(signature.parameters.values())[1 if is_method else 0 :]
    kept = [one.replace(annotation=one.empty) if one.annotation in VAGUE else one for one in parts]
    result = signature.empty if signature.return_annotation in VAGUE else signature.return_annotation
    text = str(signature.replace(parameters=kept, return_annotation=result))
    # Annotations are text here: `x: 'int'`; default values that are text stay quoted.
    return shown(re.sub(r"(: |-> )(['\"])(.*?)\2(?=[,)]| = |$)", r"\1\3", text))


def fields_of(one: type) -> list[tuple[str, str, str]]:
    """Name, type and remark of what an object of the class holds, as the code lists it."""
    if one.__module__ == "tokamak._native":
        source = re.search(rf"(?ms)^class {one.__name__}:\n(.*?)(?=^\S|\Z)", STUBS.read_text())[1]
        remarks = native_remarks(one.__name__)
        listed = re.findall(r"(?m)^    (\w+): (\S.*)$|^    def (\w+)\(self\) -> (\S.*): \.\.\.$", source)
        pairs = [(name or method, kind or result) for name, kind, method, result in listed]
        return [(name, shown(kind), remarks.get(name, "")) for name, kind in pairs]
    if not hasattr(one, "__dataclass_fields__") and not hasattr(one, "_fields"):
        return []
    found = re.findall(r"(?m)^    (\w+): (.+?)(?: = .+?)?(?:  # (.*))?$", inspect.getsource(one))
    return [(name, shown(kind), remark) for name, kind, remark in found]


def in_headers(name: str) -> cpp_reference.Declaration | None:
    """What the headers say of a struct."""
    groups = [group for header in HEADERS for group in cpp_reference.Reader(header.read_text()).read()]
    return next((one for group in groups for one in group.declarations if one.signature == name), None)


def native_remarks(name: str) -> dict[str, str]:
    """What the headers say of the members of a struct."""
    declaration = in_headers(name)
    members = declaration.members if declaration else []
    remarks = {re.findall(r"\w+", re.split("[=(]", one.signature)[0])[-1]: one.text for one in members}
    return {**remarks, "asm": remarks.get("assembly", "")}


def as_markdown(doc: str) -> str:
    """Docstrings are prose with code between backticks; indices and products in it are no Markdown."""
    parts = re.split(r"(``?[^`]+``?)", doc)
    return "".join(part if i % 2 else re.sub(r"([*_\[\]<])", r"\\\1", part) for i, part in enumerate(parts))


def directive(kind: str, signature: str, text: str, inside: str = "", depth: int = 0) -> str:
    fence = "`" * (5 - depth)
    return f"\n{fence}{{py:{kind}}} {signature}\n\n{as_markdown(text)}\n{inside}{fence}\n"


def class_text(one: type) -> str:
    inside = ""
    for name, kind, remark in fields_of(one):
        inside += directive("attribute", f"{name}\n:type: {kind}", remark, depth=1)
    for name, member in members_of(one).items() if one.__module__ != "tokamak._native" else ():
        if isinstance(member, property):
            kind = shown(member.fget.__annotations__.get("return", ""))
            inside += directive("property", f"{name}\n:type: {kind}", own_doc(member), depth=1)
        else:
            inside += directive(
                "method", name + signature_of(member, is_method=True), own_doc(member), depth=1
            )
    if one is tokamak.Array:
        inside += (
            "\nIts other attributes and methods are those of `ndarray`, with NumPy's meaning: "
            "[the list](numpy.md#attributes-and-methods-of-ndarray).\n"
        )
    above = [base.__name__ for base in one.__bases__ if issubclass(one, BaseException)]
    is_one = f"\n\nAlso a {' and a '.join(f'`{name}`' for name in above)}." if above else ""
    kind = "exception" if issubclass(one, BaseException) else "class"
    return directive(kind, one.__name__, class_doc(one) + is_one, inside)


def class_doc(one: type) -> str:
    declaration = in_headers(one.__name__) if one.__module__ == "tokamak._native" else None
    return own_doc(one) or (declaration.text if declaration else "")


def text_of(name: str, thing: Any) -> str:
    if inspect.isclass(thing):
        return class_text(thing)
    if inspect.isfunction(thing):
        return directive("function", name + signature_of(thing), own_doc(thing))
    return directive("data", name, VALUES.get(name) or f"A dtype: NumPy's `{thing!r}`.")


def page(title: str, groups: dict[str, Iterable[str]]) -> str:
    text = f"# {title}\n"
    for heading, body in groups.items():
        text += f"\n## {heading}\n" + "".join(body)
    return "```{py:currentmodule} tokamak\n```\n\n" + text


def standard_groups() -> dict[str, list[str]]:
    """The names of the array API standard, by the file that has them."""
    groups: dict[str, list[str]] = {title: [] for title in STANDARD.values()}
    for name in _standard.__all__:
        thing = getattr(tokamak, name)
        # Functions that are made by a table are element-wise.
        file = (
            thing.__module__.removeprefix("tokamak._standard.") if inspect.isfunction(thing) else "constants"
        )
        groups[STANDARD.get(file, STANDARD["elementwise"])].append(name)
    return groups


def pages() -> dict[str, tuple[str, str]]:
    """By their names: what each is made from, and its text."""
    standard = standard_groups()
    there = {name for names in [*GROUPS.values(), *standard.values()] for name in names}
    if missing := set(tokamak.__all__) ^ there:
        raise SystemExit(
            f"docs/site/python_reference.py: no group has, or the package lacks: {sorted(missing)}"
        )
    own = {
        title: [text_of(name, getattr(tokamak, name)) for name in names]
        + [class_text(one) for one in PARTS.get(title, [])]
        for title, names in GROUPS.items()
    }
    others = {
        title: [text_of(name, getattr(tokamak, name)) for name in sorted(names)]
        for title, names in standard.items()
    }
    return {
        "python": ("python/tokamak/__init__.py", page("Python reference", own)),
        "python_standard": (
            "python/tokamak/_standard/__init__.py",
            page("Python reference: the array API standard", others),
        ),
    }
