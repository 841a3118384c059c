"""The `tokamak` command, run as a program."""

import itertools
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tokamak as tk
from tokamak import _pages
from tokamak._command import arguments

SCRIPT = """
import sys
import time
import numpy as np
import tokamak as tk

def activation(x, y):
    return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)

@tk.jit
def scaled(x, factor=2.0, *, axis=0):
    return (x * factor).sum(axis=axis)

class Model:
    @staticmethod
    def forward(params, x):
        return params["w"] @ x + params["b"][0]

def untraceable(x):
    return x if x.sum() > 0 else -x

def raises(x):
    raise KeyError("mine")

def leaves(x):
    sys.exit(0)

def leaves_with_a_code(x):
    sys.exit(7)

def closes(x):
    sys.stdout.close()
    return x + 1

def closed_form(x):
    return (np.sin(x) * x + 1).sum()

def writes(u):
    u[0] = 1

def forever(x):
    time.sleep(100)

def different(x):
    return x + 1 if hasattr(x, "_traced") else x

number = 3

if __name__ == "__main__":
    print(scaled(np.ones((3, 4))), sys.argv[1:])
"""

TEXT = """func @f(%x: f32[4,8], %y: f32[4,8]) {
  %0 = add %x, %y
  %1 = exp %0
  return %1
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "boom.py").write_text("import numpy as np\n\ndef f(x):\n    return x\n\n1 / 0\n")
    (folder / "wrong.py").write_text("def f(x:\n")
    (folder / "f.tok").write_text(TEXT)
    return folder


def command(folder, *words, code=0, **more):
    done = subprocess.run(
        [sys.executable, "-m", "tokamak", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        **more,
    )
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def as_json(folder, *words):
    return json.loads(command(folder, *words, "--json"))


ARGS = ("--args", "f32[100,8], f32[100,8]")


# -- explain


def test_explain(folder):
    text = command(folder, "explain", "script.py:activation", *ARGS)
    assert text.startswith("activation(f32[100,8], f32[100,8])\n")
    assert "1 kernel" in text and "sin_cos_mul_add_mul_max" in text
    text = command(folder, "explain", "script.py:activation", *ARGS, "--show", "loops,asm,memory")
    assert "loops of sin_cos" in text and "asm of sin_cos" in text and "arena" in text
    assert "6 kernels" in command(folder, "explain", "script.py:activation", *ARGS, "--no-fuse")


def test_explain_says_what_the_api_says(folder):
    got = as_json(folder, "explain", "script.py:activation", *ARGS)

    def activation(x, y):
        return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)

    wanted = tk.jit(activation).explain(*[np.ones((100, 8), np.float32)] * 2)
    (kernel,) = got["kernels"]
    assert kernel["ops"] == wanted.kernels[0].ops
    assert kernel["bytes_read"] == wanted.kernels[0].bytes_read
    assert kernel["flops"] == wanted.kernels[0].flops
    assert got["memory"]["peak_bytes"] == wanted.memory.peak_bytes
    assert any(line.endswith("script.py:8") for line in kernel["lines"])


def test_arguments_of_all_kinds(folder):
    explain = ("explain", "script.py:scaled", "--args")
    assert "sum" in command(folder, *explain, "f64[3,4], factor=3, axis=1")
    assert "sum" in command(folder, *explain, "bf16[3,4]")
    assert "sum" in command(folder, *explain, "float32[3,4], f32[]")
    text = command(
        folder, "explain", "script.py:Model.forward", "--args", '{"w": f32[4,4], "b": [f32[4]]}, f32[4]'
    )
    assert "1 kernel" in text


def test_made_up_numbers():
    text = "f32[3,4], f64[5], f16[6], i8[700], u64[700], bool[700], f32, i64"
    made, again = arguments.parse(text, 3).args, arguments.parse(text, 3).args
    assert [(one.dtype.name, one.shape) for one in made] == [
        ("float32", (3, 4)),
        ("float64", (5,)),
        ("float16", (6,)),
        ("int8", (700,)),
        ("uint64", (700,)),
        ("bool", (700,)),
        ("float32", ()),
        ("int64", ()),
    ]
    assert all(np.array_equal(a, b) for a, b in zip(made, again, strict=True))
    assert not np.array_equal(made[1], arguments.parse(text, 4).args[1])
    assert [set(one.tolist()) for one in made[3:5]] == [set(range(10))] * 2 and set(made[5]) == {False, True}
    large = arguments.parse(f"f32[{3 << 20}]", 0).args[0]
    assert abs(large.mean()) < 0.01 and abs(large.std() - 1) < 0.01
    assert len(np.unique(large)) > 1 << 21  # no part is like another
    unfilled = arguments.parse("f32[3], f32", 0, is_filled=False).args
    assert not unfilled[0].any() and unfilled[1]


def test_arguments_are_not_made_where_they_are_not_looked_at(folder):
    """In a tenth of the memory that the array would take."""
    limited = (
        "import re, sys\n"
        "from tokamak._command import main\n"
        "code = main(sys.argv[1:])\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"  # getrusage counts the parent's
        "sys.exit(code)"
    )
    words = ("explain", "script.py:closed_form", "--args", "f32[1000000000]")
    done = subprocess.run(
        [sys.executable, "-c", limited, *words], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "1 kernel" in done.stdout
    assert int(done.stdout.split()[-1]) < 400_000


def test_arguments_are_made_up_in_sight(folder, tmp_path):
    words = ("profile", "script.py:closed_form", "--calls", "0", "--args", "f64[60000000]")
    assert re.search(r"making up f64\[60000000\], \d+ %", on_a_terminal(folder, *words))
    process = subprocess.Popen(
        [sys.executable, "-m", "tokamak", *words[:-1], "f64[400000000]"], cwd=folder, stderr=subprocess.PIPE
    )
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    assert b"interrupted" in process.communicate(timeout=60)[1]
    assert process.returncode == 130 and time.monotonic() - start < 1.5


def test_modules(folder):
    assert "1 kernel" in command(folder, "explain", "script:activation", *ARGS)


def test_text_ir(folder):
    (only,) = as_json(folder, "explain", "f.tok")
    assert only["function"] == "f"
    assert only["kernels"][0]["ops"] == ["add", "exp"]
    assert "kernel @add_exp" in command(folder, "explain", "f.tok")
    assert "kernel @add_exp" in command(folder, "explain", "-", input=TEXT)
    assert "result 0" in command(folder, "run", "f.tok")
    assert "exp %0" in command(folder, "opt", "--passes=simplify", "f.tok")
    assert "--passes" in command(folder, "opt", "--help")
    assert "no command" in _native(folder, "nonsense", code=2)
    assert "is Python" in _native(folder, "explain", "script.py:f", code=2)


def test_text_ir_as_json(folder):
    text = """func @f(%x: f64[3], %y: i32[2,2]) {
  %0 = exp %x
  %1 = mul %x, 1.0
  %2 = div %1, 0.0
  return %2, %y
}
func @g() {
  %0 = lt f32(1.0), f32(2.0)
  return %0
}
"""
    functions = json.loads(command(folder, "opt", "-", "--json", input=text))
    assert [one["function"] for one in functions] == ["f", "g"]
    assert functions[0]["graph"] == command(folder, "opt", "-", input=text).split("\n\n")[0] + "\n"
    assert "exp" not in functions[0]["graph"]
    changed = [one for one in functions[0]["passes"] if one["changed"]]
    assert {"simplify", "eliminate-dead"} <= {one["name"] for one in changed}
    assert all(one["nodes_after"] <= one["nodes_before"] and one["milliseconds"] >= 0 for one in changed)
    listed = json.loads(command(folder, "opt", "--list-passes", "--json"))
    assert {"name": "eliminate-dead", "summary": "drop nodes that no output needs"} in listed

    f, g = json.loads(command(folder, "run", "-", "--json", "--arguments", "--max-elements=3", input=text))
    assert (f["function"], g["function"]) == ("f", "g")
    x, y = f["arguments"]
    assert (x["name"], x["dtype"], x["shape"]) == ("%x", "f64", [3])
    assert f["results"][0]["elements"] == ["inf" if value > 0 else "-inf" for value in x["elements"]]
    assert f["results"][1] == {**y, "name": "result 1"}
    assert len(y["elements"]) == 3  # of four
    assert g["arguments"] == [] and g["results"][0] == {
        "name": "result 0",
        "dtype": "bool",
        "shape": [],
        "elements": [True],
    }
    interpreted = json.loads(command(folder, "run", "-", "--json", "--interpret", input=text))
    assert interpreted[0]["results"][0]["elements"] == f["results"][0]["elements"]
    assert "there is no operation" in command(
        folder, "run", "-", "--json", input="func @f() {\n  %0 = nonsense\n  return %0\n}", code=1
    )


def _native(folder, *words, code):
    program = os.path.join(os.path.dirname(tk.__file__), "_bin", "tokamak")
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    return done.stderr


# -- what goes wrong


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["script.py:untraceable", "--args", "f32[3]"], 1, "`if` needs the elements"),
        (["script.py:raises", "--args", "f32[3]"], 1, "raises raised KeyError: 'mine'"),
        (["script.py:leaves", "--args", "f32[3]"], 1, "leaves exited with 0"),
        (["script.py:leaves_with_a_code", "--args", "f32[3]"], 1, "leaves_with_a_code exited with 7"),
        (["script.py:closes", "--args", "f32[3]"], 1, "cannot write to the standard output: it is closed"),
        (["script.py:activation", "--args", "f32[3]"], 1, "missing a required argument: 'y'"),
        (
            ["script.py:activation"],
            1,
            "activation(x, y) cannot be called without --args, such as --args \"f32[1024,1024], ",
        ),
        (["script.py:activation", *ARGS, "--seed", "1", "--args", "f32[3], z=f32[3]"], 1, "'y'"),
        (["script.py:activatoin"], 1, "did you mean activation?"),
        (["script.py:nothing_like_it"], 1, "it has activation, scaled"),
        (["script.py:number"], 1, "number of script.py is no function"),
        (["boom.py:f", "--args", "f32[3]"], 1, "boom.py raised ZeroDivisionError"),
        (["wrong.py:f"], 1, "wrong.py raised SyntaxError"),
        (["missing.py:f"], 1, "there is no script missing.py"),
        (["missing_module:f"], 1, "there is no module missing_module"),
        (["script.py"], 2, "names no function"),
        (["script.py:activation", "--args", "f33[3]"], 2, "there is no type 'f33'"),
        (["script.py:activation", "--args", "f32[3"], 2, "cannot read 'f32[3'"),
        (["script.py:activation", "--args", "f32[a]"], 2, "whole numbers"),
        (["script.py:activation", "--args", "open('x')"], 2, "neither a type nor a value"),
        (["script.py:activation", "--args", "f64[99999999,99999999]"], 1, "no memory"),
        (["script.py:activation", "--args", "f32[-3]"], 2, "whole numbers"),
        (["script.py:activation", *ARGS, "--show", "nonsense"], 2, "there is no 'nonsense'"),
        (["script.py:activation", *ARGS, "-o", "no/folder.html"], 1, "cannot write no/folder.html"),
        (["script.py:activation", *ARGS, "-o", "."], 1, "cannot write .: it is a folder"),
        (
            ["script.py:activation", *ARGS, "-o", "script.py"],
            1,
            "script.py would be overwritten by what is made",
        ),
        (["script.py:activation", *ARGS, "-o", ""], 2, "-o needs the name of a file"),
        (["script.py:activation", *ARGS, "--seed", "-1"], 2, "--seed takes a number from 0 on"),
        (["missing.tok"], 1, "cannot open missing.tok"),
    ],
)
def test_errors(folder, words, code, message):
    assert message in command(folder, "explain", *words, code=code)


def test_errors_name_the_line(folder):
    message = command(folder, "explain", "boom.py:f", "--args", "f32[3]", code=1)
    assert "boom.py:6" in message
    assert len(message.splitlines()) == 2


def test_wrong_command_lines(folder):
    assert "invalid choice" in command(folder, "nonsense", code=2)
    assert "required" in command(folder, code=2)
    assert "unrecognized" in command(folder, "doctor", "--nonsense", code=2)
    assert "for scripts" in command(folder, "profile", "script.py:writes", "--", "word", code=2)


def test_help(folder):
    text = command(folder, "--help")
    for name in ("explain", "profile", "compare", "bench", "opt", "run", "doctor", "cache", "completion"):
        assert f"\n    {name}" in text
        assert "usage: tokamak" in command(folder, name, "--help")
    assert tk.__version__ in command(folder, "--version")


# -- profile and compare


def test_profile_of_a_function(folder, tmp_path):
    text = command(
        folder, "profile", "script.py:activation", *ARGS, "--calls", "3", "-o", tmp_path / "t.json"
    )
    assert "sin_cos_mul_add_mul_max" in text
    assert len(tk.load_profile(tmp_path / "t.json").kernels) == 4
    got = as_json(folder, "profile", "script.py:activation", *ARGS, "--calls", "0")
    (kernel,) = [total for total in got["totals"] if total["category"] == "kernel"]
    assert kernel["count"] == 1 and kernel["bytes_written"] == 100 * 8 * 4


def test_profile_of_a_script(folder, tmp_path):
    page = tmp_path / "t.html"
    text = command(folder, "profile", "script.py", "-o", page, "--", "one", "two")
    assert text.startswith("[6. 6. 6. 6.] ['one', 'two']\n")
    assert "mul_sum" in _pages.data_of(page.read_text())["runs"][0]["names"]


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
    (folder / "case.py").write_text("import os, sys, threading, time\nimport numpy as np, tokamak as tk\n" + script)
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


def test_profile_says_what_was_dropped(tmp_path):
    event = '{"ph":"X","pid":1,"tid":0,"name":"f","cat":"call","ts":1,"dur":8}'
    about = '{"ph":"M","pid":1,"name":"recording","args":{"dropped_events":7,"duration_ns":90000}}'
    (tmp_path / "t.json").write_text(f"[\n{event},\n{about}\n]\n")
    assert "7 more events were not kept" in command(tmp_path, "profile", "t.json")
    got = as_json(tmp_path, "profile", "t.json")
    assert (got["dropped"], got["duration_ns"], got["problem"]) == (7, 90000, None)


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


def test_a_cut_trace_without_events_is_not_said_to_be_of_nothing(folder, tmp_path):
    (tmp_path / "cut.json").write_text('[\n{"ph":"M","pid":1,"name":"process_name","args":{"name":"t"}}')
    words = [sys.executable, "-m", "tokamak", "profile", tmp_path / "cut.json"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "ends early" in done.stdout and "nothing of Tokamak's" not in done.stdout + done.stderr


def test_profile_of_a_script_that_raises(folder, tmp_path):
    message = command(folder, "profile", "boom.py", "-o", tmp_path / "t.json", code=1)
    assert "ZeroDivisionError" in message and f"ran until then; {tmp_path / 't.json'} has no events" in message
    assert tk.load_profile(tmp_path / "t.json").problem is None
    assert "cannot write" in command(folder, "profile", "script.py", "-o", "/nowhere/t.json", code=1)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("explain", "1 kernel for 6"), ("profile", "sin_cos_mul_add_mul_max"), ("compare", "6 kernels")],
)
def test_what_cannot_be_written_is_shown(folder, name, shown):
    """The disk is full when all is done: the message names the file, and what there is to read is there."""
    done = subprocess.run(
        [sys.executable, "-m", "tokamak", name, "script.py:activation", *ARGS, "-o", "/dev/full"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "/dev/full: No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert shown in done.stdout


@pytest.mark.parametrize("name", ["profile", "compare", "bench"])
def test_bad_input_of_all_commands(folder, tmp_path, name):
    for words, message in [
        (["script.py:untraceable", "--args", "f32[3]"], "`if` needs the elements"),
        (["script.py:raises", "--args", "f32[3]"], "KeyError: 'mine'"),
        (["script.py:leaves", "--args", "f32[3]"], "leaves exited with 0"),
        (["script.py:closes", "--args", "f32[3]"], "cannot write to the standard output: it is closed"),
        (["script.py:activatoin"], "did you mean activation?"),
        (["boom.py:f", "--args", "f32[3]"], "ZeroDivisionError"),
    ]:
        assert message in command(folder, name, *words, code=1)
    if name != "bench":
        for path in ("no/folder.html", tmp_path):
            assert f"cannot write {path}" in command(
                folder, name, "script.py:activation", *ARGS, "-o", path, code=1
            )


def test_profile_of_a_function_that_raises(folder, tmp_path):
    for path in (tmp_path / "t.json", tmp_path / "t.html"):
        message = command(folder, "profile", "script.py:raises", "--args", "f32[3]", "-o", path, code=1)
        assert "KeyError: 'mine'" in message and f"nothing of Tokamak's ran until then; {path} has no events" in message
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


def test_compare(folder, tmp_path):
    got = as_json(folder, "compare", "script.py:activation", *ARGS, "-o", tmp_path / "c.html")
    assert len(got["eager"]["kernels"]) == 6 and len(got["compiled"]["kernels"]) == 1
    assert got["agree"] is True
    assert (tmp_path / "c.html").exists()
    assert "6 kernels" in command(folder, "compare", "script.py:activation", *ARGS)


# -- bench, doctor, cache


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


# -- completion


def test_completion(folder):
    for shell in ("bash", "zsh", "fish"):
        text = command(folder, "completion", shell)
        assert "explain" in text and "doctor" in text
        assert "passes" in text  # of opt, which is native
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=text, text=True, check=True)
    assert "invalid choice" in command(folder, "completion", "tcsh", code=2)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("tokamak pro", "profile"),
        ("tokamak explain --s", "--show"),
        ("tokamak explain --s", "--summary"),
        ("tokamak completion z", "zsh"),
    ],
)
def test_bash_completes(folder, line, wanted):
    script = command(folder, "completion", "bash")
    words = line.split(" ")
    ask = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _tokamak; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash"], input=f"{script}\n{ask}\n", capture_output=True, text=True, check=True)
    assert wanted in done.stdout.split()


def test_every_option_that_is_completed_is_there(folder):
    """Of a function, too, where the same command takes text IR."""
    assert "1 kernel" in command(folder, "explain", "script.py:activation", *ARGS, "--summary")
    assert "1 kernel" in command(folder, "explain", "f.tok", "--summary")


# -- Ctrl-C while it starts


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


# -- progress


def on_a_terminal(folder, *words, program=("-m", "tokamak")):
    """What the command, or a script, writes to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, *program, *map(str, words)])
    text = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not more:
            break
        text += more
    os.waitpid(pid, 0)
    os.close(terminal)
    return text.decode(errors="replace")


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
        for line in shown.split("\r\x1b[K")
        if line.strip()
    ]
    found = [line for line, _ in itertools.groupby(lines)]
    assert any(found[i : i + len(said)] == said for i in range(len(found))), found
    assert shown.endswith("\r\x1b[K")
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and done.returncode == 0


def test_a_reader_that_goes_away(folder):
    line = f"{sys.executable} -m tokamak completion fish | head -1"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr


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


def test_messages_of_several_lines_are_whole(tmp_path):
    (tmp_path / "raises.py").write_text("def f(x):\n    raise ValueError('first line\\nsecond line')\n")
    message = command(tmp_path, "explain", "raises.py:f", "--args", "f32[3]", code=1)
    assert "f raised ValueError: first line\nsecond line\n  at " in message


def test_bench_compiles_before_numpy_runs(tmp_path):
    """What cannot be compiled may not come to an end."""
    (tmp_path / "endless.py").write_text(
        "def f(x):\n    while x.max() > 0:\n        x = x + 0\n    return x\n"
    )
    assert "`while`" in command(tmp_path, "bench", "endless.py:f", "--args", "f32[3]", code=1)
