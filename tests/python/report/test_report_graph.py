"""The graph of the page in a browser: kernels, operations, searching, collapsing."""

import numpy as np
import pytest
import tokamak as tk
from report_programs import f32, unrolled
from tokamak import _assembly


def test_operations_lie_inside_their_kernels(browser, page_file, explained):
    tab = browser.open(page_file)
    outside = tab.run(
        """(() => {
          const box = (element) => element.getBoundingClientRect();
          const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
          const kernels = [...document.querySelectorAll('.graph .kernel')];
          const nodes = [...document.querySelectorAll('.graph .node')];
          return kernels.map(kernel => nodes.filter(node => inside(box(node), box(kernel.querySelector('.body'))))
                                            .map(node => Number(node.dataset.operation)));
        })()"""
    )
    drawn = [
        [i for i, one in enumerate(explained.traced) if k in one.kernels and one.name.startswith("%")]
        for k in range(len(explained.kernels))
    ]
    assert [sorted(found) for found in outside] == drawn


def test_a_click_on_a_kernel_shows_its_code(browser, page_file, explained):
    tab = browser.open(page_file)
    for number in (1, 0):
        tab.click(f".graph .kernel[data-kernel='{number}'] .title")
        tab.wait(f"document.querySelector('.kernel-card[data-kernel=\"{number}\"]')")
        kernel = explained.kernels[number]
        shown = "document.querySelector('.kernel-card pre.code').innerText"
        assert kernel.loops.splitlines()[0] in tab.run(shown)
        for name, text in (("LLVM IR", "define void"), ("Assembly", "retq"), ("Schedule", "vectorise")):
            tab.run(
                f"[...document.querySelectorAll('.kernel-card [role=tab]')].find(one => one.textContent === {name!r}).click()"
            )
            assert text in tab.run(shown)
    tab.run(
        "[...document.querySelectorAll('.kernel-card [role=tab]')].find(one => one.textContent === 'Assembly').click()"
    )
    loops = _assembly.loops_of(explained.kernels[0].asm)
    hot = loops[_assembly.hot_loop(loops)]
    assert tab.run("document.querySelectorAll('.kernel-card .hot').length") == hot.last - hot.first + 1
    tab.click("#kernel-table tbody tr:nth-child(3)")
    assert tab.run("document.querySelector('.kernel-card').dataset.kernel") == "2"
    assert tab.problems == []


def test_an_operation_leads_to_its_line(browser, page_file, explained):
    tab = browser.open(page_file)
    number = next(i for i, one in enumerate(explained.traced) if one.op == "max")
    tab.click(f".graph .node[data-operation='{number}'] .label")
    shown = tab.run("document.querySelector('.inspector').innerText")
    assert explained.traced[number].text in shown
    assert "h = np.maximum(x @ w1 + b1, 0)" in shown
    tab.click(".inspector a")
    assert "np.maximum" in tab.run("document.querySelector('pre.source .marked').innerText")
    assert "dead" in tab.run("document.querySelector('#dead-table').innerText") or explained.dead
    assert tab.problems == []


def test_searching_collapsing_and_the_trace(browser, page_file, explained):
    tab = browser.open(page_file)
    count = "document.querySelectorAll('.graph .node').length"
    whole = tab.run(count)
    tab.run("document.querySelector('input[type=search]').focus()")
    tab.type("reduce_max")
    tab.wait("document.querySelectorAll('.graph .node.hit').length === 1")
    tab.run(
        "(() => { const box = document.querySelector('input[type=search]'); box.value = ''; box.dispatchEvent(new Event('input')); })()"
    )
    tab.click(".graph .kernel[data-kernel='0'] .toggle")
    assert tab.run(count) < whole
    tab.click("button[title='Collapse all kernels']")
    assert tab.run(count) == sum(one.op == "parameter" or one.is_dead for one in explained.traced)
    tab.click("button[title='Expand all kernels']")
    assert tab.run(count) == whole
    assert tab.run("document.querySelectorAll('.graph .node.dead').length") == 3
    assert tab.run("document.querySelectorAll('.graph .kernel').length") == len(explained.kernels)
    tab.run(
        "[...document.querySelectorAll('#graph button')].find(one => one.textContent === 'After the passes').click()"
    )
    assert tab.run("document.querySelectorAll('.graph .node.dead').length") == 1  # the argument
    assert tab.run("document.querySelectorAll('.graph .kernel').length") == len(explained.kernels)
    assert tab.problems == []


def test_differences_forget_names(browser, page_file):
    tab = browser.open(page_file)
    removed = tab.run(
        "[...document.querySelectorAll('#passes .removed')].map(line => line.innerText.split(' = ')[1].split(' ')[0])"
    )
    assert removed == ["dot", "exp"]
    assert tab.run("document.querySelectorAll('#passes .added').length") == 0


def test_a_large_graph_stays_usable(browser, tmp_path):
    e = unrolled.explain(f32(40, 40), f32(40, 40))
    assert len(e.operations) > 300
    e.save(tmp_path / "large.html", measure=False)
    tab = browser.open(tmp_path / "large.html")
    assert tab.run("document.querySelectorAll('.graph .kernel').length") == len(e.kernels)
    milliseconds = tab.run(
        """(() => {
          const start = performance.now();
          document.querySelector("button[title='Expand all kernels']").click();
          document.querySelector('.graph svg').getBoundingClientRect();
          return performance.now() - start;
        })()"""
    )
    assert milliseconds < 5000
    transform = "document.querySelector('.graph svg > g').getAttribute('transform')"
    before = tab.run(transform)
    tab.click("button[title='Zoom in']")
    assert tab.run(transform) != before
    assert tab.problems == []


