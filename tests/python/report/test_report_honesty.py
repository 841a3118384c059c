"""What explanations say about programs is so: nothing is blamed on the user, values keep their names, numbers contain what they say."""

import itertools
import json
import os
import re
import sys
import threading

import numpy as np
import pytest
import tokamak as tk
from report_programs import f32
from tokamak import _format, _measure, _native, _pages
from tokamak._pages import report
from tokamak._pictures.graph import first_line


def set_start(x):
    x[:10] = 5


def add_to_part(x, y):
    x[2:6] += y
    return x.sum()


def write_views(x):
    a, b = x[:4], x[4:]
    a[1:] = 3
    b[...] = a.sum()


# ---- What tracing does to follow writes is not the user's


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(set_start, (np.ones(50_000),)), (add_to_part, (np.ones(50_000), 2.0)), (write_views, (np.ones(8),))],
)
def test_writes_leave_nothing_dead(function, arguments):
    e = tk.jit(function).explain(*arguments)
    assert e.dead == []
    assert [one.name for one in e.traced if one.op == "parameter" and one.is_dead] == []
    assert [one.name for one in e.traced if one.is_written] == ["%x"]
    assert "dead" not in str(e)
    drawn = e.draw("graph").svg
    assert "line-through" not in drawn
    assert all(
        one.is_view for one in e.traced if one.is_dead
    )  # x[:4], of which only the new elements are read


# What these are made of, and would be easy to leave behind: checks of places, remainders, where the NaNs are.
LEAVE_NOTHING = [
    lambda x, i: x[i],
    lambda x, i: x[:, i],
    lambda x, i: x[i, i],
    lambda x, i: np.take(x, i, 1),
    lambda x, i: np.take_along_axis(x, np.argsort(x, axis=1), 1),
    lambda x, i: np.add.at(x, i, 1.0),
    lambda x, i: np.put(x, i, 3.0),
    lambda x, i: np.unravel_index(i, (2, 3)),
    lambda x, i: np.gcd(i, 4),
    lambda x, i: np.lcm(i, 4),
    lambda x, i: np.nanmean(x),
    lambda x, i: np.nanstd(x, axis=0),
    lambda x, i: np.nanmax(x, initial=0.0),
    lambda x, i: np.linalg.norm(x, axis=1),
    lambda x, i: np.linalg.norm(x, 0, axis=1),
    lambda x, i: np.median(x, axis=0),
    lambda x, i: np.quantile(x, [0.1, 0.9], axis=1),
    lambda x, i: np.interp(x, np.linspace(-2, 2, 10), np.linspace(0, 1, 10)),
    lambda x, i: np.pad(x, 2, mode="reflect"),
    lambda x, i: np.frexp(x),
]


@pytest.mark.parametrize("number", range(len(LEAVE_NOTHING)))
def test_what_functions_are_made_of_is_needed(number):
    e = tk.jit(LEAVE_NOTHING[number]).explain(np.random.default_rng(1).random((6, 8)), np.array([1, 2, 0]))
    assert [f"{one.name} = {one.text}" for one in e.dead] == []


def test_results_laid_out_anew_have_the_line_that_made_them():
    """The axes of a transposed result are put in order when the function has returned: at no line of the caller's."""

    def f(x):
        return np.rot90(x)

    e = tk.jit(f).explain(np.ones((6, 8)))
    assert {one.line.function for one in e.traced if one.inputs} == {"f"}


def test_what_the_user_left_unused_is_still_dead():
    def f(x, unused):
        _ = np.exp(x)
        x[:10] = 5

    e = tk.jit(f).explain(np.ones(50_000), np.ones(3))
    assert [one.op for one in e.dead] == ["exp"]
    assert [one.name for one in e.traced if one.is_dead and one.op == "parameter"] == ["%unused"]


def test_writes_that_are_read_again_are_kept():
    x = np.arange(20.0)
    wanted = x.copy()

    def f(x):
        x[:10] = 5
        y = x * 2
        x[5:] += y[5:]
        return y

    result = tk.jit(f)(x)
    np.testing.assert_array_equal(result, f(wanted))
    np.testing.assert_array_equal(x, wanted)


# ---- What passes cut into pieces


def product_in_pieces(x, y):
    return x.T @ y + 1


