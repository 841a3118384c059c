"""What explain shows; the profiler; the log."""

import json
import logging

import numpy as np
import pytest
import tokamak as tk


@tk.jit
def f(w, x, b):
    return np.maximum(w * x + b, 0).sum()


ARGS = [np.arange(1000.0) for _ in range(3)]


def test_explanation():
    e = f.explain(*ARGS)
    assert len(e.kernels) == 1
    kernel = e.kernels[0]
    assert kernel.ops == ["mul", "add", "max", "sum"]
    assert "define" in kernel.llvm
    assert kernel.asm
    assert kernel.loops
    assert kernel.bytes_read == 3 * 8000
    assert any("test_explain.py" in line.file for line in kernel.lines)
    assert "func @f(%w: f64[1000], %x: f64[1000], %b: f64[1000])" in e.graph
    assert "reduce_sum" in e.optimized
    assert 0 < e.memory.peak_bytes < e.memory.naive_bytes
    assert "mul" in str(e)
    assert e.times


def test_explaining_compiles_once():
    g = tk.jit(lambda x: x + 1)
    g.explain(np.ones(3))
    g(np.ones(3))
    assert g.cache_info().misses == 1


def test_names_in_the_graph():
    g = tk.jit(lambda params, x: params["w"] * x + params["b"][0])
    text = g.explain({"w": np.ones(3), "b": [np.ones(3)]}, np.ones(3)).graph
    assert "%params_w" in text
    assert "%params_b_0" in text


def test_profile(tmp_path):
    f(*ARGS)
    with tk.profile() as p:
        f(*ARGS)
        f(*ARGS)
        with pytest.raises(ValueError, match="ended"):
            _ = p.events
    kernels = [event for event in p.events if event.category == "kernel"]
    assert len(kernels) == 2
    p.save(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())
    assert kernels[0].name in str(p)


def test_log(caplog):
    tk.set_logs("recompiles,fusion")
    try:
        with caplog.at_level(logging.DEBUG, logger="tokamak"):
            tk.jit(lambda x: x + 1)(np.ones(3))
    finally:
        tk.set_logs("")
    assert any(record.name == "tokamak.recompiles" for record in caplog.records)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="tokamak"):
        tk.jit(lambda x: x + 1)(np.ones(4))
    assert not caplog.records
    with pytest.raises(ValueError, match="nonsense"):
        tk.set_logs("nonsense")


def test_the_log_of_passes_has_what_was_before_and_after_each(caplog):
    def twice(x):
        _ = np.exp(x)
        return np.sin(x * 1) + np.sin(x)

    tk.set_logs("passes")
    try:
        with caplog.at_level(logging.DEBUG, logger="tokamak"):
            e = tk.jit(twice).explain(np.ones(3))
    finally:
        tk.set_logs("")
    logged = [
        record.getMessage().split("\n", 1) for record in caplog.records if record.name == "tokamak.passes"
    ]
    changes = [one for one in e.passes if one.changed]
    assert logged == [["before the passes", e.graph]] + [[f"after {one.name}", one.graph] for one in changes]
    assert {"simplify", "eliminate-common", "eliminate-dead"} <= {one.name for one in changes}
    assert logged[-1][1] == e.optimized


def test_lines_of_all_stages():
    def attend(q, k, v):
        s = q @ np.swapaxes(k, -1, -2)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        p = e / e.sum(axis=-1, keepdims=True)
        return p @ v

    arrays = [np.ones((2, 40, 16), np.float32) for _ in range(3)]
    (kernel,) = tk.jit(attend).explain(*arrays).kernels
    first = attend.__code__.co_firstlineno
    assert sorted({line.line - first for line in kernel.lines}) == [1, 2, 3, 4]


def test_parts_of_arrays_count_for_what_is_read_of_them():
    x = np.ones((1000, 8), np.float32)
    parts = tk.jit(lambda x: x[:10] + x[-10:]).explain(x)
    assert [kernel.bytes_read for kernel in parts.kernels] == [2 * 10 * 8 * 4]
    rows = tk.jit(lambda x, i: x[i].sum(axis=1)).explain(x, np.arange(5))
    assert sum(kernel.bytes_read for kernel in rows.kernels) == 5 * 8 * 4 + 5 * 8
    overlapping = tk.jit(lambda x: x[1:] * x[:-1]).explain(x)
    assert [kernel.bytes_read for kernel in overlapping.kernels] == [x.nbytes]
    turned = tk.jit(lambda x: np.exp(x.T[2:4, ::2]).sum()).explain(x)
    assert [kernel.bytes_read for kernel in turned.kernels] == [2 * 500 * 4]
    after = tk.jit(lambda x: (x * 2).reshape(8000)[::-1][:100]).explain(x)
    assert [kernel.bytes_read for kernel in after.kernels] == [100 * 4]
    product = tk.jit(lambda x: x[:16].T @ x[:16]).explain(x)
    assert sum(kernel.bytes_read for kernel in product.kernels) == 16 * 8 * 4


def test_share_of_the_roofline_is_that_of_the_call():
    measured = tk.jit(lambda x: np.exp(x) + 1).explain(np.ones(50_000)).measure(0.01).measured
    bound = sum(one.bound_seconds for one in measured.kernels if one)
    assert measured.share == pytest.approx(bound / measured.seconds)
    assert measured.kernel_seconds == sum(one.seconds for one in measured.kernels if one)


def test_programs_without_kernels(tmp_path):
    for function, arguments in ((lambda x: None, [np.ones(3)]), (lambda: 3, [])):
        e = tk.jit(function).explain(*arguments)
        assert str(e).splitlines()[0] == f"{e.name}: no kernels needed, nothing is computed"
        e.save(tmp_path / "page.html", measure=False)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_measuring_for_no_time_that_there_is(seconds):
    explained = tk.jit(np.sin).explain(np.ones(3))
    with pytest.raises(tk.UserValueError, match="is no number of seconds"):
        explained.measure(seconds)
    assert explained.measured is None
    assert explained.measure(0).measured.runs == 3
