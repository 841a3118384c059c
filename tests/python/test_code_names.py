"""Names of kernels for perf and gdb, where the environment asks for them."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, numpy as np, tokamak as tk
f = tk.jit(lambda x: np.sin(x) * 2)
x = np.ones(200_000)
for _ in range(int(os.environ.get("CALLS", "1"))):
    f(x)
print(os.getpid())
"""
KERNEL = "tokamak:sin_mul_0"


def run(before=(), **environment):
    done = subprocess.run(
        [*before, sys.executable, "-c", SCRIPT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done, int(done.stdout.split()[-1]) if done.returncode == 0 and done.stdout.strip() else 0


def test_off_unless_asked_for(tmp_path):
    _, process = run(JITDUMPDIR=str(tmp_path))
    assert not Path(f"/tmp/perf-{process}.map").exists()
    assert not list(tmp_path.iterdir())


def test_the_map_of_perf():
    done, process = run(TOKAMAK_PERF="map")
    path = Path(f"/tmp/perf-{process}.map")
    try:
        lines = [line.split(" ", 2) for line in path.read_text().splitlines()]
    finally:
        path.unlink(missing_ok=True)
    assert done.stderr == ""
    (kernel,) = [line for line in lines if line[2] == KERNEL]
    assert int(kernel[0], 16) > 4096 and 16 < int(kernel[1], 16) < 100_000


def test_no_code_comes_to_the_place_of_another():
    """perf would show it under the name of the first."""
    script = "import gc, os, numpy as np, tokamak as tk\n"
    script += "for i in range(20): tk.jit(lambda x: np.sin(x) * i)(np.ones(100 + i)); gc.collect()\n"
    script += "print(os.getpid())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TOKAMAK_PERF": "map"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    path = Path(f"/tmp/perf-{done.stdout.split()[-1]}.map")
    try:
        ranges = sorted(
            (int(start, 16), int(size, 16))
            for start, size, _ in (line.split(" ", 2) for line in path.read_text().splitlines())
        )
    finally:
        path.unlink(missing_ok=True)
    assert len(ranges) > 20
    for (start, size), (following, _) in zip(ranges, ranges[1:], strict=False):
        assert start + size <= following


def test_the_dump_of_perf(tmp_path):
    _, process = run(TOKAMAK_PERF="jitdump", JITDUMPDIR=str(tmp_path))
    data = (tmp_path / f"jit-{process}.dump").read_bytes()
    magic, version, size, machine, _, pid, _, _ = struct.unpack_from("<IIIIIIQQ", data)
    assert (magic, version, size, machine, pid) == (0x4A695444, 1, 40, 62, process)
    names = []
    at = size
    while at < len(data):
        kind, length, _ = struct.unpack_from("<IIQ", data, at)
        assert kind == 0
        pid, _, address, address_again, code_size, index = struct.unpack_from("<IIQQQQ", data, at + 16)
        assert (pid, address, index) == (process, address_again, len(names))
        names.append(data[at + 56 : data.index(b"\0", at + 56)].decode())
        assert length == 56 + len(names[-1]) + 1 + code_size
        at += length
    assert at == len(data) and KERNEL in names


def test_what_it_does_not_know():
    done, _ = run(TOKAMAK_PERF="nonsense")
    assert "TOKAMAK_PERF knows no 'nonsense'; there are map and jitdump" in done.stderr
    done, _ = run(TOKAMAK_PERF="jitdump", JITDUMPDIR="/nowhere")
    assert done.returncode == 0 and done.stderr.count("cannot open /nowhere/jit-") == 1


def test_perf_report(tmp_path):
    if shutil.which("perf") is None:
        pytest.skip("there is no perf")
    data = tmp_path / "perf.data"
    done, process = run(
        before=["perf", "record", "-q", "-e", "cpu-clock", "-o", data], TOKAMAK_PERF="map", CALLS="2000"
    )
    if done.returncode != 0 or not data.exists():
        pytest.skip(f"perf cannot record here: {done.stderr}")
    report = subprocess.run(
        ["perf", "report", "-i", data, "--stdio"], capture_output=True, text=True, timeout=120
    )
    Path(f"/tmp/perf-{process}.map").unlink(missing_ok=True)
    assert KERNEL in report.stdout


def test_gdb(tmp_path):
    if shutil.which("gdb") is None:
        pytest.skip("there is no gdb")
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [
        "set breakpoint pending on",
        "break sin_mul_0",
        f"run {tmp_path}/script.py",
        "backtrace 1",
        "kill",
    ]
    done = subprocess.run(
        ["gdb", "-nx", "-batch", *[part for word in words for part in ("-ex", word)], sys.executable],
        env={**os.environ, "TOKAMAK_GDB": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "ptrace" in done.stderr:
        pytest.skip("gdb may not trace here")
    assert "in sin_mul_0 ()" in done.stdout, done.stdout + done.stderr
