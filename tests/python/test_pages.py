"""The parts that all pages share."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tokamak as tk
from browser import Browser
from tokamak import _format, _pages

NASTY = {
    "text": "</script><script>throw 1</script><!-- \u2028 & \" '",
    "numbers": [1.5, 2**53 + 1, float("inf")],
}


def test_data_survives():
    text = _pages.page("a < b & c", NASTY, scripts=[], text="<b>")
    assert _pages.data_of(text) == {**NASTY, "numbers": [1.5, 2**53 + 1, None]}
    assert "<title>a &lt; b &amp; c</title>" in text
    assert text.count("</script>") == 2
    with pytest.raises(ValueError, match="not a page"):
        _pages.data_of("<html></html>")


def test_a_page_that_cannot_be_written(tmp_path):
    missing = tmp_path / "no" / "page.html"
    with pytest.raises(FileNotFoundError) as raised:
        _pages.write(missing, "")
    assert raised.value.filename == os.fspath(missing)
    with pytest.raises(IsADirectoryError) as raised:
        _pages.write(tmp_path, "")
    assert raised.value.filename == os.fspath(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_page_whose_writing_is_interrupted(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    (tmp_path / "page.html").write_text("old")
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _pages.write(tmp_path / "page.html", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "old"


def test_what_was_there_is_replaced(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    _pages.write(path, "näw")
    assert path.read_text(encoding="utf-8") == "näw"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    _pages.write("/dev/null", "gone")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (999, "999 B"),
        (1000, "1 KB"),
        (1024, "1.02 KB"),
        (1500, "1.5 KB"),
        (192e6, "192 MB"),
        (5e12, "5 TB"),
        (2.0**62, "4.61 EB"),
    ],
)
def test_bytes(value, text):
    assert _format.bytes_text(value) == text


def test_numbers_read_the_same_on_the_page(tmp_path):
    values = [0, 1, 0.5, 12.34, 999.4, 1000, 1024, 123456, 98765432.1, 4.5e13, 1e-9, 2.5e-6, 0.0375, 1 / 3]
    wanted = [
        [
            _format.bytes_text(v),
            _format.count_text(v),
            _format.time_text(v),
            _format.percent_text(v),
            _format.rate_text(v, "B"),
        ]
        for v in values
    ]
    (tmp_path / "page.html").write_text(_pages.page("numbers", values, scripts=[]), encoding="utf-8")
    with Browser() as browser:
        tab = browser.open(tmp_path / "page.html")
        shown = tab.run(
            "data().map(v => [format.bytes(v), format.count(v), format.time(v), format.percent(v), format.rate(v, 'B')])"
        )
        assert tab.problems == []
    assert json.dumps(shown, indent=1) == json.dumps(wanted, indent=1)


def test_markup_in_data_stays_text(tmp_path):
    (tmp_path / "page.html").write_text(_pages.page("x", NASTY, scripts=[]), encoding="utf-8")
    with Browser() as browser:
        tab = browser.open(tmp_path / "page.html")
        assert tab.run("el('p', {}, data().text).innerHTML").startswith("&lt;/script&gt;")
        assert tab.run("document.querySelectorAll('script').length") == 2
        assert tab.problems == []
        assert len(tab.requests) == 1


@pytest.mark.parametrize("name", ["page.txt", "page", "page.html.gz", "page.svgz"])
def test_names_that_say_something_else(tmp_path, name):
    """Before anything is measured or written."""
    f = tk.jit(lambda x: np.sin(x) + 1)
    x = np.ones(3)
    e = f.explain(x)
    with tk.profile() as p:
        f(x)
    path = tmp_path / name
    for save, endings in (
        (e.save, ".html or .htm"),
        (p.save, ".html or .htm or .json"),
        (tk.compare(f, x).save, ".html or .htm or .json"),
        (e.draw().save, ".svg"),
    ):
        with pytest.raises(ValueError, match=f"ends in {endings}, not to '.*{name}'") as raised:
            save(path)
        assert isinstance(raised.value, tk.UserError)
    with pytest.raises(tk.UserError, match="ends in"), tk.profile(path):
        raise AssertionError("the block must not run")
    assert e.measured is None and list(tmp_path.iterdir()) == []


def test_devices_have_any_name():
    with tk.profile() as p:
        tk.jit(lambda x: x + 1)(np.ones(3))
    p.save("/dev/null")
