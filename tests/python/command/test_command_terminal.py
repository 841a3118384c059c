"""Progress, Ctrl-C while the command starts, and readers that go away."""

import itertools
import os
import re
import signal
import subprocess
import sys

import pytest
from command_support import ARGS, on_a_terminal


@pytest.mark.parametrize("module", ["numpy", "tokamak._native", "tokamak._command.doctor"])
@pytest.mark.parametrize("program", [["-m", "tokamak"], ["bin/tokamak"]])
def test_interrupts_while_the_command_starts(tmp_path, module, program):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tokamak").write_text(
        "import sys\nfrom tokamak._command import main\nsys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, *program, "doctor", "--quick"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_programs_that_import_the_package_keep_their_interrupts(tmp_path):
    (tmp_path / "tokamak").write_text(
        "import signal, tokamak\nassert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    subprocess.run([sys.executable, tmp_path / "tokamak"], check=True)


def test_progress_on_a_terminal_only(folder):
    words = ("bench", "script.py:activation", *ARGS, "--seconds", "1.5")
    assert "timing, turn" in on_a_terminal(folder, *words)
    done = subprocess.run(
        [sys.executable, "-m", "tokamak", *words], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""


PROGRESS = """
import sys, time
import numpy as np
import tokamak as tk
from tokamak import _measure, _progress

def activation(x, y):
    return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)

args = [np.ones((4000, 3000), np.float32)] * 2
if sys.argv[1] == "save":
    tk.jit(activation).explain(*args).measure(1.5).save(sys.argv[2])
elif sys.argv[1] == "compare":
    tk.compare(activation, *args).save(sys.argv[2])
else:
    with _progress.Progress("outer"):
        time.sleep(0.7)
        with _progress.Progress("inner"):
            time.sleep(0.4)
        time.sleep(0.4)
"""


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("save", ["measuring activation"]),
        ("compare", ["running activation both ways, turn N"]),
        ("", ["outer", "inner", "outer"]),
    ],
)
def test_progress_of_the_library(folder, tmp_path, what, said):
    """What takes over a second says so on a terminal, and takes the line away in the end."""
    (tmp_path / "script.py").write_text(PROGRESS)
    words = [tmp_path / "script.py", what, tmp_path / "page.html"]
    shown = on_a_terminal(folder, *words, program=())
    lines = [
        re.sub(r"\d+", "N", re.sub(r" \(.*", "", line[2:]))
        for line in shown.split("\r")
        if line.strip()
    ]
    found = [line for line, _ in itertools.groupby(lines)]
    assert any(found[i : i + len(said)] == said for i in range(len(found))), found
    *_, last, taken_away, end = shown.split("\r")
    assert taken_away == " " * len(last) and end == ""
    assert "\x1b" not in shown  # which not every terminal knows
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and done.returncode == 0


def test_a_reader_that_goes_away(folder):
    line = f"{sys.executable} -m tokamak completion fish | head -1"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