def test_a_product_in_pieces_is_drawn_in_all_its_kernels(browser, tmp_path):
    e = tk.jit(product_in_pieces).explain(f32(10_000, 8), f32(10_000, 16))
    assert len(e.kernels) > 1
    product = next(i for i, one in enumerate(e.traced) if one.op == "dot")
    assert e.traced[product].kernels == list(range(len(e.kernels)))
    e.save(tmp_path / "pieces.html", measure=False)
    tab = browser.open(tmp_path / "pieces.html")
    for stage in ("As traced", "After the passes"):
        tab.run(
            f"[...document.querySelectorAll('#graph button')].find(one => one.textContent === {stage!r}).click()"
        )
        inside = tab.run(
            """(() => {
              const box = (element) => element.getBoundingClientRect();
              const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
              const nodes = [...document.querySelectorAll('.graph .node')];
              return [...document.querySelectorAll('.graph .kernel')].map(kernel =>
                nodes.filter(node => inside(box(node), box(kernel.querySelector('.body')))).map(node => Number(node.dataset.operation)));
            })()"""
        )
        assert all(inside), f"an empty box, {stage}"
        if stage == "As traced":
            assert all(product in operations for operations in inside)
    assert tab.problems == []
    label = first_line(e.traced[product], e.traced)
    assert label == f"dot · {e.traced[e.traced[product].inputs[0]].name}, %y"
    assert e.draw("graph").svg.count(f">{label}<") == len(e.kernels)


def test_what_every_turn_of_a_loop_repeats_is_drawn_where_that_turn_is():
    """Writes to a part of an array have masks, which are the same in every turn and merged: kernels compute them again, each its own."""

    def smoothed(u):
        for _ in range(5):
            u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u

    e = tk.jit(smoothed).explain(np.ones((64, 64)))
    assert len(e.kernels) > 3
    for k in range(len(e.kernels)):
        for op in ("iota", "ge", "lt", "bit_and", "select", "mul"):
            traced = [one.name for one in e.traced if one.op == op and k in one.kernels]
            computed = [one.name for one in e.operations if one.op == op and k in one.kernels]
            assert len(traced) == len(computed), (op, traced, computed)


def test_operations_are_drawn_where_they_are_computed():
    """Means divide by a number that the passes turn into one to multiply with, which all kernels share: that makes no operation a part
    of kernels that have it for other values."""

    def f(x, m):
        for _ in range(3):
            h = x @ m
            x = x + np.maximum(h - h.mean(axis=-1, keepdims=True), 0) / (1 + h.std(axis=0))
        return x

    e = tk.jit(f).explain(f32(64, 32), f32(32, 32))
    assert len(e.kernels) > 3
    division = [one for one in e.traced if one.op == "div" and one.becomes is not None]
    assert len(division) > 3
    for one in division:
        assert one.kernels == e.operations[one.becomes].kernels


def test_kernels_that_only_copy_say_so(browser, tmp_path):
    e = tk.jit(lambda x: x).explain(f32(100, 100))
    (copying,) = (k for k, kernel in enumerate(e.kernels) if not kernel.ops)
    e.save(tmp_path / "copies.html", measure=False)
    tab = browser.open(tmp_path / "copies.html")
    text = f"document.querySelector('.graph .kernel[data-kernel=\"{copying}\"]').textContent"
    assert "copies" in tab.run(text)
    assert "copies" in e.draw("graph").svg
    assert tab.problems == []


# ---- Names


def simplified(x, w):
    y = -(-(x @ w)) * 1.0
    z = np.sqrt(y * y) + 0.0 * 2
    return np.sin(z * 2 * 3) + np.sin(z * 2 * 3), y.T


def test_names_mean_one_value_in_all_stages():
    e = tk.jit(simplified).explain(f32(64, 80), f32(80, 16))
    now = {one.name: i for i, one in enumerate(e.operations)}
    for one in e.traced:
        if one.becomes is not None and one.name in now and one.name.startswith("%"):
            assert now[one.name] == one.becomes, one.name
    types = {}
    for text in (e.graph, *(one.graph for one in e.passes if one.changed), e.optimized):
        defined = re.findall(r"^  (%\w+) = (\w+)", text, re.MULTILINE)
        assert len({name for name, _ in defined}) == len(defined)
        for name, op in defined:
            types.setdefault(name, set()).add(op)
    names = {one.name for one in e.operations}
    assert all(one.name in names or " of " in one.name for one in e.memory.buffers)
    assert all(one.value in names for one in e.layouts)


def test_lines_that_stay_are_not_changes(browser, tmp_path):
    def f(x):
        _ = np.exp(x)  # dead: all that follows would get other numbers
        y = np.sin(x)
        z = np.sqrt(y * 1.0 + 2)
        return np.tanh(z) * z

    e = tk.jit(f).explain(f32(100))
    e.save(tmp_path / "names.html", measure=False)
    tab = browser.open(tmp_path / "names.html")
    lines = "[...document.querySelectorAll('#passes .%s')].map(line => line.innerText.split(' = ')[1].split(' ')[0])"
    assert tab.run(lines % "removed") == ["exp", "mul", "add"]
    assert tab.run(lines % "added") == ["add"]
    assert tab.problems == []


