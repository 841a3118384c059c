"""The pages of profiles and comparisons, in a browser."""

import re
import threading

import numpy as np
import pytest
import tokamak as tk
from browser import Browser
from test_profile import activation
from tokamak import _format


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    x = np.linspace(0, 1, 200_000, dtype=np.float32)
    comparison = tk.compare(activation, x, x)
    comparison.save(folder / "comparison.html")
    f = tk.jit(activation)
    g = tk.jit(lambda a: np.sort(np.tanh(a @ a), axis=1))
    g(np.ones((100, 100), np.float32))  # what is made of its kernels would be found by their names, too
    with tk.profile(folder / "profile.html") as recorded:
        for _ in range(5):
            f(x, x)
            g(np.ones((100, 100), np.float32))
    return folder, comparison, recorded


def show_assembly(tab):
    tabs = "[...document.querySelectorAll('#details [role=tab]')]"
    tab.run(f"{tabs}.find(one => one.innerText === 'Assembly').click()")


def count(tab, selector):
    return tab.run(f"document.querySelectorAll({selector!r}).length")


@pytest.mark.parametrize("page", ["comparison", "profile"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_it_renders(browser, pages, page, width, dark):
    tab = browser.open(pages[0] / f"{page}.html", width=width, dark=dark)
    tab.wait("document.querySelectorAll('rect.box').length > 3")
    assert tab.problems == []
    assert len(tab.requests) == 1
    assert tab.run("document.documentElement.scrollWidth <= innerWidth"), "wider than the screen"


@pytest.mark.parametrize("page", ["comparison", "profile"])
def test_tables_fit_phones(browser, pages, page):
    tab = browser.open(pages[0] / f"{page}.html", width=390)
    tab.wait("document.querySelectorAll('tbody tr').length > 0")
    assert tab.run(
        "[...document.querySelectorAll('.scroll')].every(one => one.scrollWidth <= one.clientWidth + 1)"
    )


def test_six_kernels_above_one(browser, pages):
    tab = browser.open(pages[0] / "comparison.html")
    for chart in ("#time", "#traffic"):
        tab.wait(f"document.querySelectorAll('{chart} rect.box').length > 3")
        kernels = f"{chart} rect.box[data-category=kernel][data-run=%r]"
        assert count(tab, kernels % "0") == 6
        assert count(tab, kernels % "1") == 1
        tops = f'[...document.querySelectorAll("{kernels}")].map(box => box.y.baseVal.value)'
        assert max(tab.run(tops % "0")) < min(tab.run(tops % "1"))
    # One axis: widths are as the times are.
    _, comparison, _ = pages
    box = (
        "document.querySelector('#time rect.box[data-category=kernel][data-run=\"%d\"]').width.baseVal.value"
    )
    times = [
        run.kernels[0].end_ns - run.kernels[0].start_ns for run in (comparison.eager, comparison.compiled)
    ]
    assert tab.run(box % 0) / tab.run(box % 1) == pytest.approx(times[0] / times[1], rel=0.05)


def test_a_click_shows_the_code(browser, pages):
    tab = browser.open(pages[0] / "comparison.html")
    tab.wait("document.querySelectorAll('#time rect.box').length > 3")
    tab.click("#time rect.box[data-category=kernel][data-run='1']")
    tab.wait("!document.querySelector('#details').hidden")
    text = tab.run("document.querySelector('#details').textContent")
    assert "sin_cos_mul_add_mul_max" in text and "func @" in text
    show_assembly(tab)
    assert "sin_cos_mul_add_mul_max_0:" in tab.run("document.querySelector('#details').textContent")
    assert tab.problems == []


@pytest.mark.parametrize(
    ("page", "chart"), [("profile", "flame"), ("profile", "timeline"), ("comparison", "traffic")]
)
def test_what_was_chosen_is_shown_below_its_chart(browser, pages, page, chart):
    tab = browser.open(pages[0] / f"{page}.html", height=700)
    tab.wait(f"document.querySelectorAll('#{chart} rect.box').length > 3")
    tab.click(f"#{chart} rect.box[data-category=kernel]")
    tab.wait(f"document.querySelector('#{chart} #details') && !document.querySelector('#details').hidden")
    assert tab.run("document.querySelector('#details').getBoundingClientRect().top < innerHeight")
    tab.click("#details button[aria-label=Close]")
    assert tab.run("document.querySelector('#details').hidden")


def test_the_code_has_its_hot_loop(browser, pages):
    tab = browser.open(pages[0] / "comparison.html")
    tab.wait("document.querySelectorAll('#time rect.box').length > 3")
    tab.click("#time rect.box[data-category=kernel][data-run='1']")
    tab.wait("!document.querySelector('#details').hidden")
    show_assembly(tab)
    hot = tab.run("[...document.querySelectorAll('#details .hot')].map(line => line.innerText).join('\\n')")
    assert "mm" in hot and "j" in hot


def test_kernels_of_several_threads_are_not_more_than_all_the_time(browser, tmp_path):
    f = tk.jit(lambda a: np.tanh(a).sum())
    x = np.ones(400_000)
    f(x)
    with tk.profile(tmp_path / "threads.html") as recorded:
        threads = [threading.Thread(target=lambda: [f(x) for _ in range(20)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    tab = browser.open(tmp_path / "threads.html")
    tab.wait("document.querySelectorAll('.tile').length > 3")
    tiles = tab.run("[...document.querySelectorAll('.tile')].map(one => one.innerText)")
    (text,) = (one for one in tiles if one.startswith("In kernels"))
    share = float(re.search(r"([\d.]+) % of the time, in 3 threads", text)[1])
    assert 0 < share <= 100
    spent = sum(kernel.end_ns - kernel.start_ns for kernel in recorded.kernels)
    assert _format.time_text(spent / 1e9) in text


def test_the_numbers_are_those_of_the_profile(browser, pages):
    _, _, recorded = pages
    tab = browser.open(pages[0] / "profile.html")
    tab.wait("document.querySelectorAll('#timeline rect.box').length > 3")
    rows = tab.run(
        "[...document.querySelectorAll('#sums tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    wanted = [(total.name, total.category, str(total.count)) for total in recorded.totals()]
    assert sorted(tuple(row[:3]) for row in rows) == sorted(wanted)
    flame = "document.querySelector('#flame rect.box[data-name=\"activation\"]').dataset.count"
    assert tab.run(flame) == "5"
    assert tab.run("data().runs[0].duration_ns") == recorded.duration_ns


def test_search_and_zoom(browser, pages):
    tab = browser.open(pages[0] / "profile.html")
    tab.wait("document.querySelectorAll('#timeline rect.box').length > 3")
    tab.run("document.querySelector('#timeline input').focus()")
    tab.type("sort")
    tab.wait("document.querySelector('#timeline [role=status]').textContent.includes('match')")
    tab.wait("document.querySelectorAll('#timeline rect.box.dim').length > 3")
    assert count(tab, "#timeline rect.box.dim[data-name=sort]") == 0
    width = "document.querySelector('#timeline rect.box[data-name=sort]').width.baseVal.value"
    before = tab.run(width)
    tab.run(
        "document.querySelector('#timeline input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))"
    )
    tab.wait(f"{width} > {2 * before} && {width} > 100")
    assert tab.run("document.querySelector('#details h3').textContent") == "sort"
    tab.run("[...document.querySelectorAll('#timeline button')].find(b => b.textContent === 'All').click()")
    tab.wait(f"{width} < 100")
    assert tab.problems == []


def test_very_many_events(browser, tmp_path):
    f = tk.jit(lambda x: x + 1)
    x = np.ones(3)
    with tk.profile(tmp_path / "many.html"):
        for _ in range(40_000):
            f(x)
    tab = browser.open(tmp_path / "many.html")
    tab.wait("document.querySelectorAll('#timeline rect.box').length > 3")
    assert count(tab, "rect.box") < 20_000
    assert tab.problems == []


def test_the_title_says_what_ran(browser, pages, tmp_path):
    tab = browser.open(pages[0] / "profile.html")
    title = tab.run("document.title")
    assert title in ("Profile of activation and <lambda>", "Profile of <lambda> and activation")
    assert tab.run("document.querySelector('h1').innerText") == title
    x = np.ones(3)
    with tk.profile() as recorded:
        for name in "abcd":
            f = lambda x: x + 1  # noqa: E731
            f.__name__ = name
            tk.jit(f)(x)
    assert re.fullmatch(r"Profile of [a-d], [a-d] and 2 more", recorded._title())
    with tk.profile() as nothing:
        pass
    assert nothing._title() == "Profile"


def test_a_comparison_of_nothing_says_so(browser, tmp_path):
    tk.compare(lambda x: x + 1, np.ones((0, 3))).save(tmp_path / "nothing.html")
    tab = browser.open(tmp_path / "nothing.html", width=390)
    shown = tab.run("document.getElementById('page').innerText")
    assert "No kernels needed for 1 operation without elements; there is nothing to compare." in shown
    assert tab.run("document.querySelectorAll('section, nav').length") == 0 and tab.problems == []
