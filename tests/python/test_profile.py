"""What profiles record, how they are saved, and what is left of those of killed runs."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import tokamak as tk
from tokamak import _pages


def activation(x, y):
    return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)


X = np.linspace(0, 1, 300_000, dtype=np.float32)


def categories(profile):
    return {event.category for event in profile.events}


def inside(inner, outer):
    return outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns and inner.thread == outer.thread


def test_kernels_with_what_they_move():
    f = tk.jit(activation)
    f(X, X)
    with tk.profile() as p:
        f(X, X)
        f(X, X)
    assert [kernel.name for kernel in p.kernels] == ["sin_cos_mul_add_mul_max"] * 2
    (report,) = f.explain(X, X).kernels
    for kernel in p.kernels:
        assert kernel.category == "kernel"
        assert (kernel.bytes_read, kernel.bytes_written) == (report.bytes_read, report.bytes_written)
        assert kernel.flops == report.flops == 6 * X.size
        assert 0 <= kernel.start_ns < kernel.end_ns <= p.duration_ns
        assert p.threads[kernel.thread]
    calls = [event for event in p.events if event.category == "call"]
    assert [call.name for call in calls] == ["activation"] * 2
    assert all(inside(kernel, call) for kernel, call in zip(p.kernels, calls, strict=True))


def test_products_and_sorts_are_of_the_library():
    f = tk.jit(lambda a: np.sort(np.tanh(a @ a), axis=1))
    a = np.ones((64, 64), np.float32)
    f(a)
    with tk.profile() as p:
        f(a)
    assert [(kernel.name, kernel.category) for kernel in p.kernels] == [
        ("dot_tanh", "library"),
        ("sort", "library"),
    ]
    assert p.kernels[0].flops >= 2 * 64**3


def test_compiling_by_stage():
    with tk.profile() as p:
        tk.jit(activation)(X[:77], X[:77])
    compiling = [event for event in p.events if event.category == "compile"]
    names = [event.name for event in compiling]
    assert {"trace activation", "compile activation", "passes", "fusion", "code", "plan"} <= set(names)
    whole = compiling[names.index("compile activation")]
    for stage in ("passes", "fusion", "code", "plan"):
        assert inside(compiling[names.index(stage)], whole)


def test_what_is_made_of_each_kernel_has_a_name():
    a = np.ones((63, 63), np.float32)
    with tk.profile() as p:
        tk.jit(lambda a: np.sort(np.tanh(np.exp(a) @ a) * np.cumsum(a, axis=0), axis=0) + a[0])(a)
    names = [event.name for event in p.events if event.category == "compile"]
    assert len(set(names)) == len(names)
    parts = {
        name.removesuffix(" " + kernel.name) for kernel in p.kernels for name in names if kernel.name in name
    }
    assert parts == {"kernel", "loops of", "code of"}


def test_every_allocation():
    f = tk.jit(lambda x: x + 1)
    big = np.ones(3_000_000)
    f(big)
    tk.trim_memory()
    with tk.profile() as p:
        kept = [f(big), f(big)]
        del kept
        f(big)
    memory = [event for event in p.events if event.category == "allocation"]
    assert [event.name for event in memory] == ["new memory", "new memory", "recycled memory"]
    assert all(event.bytes_written == big.nbytes for event in memory)


def test_threads():
    before = tk.num_threads()
    tk.set_num_threads(2)
    f = tk.jit(lambda x: np.sin(x).sum())
    big = np.ones(2_000_000)
    f(big)
    try:
        with tk.profile() as p:
            for _ in range(50):
                f(big)
    finally:
        tk.set_num_threads(before)
    workers = [event for event in p.events if event.category == "worker"]
    assert workers, "no thread of the pool helped in 50 runs"
    assert {event.name for event in workers} == {"sin_sum"}
    assert {p.threads[event.thread] for event in workers} == {"tokamak-1"}
    assert not {event.thread for event in workers} & {kernel.thread for kernel in p.kernels}


def test_totals_and_text():
    f = tk.jit(activation)
    f(X, X)
    with tk.profile() as p:
        for _ in range(3):
            f(X, X)
    (total,) = [row for row in p.totals() if row.category == "kernel"]
    assert total.count == 3
    assert total.ns == sum(kernel.end_ns - kernel.start_ns for kernel in p.kernels)
    assert total.bytes_read == 3 * 2 * X.nbytes
    assert "sin_cos_mul_add_mul_max" in str(p)
    assert p.problem is None and p.dropped == 0


def test_nothing_is_recorded_outside():
    f = tk.jit(activation)
    f(X, X)
    with tk.profile() as p:
        pass
    f(X, X)
    assert p.events == []
    with tk.profile() as p, pytest.raises(ValueError, match="ended"):
        _ = p.events


def test_what_recording_costs():
    """2 % of a kernel of 50 microseconds are a microsecond: no call of one kernel takes that much longer. Small calls show it, since
    the rest of their time is short; the best of many turns counts."""
    f = tk.jit(activation)
    x = np.ones(16, np.float32)
    f(x, x)

    def taken():
        start = time.perf_counter_ns()
        for _ in range(200):
            f(x, x)
        return (time.perf_counter_ns() - start) / 200

    on, off = [], []
    for _ in range(100):
        off.append(taken())
        with tk.profile() as p:
            on.append(taken())
    assert len(p.kernels) == 200
    assert min(on) - min(off) < 1000


def check_trace(events):
    """The structure that Chrome and Perfetto want: complete events, properly nested on every thread."""
    threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans = {}
    for event in events:
        assert event["ph"] in ("M", "X") and event["pid"] >= 1
        if event["ph"] == "M":
            continue
        assert event["tid"] in threads
        assert isinstance(event["name"], str) and isinstance(event["cat"], str)
        assert event["ts"] >= 0 and event["dur"] >= 0
        rates = {"GB/s", "GFLOP/s"} if event["cat"] in ("kernel", "library") else set()
        assert {"bytes_read", "bytes_written", "flops", *rates} == set(event["args"])
        start = round(event["ts"] * 1000)
        spans.setdefault(event["tid"], []).append((start, -round(event["dur"] * 1000)))
    for some in spans.values():
        open_until = []
        for start, minus in sorted(some):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or start - minus <= open_until[-1], "events that overlap in part"
            open_until.append(start - minus)


@pytest.mark.parametrize("streamed", [False, True])
def test_json(tmp_path, streamed):
    path = tmp_path / "trace.json"
    f = tk.jit(activation)
    with tk.profile(path if streamed else None) as p:
        f(X, X)
        f(X[:100], X[:100])
    if not streamed:
        p.save(path)
    document = json.loads(path.read_text())
    events = document if streamed else document["traceEvents"]
    check_trace(events)
    assert sum(event["ph"] == "X" for event in events) == len(p.events)
    loaded = tk.load_profile(path)
    assert loaded.problem is None
    assert loaded.threads == p.threads
    key = [(e.name, e.category, e.thread, e.start_ns, e.end_ns, e.bytes_read, e.flops) for e in p.events]
    got = [(e.name, e.category, e.thread, e.start_ns, e.end_ns, e.bytes_read, e.flops) for e in loaded.events]
    assert sorted(got) == sorted(key)
    loaded.save(tmp_path / "again.json")
    assert len(tk.load_profile(tmp_path / "again.json").events) == len(p.events)


def test_a_page_while_it_records(tmp_path):
    path = tmp_path / "trace.html"
    with tk.profile(path) as p:
        tk.jit(activation)(X, X)
        assert (tmp_path / "trace.html.part").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.html"]
    data = _pages.data_of(path.read_text())
    assert data["kind"] == "profile"
    assert len(data["runs"][0]["events"]) == len(p.events)


def test_a_block_that_raises_is_saved(tmp_path):
    f = tk.jit(activation)
    with pytest.raises(KeyError), tk.profile(tmp_path / "trace.json") as p:
        f(X, X)
        raise KeyError("mine")
    assert p.kernels and tk.load_profile(tmp_path / "trace.json").kernels


def test_a_run_that_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy as np, tokamak as tk, time
            f = tk.jit(lambda x: np.sin(x) + 1)
            with tk.profile("trace.json"):
                while True:
                    f(np.ones(1000))
                    time.sleep(0.001)
            """
        )
    )
    process = subprocess.Popen([sys.executable, script], cwd=tmp_path)
    path = tmp_path / "trace.json"
    end = time.monotonic() + 60
    while time.monotonic() < end and (not path.exists() or path.read_text().count('"sin_add"') < 20):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.warns(UserWarning, match="ends early"):
        loaded = tk.load_profile(path)
    assert "killed" in loaded.problem
    assert len([kernel for kernel in loaded.kernels if kernel.name == "sin_add"]) >= 10
    loaded.save(tmp_path / "trace.html")
    assert "ends early" in _pages.data_of((tmp_path / "trace.html").read_text())["runs"][0]["problem"]