# ---- Memory


def programs():
    yield lambda x: x.T, (f32(400, 500),)
    yield lambda x: (y := x + 1, y), (f32(1 << 18),)
    yield lambda x, y: (x @ y + 1).T, (f32(600, 700), f32(700, 500))
    yield lambda x: np.argsort(x, axis=0), (f32(5000, 40),)
    yield lambda x, y: np.tanh(x @ y) @ y.T, (f32(600, 700), f32(700, 500))
    yield lambda x: (x - x.mean(axis=0)) / x.std(axis=0), (f32(2000, 300),)
    yield lambda x: np.sort(np.exp(x)) + 1, (f32(1 << 18),)


def test_no_plan_takes_more_than_a_buffer_for_everything():
    for function, arguments in programs():
        memory = tk.jit(function).explain(*arguments).memory
        assert memory.peak_bytes <= memory.naive_bytes
        assert memory.peak_bytes == memory.arena_bytes + memory.output_bytes + memory.scratch_bytes


def test_repeated_results_count():
    x = f32(1000)
    once = tk.jit(lambda x: x + 1).explain(x).memory
    twice = tk.jit(lambda x: (y := x + 1, y)).explain(x).memory
    assert twice.output_bytes == 2 * once.output_bytes
    assert twice.naive_bytes == once.naive_bytes + once.output_bytes
    assert [one.name for one in twice.buffers] == ["%0", "copy of %0"]


def allocations(jitted, arguments):
    """The sizes of the blocks that a call takes, on a thread that has none yet."""
    jitted(*arguments)
    with tk.profile() as p:
        thread = threading.Thread(target=jitted, args=arguments)
        thread.start()
        thread.join()
    return [event.bytes_written for event in p.events if event.category == "allocation"]


