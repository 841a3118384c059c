"""The benchmark: what it says about a run, and that its workloads are well made. Nothing is timed here."""

import inspect
import itertools
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import tokamak as tk

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import charts  # noqa: E402
import report  # noqa: E402
import targets  # noqa: E402
import workloads  # noqa: E402
from contestants import ABLATIONS, CONTESTANTS  # noqa: E402
from exchange import Folder  # noqa: E402
from measure import Measured  # noqa: E402
from roofline import Limits  # noqa: E402
from worker import Task, WrongAnswerError, check  # noqa: E402
from workloads import elementwise, grids, model, rows  # noqa: E402

ALL = list(workloads.WORKLOADS.values())


@pytest.mark.parametrize("workload", ALL, ids=lambda w: w.name)
def test_workloads_are_well_made(workload):
    assert workload.torch is not None
    for text in (workload.numexpr, workload.onnx):
        assert text is None or any(name in text for name in workload.parameters)
    assert workload.onnx is None or "result =" in workload.onnx
    for maker in (workload.torch, workload.jax, workload.numba, workload.tokamak):
        assert maker is None or len(inspect.signature(maker).parameters) == 1
    assert workload.constants is None or workload.constants < len(workload.parameters)


def test_every_group_has_workloads():
    assert {one.group for one in ALL} == {group.name for group in model.GROUPS}


def test_selection():
    assert {one.name for one in workloads.selected(["softmax"])} >= {"softmax-64-f32", "softmax-50257-bf16"}
    assert [one.name for one in workloads.selected(["activation-16"])] == ["activation-16"]
    assert {one.group for one in workloads.selected(["decoding"])} == {"decoding"}
    assert workloads.selected([]) == ALL
    assert workloads.find("sum@64").size == 64


@pytest.mark.parametrize(
    "workload",
    [
        elementwise.fused_sum(100, np.dtype(np.float64)),
        elementwise.activation(100),
        *(rows.make(program, 5, 7) for program in rows.PROGRAMS.values()),
        *(rows.make(program, 5, 7, model.BF16) for program in rows.PROGRAMS.values()),
    ],
    ids=lambda w: w.name,
)
def test_answers(workload):
    """What Tokamak and NumPy give for the function is the answer that contestants are held against."""
    inputs = workload.make_inputs()
    answers = workload.make_answer(inputs)
    folder = Folder()
    try:
        dtypes = [workload.result_dtype(answer, inputs) for answer in answers]
        task = Task(workload.name, [], folder.put("answer", answers), dtypes, workload.tolerance)
        for function in (workload.function, tk.jit(workload.function)):
            check(task, [np.asarray(one) for one in model.as_list(function(*inputs))], 0)
        with pytest.raises(WrongAnswerError):
            check(task, [np.asarray(one) * 2 for one in model.as_list(workload.function(*inputs))], 0)
    finally:
        folder.remove()


def test_rebound_functions_use_the_other_module():
    class Doubling:
        def __getattr__(self, name):
            return getattr(np, name)

        @staticmethod
        def exp(x):
            return 2 * np.exp(x)

    x = np.linspace(0, 1, 6).reshape(2, 3)
    assert np.array_equal(model.rebound(rows.softmax, Doubling())(x), rows.softmax(x))  # the factor cancels
    other = model.rebound(workloads.neural.attention, Doubling())  # calls a function of another file
    assert other.__globals__["softmax"] is not rows.softmax


def test_limits():
    limits = Limits(read=10e9, copy=8e9, add=9e9, flops=100e9, bf16_flops=200e9, cache_bytes=1 << 20)
    assert limits.seconds(1e9, 8, 0, "f32") == pytest.approx(0.1, rel=1e-6)
    assert limits.seconds(1e9, 1e9, 0, "f32") == pytest.approx(2 / 9)
    assert limits.seconds(100, 100, 1e9, "f32") == pytest.approx(0.01)
    assert limits.seconds(100, 100, 1e9, "f64") == pytest.approx(0.02)
    assert limits.seconds(100, 100, 1e9, "bf16") == pytest.approx(0.005)
    assert Limits(missing="no compiler").seconds(1, 1, 1, "f32") is None


