"""The page in a browser: what is shown, at which width and in which colours."""

import re

import pytest
import tokamak as tk
from report_programs import f32, unrolled
from tokamak import _format


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_page_renders(browser, page_file, explained, width, dark):
    tab = browser.open(page_file, width=width, dark=dark)
    names = tab.run(
        "[...document.querySelectorAll('#kernel-table tbody tr')].map(row => row.cells[0].textContent)"
    )
    assert names == [kernel.name for kernel in explained.kernels]
    boxes = tab.run("[...document.querySelectorAll('.graph .kernel')].map(box => Number(box.dataset.kernel))")
    assert boxes == list(range(len(explained.kernels)))
    # No wider than the screen, in the colours that were asked for.
    assert tab.run("document.documentElement.scrollWidth") <= width
    ground = tab.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")
    for part in ("graph", "source", "kernels", "passes", "refused", "memory", "layout", "dead", "time"):
        tab.run(f"document.querySelector('.nav a[href=\"#{part}\"]').click()")
        assert tab.run(f"document.getElementById({part!r}).offsetHeight") > 40
    assert tab.problems == []
    assert len(tab.requests) == 1


def cut_tables(tab):
    """Of the tables that are in sight those that do not fit, though nobody sees that they scroll."""
    return tab.run(
        """[...document.querySelectorAll('.scroll')].filter(one => one.querySelector('table') && one.scrollWidth > one.clientWidth + 1)
           .map(one => one.querySelector('table').id)"""
    )


def test_tables_fit_phones(browser, page_file):
    for width in (320, 390):
        tab = browser.open(page_file, width=width)
        tab.run("document.querySelectorAll('details').forEach(one => (one.open = true))")
        assert cut_tables(tab) == []
        # What a column is called is there, too.
        shown = (
            "getComputedStyle(document.querySelector('#kernel-table tbody tr').cells[1], '::before').content"
        )
        assert tab.run(shown) == '"reads"'


def test_long_tables_scroll_by_themselves(browser, tmp_path):
    e = unrolled.explain(f32(40, 40), f32(40, 40))
    e.save(tmp_path / "long.html", measure=False)
    for width in (1280, 390):
        tab = browser.open(tmp_path / "long.html", width=width)
        assert tab.run("document.querySelectorAll('#kernel-table tbody tr').length") == len(e.kernels)
        assert tab.run("document.querySelector('#kernels .scroll').clientHeight < 800")
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")


def test_what_does_not_run_says_so(browser, tmp_path):
    e = tk.jit(lambda x: x + 1).explain(f32(0, 3)).measure(0.01)
    e.save(tmp_path / "empty.html")
    tab = browser.open(tmp_path / "empty.html")
    shown = tab.run("document.getElementById('page').innerText")
    assert "needed for 1 operation without elements" in shown and "no kernels run" in shown
    assert "it does not run: there are no elements" in shown
    assert re.search(r"(?<![\d.])0 ns", shown) is None  # of a kernel; the call around it may well take 670 ns
    assert "A call takes no memory beside its arguments and constants." in shown
    assert tab.run("document.querySelectorAll('svg.roofline, .memory svg').length") == 0
    assert tab.problems == []
    assert "takes no memory" in e.draw("memory").svg
    assert "<table>" not in e._repr_html_()


def test_roofs_have_their_names(browser, page_file, explained):
    tab = browser.open(page_file)
    text = tab.run("document.querySelector('#kernels .roofline').parentElement.parentElement.textContent")
    roof = explained.measured.roofline
    assert f"{_format.rate_text(roof.f32_flops, 'FLOP')} in f32" in text
    used = {(took.limit, took.rate) for took in explained.measured.kernels if took.limit != "arithmetic"}
    for name, rate in {*used, ("memory", roof.levels[-1].bytes_per_second)}:
        assert f"{name} {_format.rate_text(rate, 'B')}" in text
    # What is written there does not lie on something else that is.
    assert (
        tab.run("""(() => {
      const boxes = [...document.querySelectorAll('#kernels svg.roofline text')].map((one) => one.getBoundingClientRect());
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
    })()""")
        == 0
    )