@pytest.mark.parametrize("share", [0.999, 0.5, 0.2])
def test_a_file_that_is_cut_off(tmp_path, share):
    with tk.profile() as p:
        tk.jit(activation)(X[:55], X[:55])
    p.save(tmp_path / "trace.json")
    text = (tmp_path / "trace.json").read_text()
    (tmp_path / "trace.json").write_text(text[: int(len(text) * share)])
    with pytest.warns(UserWarning, match="ends early"):
        loaded = tk.load_profile(tmp_path / "trace.json")
    assert len(loaded.events) < len(p.events) or share > 0.9


@pytest.mark.parametrize("text", ["", "nonsense", "[1, 2]", '{"a": 1}', "[", '[{"ph": "X"}]'])
def test_what_is_no_trace(tmp_path, text):
    (tmp_path / "trace.json").write_text(text)
    with pytest.raises(tk.UserError, match=r"trace\.json is no trace"):
        tk.load_profile(tmp_path / "trace.json")
    with pytest.raises(tk.UserError, match="cannot read"):
        tk.load_profile(tmp_path / "missing.json")


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(tk.UserError, match="cannot write"), tk.profile(tmp_path / "no" / "trace.json"):
        raise AssertionError("the block must not run")
    with tk.profile() as p:
        pass
    with pytest.raises(OSError, match="no"):
        p.save(tmp_path / "no" / "trace.json")
    with pytest.raises(OSError, match="cannot write"), tk.profile(tmp_path / "no" / "trace.json"):
        raise AssertionError("the block must not run")


