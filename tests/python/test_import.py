"""What `import tokamak` costs beyond NumPy's own import."""

import subprocess
import sys


def imported(code):
    """The modules that a fresh Python has loaded after `code`, by what it was told to import."""
    text = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_only_what_is_needed():
    added = imported("import tokamak") - imported("import numpy")
    packages = {name.partition(".")[0] for name in added}
    heavy = {
        "scipy",
        "ml_dtypes",
        "torch",
        "jax",
        "mypy",
        "pytest",
        "hypothesis",
        "asyncio",
        "multiprocessing",
    }
    assert not packages & heavy
    assert not any(
        name.startswith(("numpy.random", "numpy.polynomial", "numpy.ma", "numpy.fft")) for name in added
    )
    ours = {name for name in added if name.startswith("tokamak")}
    others = sorted(added - ours)
    assert len(others) < 40, others
    tools = ("_command", "_compare", "_explain", "_measure", "_pages", "_pictures")
    assert not any(name.partition(".")[2].startswith(tools) for name in ours), sorted(ours)
    assert len(ours) < 100, sorted(ours)


def test_scipy_stays_out_while_compiling():
    code = "import tokamak as tk, numpy as np\nassert tk.jit(lambda x: np.exp(x).sum())(np.ones(3)) > 8"
    assert "scipy" not in {name.partition(".")[0] for name in imported(code)}
