"""The explanation as data, as text, in a notebook and as a page; the page in a browser."""

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
from browser import Browser
from tokamak import _assembly, _explanation_text, _format, _measure, _native, _pages
from tokamak._pages import report


@tk.jit
def mlp(x, w1, b1, w2, unused):
    _ = np.exp(x @ unused)  # dead
    h = np.maximum(x @ w1 + b1, 0)
    y = h @ w2
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True), (h.T * 2).sum(axis=0)


FIRST_LINE = mlp.__wrapped__.__code__.co_firstlineno


def f32(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


MLP_ARGS = (f32(48, 64), f32(64, 80), f32(80), f32(80, 32), f32(64, 80))


@tk.jit
def unrolled(x, w):
    for i in range(30):
        x = np.sort(np.tanh(x * 0.5 + i) @ w, axis=0) + x.mean(axis=1, keepdims=True) * (x + 1)
    return x


@pytest.fixture(scope="module")
def explained():
    return mlp.explain(*MLP_ARGS).measure(0.02)


@pytest.fixture(scope="module")
def page_file(explained, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    explained.save(path)
    return path


@pytest.fixture(scope="module")
def browser():
    with Browser() as one:
        yield one


# ---- Data


def test_operations_and_their_kernels(explained):
    e = explained
    assert [one.name for one in e.operations if one.op == "parameter"] == [
        "%x",
        "%w1",
        "%b1",
        "%w2",
        "%unused",
    ]
    for number, kernel in enumerate(e.kernels):
        assert kernel.operations
        for i in kernel.operations:
            assert number in e.operations[i].kernels
        named = [e.operations[i].op.removeprefix("reduce_") for i in kernel.operations]
        assert [op for op in named if op in kernel.ops] == kernel.ops
        # What it reads is there when it runs: an argument, or what a kernel before it wrote.
        before = {i for other in e.kernels[:number] for i in other.writes}
        assert all(e.operations[i].op == "parameter" or i in before for i in kernel.reads)
    for i, one in enumerate(e.operations):
        assert all(k < i for k in one.inputs)
        assert f"  {one.name} = {one.text}\n" in e.optimized or one.op == "parameter" or not one.inputs
    assert sum(one.is_output for one in e.operations) == 2
    lines = {one.line.line - FIRST_LINE for one in e.operations if one.line.file}
    assert lines == {3, 4, 5, 6}
    assert all(one.line.file == __file__ for one in e.operations if one.line.file)


def test_dead_operations(explained):
    assert [one.op for one in explained.dead] == ["dot", "exp"]
    assert {one.line.line - FIRST_LINE for one in explained.dead} == {2}
    assert [one.name for one in explained.traced if one.op == "parameter" and one.is_dead] == ["%unused"]
    assert not tk.jit(lambda x: x + 1).explain(np.ones(3)).dead


def test_every_pass_is_there(explained):
    changed = [one for one in explained.passes if one.changed]
    assert [one.name for one in changed] == ["eliminate-dead"]
    assert changed[-1].graph == explained.optimized
    assert all(not one.graph for one in explained.passes if not one.changed)
    assert changed[0].operations_before - changed[0].operations_after == 2
    assert changed[0].summary
    e = tk.jit(lambda x: (x + 0.0 * 2) * np.float64(3) * 1.0).explain(np.ones(5))
    texts = [e.graph, *(one.graph for one in e.passes if one.changed)]
    assert len(texts) > 2
    assert texts[-1] == e.optimized
    assert all(a != b for a, b in zip(texts, texts[1:], strict=False))


def test_buffers_do_not_overlap(explained):
    for e in (explained, unrolled.explain(f32(40, 40), f32(40, 40))):
        buffers = e.memory.buffers
        arena = [one for one in buffers if one.place == "arena"]
        assert max(one.at + one.bytes for one in arena) <= e.memory.arena_bytes
        for i, a in enumerate(buffers):
            assert 0 <= a.first_kernel <= a.last_kernel < len(e.kernels)
            for k, b in enumerate(buffers[:i]):
                together = a.place == b.place == "arena" and a.at < b.at + b.bytes and b.at < a.at + a.bytes
                alive = a.first_kernel <= b.last_kernel and b.first_kernel <= a.last_kernel
                assert not (together and alive) or a.in_place_of == k or b.in_place_of == i
    names = {f"{one.name}" for one in explained.operations}
    assert all(one.name in names or " of " in one.name for one in explained.memory.buffers)


def test_values_in_place():
    @tk.jit
    def chain(x, w):
        y = np.sort(x + w, axis=0)
        return np.sort(y * 2, axis=0).sum()

    e = chain.explain(f32(300, 8), f32(300, 8))
    assert [one.place for one in e.memory.buffers].count("arena") >= 2
    named = [one for one in e.memory.buffers if one.in_place_of is not None]
    assert ("in place of" in e.memory.plan) == bool(named)


def test_layouts_and_copies(explained):
    packed = [one for one in explained.layouts if one.bytes_copied]
    assert packed
    assert all("packed" in one.decision for one in packed)
    assert all(one.kernel is not None for one in explained.layouts)

    strided = tk.jit(lambda x: x + 1).explain(np.ones((6, 8))[:, ::2])
    assert [(one.value, one.kernel) for one in strided.layouts] == [("%x", None)]
    assert "strides" in strided.layouts[0].decision

    twice = tk.jit(lambda x: (y := x + 1, y)).explain(np.ones(4))
    assert [one.bytes_copied for one in twice.layouts] == [32]

    def write(x):
        x[1:3] = x[1:3] * 2

    written = tk.jit(write).explain(np.ones(8))
    assert any("where %x lies" in one.decision or "copied to %x" in one.decision for one in written.layouts)


def test_refusals_know_their_line(explained):
    (refused,) = explained.refused
    assert explained.operations[refused.consumer_operation].op == refused.consumer == "mul"
    assert explained.operations[refused.producer_operation].op == refused.producer == "dot"
    assert refused.line.line - FIRST_LINE == 6
    assert refused.times == 1


def test_times_begin_with_tracing(explained):
    assert [one.stage for one in explained.times] == ["trace", "passes", "fusion", "code", "plan"]
    assert all(one.milliseconds >= 0 for one in explained.times)


# ---- Machine code

LOOPS = """f:
	testq	%rsi, %rsi
	je	.L9
.L1:
	xorl	%eax, %eax
.L2:
	vaddps	(%rdi,%rax), %ymm0, %ymm0
	addq	$32, %rax
	cmpq	%rax, %rsi
	jne	.L2
	movss	%xmm0, (%rdx)
.L3:
	incq	%rcx
	jl	.L3
	decq	%r8
	jne	.L1
.L9:
	retq
"""


def test_loops_of_assembly():
    loops = _assembly.loops_of(LOOPS)
    assert [(loop.first, loop.last, loop.depth, loop.innermost) for loop in loops] == [
        (3, 15, 0, False),
        (5, 9, 1, True),
        (11, 13, 1, True),
    ]
    assert (loops[1].instructions, loops[1].vector_instructions) == (4, 1)
    assert _assembly.hot_loop(loops) == 1
    assert _assembly.loops_of("f:\n\tretq\n") == []
    assert _assembly.hot_loop([]) is None


def test_the_hot_loop_computes():
    x = np.ones(100_000, np.float32)
    (kernel,) = tk.jit(lambda x: np.maximum(np.exp(x) * x, 0)).explain(x).kernels
    loops = _assembly.loops_of(kernel.asm)
    hot = loops[_assembly.hot_loop(loops)]
    text = "\n".join(kernel.asm.splitlines()[hot.first : hot.last + 1])
    assert "mulps" in text
    assert "maxps" in text


def test_code_of_all_stages():
    def attend(q, k, v):
        s = q @ np.swapaxes(k, -1, -2)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ v

    (kernel,) = tk.jit(attend).explain(*(f32(2, 70, 16) for _ in range(3))).kernels
    # One function for the softmax of a block of rows, one for what comes after the second product.
    assert kernel.asm.count(".globl") == kernel.llvm.count("\ndefine ") == 2


# ---- Measuring


def test_steps_that_check_are_not_taken_for_kernels():
    def put(a, i, v):
        a[i] = v

    e = tk.jit(put).explain(np.zeros(100_000), np.arange(5), np.ones(5))
    assert all(one.seconds > 0 for one in e.measure(0.01).measured.kernels)


def test_measured_times_and_shares(explained):
    measured = explained.measured
    assert measured.runs >= 3
    assert len(measured.kernels) == len(explained.kernels)
    assert 0 < sum(one.seconds for one in measured.kernels)
    for kernel, took in zip(explained.kernels, measured.kernels, strict=True):
        assert took.share == took.bound_seconds / took.seconds
        bound, limit = _measure.bound_of(kernel, measured.roofline)
        assert (took.bound_seconds, took.limit) == (min(bound, took.seconds), limit)
    assert "2 threads" in measured.how() or f"{tk.num_threads()} thread" in measured.how()


@pytest.mark.parametrize("size", [10, 50_000])
def test_kernels_take_no_longer_than_the_call(size):
    """They are timed in the same call, however short it is."""
    f = tk.jit(lambda x: np.cumsum(np.exp(x) + 1) * x.sum())
    for _ in range(20):
        measured = f.explain(np.ones(size)).measure(0.005).measured
        assert 0 < measured.kernel_seconds <= measured.seconds
        assert 0 < measured.share <= 1


def test_roofline_is_kept():
    first, second = _native.measure_roofline(), _native.measure_roofline()
    assert first.f32_flops == second.f32_flops > first.f64_flops / 4 > 0
    assert list(dict.fromkeys(one.name for one in first.levels)) == ["L2", "L3", "memory"]
    assert all(one.bytes_per_second > 1e8 for one in first.levels)


def test_measuring_leaves_arguments_alone():
    def write(x, y):
        x[...] = x * 2 + y
        return x.sum()

    base = np.ones((10, 12))
    for x in (np.ones(10), base[:, ::3], base.T):
        before = x.copy()
        e = tk.jit(write).explain(x, np.ones(()))
        e.measure(0)
        assert e.measured.kernels
        np.testing.assert_array_equal(x, before)
    x = np.ones(1000)
    donating = tk.jit(lambda x: x + 1, donate_argnums=0)
    e = donating.explain(x)
    e.measure(0)
    np.testing.assert_array_equal(x, np.ones(1000))


def test_a_kernel_with_nothing_to_do():
    e = tk.jit(lambda x: x + 1).explain(np.ones((0, 3)))
    assert [one.step for one in e.kernels] == [-1] * len(e.kernels)
    e.measure(0)
    assert e.measured.kernels == [None] * len(e.kernels)
    str(e)
    report.page_of(e)


# ---- Text


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
    assert not _explanation_text.wants_colour()  # pytest captures the output
    monkeypatch.setattr(sys, "stdout", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "77")
    assert _explanation_text.wants_colour()
    assert _explanation_text.terminal_width() == 77
    monkeypatch.setenv("NO_COLOR", "1")
    assert not _explanation_text.wants_colour()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not _explanation_text.wants_colour()


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


# ---- Notebook


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


# ---- Page


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
        assert shown["predicted_seconds"] == pytest.approx(
            kernel.predicted_ns / 1e9 / min(tk.num_threads(), kernel.tasks)
        )
        assert [line["line"] for line in shown["lines"]] == [line.line for line in kernel.lines]
    assert data["memory"]["peak_bytes"] == e.memory.peak_bytes
    assert data["memory"]["naive_bytes"] == e.memory.naive_bytes
    assert [one["at"] for one in data["memory"]["buffers"]] == [one.at for one in e.memory.buffers]
    assert [one["reason"] for one in data["refused"]] == [one.reason for one in e.refused]
    assert [one["milliseconds"] for one in data["times"]] == [one.milliseconds for one in e.times]
    assert [data["traced"][i]["name"] for i in data["dead"]] == [one.name for one in e.dead]
    source = Path(__file__).read_text().splitlines()
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


# ---- In a browser


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


def test_roofs_have_their_names(browser, page_file, explained):
    tab = browser.open(page_file)
    text = tab.run("document.querySelector('#kernels .roofline').parentElement.parentElement.textContent")
    roof = explained.measured.roofline
    assert f"{_format.rate_text(roof.f32_flops, 'FLOP')} in f32" in text
    for level in {level.name: level for level in roof.levels}.values():
        assert f"{level.name} {_format.rate_text(level.bytes_per_second, 'B')}" in text
    # What is written there does not lie on something else that is.
    assert tab.run("""(() => {
      const boxes = [...document.querySelectorAll('#kernels svg.roofline text')].map((one) => one.getBoundingClientRect());
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
    })()""") == 0


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
