"""Still pictures for notebooks and documents: SVG with no scripts and no style sheet, so that they look the same wherever they are shown.

The pages of `_pages` draw the same things for exploring.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from html import escape
from os import PathLike

from .. import _endings

__all__ = ["INK", "LINE", "SOFT", "WARN", "Picture", "clipped", "colour", "element", "label"]

INK, SOFT, LINE, WARN = "#1b1f24", "#59636e", "#d9dde3", "#b3261e"
_COLOURS = ("#2f6fb7", "#b2560d", "#2a7f62", "#8b3fa0", "#a8324a", "#5b6b13", "#0f7b8a", "#6a5acd")
_TEXT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
_MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_MARGIN = 14
_WIDEST = 960  # larger drawings are scaled down to it


class Picture:
    """An SVG drawing. As the last line of a cell a notebook shows it; `save` writes it."""

    def __init__(self, parts: Iterable[str], width: float, height: float, title: str) -> None:
        self._title = title
        wide, tall = width + 2 * _MARGIN, height + 2 * _MARGIN
        shown = min(1.0, _WIDEST / wide)
        self.svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide * shown:.0f}" height="{tall * shown:.0f}" '
            f'viewBox="{-_MARGIN} {-_MARGIN} {wide:.0f} {tall:.0f}" role="img" font-family="{_TEXT}" font-size="12">'
            f"<title>{escape(title)}</title>"
            f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="{wide:.0f}" height="{tall:.0f}" rx="8" fill="#ffffff"/>'
            f"{''.join(parts)}</svg>"
        )

    def __repr__(self) -> str:
        return f"<picture: {self._title}>"

    def save(self, path: str | PathLike[str]) -> None:
        """Writes it to a file whose name ends in .svg."""
        from .._pages import write

        _endings.check(path, _endings.PICTURE, "a picture")
        write(path, self.svg)

    def as_image(self) -> str:
        """An element of HTML that shows it."""
        data = b64encode(self.svg.encode()).decode()
        return f'<img src="data:image/svg+xml;base64,{data}" style="max-width:100%">'

    def _repr_svg_(self) -> str:
        return self.svg


def colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def element(name: str, inside: str = "", **attributes: float | str | None) -> str:
    """element("rect", x=3, stroke_width=2); what is None is left out."""
    written = "".join(
        f' {key.replace("_", "-")}="{_number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>"


def _number(value: float | str) -> str:
    return escape(value, quote=True) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def label(text: str, x: float, y: float, *, mono: bool = False, **attributes: float | str | None) -> str:
    attributes.setdefault("fill", INK)
    return element("text", escape(text), x=x, y=y, font_family=_MONO if mono else None, **attributes)


def clipped(text: str, most: float) -> str:
    """At most so many characters of it."""
    return text if len(text) <= most else text[: max(1, int(most) - 1)] + "…"
