"""What goes wrong: one message, and an exit code."""

import subprocess
import sys

import pytest
import tokamak as tk
from command_support import ARGS, command


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
            'activation(x, y) cannot be called without --args, such as --args "f32[1024,1024], ',
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
        (
            ["script.py:Layer.forwards"],
            1,
            "error: Layer of script.py has no function forwards; did you mean forward?",
        ),
        (["script.py:Layer.x"], 1, "error: Layer of script.py has no function x; it has forward, jitted"),
        (["script.py:scale.x"], 1, "error: scale of script.py has no function x; it has forward"),
        (["script.py:number.x"], 1, "error: number of script.py has no function x"),
        (["script.py:number"], 1, "error: number of script.py is no function: its type is int"),
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


def test_messages_of_several_lines_are_whole(tmp_path):
    (tmp_path / "raises.py").write_text("def f(x):\n    raise ValueError('first line\\nsecond line')\n")
    message = command(tmp_path, "explain", "raises.py:f", "--args", "f32[3]", code=1)
    assert "f raised ValueError: first line\nsecond line\n  at " in message
