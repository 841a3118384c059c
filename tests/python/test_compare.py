"""tk.compare: one kernel per operation against compiled."""

import itertools
import json
import math

import numpy as np
import pytest
import tokamak as tk
from test_profile import activation, check_trace
from tokamak import _format, _pages

X = np.linspace(0, 1, 200_000, dtype=np.float32)


def test_six_kernels_and_one():
    c = tk.compare(activation, X, X)
    assert [kernel.name for kernel in c.eager.kernels] == ["sin", "cos", "mul", "add", "mul", "max"]
    assert [kernel.name for kernel in c.compiled.kernels] == ["sin_cos_mul_add_mul_max"]
    assert c.agree
    # sin, cos and max move two arrays each, the others three; compiled two are read and one is written.
    assert c.eager.bytes == (3 * 2 + 3 * 3) * X.nbytes
    assert c.compiled.bytes == 3 * X.nbytes
    assert c.eager.flops == c.compiled.flops == 6 * X.size
    assert c.speedup == c.eager.ns / c.compiled.ns
    text = str(c)
    assert "6 kernels" in text and "1 kernel," in text and "5.00 times less memory traffic" in text
    assert len([line for line in text.splitlines() if "█" in line]) == 7


def test_the_eager_side_goes_through_memory():
    """Its kernels run one after the other, each over all of its arrays, where those of a program that was optimised may share a cache."""
    x = np.ones(4_000_000, np.float32)
    c = tk.compare(activation, x, x)
    assert len(c.eager.kernels) == 6
    assert not any("together" in step for step in c.eager.explanation.steps)
    apart = [(a.end_ns, b.start_ns) for a, b in itertools.pairwise(c.eager.kernels)]
    assert all(end <= start for end, start in apart)
    assert not any(event.name == "activation" for event in c.eager.profile.events if event.category == "worker")


def test_dead_and_repeated_work_is_on_the_eager_side_only():
    def f(x):
        np.exp(x)
        return np.sin(x) * np.sin(x)

    c = tk.compare(f, X)
    assert [kernel.name for kernel in c.eager.kernels] == ["exp", "sin", "sin", "mul"]
    assert [kernel.name for kernel in c.compiled.kernels] == ["sin_mul"]


def test_functions_that_write():
    @tk.jit
    def f(u, v):
        u[1:] = u[:-1] * 2
        return u + v

    u, v = np.arange(1000.0), np.ones(1000)
    c = tk.compare(f, u, v=v)
    assert c.agree
    np.testing.assert_array_equal(u, np.arange(1000.0))


def test_options_of_a_jitted_function_count():
    @tk.jit(static_argnums=(1,))
    def f(x, n):
        for _ in range(n):
            x = np.tanh(x)
        return x

    c = tk.compare(f, X, 3)
    assert len(c.eager.kernels) == 3 and len(c.compiled.kernels) == 1


def test_saving(tmp_path):
    c = tk.compare(activation, X, X)
    c.save(tmp_path / "c.json")
    events = json.loads((tmp_path / "c.json").read_text())["traceEvents"]
    for process, kernels in ((1, 6), (2, 1)):
        own = [event for event in events if event["pid"] == process]
        check_trace(own)
        assert sum(event.get("cat") == "kernel" for event in own) == kernels
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"one kernel per operation", "compiled"}
    c.save(tmp_path / "c.html")
    runs = _pages.data_of((tmp_path / "c.html").read_text())["runs"]
    assert [run["kernels"] for run in runs] == [6, 1]
    assert [run["ns"] for run in runs] == [c.eager.ns, c.compiled.ns]
    assert [run["bytes"] for run in runs] == [c.eager.bytes, c.compiled.bytes]


def test_nothing_to_run():
    c = tk.compare(lambda x: 3, X)
    assert c.eager.kernels == [] and c.eager.ns == 0 and str(c)
    assert "0.00" not in str(c) and "nothing to compare" in str(c) and c.speedup == 1
    assert "nothing to compare" in c.draw().svg


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x + 1, "no kernels needed for 1 operation without elements"),
        (lambda x: None, "no kernels needed, nothing is computed"),
    ],
)
def test_explain_and_compare_count_the_same(function, why):
    empty = np.ones((0, 3), np.float32)
    e = tk.jit(function).explain(empty)
    c = tk.compare(function, empty)
    assert str(e).splitlines()[0] == f"{e.name}: {why}"
    assert str(c) == f"{e.name}: {why}; there is nothing to compare"
    assert "0 B" not in c.draw().svg
    assert c.compiled.kernels == [] and e._native.running == 0


def test_traffic_that_stays_is_said_to():
    c = tk.compare(lambda x: x, X)
    assert c.verdict().endswith(" times as fast, the same memory traffic")
    c = tk.compare(lambda x: x.sum(axis=0) + x.sum(axis=0), X)
    assert "less memory traffic" in c.verdict()