def some_results():
    names = [one.name for one in CONTESTANTS]
    for group, factor in itertools.product(model.GROUPS, (1, 3)):
        one = Measured(f"{group.name}-{factor}", group.name, "a <title> | b", "f32 4x4", 16)
        one.seconds = {name: (i + 1) * factor * 1e-4 for i, name in enumerate(names[:-1])}
        one.first = {name: (i + 1) * 0.01 for i, name in enumerate(names[:-1])}
        one.memory = {name: (i + 1) << 20 for i, name in enumerate(names[:-1])}
        one.failed = {names[-1]: "RuntimeError: no | such thing"}
        one.limit = 0.5e-4
        yield one


def test_targets():
    reached = targets.reached(list(some_results()))
    by_group = {(one.group, one.asked): one for one in reached}
    assert not by_group["element-wise and row-wise work over 16 MB", "3 x the best peer"].met
    assert by_group["arrays of 16 K elements", "2 x the best peer"].met
    assert not by_group["first call", "50 x faster than torch.compile"].met
    assert by_group["peak memory", "no more than the best peer"].met
    assert by_group["element-wise and row-wise work over 16 MB", "3 x the best peer"].by == "0 of 2"
    assert by_group["arrays of 16 K elements", "2 x the best peer"].by == "2 of 2"
    assert not targets.slower(list(some_results()))


def test_what_no_program_can_reach():
    """Next to the best peer and the limit of the machine; next to a call that compiles nothing."""
    results = list(some_results())
    assert all("best peer" not in one.asked for one in targets.out_of_reach(results))
    near, far = results[:2]
    near.limit, near.first = near.seconds["numpy"] / 2.5, {"tokamak": 1.0, "jax": 2.5 * near.seconds["tokamak"]}
    found = {one.asked: one for one in targets.out_of_reach(results)}
    one = found["3 x the best peer"]
    assert one.names == [near.name] and one.at_most == [pytest.approx(2.5)]
    one = found["3 x jax.jit at a first call"]
    assert one.names == [near.name] and one.at_most == [pytest.approx(2.5)]


def test_page(tmp_path):
    results = list(some_results())
    growth = [Measured(f"sum@{n}", "reading", "sum", f"f32 {n}", n, {"tokamak": n * 1e-9}) for n in (16, 64)]
    about = {
        "processor": "a processor",
        "threads": 2,
        "vectors": "AVX2",
        "python": "3",
        "versions": {"tokamak": "1", "numpy": "2"},
        "limits": vars(Limits(read=1e10, copy=1e10, add=1e10, flops=1e11)),
    }
    report.save(tmp_path / "benchmarks" / "results.json", about, results, growth)
    ablation = Measured("softmax", "large", "softmax", "f32", None, {one.name: 2e-3 for one in ABLATIONS})
    ablation.seconds["tokamak"] = 1e-3
    elsewhere = about | {"processor": "another processor"}
    report.save(tmp_path / "benchmarks" / "ablation.json", elsewhere, [ablation], [])
    report.save(
        tmp_path / "alone" / "benchmarks" / "ablation.json",
        about | {"versions": {"fusion": "1"}},
        [ablation],
        [],
    )
    alone = report.write_page(tmp_path / "alone").read_text()
    assert "2.00x" in alone and "another machine" not in alone
    page = report.write_page(tmp_path).read_text()
    shown = ("Asked and reached", "First call", "Memory", "Growth", "no \\| such thing", "2.00x")
    for text in (*shown, "another processor"):
        assert text in page
    for svg in (tmp_path / "benchmarks").glob("*.svg"):
        ET.fromstring(svg.read_text())
        assert f"benchmarks/{svg.name}" in page


def test_axis():
    axis = charts.axis_for([1, 1000], 0, 100)
    assert 0 < axis.at(1) < axis.at(1000) < 100
    assert axis.ticks(fine=False) == [1, 10, 100, 1000]
    assert [charts.seconds_text(s) for s in (2, 0.0015, 2e-8)] == ["2 s", "1.5 ms", "20 ns"]


def test_stencil_is_a_stencil():
    u = np.zeros((5, 5), np.float32)
    u[2, 2] = 1
    assert grids.heat(u).sum() < 1 and u[2, 2] == 1  # heat flows out; the argument stays
