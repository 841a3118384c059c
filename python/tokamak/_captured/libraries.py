"""Which code and which classes are the user's own."""

from __future__ import annotations

import enum
import functools
import os
import sys
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
LIBRARIES = ("builtins", "numpy", "scipy", "tokamak")


@functools.lru_cache(maxsize=4096)
def is_library(module: str | None) -> bool:
    """Whether a module is part of Python, NumPy or an installed package."""
    if module is None or module == "__main__":
        return False
    if module.partition(".")[0] in LIBRARIES:
        return True
    loaded = sys.modules.get(module)
    if loaded is None:
        return False
    file = getattr(loaded, "__file__", None)
    if file is None:
        return module in sys.builtin_module_names or module in sys.stdlib_module_names
    if not file.startswith(os.sep) or ".." in file:
        file = os.path.abspath(file)
    return file.startswith(_STANDARD_LIBRARY) or any(part in file for part in _INSTALLED)


def is_plain_object(value: Any) -> bool:
    """An instance of a class of the user's, which is no more than its attributes."""
    kind = type(value)
    return kind is SimpleNamespace or (
        (hasattr(value, "__dict__") or hasattr(kind, "__slots__"))
        and not is_library(kind.__module__)
        and not isinstance(value, (type, FunctionType, ModuleType, enum.Enum, BaseException))
    )