@pytest.mark.parametrize("name", ["full.json", "full.html"])
def test_what_a_block_raises_wins(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(ValueError, match="^mine") as caught, tk.profile(tmp_path / name):
        tk.jit(np.sin)(X)
        raise ValueError("mine")
    assert caught.value.args == ("mine",)
    if sys.version_info >= (3, 11):
        assert any("No space left on device" in note for note in caught.value.__notes__)
    with pytest.raises(OSError, match="No space left"), tk.profile(tmp_path / name):
        pass


def test_profiles_across_fork(tmp_path):
    f = tk.jit(activation)
    f(X, X)
    with tk.profile(tmp_path / "trace.json"):
        child = os.fork()
        if child == 0:
            f(X, X)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        f(X, X)
    assert len(tk.load_profile(tmp_path / "trace.json").kernels) == 1


def test_pages_of_very_many_events_keep_the_longest(tmp_path, monkeypatch):
    from tokamak import _profile

    monkeypatch.setattr(_profile, "_MOST_ON_A_PAGE", 10)
    f = tk.jit(activation)
    with tk.profile() as p:
        for _ in range(20):
            f(X, X)
    data = p.to_dict()
    assert len(data["events"]) == 10
    assert data["left_out"] == len(p.events) - 10
    longest = max(event.end_ns - event.start_ns for event in p.events)
    assert longest in [event[4] for event in data["events"]]


def test_fork_while_a_trace_is_written(tmp_path):
    """The child leaves the block, too, and has no thread that writes."""
    script = (
        "import os, numpy as np, tokamak as tk\n"
        "f, x = tk.jit(np.sin), np.ones(3)\n"
        "with tk.profile('trace.json'):\n"
        "    f(x)\n"
        "    child = os.fork()\n"
        "    f(x)\n"
        "if child:\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
    assert tk.load_profile(tmp_path / "trace.json").problem is None


def test_a_forked_child_leaves_the_page_to_its_parent(tmp_path):
    script = (
        "import os, sys, numpy as np, tokamak as tk\n"
        "f, x = tk.jit(np.sin), np.ones(3)\n"
        "with tk.profile('page.html'):\n"
        "    child = os.fork()\n"
        "    if child:\n"
        "        f(x)\n"
        "        os.waitpid(child, 0)\n"
        "if not child:\n"
        "    print(os.path.exists('page.html'), end='')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("False", 0), done.stderr
    assert "sin" in _pages.data_of((tmp_path / "page.html").read_text())["runs"][0]["names"]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_functions_have_the_names_that_their_user_gave_them():
    def 日(x):
        return np.exp(x)

    def 本(x):
        return np.sin(x)

    functions = [tk.jit(日), tk.jit(本), tk.jit(lambda x: x + 1)]
    with tk.profile() as p:
        for f in functions:
            f(X)
    names = {(event.category, event.name) for event in p.events}
    for name in ("日", "本", functions[2].__name__):
        assert {("call", name), ("compile", f"compile {name}"), ("compile", f"trace {name}")} <= names
    assert functions[2].__name__ == "<lambda>"


def test_how_long_was_recorded_is_in_the_file(tmp_path):
    with tk.profile(tmp_path / "trace.json") as p:
        tk.jit(np.sin)(X)
        time.sleep(0.05)
    loaded = tk.load_profile(tmp_path / "trace.json")
    assert max(event.end_ns for event in loaded.events) + 40_000_000 < loaded.duration_ns <= p.duration_ns
    assert len(loaded.events) == len(p.events) and loaded.threads == p.threads
