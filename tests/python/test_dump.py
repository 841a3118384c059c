"""TOKAMAK_DUMP_DIR: every stage of every program as files."""

import html
import os
import subprocess
import sys

import pytest
import tokamak as tk
from browser import Browser

SCRIPT = """
import numpy as np, tokamak as tk

def f(x, y):
    np.exp(x)
    return np.maximum(np.sin(x) * y, 0)

x = np.ones(1000)
tk.jit(f)(x, x)
tk.jit(lambda a: np.tanh(a @ a))(np.ones((64, 64)))
print("done")
"""


def run(folder, **more):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "TOKAMAK_DUMP_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        **more,
    )
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr
    return done.stderr


def test_stages(tmp_path):
    assert run(tmp_path / "dump" / "here") == ""
    root = tmp_path / "dump" / "here"
    assert sorted(entry.name for entry in root.iterdir()) == ["001-f", "002-_lambda_", "index.html"]
    program = root / "001-f"
    graphs = sorted(entry.name for entry in program.glob("*.tok"))
    assert graphs[0] == "00-traced.tok" and len(graphs) > 1
    assert "exp" in (program / "00-traced.tok").read_text()
    assert "exp" not in (program / graphs[-1]).read_text()
    assert "1 kernel" in (program / "summary.txt").read_text()
    assert "arena" in (program / "memory.txt").read_text()
    kernel = program / "kernel-0-sin_mul_max"
    assert "reads" in (program / "steps.txt").read_text()
    assert "func @sin_mul_max" in (kernel / "graph.tok").read_text()
    assert "kernel @sin_mul_max" in (kernel / "loops.txt").read_text()
    assert "define" in (kernel / "kernel.ll").read_text()
    assert "sin_mul_max_0:" in (kernel / "kernel.s").read_text()
    assert (kernel / "schedule.txt").exists()


def test_pages(tmp_path):
    run(tmp_path)
    index = (tmp_path / "index.html").read_text()
    assert index.count("<h1>") == 1 and 'href="001-f/index.html"' in index and "002-_lambda_" in index
    page = (tmp_path / "001-f" / "index.html").read_text()
    for file in (tmp_path / "001-f").rglob("*.*"):
        if file.name != "index.html":
            assert html.escape(file.read_text(), quote=False).replace("&gt;", ">") in page


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_pages_in_a_browser(tmp_path, width, dark):
    """Names of kernels are long, and phones are narrow."""
    run(tmp_path)
    with Browser() as browser:
        for page in ("index.html", "001-f/index.html"):
            tab = browser.open(tmp_path / page, width=width, dark=dark)
            assert tab.run("document.documentElement.scrollWidth <= innerWidth"), page
            assert tab.problems == []


def test_graphs_can_be_read_again(tmp_path):
    run(tmp_path)
    program = os.path.join(os.path.dirname(tk.__file__), "_bin", "tokamak")
    for file in tmp_path.glob("001-f/*.tok"):
        subprocess.run([program, "opt", "--passes=", file], check=True, capture_output=True)


def test_another_run_adds_to_it(tmp_path):
    run(tmp_path)
    run(tmp_path)
    names = sorted(entry.name for entry in tmp_path.iterdir() if entry.is_dir())
    assert names == ["001-f", "002-_lambda_", "003-f", "004-_lambda_"]
    assert (tmp_path / "index.html").read_text().count("<p>") == 4


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    message = run(tmp_path / "file" / "dump")
    assert message.startswith("tokamak: TOKAMAK_DUMP_DIR: cannot make a folder in")
    assert message.count("TOKAMAK_DUMP_DIR") == 1
