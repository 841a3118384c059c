"""Turns on a machine that others use too: rests between them, and how much somebody else worked meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

REST = 0.03  # seconds before a turn, at least
TURN = 0.03  # seconds that a turn lasts at least
BATCH = 1e-3  # seconds of calls between two looks at the clock
LONG = 0.3  # seconds of a call that needs no call before it: what wakes threads and fills caches is short


def busy_seconds() -> float:
    """What all processors have worked so far, for anybody; 0 where that is not known."""
    try:
        user, nice, system, _, _, *others = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except (OSError, ValueError):
        return 0
    return sum(map(int, (user, nice, system, *others))) / os.sysconf("SC_CLK_TCK")


def is_little(used: float, elapsed: float) -> bool:
    """Of what the processors could do in that time; two ticks of the clock may be an error of counting."""
    return used <= max(2 / os.sysconf("SC_CLK_TCK"), 0.1 * elapsed * (os.cpu_count() or 1))


def rest(until: float) -> None:
    """Waits for a moment in which the machine is idle, but not for ever."""
    while True:
        before = busy_seconds()
        time.sleep(REST)
        if is_little(busy_seconds() - before, REST) or time.perf_counter() >= until:
            return


def timed(call: Callable[[], Any], seconds: float, batch: int = 1) -> tuple[float, bool]:
    """Seconds of a call, over batches until the time is up, and whether other processes were at work."""
    busy, own = busy_seconds(), time.process_time()
    batches = 0
    start = now = time.perf_counter()
    while batches == 0 or now - start < seconds:
        for _ in repeat(None, batch):
            call()
        batches += 1
        now = time.perf_counter()
    others = (busy_seconds() - busy) - (time.process_time() - own)
    return (now - start) / (batches * batch), not is_little(others, now - start)


def turn(call: Callable[[], Any], seconds: float = TURN) -> tuple[float, bool]:
    """The same for a turn, which begins with a call that does not count, unless calls are long."""
    once, disturbed = timed(call, 0)
    if once > LONG:
        return once, disturbed
    return timed(call, seconds, batch=max(1, int(BATCH / once)))
