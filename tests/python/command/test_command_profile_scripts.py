"""`tokamak profile` of whole scripts: those that raise, fork, wait and are interrupted."""

import json
import signal
import subprocess
import sys

import pytest
import tokamak as tk
from command_support import command
from tokamak import _pages


def test_profile_of_a_script(folder, tmp_path):
    page = tmp_path / "t.html"
    text = command(folder, "profile", "script.py", "-o", page, "--", "one", "two")
    assert text.startswith("[6. 6. 6. 6.] ['one', 'two']\n")
    assert "mul_sum" in _pages.data_of(page.read_text())["runs"][0]["names"]


@pytest.mark.parametrize("output", [(), ("-o", "late.json"), ("-o", "late.html")])
def test_profile_of_a_script_that_raises_late_has_its_table(folder, output):
    (folder / "late.py").write_text(
        "import numpy as np, tokamak as tk\nprint(tk.jit(lambda x: np.sin(x) + 1)(np.ones(3)))\n1 / 0\n"
    )
    words = [sys.executable, "-m", "tokamak", "profile", "late.py", *output]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "sin_add" in done.stdout and "ZeroDivisionError" in done.stderr and "Traceback" not in done.stderr
    assert ("what ran until then is in" in done.stderr) == bool(output)
    done = subprocess.run([*words, "--json"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    recorded = json.loads(done.stdout)
    assert "late.py raised ZeroDivisionError" in recorded["problem"]
    assert "sin_add" in [total["name"] for total in recorded["totals"]]


def profiled(folder, script, *words):
    """A script of these lines under `tokamak profile`."""
    (folder / "case.py").write_text(
        "import os, sys, threading, time\nimport numpy as np, tokamak as tk\n" + script
    )
    words = [sys.executable, "-m", "tokamak", "profile", "case.py", *map(str, words)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("ending", ["json", "html"])
def test_profile_of_a_script_that_closes_descriptors(tmp_path, ending):
    """Files that it opens then are its own, whatever their numbers."""
    done = profiled(
        tmp_path,
        "f = tk.jit(np.exp)\nf(np.ones(3))\ntime.sleep(0.3)\nos.closerange(3, 64)\n"
        "files = [open(f'mine{i}.txt', 'w') for i in range(20)]\n"
        "for file in files: print('precious', file=file, flush=True)\n"
        "tk.jit(np.sin)(np.ones(3))\ntime.sleep(0.3)\n"
        "for file in files: print('still', file=file, flush=True)\n",
        "-o",
        f"trace.{ending}",
    )
    assert (done.returncode, done.stderr) == (0, f"written to {tmp_path}/trace.{ending}\n")
    assert {(tmp_path / f"mine{i}.txt").read_text() for i in range(20)} == {"precious\nstill\n"}
    if ending == "json":
        loaded = tk.load_profile(tmp_path / "trace.json")
        assert loaded.problem is None and [kernel.name for kernel in loaded.kernels] == ["exp", "sin"]
    else:
        names = _pages.data_of((tmp_path / "trace.html").read_text())["runs"][0]["names"]
        assert {"exp", "sin"} <= set(names)
        assert not (tmp_path / "trace.html.part").exists()


@pytest.mark.parametrize("ending", ["pass", "sys.exit()", "sys.exit(5)", "1 / 0"])
def test_profile_of_a_script_that_forks(tmp_path, ending):
    """The child ends as without the command; what is printed and saved is the parent's."""
    done = profiled(
        tmp_path,
        "f = tk.jit(np.exp)\nf(np.ones(3))\nchild = os.fork()\n"
        f"if child == 0:\n    {ending}\n"
        "else:\n    f(np.ones(3))\n    print('child', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)\n",
        "-o",
        "page.html",
    )
    code = {"sys.exit(5)": 5, "1 / 0": 1}.get(ending, 0)
    assert done.returncode == 0 and done.stdout.startswith(f"child {code}\n"), done.stderr
    assert done.stdout.count("arithmetic") == 1 and done.stderr.count("written to") == 1
    assert ("ZeroDivisionError" in done.stderr) == (ending == "1 / 0")
    run = _pages.data_of((tmp_path / "page.html").read_text())["runs"][0]
    kernel = run["categories"].index("kernel")
    assert sum(event[1] == kernel for event in run["events"]) == 2


@pytest.mark.parametrize("ending", ["", "sys.exit()\n", "sys.exit(3)\n", "1 / 0\n"])
def test_profile_of_a_script_waits_for_its_threads(tmp_path, ending):
    done = profiled(
        tmp_path,
        "f = tk.jit(np.exp)\n"
        "def late():\n    time.sleep(0.5)\n    f(np.ones(3))\n    print('thread done')\n"
        "threading.Thread(target=late).start()\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "ThreadPoolExecutor(2).submit(f, np.ones(4))\n" + ending,
        "--json",
    )
    assert done.returncode == (1 if ending not in ("", "sys.exit()\n") else 0), done.stderr
    assert "thread done" in done.stderr
    (kernel,) = (row for row in json.loads(done.stdout)["totals"] if row["category"] == "kernel")
    assert (kernel["name"], kernel["count"]) == ("exp", 2)


@pytest.mark.parametrize("ending", ["json", "html"])
@pytest.mark.parametrize("script", ["pass\n", "sys.exit(0)\n"])
def test_profile_without_events_keeps_the_file(tmp_path, ending, script):
    kept = tmp_path / f"kept.{ending}"
    kept.write_text("of an earlier run")
    done = profiled(tmp_path, script, "-o", kept)
    assert done.returncode == 0 and "nothing of Tokamak's ran" in done.stdout
    assert done.stderr == f"{kept} is as it was\n"
    assert kept.read_text() == "of an earlier run"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["case.py", kept.name]


@pytest.mark.parametrize("ending", ["json", "html"])
def test_profile_of_a_script_that_raises_where_nothing_can_be_written(tmp_path, ending):
    (tmp_path / f"full.{ending}").symlink_to("/dev/full")
    script = "tk.jit(np.exp)(np.ones(3))\n"
    done = profiled(tmp_path, script + "raise RuntimeError('mine')\n", "-o", f"full.{ending}")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "RuntimeError: mine" in done.stderr and f"full.{ending}: No space left on device\n" in done.stderr
    assert "what ran until then is in" not in done.stderr and "Errno" not in done.stderr
    assert " exp" in done.stdout
    done = profiled(tmp_path, script, "-o", f"full.{ending}")
    assert done.returncode == 1
    assert f"full.{ending}: No space left on device\n" in done.stderr and "Errno" not in done.stderr


@pytest.mark.parametrize("ending", ["json", "html"])
def test_profile_of_a_script_that_is_none(tmp_path, ending):
    done = profiled(tmp_path, "def f(:\n", "-o", f"new.{ending}")
    assert done.returncode == 1 and "what ran until then" not in done.stderr
    assert f"nothing of Tokamak's ran until then; {tmp_path}/new.{ending} has no events\n" in done.stderr
    done = profiled(tmp_path, "x = '\0'\n")
    assert done.returncode == 1 and "null bytes" in done.stderr and "None" not in done.stderr


def test_profile_that_is_interrupted_twice_ends_at_once(tmp_path):
    """The second time what takes long is the saving: neither that nor the table is waited for."""
    (tmp_path / "waits.py").write_text(
        "import time, numpy as np, tokamak as tk\nfrom tokamak import _pages\n"
        "def write(*_):\n    print('saving', flush=True)\n    time.sleep(100)\n"
        "_pages.write = write\ntk.jit(np.exp)(np.ones(3))\nprint('ready', flush=True)\ntime.sleep(100)\n"
    )
    words = [sys.executable, "-m", "tokamak", "profile", "waits.py", "-o", "t.html"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for said in ("ready\n", "saving\n"):
            assert process.stdout.readline() == said
            process.send_signal(signal.SIGINT)
        printed, told = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    assert f"what was recorded is in {tmp_path}/t.html.part; " in told
    assert told.endswith("interrupted\n") and "Traceback" not in told
    assert [kernel.name for kernel in tk.load_profile(tmp_path / "t.html.part").kernels] == ["exp"]


def test_profile_that_is_interrupted_has_its_table(folder, tmp_path):
    (folder / "waits.py").write_text(
        "import time, numpy as np, tokamak as tk\n"
        "tk.jit(lambda x: np.sin(x) + 1)(np.ones(3))\nprint('ready', flush=True)\ntime.sleep(100)\n"
    )
    words = [sys.executable, "-m", "tokamak", "profile", "waits.py", "-o", tmp_path / "t.html"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "sin_add" in shown
    assert said.splitlines() == [f"what ran until then is in {tmp_path / 't.html'}", "interrupted"]


@pytest.mark.parametrize(
    ("raised", "code"), [("KeyboardInterrupt", 130), ("OSError(28, 'No space left on device', 't.html')", 1)]
)
def test_what_is_left_where_a_page_cannot_be_written_is_named(folder, tmp_path, raised, code):
    """A second Ctrl-C while the page is made, or a disk that is full by then."""
    (folder / "ends.py").write_text(
        "import numpy as np, tokamak as tk\n"
        "from tokamak import _pages\n"
        "def page(*words, **more):\n"
        f"    raise {raised}\n"
        "_pages.page = page\n"
        "tk.jit(lambda x: np.sin(x) + 1)(np.ones(3))\n"
    )
    page = tmp_path / "t.html"
    words = [sys.executable, "-m", "tokamak", "profile", "ends.py", "-o", page]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == code and "Traceback" not in done.stderr
    assert "sin_add" in done.stdout
    assert f"what was recorded is in {page}.part; tokamak profile {page}.part -o {page}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.html.part"]
    assert "sin_add" in command(folder, "profile", f"{page}.part", "-o", str(page))


def test_profile_of_a_script_that_raises(folder, tmp_path):
    message = command(folder, "profile", "boom.py", "-o", tmp_path / "t.json", code=1)
    assert (
        "ZeroDivisionError" in message and f"ran until then; {tmp_path / 't.json'} has no events" in message
    )
    assert tk.load_profile(tmp_path / "t.json").problem is None
    assert "cannot write" in command(folder, "profile", "script.py", "-o", "/nowhere/t.json", code=1)


def test_outputs_stay_where_they_were_asked_for(tmp_path):
    """Scripts may go elsewhere, and must not be replaced by what is made of them."""
    script = tmp_path / "wanders.py"
    script.write_text("import os, numpy as np, tokamak as tk\nos.chdir('/')\ntk.jit(np.sin)(np.ones(3))\n")
    before = script.read_text()
    assert "would be overwritten" in command(tmp_path, "profile", "wanders.py", "-o", "wanders.py", code=1)
    assert script.read_text() == before
    command(tmp_path, "profile", "wanders.py", "-o", "page.html")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".pyc") == [
        "page.html",
        "wanders.py",
    ]
