"""The explanation as text, in a terminal."""

import re
import sys
import time

import numpy as np
import tokamak as tk
from report_programs import f32, unrolled
from tokamak import _format, _progress, _terminal


def test_text_fits_its_width(explained):
    for width in (40, 60, 100):
        text = explained.text(width=width, colour=False)
        assert max(map(len, text.splitlines())) <= width
        assert "\x1b" not in text
    wide = explained.text(width=120, colour=False)
    assert explained.kernels[0].name in wide
    assert f"{len(explained.kernels)} kernels" in wide
    assert "roofline" in wide
    assert "dead" in wide
    assert "not fused" in wide
    coloured = explained.text(width=120, colour=True)
    assert re.sub(r"\x1b\[\d+m", "", coloured).split() == wide.split()


def test_colour_only_in_terminals(monkeypatch):
    assert not _terminal.wants_colour()  # pytest captures the output
    monkeypatch.setattr(sys, "stdout", type("Terminal", (), {"closed": False, "isatty": lambda self: True})())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "77")
    assert _terminal.wants_colour()
    assert _terminal.width_of(sys.stdout) == 77
    monkeypatch.setenv("NO_COLOR", "1")
    assert not _terminal.wants_colour()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not _terminal.wants_colour()


def test_narrow_terminals(explained):
    for width in (20, 24, 30, 36, 40, 50, 60):
        for colour in (False, True):
            text = re.sub(r"\x1b\[\d+m", "", explained.text(width=width, colour=colour))
            assert max(map(len, text.splitlines())) <= width
            words = "".join(text.split())
            for word in ("notfused", "memory", "compiled", "kernels", "dead"):
                assert word in words


def test_progress_stays_in_its_line(monkeypatch):
    """One that is longer than the terminal cannot be taken away."""
    written = []
    terminal = type("Terminal", (), {"closed": False, "isatty": lambda self: True, "flush": lambda self: None})()
    terminal.write = written.append
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "24")
    with _progress.Progress("measuring something that has a long name") as progress:
        time.sleep(0.7)
        terminal.closed = True  # what is done may close it
        progress.say("on")
        time.sleep(0.2)
    shown = [line.strip("\r") for line in written]
    assert shown and all(len(line) < 24 for line in shown) and shown[0].endswith("…")


def test_many_kernels_that_are_equal_share_a_row():
    e = unrolled.explain(f32(40, 40), f32(40, 40)).measure(0.01)
    assert len(e.kernels) > 60
    lines = e.text(width=140, colour=False).splitlines()
    head = next(i for i, line in enumerate(lines) if line.split()[:1] == ["times"])
    sorts = [kernel for kernel in e.kernels if kernel.name == "sort"]
    (row,) = (line for line in lines[head:] if line.split()[:1] == ["sort"])
    cells = re.split(r"\s{2,}", row.strip())
    assert cells[1] == str(len(sorts)) == "30"
    assert cells[2] == _format.bytes_text(sum(kernel.bytes_read for kernel in sorts))
    took = [e.measured.kernels[i] for i, kernel in enumerate(e.kernels) if kernel.name == "sort"]
    assert cells[5] == _format.time_text(sum(one.seconds for one in took))
    assert cells[6] == _format.percent_text(
        sum(one.bound_seconds for one in took) / sum(one.seconds for one in took)
    )
    assert len(lines) < 30
    assert max(map(len, e.text(width=50, colour=False).splitlines())) <= 50


def test_many_different_kernels_are_cut_short():
    def f(x):
        for i in range(30):
            x = np.sort(x[: 1000 - 10 * i], axis=0)
        return x

    text = str(tk.jit(f).explain(np.ones(1000)))
    assert "  and 10 more" in text
    assert len(text.splitlines()) < 40


def test_no_width_is_too_little():
    e = unrolled.explain(f32(40, 40), f32(40, 40))
    assert e.text(width=0, colour=False) == e.text(width=20, colour=False)