OUTSIDE = """(() => {
  const canvas = document.querySelector('.canvas.graph').getBoundingClientRect();
  const drawn = [...document.querySelectorAll('.graph .kernel, .graph .node')].map((one) => one.getBoundingClientRect());
  return drawn.filter((box) => box.left < canvas.left || box.right > canvas.right || box.top < canvas.top || box.bottom > canvas.bottom).length;
})()"""
LOWEST_NAME = """Math.min(...[...document.querySelectorAll('.graph .label, .graph .kernel .title')].map((one) =>
  parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a))"""
SEEN = """(() => {
  const canvas = document.querySelector('.canvas.graph').getBoundingClientRect();
  const drawn = [...document.querySelectorAll('.graph .kernel, .graph .node')].map((one) => one.getBoundingClientRect());
  const top = Math.min(...drawn.map((box) => box.top));
  const seen = drawn.filter((box) => box.left < canvas.right && box.right > canvas.left && box.top < canvas.bottom && box.bottom > canvas.top);
  const first = drawn.filter((box) => box.top < top + 5 && box.left >= canvas.left && box.right <= canvas.right);
  return {seen: seen.length, first: first.length, below: top - canvas.top};
})()"""
HEIGHT = "document.querySelector('.canvas.graph').clientHeight"


@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_sight_is_the_whole_program(browser, page_file, tmp_path, width):
    def in_layers(x, w):
        for _ in range(6):
            x = np.tanh(x @ w)
            x = x - x.mean(axis=0)
        return x

    tk.jit(lambda x: np.tanh(x) * 2).explain(f32(1000)).save(tmp_path / "small.html", measure=False)
    tk.jit(in_layers).explain(f32(64, 64), f32(64, 64)).save(tmp_path / "tall.html", measure=False)
    for path in (tmp_path / "small.html", page_file, tmp_path / "tall.html"):
        tab = browser.open(path, width=width)
        assert tab.run(LOWEST_NAME) >= 9, path
        if width == 1280 or path.name == "small.html":
            assert tab.run(OUTSIDE) == 0, path
        else:  # or its top: names that cannot be read say nothing
            seen = tab.run(SEEN)
            assert seen["seen"] > 3 and seen["first"] > 0 and 0 <= seen["below"] < 20, path
    small, tall = browser.open(tmp_path / "small.html", width=width), browser.open(tmp_path / "tall.html")
    assert small.run(HEIGHT) < 300 < tall.run(HEIGHT)  # no empty canvas
    # What does not fit is shown as its kernels, which open.
    assert tall.run("document.querySelectorAll('.graph .node:not(.parameter)').length") == 0
    tall.click("button[title='Expand all kernels']")
    assert tall.run("document.querySelectorAll('.graph .node:not(.parameter)').length") > 30


@pytest.mark.parametrize("kind", ["deep", "wide"])
@pytest.mark.parametrize("width", [390, 1280])
def test_names_can_be_read_at_first(browser, tmp_path, width, kind):
    """Of programs of one kernel, too, which cannot be shown as their kernels."""

    def deep(x):
        for _ in range(12):
            x = np.sin(x) * np.cos(x)
        return x

    def wide(x):
        return tuple(np.sin(x * i) + np.cos(x) for i in range(2, 14))

    program = {"deep": deep, "wide": wide}[kind]
    tk.jit(program).explain(f32(1000)).save(tmp_path / "page.html", measure=False)
    tab = browser.open(tmp_path / "page.html", width=width)
    assert tab.run(LOWEST_NAME) >= 9
    seen = tab.run(SEEN)
    assert seen["seen"] > 3 and seen["first"] > 0 and 0 <= seen["below"] < 20
    tab.click("button[title='Show all']")
    assert tab.run(OUTSIDE) == 0


def test_what_is_looked_at_stays_when_the_window_changes(browser, page_file):
    def resize(width):
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        tab.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    transform = "document.querySelector('.graph svg > g').getAttribute('transform')"
    opened = {width: browser.open(page_file, width=width).run(transform) for width in (390, 700, 1280)}
    tab = browser.open(page_file, width=900)
    for width, wanted in opened.items():  # as if it had been opened like that
        resize(width)
        assert tab.run(transform) == wanted
    tab.click("button[title='Show all']")
    resize(390)
    assert tab.run(OUTSIDE) == 0
    # What the reader has moved to is still in the middle.
    middle = """(() => {
      const box = document.querySelector('.canvas.graph').getBoundingClientRect();
      const at = document.querySelector('.graph svg > g').getScreenCTM();
      return [(box.x + box.width / 2 - at.e) / at.a, (box.y + box.height / 2 - at.f) / at.a];
    })()"""
    tab.click("button[title='Zoom in']")
    tab.click("button[title='Zoom in']")
    before = tab.run(middle)
    resize(1000)
    assert np.allclose(tab.run(middle), before, atol=2)
    assert tab.problems == []


def test_controls_fit_phones(browser, page_file):
    tab = browser.open(page_file, width=390)
    rows = tab.run(
        """[...new Set([...document.querySelectorAll('.of-graph button, .of-graph input')].map((one) => {
             const box = one.getBoundingClientRect();
             return Math.round((box.top + box.bottom) / 2);
           }))].length"""
    )
    assert rows == 2
    # What the empty box says is there as a whole: it is no wider than the box.
    assert tab.run(
        """(() => {
          const box = document.querySelector('.of-graph input');
          box.value = box.placeholder;
          return box.scrollWidth <= box.clientWidth;
        })()"""
    )
