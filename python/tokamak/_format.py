"""Numbers as people read them, the same in a terminal and (`format` of _pages/page.js) on a page."""

from __future__ import annotations

import math
import re

__all__ = [
    "bytes_text",
    "count_text",
    "number_text",
    "percent_text",
    "plural",
    "printable",
    "rate_text",
    "time_text",
]

_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def number_text(value: float) -> str:
    """Three digits that matter, and all of those before the point."""
    if value == 0:
        return "0"
    places = min(6, max(0, 2 - math.floor(math.log10(abs(value)) + 1e-9)))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def _scaled(value: float, units: tuple[str, ...], step: float) -> str:
    unit = 0
    while unit + 1 < len(units) and abs(value) >= step:
        value /= step
        unit += 1
    return f"{number_text(value)}{units[unit]}"


def bytes_text(value: float) -> str:
    """Amounts of memory, in units of 1000 as rates are, here and in all that is written natively (support/sizes.h)."""
    return _scaled(value, (" B", " KB", " MB", " GB", " TB", " PB", " EB"), 1000)


def count_text(value: float) -> str:
    return _scaled(value, ("", " K", " M", " G", " T"), 1000)


def time_text(seconds: float) -> str:
    return _scaled(seconds * 1e9, (" ns", " µs", " ms", " s"), 1000)


def rate_text(per_second: float, unit: str) -> str:
    """rate_text(3e9, "FLOP") is 3 GFLOP/s."""
    return _scaled(per_second, (" ", " K", " M", " G", " T"), 1000) + unit + "/s"


def percent_text(share: float) -> str:
    return f"{number_text(share * 100)} %"


def printable(text: str) -> str:
    """Text with escapes for what is no text: names of functions and files may have bytes that are no characters."""
    return _NO_TEXT.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
