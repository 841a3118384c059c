"""A few seconds of what `make soak` does for as long as it is told to."""

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[1] / "soak" / "soak.py"


def test_threads_forks_interrupts_and_too_little_memory():
    done = subprocess.run(
        [sys.executable, "-W", "ignore:.*fork.*:DeprecationWarning", str(SOAK), "--seconds", "5"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("calls", "fork", "interrupt", "exhaust", "programs"):
        assert f" {name}" in done.stdout and f"0 {name}" not in done.stdout.split(", "), done.stdout
