"""The explanation as data: operations, passes, memory, layouts, refusals, times."""

import re

import numpy as np
import pytest
import tokamak as tk
from report_programs import FIRST_LINE, f32, mlp, unrolled


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
    assert all(one.line.file == mlp.__wrapped__.__code__.co_filename for one in e.operations if one.line.file)


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


@pytest.mark.parametrize("log", [False, True])
def test_passes_that_change_no_text_are_said_to_change_nothing(log, caplog):
    """Numbers stand where they are used: whoever reads the graph cannot tell whether equal ones are one."""
    tk.set_logs("passes" if log else "")
    try:
        with caplog.at_level("DEBUG", logger="tokamak"):
            e = tk.jit(lambda x: np.sin(x) * 0.5 + np.cos(x) * 0.5 + x[::-1][::-1]).explain(np.ones(7 + log))
    finally:
        tk.set_logs("")
    changed = [one for one in e.passes if one.changed]
    texts = [e.graph, *(one.graph for one in changed)]
    assert [one.name for one in changed] == ["compose-views", "eliminate-dead"]
    assert all(a != b for a, b in zip(texts, texts[1:], strict=False))
    assert texts[-1] == e.optimized
    said = [record.getMessage() for record in caplog.records]
    assert [text.split("\n")[0] for text in said] == (
        ["before the passes", "after compose-views", "after eliminate-dead"] if log else []
    )


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
    sentence = f"mul into the kernel of dot: {refused.reason}"  # the direction is the same everywhere
    assert str(refused) == sentence and repr(refused) == f"<not fused: {sentence}>"
    assert f"not fused  {sentence}" in explained.text(width=1000, colour=False)


def test_times_begin_with_tracing(explained):
    assert [one.stage for one in explained.times] == ["trace", "passes", "fusion", "code", "plan"]
    assert all(one.milliseconds >= 0 for one in explained.times)


def test_memory_adds_up(explained):
    """Every total is the sum of what is said to be in it, and what is listed has a place."""
    for memory in (explained.memory, unrolled.explain(f32(40, 40), f32(40, 40)).memory):
        scratch = [one.bytes for one in memory.buffers if one.place == "scratch"]
        assert max(scratch) == memory.scratch_bytes > 0
        assert memory.peak_bytes == memory.arena_bytes + memory.output_bytes + memory.scratch_bytes
        call, without_reuse, of_operations, *lines = str(memory).splitlines()
        numbers = [int(number) for number in re.findall(r"(\d+) bytes", call)]
        assert numbers[0] == sum(numbers[1:]) == memory.peak_bytes
        listed = [int(number) for line in lines for number in re.findall(r"(\d+) bytes", line)]
        assert len(listed) == len(lines) == len(memory.buffers)
        planned = [-(-one.bytes // 64) * 64 for one in memory.buffers if one.place != "scratch"]
        assert f"without reuse {sum(planned) + memory.scratch_bytes} bytes" in without_reuse
        assert f"{memory.naive_bytes} bytes" in of_operations


def test_work_in_another_shape_is_not_gone():
    """Passes move views past operations, which are then done on other values than those that were traced."""

    def spread(x):
        return (x - x.mean()) / x.std()

    def centred(x):
        return x - x.mean(axis=0)

    def normed(x):
        x = np.tanh(x)
        return x / (x.std(axis=0) + 1e-3)

    def attending(x):
        e = np.exp(x @ x.T / 8 - 3)
        return (e / e.sum(axis=-1, keepdims=True)) @ x

    for f, x in (
        (spread, np.ones(1000)),
        (centred, f32(64, 32)),
        (spread, f32(30, 40)),
        (normed, f32(64, 64)),
        (attending, f32(128, 64)),
    ):
        e = tk.jit(f).explain(x)
        for one in e.traced:
            if one.op in ("div", "sub", "mul", "reduce_sum", "sqrt"):
                doing = e.operations[one.becomes if one.becomes is not None else one.done_by]
                assert one.kernels == doing.kernels, one
    # What is really gone stays so: -(-x) needs no -x.
    e = tk.jit(lambda x: np.exp(-(-x)) + 1).explain(np.ones(10))
    assert [one.done_by for one in e.traced if one.op == "neg" and one.becomes is None] == [None]
