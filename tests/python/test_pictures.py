"""Still pictures of graphs, memory plans and comparisons: what they show is what the explanation says."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
import tokamak as tk
from tokamak._pages import report
from tokamak._pictures import memory
from tokamak._pictures.layers import layered


@tk.jit
def perceptron(x, w1, b1, w2, unused):
    _ = np.exp(x @ unused)
    return np.maximum(x @ w1 + b1, 0) @ w2


@tk.jit
def chain(x, *weights):
    for w in weights:
        x = np.tanh(x @ w)
        x = x - x.mean(axis=0)
    return x


def f32(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.fixture(scope="module")
def explained():
    return perceptron.explain(f32(48, 64), f32(64, 80), f32(80), f32(80, 32), f32(64, 80))


@pytest.fixture(scope="module")
def chained():
    return chain.explain(*[f32(128, 128)] * 5)


def drawn(picture):
    """Its texts and its boxes, and that nothing lies outside."""
    root = ElementTree.fromstring(picture.svg)
    name = "{http://www.w3.org/2000/svg}"
    left, top, width, height = map(float, root.get("viewBox").split())
    boxes = []
    for rect in root.iter(f"{name}rect"):
        x, y, wide, tall = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        boxes.append((x, y, wide, tall, rect))
        assert x >= left - 1 and y >= top - 1
        assert x + wide <= left + width + 1 and y + tall <= top + height + 1
    return [text.text for text in root.iter(f"{name}text")], boxes


def test_the_graph_has_what_was_traced(explained):
    texts, boxes = drawn(explained.draw())
    shown = [one for one in explained.traced if one.name.startswith("%")]
    for one in shown:
        assert (one.type if one.op == "parameter" else f"{one.name}: {one.type}") in texts
    for kernel in explained.kernels:
        assert kernel.name in texts
    assert len(boxes) == 1 + len(explained.kernels) + len(shown)
    dead = [rect for *_, rect in boxes if rect.get("stroke-dasharray") == "3 3"]
    assert len(dead) == sum(one.is_dead for one in explained.traced) == 3


def test_operands_whose_order_counts_are_told():
    def f(x, y):
        return 1 / x, x / 1.5, x * 3, x - y, np.where(x > 2, 0.0, y)

    e = tk.jit(f).explain(f32(30), f32(30))
    texts, _ = drawn(e.draw())
    for wanted in ("div · 1.0, %x", "div · %x, 1.5", "mul · 3.0", "sub · %x, %y", "gt · %x, 2.0"):
        assert wanted in texts
    assert any(text.startswith("select · %") and text.endswith(", 0.0, %y") for text in texts)
    labels = [one["label"] for one in report.contents(e)["traced"]]
    assert set(labels) - {"0.0", "1.0", "1.5", "2.0", "3.0", "constant"} <= set(texts)


def test_operations_stand_in_the_boxes_of_their_kernels(explained):
    picture = explained.draw()
    _, boxes = drawn(picture)
    kernels = [box for box in boxes if box[4].get("fill-opacity") == "0.09"]
    nodes = [box for box in boxes[1:] if box not in kernels]
    assert len(kernels) == len(explained.kernels)
    for number, (x, y, wide, tall, _) in enumerate(kernels):
        inside = [
            one
            for one in nodes
            if x < one[0] and y < one[1] and one[0] + one[2] < x + wide and one[1] + one[3] < y + tall
        ]
        wanted = [one for one in explained.traced if number in one.kernels and one.name.startswith("%")]
        assert len(inside) == len(wanted)


def test_large_graphs_are_drawn_closed_or_refused(monkeypatch):
    @tk.jit
    def long(x, w):
        for i in range(30):
            x = np.sort(np.tanh(x * 0.5 + i) @ w, axis=0)
        return x

    e = long.explain(f32(40, 40), f32(40, 40))
    texts, boxes = drawn(e.draw())
    assert len(boxes) == 1 + len(e.kernels) + 2  # the page, the kernels, the arguments
    assert any("operations" in text for text in texts)
    assert "<img" not in e._repr_html_()
    monkeypatch.setattr("tokamak._pictures.graph._MOST_BOXES", 20)
    with pytest.raises(ValueError, match="too many for a still picture"):
        e.draw()


def test_the_memory_plan(chained):
    texts, boxes = drawn(chained.draw("memory"))
    plan = chained.memory
    reused = [i for i in range(len(plan.buffers)) if memory.lay_before(plan.buffers, i)]
    assert reused
    kinds = {
        bool(memory.lay_before(plan.buffers, i)) for i, one in enumerate(plan.buffers) if one.place == "arena"
    }
    assert kinds == {True, False}
    assert {"fresh in the arena", "where another lay before", "result"} <= set(texts)
    bars = [box for box in boxes if box[4].get("fill-opacity") == "0.25" and box[3] > 12]
    assert len(bars) == len(plan.buffers)
    with pytest.raises(ValueError, match="there is no picture 'layout'"):
        chained.draw("layout")


def test_a_comparison():
    def activation(x, y):
        return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)

    comparison = tk.compare(activation, *[f32(1000, 1000)] * 2)
    texts, boxes = drawn(comparison.draw())
    assert comparison._repr_svg_() == comparison.draw().svg
    assert any(text.startswith("one kernel per operation: 6 kernels") for text in texts)
    assert any(text.startswith("compiled: 1 kernel") for text in texts)
    assert len(boxes) == 1 + 2 * (6 + 1)  # the page; of time and of traffic
    widths = [box[2] for box in boxes[1:8]]
    assert sum(widths[:6]) / widths[6] == pytest.approx(comparison.speedup, rel=0.1)
    widths = [box[2] for box in boxes[8:]]
    assert sum(widths[:6]) / widths[6] == pytest.approx(5, rel=0.1)
    assert {"10 MB", "20 MB", "50 MB"} <= set(texts)  # of 60


def test_what_lies_in_one_place_outside_the_arena_has_one_row():
    def f(x, m):
        for _ in range(60):
            h = x @ m
            x = x + np.maximum(h - h.mean(axis=-1, keepdims=True), 0) / (1 + h.std(axis=0))
        return x

    e = tk.jit(f).explain(f32(64, 32), f32(32, 32))
    outside = [one for one in e.memory.buffers if one.place != "arena"]
    assert len(outside) > 20
    assert {(one.place, one.at) for one in outside} == {("output", 0), ("scratch", 0)}
    texts, boxes = drawn(e.draw("memory"))
    assert max(box[1] + box[3] for box in boxes[1:]) < 600
    numbers = [int(text) for text in texts if text.isdigit()][:-1]
    assert len(numbers) < len(e.kernels)  # they would not stand apart


def test_pictures_need_nothing_else(explained, tmp_path):
    for picture in (explained.draw(), explained.draw("memory")):
        assert "<script" not in picture.svg and "<style" not in picture.svg
        assert not re.search(r'(href|src)="', picture.svg)
        picture.save(tmp_path / "picture.svg")
        assert (tmp_path / "picture.svg").read_text() == picture.svg
    assert "data:image/svg+xml" in explained._repr_html_()
    with pytest.raises(OSError, match="no such folder"):
        explained.draw().save(tmp_path / "no such folder" / "picture.svg")


def test_layers_of_any_graph():
    """No overlaps, edges go down, and cycles (which only drawings of moved operations have) come to an end."""
    random = np.random.default_rng(0)
    for count in (0, 1, 2, 7, 40):
        edges = sorted(
            {(int(a), int(b)) for a, b in random.integers(0, max(count, 1), (2 * count, 2)) if a < b}
        )
        sizes = [(float(w), 20.0) for w in random.integers(10, 90, count)]
        placed = layered(sizes, edges)
        assert all(placed.middles[a][1] < placed.middles[b][1] for a, b in edges)
        for i in range(count):
            for k in range(i):
                (ax, ay), (bx, by) = placed.middles[i], placed.middles[k]
                assert ay != by or abs(ax - bx) >= (sizes[i][0] + sizes[k][0]) / 2
        assert all(
            w / 2 <= x + 1e-6 <= placed.width - w / 2 + 2e-6
            for (x, _), (w, _) in zip(placed.middles, sizes, strict=True)
        )
    layered([(10, 10)] * 3, [(0, 1), (1, 2), (2, 0)])


def test_parts_of_an_array_stand_where_they_are_read():
    """A chain in which every step reads another part of one array: as wide as a few nodes, not as all parts."""
    steps = 20
    w = 2 * steps  # the array; a part for every step, then the steps
    edges = [(w, i) for i in range(steps)] + [(i, steps + i) for i in range(steps)]
    edges += [(steps + i, steps + i + 1) for i in range(steps - 1)]
    placed = layered([(60.0, 38.0)] * (w + 1), edges, entries=1)
    for i in range(1, steps):
        assert placed.middles[i][1] == placed.middles[steps + i - 1][1]  # right above its reader
    assert placed.width < steps * 60


def test_copies_are_joined_to_what_they_copy():
    drawn = tk.jit(lambda x: x).explain(np.ones(10)).draw().svg
    assert "copy" in drawn and drawn.count('fill="none"') == 1  # the line from %x
