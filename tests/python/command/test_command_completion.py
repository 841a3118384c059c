"""`tokamak completion`."""

import shutil
import subprocess

import pytest
from command_support import command


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