def test_nothing_is_left_to_run():
    def unused(x):
        np.exp(x)
        return 3

    c = tk.compare(unused, X)
    assert len(c.eager.kernels) == 1 and c.compiled.kernels == []
    assert "nothing is left to run" in str(c) and c.speedup == math.inf
    c.draw()


def test_errors_pass_through():
    with pytest.raises(tk.UserError):
        tk.compare(lambda x: x if x.sum() > 0 else -x, X)


def test_one_kernel_for_every_operation_that_is_recorded():
    """Also where products have no matrix on one side, or are dead: none is written as several operations."""
    a, v = np.ones((300, 200), np.float32), np.ones(200, np.float32)
    tall = np.ones((10_000, 8), np.float32)
    tiny = np.ones((100, 4, 4), np.float32)
    for function, arguments, names in [
        (lambda a, v: a @ v + 1, (a[:40, :30], v[:30]), ["mul_sum", "add"]),
        (lambda a, v: a @ v + 1, (a, v), ["dot", "add"]),
        (lambda v: (v @ v) * 2, (v,), ["mul_sum", "mul"]),
        (lambda v: (v.astype(np.float16) @ v.astype(np.float16)) * 2, (v,), None),
        (lambda x: np.exp(x.T @ x), (tall,), ["dot", "exp"]),
        (lambda x: np.exp(x @ x), (tiny,), ["dot", "exp"]),
    ]:
        c = tk.compare(function, *arguments)
        assert c.agree
        if names is not None:
            assert [kernel.name for kernel in c.eager.kernels] == names
        recorded = [one for one in c.eager.explanation.traced if not one.is_view and one.inputs]
        assert len(c.eager.kernels) == len(recorded)

    def dead(a, v):
        a @ v
        return a + 1

    assert len(tk.compare(dead, a[:40, :30], v[:30]).eager.kernels) == 2


def test_leaving_the_graph_as_recorded():
    def f(x):
        np.exp(x)
        return x + 0

    plain = tk.jit(f, optimize=False).explain(X)
    assert plain.graph == plain.optimized
    assert tk.jit(f).explain(X).graph != tk.jit(f).explain(X).optimized
    np.testing.assert_array_equal(tk.jit(f, optimize=False, fuse=False)(X), f(X))
    a = np.arange(12.0).reshape(3, 4)
    for g in (lambda a: a @ a.T, lambda a: a[0] @ a[1], lambda a: a @ a[0], lambda a: np.outer(a[0], a[1])):
        np.testing.assert_allclose(tk.jit(g, optimize=False, fuse=False)(a), g(a))


def test_kernels_of_one_name_have_their_own_code(tmp_path):
    """The products are all called dot; a click on one shows the code of that one."""

    def products(x, w, v):
        return (x @ w) @ v

    shapes = (40, 50), (50, 60), (60, 70)
    comparison = tk.compare(products, *(np.ones(shape, np.float32) for shape in shapes))
    data = comparison.to_dict()["runs"][0]
    kernels = [
        (row, code)
        for row, code in zip(data["events"], data["code_of"], strict=True)
        if data["categories"][row[1]] in ("kernel", "library")
    ]
    assert [data["names"][row[0]] for row, _ in kernels] == ["dot", "dot"]
    assert "f32[50,60]" in data["codes"][kernels[0][1]]["graph"]
    assert "f32[60,70]" in data["codes"][kernels[1][1]]["graph"]


def test_the_text_has_the_longest_of_many():
    def many(x):
        for _ in range(40):
            x = np.sin(x) + 1
        return x

    comparison = tk.compare(many, np.ones(1000))
    text = str(comparison)
    assert "one kernel per operation: 80 kernels" in text
    assert "  and 50 that took less, " in text
    assert len(text.splitlines()) < 50
    # The code of those that are equal is there once.
    assert len(comparison.to_dict()["runs"][0]["codes"]) < 5


@pytest.mark.parametrize("width", [20, 25, 30, 40, 50, 60, 75, 80, 120])
def test_the_text_is_as_wide_as_the_terminal(width):
    c = tk.compare(activation, X, X)
    text = c.text(width=width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert "6 kernels" in words and "5.00 times less memory traffic" in words
    for kernel in c.eager.kernels + c.compiled.kernels:
        assert _format.time_text((kernel.end_ns - kernel.start_ns) / 1e9) in text
    bars = [line for line in text.splitlines() if "█" in line]
    assert len(bars) == (7 if width >= 30 else 0)
    if width >= 40:
        assert bars[0].startswith("  sin ") and bars[0].endswith("MB")
    assert c.text(width=200) == c.text(width=100) == str(c)
