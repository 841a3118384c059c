"""The `tokamak` command: what it prints has to arrive, and what it writes is what was asked for."""

import json
import os
import subprocess
import sys

import pytest
import tokamak as tk
from command_support import ARGS, SCRIPT, TEXT, command
from tokamak import _pages

NATIVE = os.path.join(os.path.dirname(tk.__file__), "_bin", "tokamak")
PYTHON = f"{sys.executable} -m tokamak"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("output")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "quiet.py").write_text("print('no arrays here')\n")
    (folder / "f.tok").write_text(TEXT)
    (folder / "long.tok").write_text("\n".join(TEXT.replace("@f", f"@f{i}") for i in range(300)))
    return folder


def shell(folder, line):
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


NATIVE_COMMANDS = [
    "opt f.tok",
    "run f.tok",
    "explain f.tok",
    "cache",
    "--help",
    "opt --help",
    "opt --list-passes",
]
PYTHON_COMMANDS = [
    "explain script.py:activation --args 'f32[3],f32[3]'",
    "--help",
    "explain --help",
    "--version",
]
PYTHON_COMMANDS += [
    "cache script.py",
    "completion bash",
    "doctor --quick",
    "doctor --quick --json",
    "opt f.tok",
]


@pytest.mark.parametrize(
    "words", [f"{NATIVE} {one}" for one in NATIVE_COMMANDS] + [f"{PYTHON} {one}" for one in PYTHON_COMMANDS]
)
def test_what_cannot_be_printed_is_an_error(folder, words):
    for where, reason in ((">/dev/full", "No space left on device"), (">&-", "")):
        done = shell(folder, f"{words} {where}")
        assert done.returncode == 1, done.stderr
        assert (
            "cannot write to the standard output" in done.stderr or "script.py raised OSError" in done.stderr
        )
        assert reason in done.stderr
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
        assert len(done.stderr.splitlines()) == 1 or "script.py raised" in done.stderr


@pytest.mark.parametrize("words", [f"{NATIVE} opt long.tok", f"{PYTHON} opt long.tok", f"{PYTHON} --help"])
def test_who_has_read_enough_is_told_nothing(folder, words):
    done = shell(folder, f"{words} | true; exit ${{PIPESTATUS[0]}}")
    assert done.stderr == ""
    assert done.returncode in (0, 1, 141)


@pytest.mark.parametrize("words", ["compare", "explain"])
def test_closed_pipes_of_python_commands(folder, words):
    line = f"{PYTHON} {words} script.py:activation --args 'f32[3],f32[3]' | true; exit ${{PIPESTATUS[0]}}"
    done = shell(folder, line)
    assert done.stderr == ""


def test_traces_that_are_none(folder, tmp_path):
    for text in ('[{"ph":"X","name":"a","ts":1e400,"dur":1}]', "[" * 100_000, "nonsense"):
        (tmp_path / "t.json").write_text(text)
        message = command(folder, "profile", tmp_path / "t.json", code=1)
        assert "is no trace of Tokamak" in message
        assert len(message.splitlines()) == 1


# -- explain


def test_options_of_text_ir_as_the_help_says(folder):
    for words in (("--show", "llvm"), ("--show=llvm",)):
        assert "define void" in command(folder, "explain", "f.tok", *words)
        assert "define void" in command(folder, "explain", *words, "f.tok")
    assert "result 0" in command(folder, "run", "--seed", "3", "f.tok")
    assert "needs a value" in command(folder, "explain", "f.tok", "--show", code=2)
    assert "needs a value" in command(folder, "explain", "--show", "--json", "f.tok", code=2)
    assert "there is no 'nonsense'" in command(
        folder, "explain", "f.tok", "--show", "nonsense", "--json", code=2
    )


def test_json_has_what_is_shown(folder):
    shown = ("--json", "--show", "graph,schedule,loops,llvm,asm,memory")
    (of_text,) = json.loads(command(folder, "explain", "f.tok", *shown))
    of_script = json.loads(command(folder, "explain", "script.py:activation", *ARGS, *shown))
    for explained in (of_text, of_script):
        (kernel,) = explained["kernels"]
        assert "func @" in kernel["graph"] and kernel["schedule"] and kernel["loops"]
        assert "define void" in kernel["llvm"] and "retq" in kernel["asm"]
        assert "arena" in explained["memory"]["plan"]
    (short,) = json.loads(command(folder, "explain", "f.tok", "--json"))
    assert "llvm" not in short["kernels"][0] and "plan" not in short["memory"]


# -- -o


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("explain", "report.txt", "ends in .html or .htm"),
        ("explain", "report.json", "ends in .html or .htm"),
        ("explain", "report", "ends in .html or .htm"),
        ("profile", "trace.txt", "ends in .html or .htm or .json"),
        ("compare", "trace", "ends in .html or .htm or .json"),
    ],
)
def test_wrong_endings(folder, name, path, message):
    assert message in command(folder, name, "script.py:activation", *ARGS, "-o", path, code=2)
    assert not (folder / path).exists()


