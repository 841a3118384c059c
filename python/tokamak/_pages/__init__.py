"""What the pages of reports and profiles have in common.

A page is one file that needs nothing else: its style, its scripts and its data are inside, and its policy forbids it to load
anything. The data is JSON, as `dataclasses` and dicts give it; the scripts build the page from it, so that what is shown and what can
be read by a program are the same numbers.

    text = page("softmax", {"kind": "explanation", ...}, scripts=["report.js"])
    write("report.html", text)
"""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from .._format import printable

__all__ = ["data_of", "escape", "page", "part", "write"]

_FOLDER = Path(__file__).resolve().parent

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<meta name="generator" content="tokamak">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}
</style>
</head>
<body>
<main id="page"></main>
<noscript><p>This page is drawn by scripts that it brings along. In words:</p><pre>{text}</pre></noscript>
<script type="application/json" id="data">
{data}
</script>
<script>
{script}
</script>
</body>
</html>
"""


def escape(text: str) -> str:
    """Text as it may stand in an element or an attribute."""
    return html.escape(printable(text), quote=True)


def part(name: str) -> str:
    """A style or a script of this folder."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def page(title: str, data: Any, *, scripts: Sequence[str], styles: Sequence[str] = (), text: str = "") -> str:
    """The whole page. `scripts` and `styles` are files of this folder, after the shared `page.js` and `page.css`; `data` is what
    `data()` gives there; `text` is for readers without scripts."""
    return _PAGE.format(
        title=escape(title),
        style="\n".join(part(name) for name in ("page.css", *styles)),
        script="\n".join(part(name) for name in ("page.js", *scripts)),
        data=_embedded(data),
        text=escape(text),
    )


def _embedded(data: Any) -> str:
    """JSON that no parser of HTML takes for the end of its element. Numbers that JSON lacks become null."""
    text = json.dumps(_finite(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if abs(data) < float("inf") else None
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return data


def data_of(text: str) -> Any:
    """The data of a page: what `page` was given, as JSON has it."""
    found = re.search(r'<script type="application/json" id="data">\n(.*?)\n</script>', text, re.DOTALL)
    if found is None:
        raise ValueError("this is not a page of Tokamak's: it has no data")
    return json.loads(found[1])


def write(path: str | PathLike[str], text: str) -> None:
    """Writes the file as a whole: what was there before stays until all of the new text is written. Raises OSError, which names the
    path, where it cannot be written."""
    target = Path(path)
    is_special = (
        target.exists() and not target.is_file()
    )  # a device or a pipe; a folder is an error of open()
    written = target if is_special else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        written.write_text(
            text, encoding="utf-8", errors="backslashreplace"
        )  # which JSON reads as what it was
        if not is_special:
            written.replace(target)
    except BaseException as error:  # Ctrl-C, too
        if not is_special:
            with contextlib.suppress(OSError):
                written.unlink()
        if isinstance(error, OSError):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise
