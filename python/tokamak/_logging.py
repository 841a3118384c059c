"""The log, through Python's `logging`: channel `fusion` is the logger `tokamak.fusion`."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    import logging

__all__ = ["is_open", "log", "set_logs"]

_open: frozenset[str] = frozenset()


def is_open(channel: str) -> bool:
    return channel in _open


def log(channel: str, message: str) -> None:
    _logger(channel).debug(message)


def set_logs(channels: str) -> None:
    """Opens just these channels: "fusion,cache", "all" or "". Also the environment variable TOKAMAK_LOGS.

    The channels are trace, passes, fusion, memory, codegen, cache and recompiles.
    """
    global _open
    _native.set_log_channels(channels)
    _open = frozenset(filter(None, _native.log_channels().split(",")))
    if _open:
        _prepare()


def _logger(channel: str) -> logging.Logger:
    import logging

    return logging.getLogger(f"tokamak.{channel}")


def _prepare() -> None:
    """Shows what the open channels say on standard error, unless the program has set up logging itself."""
    import logging

    class Unless(logging.StreamHandler):  # type: ignore[type-arg]
        """Says nothing once the program has handlers of its own, of which it may also set up some later."""

        def emit(self, record: logging.LogRecord) -> None:
            if not _others(logger, self):
                super().emit(record)

    logger = logging.getLogger("tokamak")
    if not logger.hasHandlers():
        handler = Unless()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    _native.set_log_handler(log)
    atexit.register(_native.finish_disk_cache)  # which tells what went wrong when it wrote


def _others(logger: logging.Logger, ours: logging.Handler) -> bool:
    """Whether other handlers hear what the logger says."""
    above: logging.Logger | None = logger
    while above is not None:
        if any(handler is not ours for handler in above.handlers):
            return True
        above = above.parent if above.propagate else None
    return False


def start() -> None:
    """What TOKAMAK_LOGS opened before Python was there."""
    opened = _native.log_channels()
    if opened:
        set_logs(opened)