def test_no_line_is_blamed_where_none_is_wrong(folder):
    """A folder that there is, and that nobody can write to, root included."""
    said = command(folder, "profile", "script.py:activation", *ARGS, "-o", "/proc/trace.json", code=1)
    assert said.splitlines() == ["error: cannot write /proc/trace.json: No such file or directory"]


def test_what_is_written_is_said(folder, tmp_path):
    for name, path in (
        ("explain", "e.html"),
        ("profile", "p.json"),
        ("profile", "p.HTML"),
        ("compare", "c.json"),
    ):
        written = tmp_path / path
        words = [
            sys.executable,
            "-m",
            "tokamak",
            name,
            "script.py:activation",
            *ARGS,
            "--json",
            "-o",
            written,
        ]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, check=True)
        assert done.stderr.splitlines()[-1] == f"written to {written}"
        json.loads(done.stdout)
        assert written.stat().st_size > 100
    assert _pages.data_of((tmp_path / "p.HTML").read_text())["kind"] == "profile"


def test_scripts_that_jit_nothing_are_said_to(folder):
    text = command(folder, "profile", "quiet.py")
    assert "nothing of Tokamak's ran" in text
    assert json.loads(shell(folder, f"{PYTHON} profile quiet.py --json").stdout)["totals"] == []
    with tk.profile() as p:
        pass
    assert "nothing was recorded" in str(p)


@pytest.mark.parametrize(
    "words",
    [
        "explain talks.py:f",
        "explain talks:f",
        "explain talks.py:Talking.f",
        "profile talks.py:f --calls 1",
        "profile talks.py",
        "compare talks.py:f",
        "bench talks.py:f --seconds 0.01",
        "cache talks.py",
    ],
)
def test_what_is_printed_by_the_way_is_no_part_of_the_json(folder, words):
    (folder / "talks.py").write_text(
        """
import tokamak as tk
print("the module")
class Talking:
    def __init__(self):
        print("an instance")
    def f(self, x):
        print("the function")
        return x + 1
f = tk.jit(Talking().f)
if __name__ == "__main__":
    f(1.0)
"""
    )
    args = "--args 'f32[3]'" if ":" in words else ""
    done = shell(folder, f"{PYTHON} {words} {args} --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    for said in ("the module", "an instance", "the function"):
        assert said in done.stderr.splitlines()


@pytest.mark.parametrize("rest", ["| true", "> /dev/full"])
@pytest.mark.parametrize("word", ["explain", "compare"])
def test_the_page_is_there_where_the_text_cannot_be_printed(folder, word, rest):
    page = folder / f"{word}{len(rest)}.html"
    line = f"{PYTHON} {word} script.py:activation --args 'f32[3],f32[3]' -o {page.name} {rest}"
    done = shell(folder, line)
    assert page.stat().st_size > 1000
    assert "Traceback" not in done.stderr


def test_a_script_that_closes_the_standard_output(folder):
    (folder / "closing.py").write_text(f"{SCRIPT}\nimport sys\nsys.stdout.close()\n")
    done = shell(folder, f"{PYTHON} profile closing.py -o closing.json")
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot write to the standard output: it is closed")
    assert json.loads((folder / "closing.json").read_text())


def test_the_folder_of_the_disk_cache_as_json(folder):
    plain = shell(folder, f"{PYTHON} cache path").stdout.strip()
    assert json.loads(shell(folder, f"{PYTHON} cache path --json").stdout) == {"folder": plain}


# -- the standard error


@pytest.mark.parametrize("word", ["explain", "profile", "compare"])
def test_what_is_told_is_no_result_where_nobody_listens(folder, word):
    line = f"{PYTHON} {word} script.py:activation --args 'f32[3],f32[3]' --json -o silent-{word}.html 2>&-"
    done = shell(folder, line)
    assert done.returncode == 0
    assert json.loads(done.stdout)
    assert (folder / f"silent-{word}.html").stat().st_size > 1000


def test_errors_where_nobody_listens(folder):
    done = shell(folder, f"{PYTHON} explain script.py:raises --args 'f32[3]' 2>&-")
    assert done.returncode == 1 and done.stdout == ""


def test_scripts_that_close_the_standard_error(folder):
    (folder / "deaf.py").write_text(f"{SCRIPT}\nsys.stderr.close()\n")
    done = shell(folder, f"{PYTHON} profile deaf.py -o deaf.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [f"written to {folder / 'deaf.json'}"]
    assert json.loads((folder / "deaf.json").read_text())
    (folder / "deaf.py").write_text("import sys\nsys.stderr.close()\n1 / 0\n")
    done = shell(folder, f"{PYTHON} profile deaf.py")
    assert done.returncode == 1
    assert "deaf.py raised ZeroDivisionError" in done.stderr and "lost" not in done.stderr
