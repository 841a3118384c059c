"""What the name of a file that is written for the user says about it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike

from ._errors import UserValueError, fail
from ._format import printable

__all__ = ["PAGE", "PAGE_OR_TRACE", "PICTURE", "check", "fits", "is_page"]

PAGE = (".html", ".htm")
PAGE_OR_TRACE = (*PAGE, ".json")
PICTURE = (".svg",)


def fits(path: str | PathLike[str], endings: Sequence[str]) -> bool:
    """Whether the name ends in one of them. Devices and pipes have any name; what is wrong with a folder is not its ending."""
    name = os.fsdecode(path)
    is_no_file = os.path.exists(name) and not os.path.isfile(name)
    return is_no_file or name.lower().endswith(tuple(endings))


def is_page(path: str | PathLike[str]) -> bool:
    return os.fsdecode(path).lower().endswith(PAGE)


def check(path: str | PathLike[str], endings: Sequence[str], what: str) -> None:
    """Before the work is done: raises where the name is that of something else."""
    name = os.fsdecode(path)
    if "\0" in name:
        fail(UserValueError, f"{what}: {printable(name)!r} is no name that a file could have")
    if not fits(name, endings):
        fail(
            UserValueError,
            f"{what} is written to a name that ends in {' or '.join(endings)}, not to {printable(name)!r}",
        )
