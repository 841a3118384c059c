"""The types that users' programs see, and the package's own, under mypy --strict."""

import re
from pathlib import Path

import pytest
import tokamak as tk
from mypy import api

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What mypy says of the samples and of the package they import, in one run."""
    package = Path(tk.__file__).parent
    samples = [str(HERE / "typing_sample.py"), str(HERE / "typing_mistakes.py")]
    cache = tmp_path_factory.mktemp("mypy")
    arguments = ["--strict", "--no-error-summary", "--hide-error-context", f"--cache-dir={cache}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPYPATH", str(package.parent))
        text, errors, _ = api.run([*arguments, "--config-file=", *samples, str(package)])
    assert not errors, errors
    return [line for line in text.splitlines() if ": error:" in line]


def test_the_package(found):
    ours = [line for line in found if "typing_" not in line]
    assert not ours, "\n".join(ours)


def test_a_program(found):
    wrong = [line for line in found if "typing_sample" in line]
    assert not wrong, "\n".join(wrong)


def test_mistakes_are_found(found):
    lines = (HERE / "typing_mistakes.py").read_text().splitlines()
    wanted = {i: line.partition("# E: ")[2] for i, line in enumerate(lines, 1) if "# E: " in line}
    got = {}
    for line in found:
        if match := re.search(r"typing_mistakes\.py:(\d+): error: (.*)", line):
            got.setdefault(int(match[1]), []).append(match[2])
    assert got.keys() == wanted.keys(), got
    for number, text in wanted.items():
        assert any(text in message for message in got[number]), (text, got[number])


def test_marked_as_typed():
    assert (Path(tk.__file__).parent / "py.typed").exists()
    assert (Path(tk.__file__).parent / "_native.pyi").exists()