@pytest.mark.parametrize("number", range(7))
def test_memory_is_what_a_call_takes(number):
    function, arguments = next(itertools.islice(programs(), number, None))
    jitted = tk.jit(function)
    memory = jitted.explain(*arguments).memory
    taken = allocations(jitted, arguments)
    results = jitted(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        taken.remove(result.nbytes)
    assert sum(-(-result.nbytes // 64) * 64 for result in results) == memory.output_bytes
    if memory.arena_bytes:
        taken.remove(memory.arena_bytes)
    scratch = max(taken, default=0)  # a block that stays with its thread is one page at least
    assert scratch == memory.scratch_bytes or memory.scratch_bytes <= scratch == 4096


# ---- Units


def test_sizes_are_written_alike_everywhere():
    for count in (1, 300, 1000, 1024, 123_456, 5_000_000):
        e = tk.jit(lambda x: x + 1).explain(np.ones(count))
        (step,) = e.steps
        (kernel,) = e.kernels
        assert f"reads {_format.bytes_text(kernel.bytes_read)}, " in step
        assert step.endswith(f"writes {_format.bytes_text(kernel.bytes_written)}")


# ---- Measuring


def test_measuring_is_not_in_profiles_and_counts():
    f = tk.jit(lambda x: np.exp(x) + 1)
    x = np.ones(100_000)
    f(x)
    before = f.cache_info()
    with tk.profile() as p:
        f(x)
        e = f.explain(x).measure(0.02)
        assert e.measured.kernels[0].seconds > 0
    assert len(p.kernels) == 1
    assert len([event for event in p.events if event.category == "call"]) == 1
    assert f.cache_info().hits == before.hits + 1
    assert f.cache_info().misses == before.misses


def test_plans_are_compared_in_words_that_hold(browser, tmp_path):
    """A plan of 20 KB instead of 6 MB is not 100 % less."""

    def many(x):
        for _ in range(400):
            x = np.sin(x) + x[::-1]
        return x

    for function, said in ((many, "times as much"), (lambda x: np.sort(np.exp(x)) + 1, "% of the")):
        e = tk.jit(function).explain(np.ones(1000))
        e.save(tmp_path / "plan.html", measure=False)
        tab = browser.open(tmp_path / "plan.html")
        (text,) = tab.run(
            "[...document.querySelectorAll('.tile')].map(one => one.innerText).filter(text => text.includes('memory of a call'))"
        )
        assert said in text
        assert _format.bytes_text(e.memory.peak_bytes) in text
        assert _format.bytes_text(e.memory.naive_bytes) in text
    assert "ms (trace" in str(e) and "e+" not in str(e)


def test_no_share_is_above_all_of_it():
    for function, arguments in programs():
        measured = tk.jit(function).explain(*arguments).measure(0.01).measured
        assert all(0 < one.share <= 1 for one in measured.kernels if one)
        assert 0 < measured.share <= 1


def test_the_bound_is_that_of_what_fits():
    """The rate of an array that is no larger than what the kernel touches, and the largest such."""
    roofline = _native.measure_roofline()
    for count in (1000, 1 << 20, 1 << 24):
        (kernel,) = tk.jit(lambda x: x + 1).explain(np.zeros(count, np.float32)).kernels
        touched = kernel.bytes_read + kernel.bytes_written
        seconds, limit, _ = _measure.bound_of(kernel, roofline)
        fitting = [level for level in roofline.levels if level.bytes <= touched] or roofline.levels[:1]
        assert (seconds, limit) == (touched / fitting[-1].bytes_per_second, fitting[-1].name)


# ---- Names that are no text


def strangely_named(returned, name):
    names = {"np": np}
    exec(compile(f"def f(x):\n    return {returned}\n", "here.py", "exec"), names)
    function = names["f"]
    function.__name__ = name
    function.__code__ = function.__code__.replace(co_filename=f"{name}.py", co_name=name)
    return function


@pytest.mark.parametrize("name", ["lone\udc80surrogate", "nul\0inside", "<b>&\"'"])
def test_strange_names(tmp_path, name):
    function = strangely_named("np.exp(x) + 1", name)
    f = tk.jit(function)
    x = np.ones(100)
    with tk.profile() as p:
        e = f.explain(x)
        f(x)
    str(e).encode()
    str(p).encode()
    e._repr_html_().encode()
    e.save(tmp_path / "report.html", measure=False)
    data = _pages.data_of((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert data["name"] == e.name == _format.printable(name)
    assert data == json.loads(json.dumps(report.contents(e)))
    p.save(tmp_path / "trace.json")
    assert len(tk.load_profile(tmp_path / "trace.json").kernels) == 1
    p.save(tmp_path / "trace.html")
    c = tk.compare(function, x)
    c.save(tmp_path / "compare.html")
    c.save(tmp_path / "compare.json")
    str(c).encode()
    with pytest.raises(tk.UserError, match="if") as raised:
        tk.jit(strangely_named("x if x.sum() > 0 else -x", name))(x)
    str(raised.value).encode()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes there")
def test_strange_paths(tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff")
    os.mkdir(folder)
    f = tk.jit(lambda x: x + 1)
    for ending in ("json", "html"):
        with tk.profile(f"{folder}/trace.{ending}"):
            f(np.ones(3))
    assert len(tk.load_profile(f"{folder}/trace.json").kernels) == 1
    f.explain(np.ones(3)).save(f"{folder}/report.html", measure=False)
    assert sorted(os.listdir(folder)) == ["report.html", "trace.html", "trace.json"]
    with (
        pytest.raises(tk.UserError, match="cannot write .*odd.xff/missing"),
        tk.profile(f"{folder}/missing/t.json"),
    ):
        pass
    with pytest.raises(tk.UserError, match="cannot read"):
        tk.load_profile(f"{folder}/missing.json")
    with pytest.raises(ValueError, match="no name"), tk.profile("a\0b.json"):
        pass
    with pytest.raises(ValueError, match="no name"):
        tk.load_profile("a\0b.json")


# ---- Traces that are none


@pytest.mark.parametrize(
    "text",
    [
        '[{"ph": "X", "name": "a", "ts": 1e400, "dur": 1}]',
        '[{"ph": "X", "name": "a", "ts": 1e300, "dur": 1}]',
        '[{"ph": "X", "name": "a", "ts": NaN, "dur": 1}]',
        '[{"ph": "X", "name": "a", "ts": 1, "dur": "long"}]',
        '[{"ph": "X", "name": "a", "ts": 1, "dur": 1, "args": {"flops": [1]}}]',
        '[{"ph": "X", "name": "a", "ts": 1, "dur": 1, "tid": -Infinity}]',
        '[{"ph": "M", "name": "thread_name", "tid": {}}]',
        '{"traceEvents": [], "otherData": {"duration_ns": 1e400}}',
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"traceEvents": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}",
        "[" + "9" * 10_000 + "]",
        '{"traceEvents": 3}',
        "nonsense",
        "",
    ],
)
def test_what_is_no_trace_is_said_to_be_none(tmp_path, text):
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"trace.json is no trace of Tokamak") as raised:
        tk.load_profile(path)
    assert len(str(raised.value)) < 400


def test_threads_of_any_number(tmp_path):
    path = tmp_path / "trace.json"
    events = [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "tid": tid} for tid in (7, 10**12)]
    events.append({"ph": "M", "name": "thread_name", "tid": 7, "args": {"name": "seven"}})
    path.write_text(json.dumps(events))
    loaded = tk.load_profile(path)
    assert loaded.threads == ["seven", "thread 1000000000000"]
    assert [event.thread for event in loaded.events] == [0, 1]
