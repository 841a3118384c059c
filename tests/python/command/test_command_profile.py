"""`tokamak profile` of functions and of traces, and `tokamak compare`."""

import os
import signal
import subprocess
import sys
import time

import pytest
import tokamak as tk
from command_support import ARGS, as_json, command
from tokamak import _pages


def test_profile_of_a_function(folder, tmp_path):
    text = command(
        folder, "profile", "script.py:activation", *ARGS, "--calls", "3", "-o", tmp_path / "t.json"
    )
    assert "sin_cos_mul_add_mul_max" in text
    assert len(tk.load_profile(tmp_path / "t.json").kernels) == 4
    got = as_json(folder, "profile", "script.py:activation", *ARGS, "--calls", "0")
    (kernel,) = [total for total in got["totals"] if total["category"] == "kernel"]
    assert kernel["count"] == 1 and kernel["bytes_written"] == 100 * 8 * 4


@pytest.mark.parametrize("target", ["missing.py", "missing.py:f", "script.py:missing"])
def test_profile_of_what_is_not_there_keeps_the_file(folder, tmp_path, target):
    kept = tmp_path / "kept.json"
    kept.write_text("of an earlier run")
    said = command(folder, "profile", target, "-o", str(kept), code=1)
    assert "what ran until then" not in said
    assert kept.read_text() == "of an earlier run"


@pytest.mark.parametrize("ending", ["json", "html"])
def test_profile_that_raises_before_anything_ran_keeps_the_file(folder, tmp_path, ending):
    kept = tmp_path / f"kept.{ending}"
    command(folder, "profile", "script.py:activation", *ARGS, "-o", str(kept))
    before = kept.read_bytes()
    said = command(folder, "profile", "boom.py", "-o", str(kept), code=1)
    assert "ZeroDivisionError" in said and f"{kept} is as it was" in said
    assert "what ran until then" not in said
    assert kept.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]


def test_profile_of_a_function_that_raises(folder, tmp_path):
    for path in (tmp_path / "t.json", tmp_path / "t.html"):
        message = command(folder, "profile", "script.py:raises", "--args", "f32[3]", "-o", path, code=1)
        assert (
            "KeyError: 'mine'" in message
            and f"nothing of Tokamak's ran until then; {path} has no events" in message
        )
        assert path.stat().st_size > 0


def test_profile_of_a_killed_run(folder, tmp_path):
    """What it left becomes a page, with a message and a code that say that it is not all."""
    path = tmp_path / "t.html"
    words = [sys.executable, "-m", "tokamak", "profile", "script.py:forever", "--args", "f32[3]", "-o", path]
    process = subprocess.Popen(words, cwd=folder)
    part = tmp_path / "t.html.part"
    end = time.monotonic() + 60
    while time.monotonic() < end and not part.exists():
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not path.exists()
    message = command(folder, "profile", part, "-o", path, code=1)
    assert "not whole" in message
    assert "ends early" in _pages.data_of(path.read_text())["runs"][0]["problem"]
    (tmp_path / "none.json").write_text("nonsense")
    assert "is no trace" in command(folder, "profile", tmp_path / "none.json", code=1)


def test_a_cut_trace_without_events_is_not_said_to_be_of_nothing(folder, tmp_path):
    (tmp_path / "cut.json").write_text('[\n{"ph":"M","pid":1,"name":"process_name","args":{"name":"t"}}')
    words = [sys.executable, "-m", "tokamak", "profile", tmp_path / "cut.json"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "ends early" in done.stdout and "nothing of Tokamak's" not in done.stdout + done.stderr


def test_profile_says_what_was_dropped(tmp_path):
    event = '{"ph":"X","pid":1,"tid":0,"name":"f","cat":"call","ts":1,"dur":8}'
    about = '{"ph":"M","pid":1,"name":"recording","args":{"dropped_events":7,"duration_ns":90000}}'
    (tmp_path / "t.json").write_text(f"[\n{event},\n{about}\n]\n")
    assert "7 more events were not kept" in command(tmp_path, "profile", "t.json")
    got = as_json(tmp_path, "profile", "t.json")
    assert (got["dropped"], got["duration_ns"], got["problem"]) == (7, 90000, None)


def test_compare(folder, tmp_path):
    got = as_json(folder, "compare", "script.py:activation", *ARGS, "-o", tmp_path / "c.html")
    assert len(got["eager"]["kernels"]) == 6 and len(got["compiled"]["kernels"]) == 1
    assert got["agree"] is True
    assert (tmp_path / "c.html").exists()
    assert "6 kernels" in command(folder, "compare", "script.py:activation", *ARGS)
