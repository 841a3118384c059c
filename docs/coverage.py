"""Writes docs/numpy.md, the page that lists NumPy's functions, from what the package implements.

    python docs/coverage.py [--check]

The list is that of the NumPy it runs with, which the page names. --check says whether the page is what it would write; a page
made with another NumPy is not compared.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tokamak  # fills the table
from tokamak._numpy import contractions
from tokamak._registry import EAGER_ONLY, LATE, TABLE

PAGE = Path(__file__).parent / "numpy.md"
NAMESPACES = {"np": np, "np.linalg": np.linalg}

#: Text, files, dates, and questions about memory and types
NOT_COMPUTATION = {
    *("array2string", "array_repr", "array_str", "save", "savetxt", "savez", "savez_compressed", "can_cast"),
    *("busday_count", "busday_offset", "is_busday", "datetime_as_string", "isnat", "may_share_memory"),
    *("shares_memory", "min_scalar_type", "common_type", "einsum_path", "sort_complex"),
}

INTRODUCTION = """# NumPy's functions

Made by `python docs/coverage.py` with NumPy {version}.

*Compiled*: recorded inside `tk.jit`, and run at once on a `tk.Array` outside. *Outside only*: the shape of the result depends on values, so
these work on a `tk.Array` but are refused inside `tk.jit`, with what to use instead. *Not yet*: refused with an error that says so.

Functions that are given no `tk.Array` are NumPy's own, inside and outside: what they compute is part of the program. Those that make
arrays (`np.zeros`, `np.eye`, `np.arange`, `np.array`) give arrays that computed values can be written to where a jitted function
does that.
"""

#: Members of ndarray about text, files and the layout of bytes, and those of Python's protocols
NOT_OF_ARRAYS = {
    *(
        "ctypes",
        "data",
        "dump",
        "dumps",
        "getfield",
        "setfield",
        "tofile",
        "setflags",
        "device",
        "to_device",
    ),
}
#: Methods that ask for elements, or have a shape that depends on them
NEEDING_ELEMENTS = {"item", "nonzero", "tobytes", "tolist"}


def functions(namespace: Any) -> Iterator[tuple[str, Any]]:
    """Those that may be given an Array: ufuncs, and functions that NumPy lets others implement."""
    for name in sorted(dir(namespace)):
        value = getattr(namespace, name)
        if name.startswith("_") or isinstance(value, type) or not callable(value) or name in NOT_COMPUTATION:
            continue
        if isinstance(value, np.ufunc) or hasattr(value, "_implementation") or value in TABLE:
            yield name, value


def kind_of(function: Any) -> str:
    if function in TABLE or function in contractions._GUFUNCS:
        return "compiled"
    return "outside only" if function in EAGER_ONLY else "not yet"


def section(kind: str, names: list[str]) -> str:
    listed = textwrap.fill(", ".join(f"`{name}`" for name in names), 140, break_long_words=False)
    return f"### {kind.capitalize()} ({len(names)})\n\n{listed}\n"


def member_kind(name: str) -> str:
    if not hasattr(tokamak.Array, name):
        return "not yet"
    return "outside only" if name in NEEDING_ELEMENTS else "compiled"


def members() -> dict[str, list[str]]:
    """Attributes and methods of ndarray by kind."""
    kinds: dict[str, list[str]] = {"compiled": [], "outside only": [], "not yet": []}
    for name in sorted(dir(np.ndarray)):
        if not name.startswith("_") and name not in NOT_OF_ARRAYS:
            kinds[member_kind(name)].append(name)
    return kinds


def page() -> str:
    parts = [INTRODUCTION.format(version=np.__version__)]
    for prefix, namespace in NAMESPACES.items():
        kinds: dict[str, list[str]] = {"compiled": [], "outside only": [], "not yet": []}
        for name, function in functions(namespace):
            kinds[kind_of(function)].append(name)
        parts.append(f"## {prefix}\n")
        parts += [section(kind, names) for kind, names in kinds.items() if names]
    parts.append("## Attributes and methods of ndarray\n")
    parts += [section(kind, names) for kind, names in members().items() if names]
    for module, rules in LATE.items():
        parts += [f"## {module}\n", section("compiled", sorted(rules))]
    return "\n".join(parts)


def main() -> int:
    wanted = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(wanted)
        return 0
    found = PAGE.read_text()
    if f"with NumPy {np.__version__}." not in found:
        print("docs/numpy.md was made with another NumPy: not compared")
        return 0
    if found != wanted:
        print("docs/numpy.md is out of date: run python docs/coverage.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
