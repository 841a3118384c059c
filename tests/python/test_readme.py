"""What the README and the pages of docs/ show is what happens."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def runs_avx2() -> bool:
    try:
        return " avx2 " in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not runs_avx2(), reason="the pages show code for x86-64-v3")
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_page(page):
    check = subprocess.run(
        [sys.executable, ROOT / "docs" / "check.py", page], capture_output=True, text=True, timeout=300
    )
    assert check.returncode == 0, f"{check.stdout}{check.stderr}\nTo accept: python docs/check.py --update"


@pytest.mark.parametrize("maker", ["docs/coverage.py", "tests/exhaustive/page.py"])
def test_what_is_made_for_pages(maker):
    check = subprocess.run(
        [sys.executable, ROOT / maker, "--check"], capture_output=True, text=True, timeout=300
    )
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples" / "python").glob("*.py")), ids=lambda path: path.name
)
def test_example(script):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
