"""`tokamak bench`, `doctor` and `cache`."""

import os
import subprocess
import sys

import numpy as np
import pytest
from command_support import ARGS, as_json, command


def test_bench(folder):
    got = as_json(folder, "bench", "script.py:activation", *ARGS, "--seconds", "0.1")
    assert got["agree"] is True
    assert got["speedup"] == pytest.approx(got["numpy"]["best"] / got["tokamak"]["best"])
    text = command(folder, "bench", "script.py:writes", "--args", "f32[30]", "--seconds", "0.05")
    assert "the results agree" in text
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tokamak",
            "bench",
            "script.py:different",
            "--args",
            "f64[3]",
            "--seconds",
            "0.05",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "DIFFER" in done.stdout


def test_bench_compiles_before_numpy_runs(tmp_path):
    """What cannot be compiled may not come to an end."""
    (tmp_path / "endless.py").write_text(
        "def f(x):\n    while x.max() > 0:\n        x = x + 0\n    return x\n"
    )
    assert "`while`" in command(tmp_path, "bench", "endless.py:f", "--args", "f32[3]", code=1)


def test_doctor(folder):
    got = as_json(folder, "doctor")
    assert got["threads"] >= 1 and got["cpu"]["usable"] >= 1
    assert got["versions"]["numpy"] == np.__version__
    assert got["versions"]["llvm"].startswith("22.")
    assert got["memory"]["total"] > 0
    assert all(value > 0 for value in got["measured"].values())
    environment = {**os.environ, "TOKAMAK_CPU": "x86-64", "TOKAMAK_NUM_THREADS": "7"}
    text = command(folder, "doctor", "--quick", env=environment)
    assert "TOKAMAK_CPU=x86-64" in text
    assert "! 7 threads share" in text or (os.cpu_count() or 1) >= 7


def test_cache(folder):
    assert "entries" in command(folder, "cache") or "entry" in command(folder, "cache")
    got = as_json(folder, "cache", "script.py")
    (entry,) = [one for one in got["functions"] if one["name"] == "scaled"]
    assert (entry["programs"], entry["misses"]) == (1, 1)
    assert "no script" in command(folder, "cache", "script", code=2)
