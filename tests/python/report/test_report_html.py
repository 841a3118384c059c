"""The explanation in a notebook and as a page, as they are written."""

import html
import html.parser
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tokamak as tk
from report_programs import f32, mlp, unrolled
from tokamak import _explanation_text, _native, _pages
from tokamak._pages import report


class Checker(html.parser.HTMLParser):
    """Sees to it that elements are closed in order, and notes what would be loaded."""

    VOID = {"meta", "link", "br", "hr", "img", "input"}  # noqa: RUF012

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.loaded = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "srcset", "data") and not value.startswith(("#", "data:")):
                self.loaded.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_notebook(explained):
    text = explained._repr_html_()
    assert not Checker(text).loaded
    assert "<script" not in text
    assert all(kernel.name in text for kernel in explained.kernels)
    assert "vector j" in text
    for name, note in _explanation_text.notes_of(explained):
        assert html.escape(f"{name}: {note}") in text


def test_notebooks_keep_little_of_large_programs():
    def f(x):
        for i in range(200):
            x = np.sort(np.tanh(x * 0.5 + i)) + x.mean()
        return x

    e = tk.jit(f).explain(np.ones(40))
    assert len(e.kernels) > 100
    text = e._repr_html_()
    Checker(text)
    assert "more lines" in text
    assert len(text) < 200_000
    assert len(re.findall("<tr>", text)) < 22
    evil = tk.jit(lambda x: x + 1)
    e = evil.explain(np.ones(3))
    e.name = "<script>alert(1)</script>"
    assert "<script" not in e._repr_html_()


def test_page_is_whole(page_file, explained):
    text = page_file.read_text(encoding="utf-8")
    assert not Checker(text).loaded
    assert "@import" not in text
    assert "url(http" not in text
    assert not re.search(r"\b(fetch|XMLHttpRequest|importScripts|eval)\(", text)
    assert "default-src 'none'" in text


def test_numbers_of_the_page_are_those_of_the_api(page_file, explained):
    e = explained
    data = _pages.data_of(page_file.read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(report.contents(e)))
    assert data["kind"] == "explanation"
    assert data["graph"] == e.graph
    assert data["optimized"] == e.optimized
    for shown, kernel, took in zip(data["kernels"], e.kernels, e.measured.kernels, strict=True):
        for name in (
            "name",
            "ops",
            "bytes_read",
            "bytes_written",
            "flops",
            "operations",
            "reads",
            "writes",
            "tasks",
        ):
            assert shown[name] == getattr(kernel, name)
        code = data["codes"][shown["code"]]
        for name in ("loops", "schedule", "llvm", "asm", "graph"):
            assert code[name] == getattr(kernel, name)
        assert shown["measured"]["seconds"] == took.seconds
        assert shown["measured"]["share"] == took.share
        assert shown["predicted_seconds"] == _native.predicted_seconds(kernel, e.measured.roofline)
        assert [line["line"] for line in shown["lines"]] == [line.line for line in kernel.lines]
    assert data["memory"]["peak_bytes"] == e.memory.peak_bytes
    assert data["memory"]["naive_bytes"] == e.memory.naive_bytes
    assert [one["at"] for one in data["memory"]["buffers"]] == [one.at for one in e.memory.buffers]
    assert [one["reason"] for one in data["refused"]] == [one.reason for one in e.refused]
    assert [one["milliseconds"] for one in data["times"]] == [one.milliseconds for one in e.times]
    assert [data["traced"][i]["name"] for i in data["dead"]] == [one.name for one in e.dead]
    source = Path(mlp.__wrapped__.__code__.co_filename).read_text().splitlines()
    (shown,) = data["sources"]
    for part in shown["parts"]:
        assert part["lines"] == source[part["first"] - 1 :][: len(part["lines"])]


def test_equal_kernels_share_their_code():
    e = unrolled.explain(f32(40, 40), f32(40, 40))
    data = report.contents(e)
    assert len(data["codes"]) < len(data["kernels"])
    assert data["measured"] is None


def test_a_report_that_cannot_be_written(explained, tmp_path):
    path = tmp_path / "missing" / "report.html"
    with pytest.raises(FileNotFoundError, match=re.escape(os.fspath(path))):
        explained.save(path)
    with pytest.raises(IsADirectoryError, match=re.escape(os.fspath(tmp_path))):
        explained.save(tmp_path)


def test_what_cannot_be_traced_cannot_be_explained():
    with pytest.raises(TypeError):
        tk.jit(lambda x: float(x.sum())).explain(np.ones(3))


def test_source_that_cannot_be_read(tmp_path):
    program = "import numpy as np, tokamak as tk\nf = tk.jit(lambda x: np.sin(x) + 1)\nf.explain(np.ones(4)).save('r.html')\n"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    data = _pages.data_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert [one["parts"] for one in data["sources"]] in ([], [[]])
    assert data["kernels"][0]["measured"]["seconds"] > 0
