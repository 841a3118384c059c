"""Code that a process before has left on disk."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, sys
import numpy as np, tokamak as tk

def f(x):
    return (np.sin(x) * 2 + x).sum(axis=-1)

x = np.arange(200, dtype=np.float32).reshape(20, 10)
jitted = tk.jit(f)
got = jitted(x)
np.testing.assert_allclose(got, f(x), rtol=1e-5)
explained = jitted.explain(x)
print(json.dumps([sum(kernel.from_disk_cache for kernel in explained.kernels), len(explained.kernels), str(explained)]))
"""


def start(folder, program=PROGRAM, before=None, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TOKAMAK_CACHE_DIR": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err


def from_disk(folder, **environment):
    """How many of the kernels of the program came from the disk; all of them, or none."""
    found, kernels, text = json.loads(finish(start(folder, **environment))[0])
    assert found in (0, kernels)
    assert ("disk cache  had" in text) == (found > 0)
    return found


def log_of(folder, **environment):
    return finish(start(folder, TOKAMAK_LOGS="cache", **environment))[1]


def entries(folder):
    return sorted(path for path in Path(folder).iterdir() if len(path.name) == 64)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def filled(folder):
    assert from_disk(folder) == 0
    return folder


def test_the_second_process_compiles_nothing(filled):
    assert from_disk(filled) == 1
    assert "from the disk cache" in log_of(filled)
    assert filled.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in filled.iterdir()} == {0o600}


def test_kernels_without_code_are_not_counted(folder):
    """A plain sort and a plain product are routines of the library."""
    program = """
import numpy as np, tokamak as tk
f = tk.jit(lambda x: (np.sort(np.exp(x), axis=0), x.T @ x))
x = np.ones((20, 10), np.float32)
print([kernel.has_code for kernel in f.explain(x).kernels], f.explain(x))
"""
    first, log = finish(start(folder, program, TOKAMAK_LOGS="cache"))
    assert "[True, False, False]" in first and "disk cache" not in first
    assert "3 kernels, 1 compiled" in log
    second, log = finish(start(folder, program, TOKAMAK_LOGS="cache"))
    assert second.rstrip().endswith("disk cache  had 1 of 1 kernel")
    assert "3 kernels, 0 compiled, 1 from the disk cache" in log


def test_errors_of_programs_that_were_found(folder, tmp_path):
    """A program that may end in an error is kept, too; the line that it tells is that of the process that runs it."""
    script = """
import numpy as np, tokamak as tk
@tk.jit
def f(x, i):
    return np.exp(x)[i]
f(np.ones(5), np.array([1, 4]))
print(f.explain(np.ones(5), np.array([1, 4])).times[1].stage)
try:
    f(np.ones(5), np.array([1, 5]))
except IndexError as error:
    print(error)
"""

    def run(lines_before):
        (tmp_path / "script.py").write_text("\n" * lines_before + script)
        program = f"import runpy; runpy.run_path({str(tmp_path / 'script.py')!r})"
        return finish(start(folder, program, TOKAMAK_VERIFY="0"))[0].splitlines()

    first, second, moved = run(0), run(0), run(3)
    assert first[0] != "disk cache" and second[0] == "disk cache" and moved[0] != "disk cache"
    assert "out of bounds" in first[1] and "script.py:5" in first[-1]
    assert second[1:] == first[1:]
    assert "script.py:8" in moved[-1]


def test_folders(tmp_path):
    home = {"TOKAMAK_CACHE_DIR": "", "HOME": str(tmp_path)}
    assert from_disk("", **home) == 0
    assert entries(tmp_path / ".cache" / "tokamak")
    assert from_disk("", XDG_CACHE_HOME=str(tmp_path / "xdg"), **home) == 0
    assert entries(tmp_path / "xdg" / "tokamak")


def test_importing_writes_nothing(folder):
    finish(start(folder, "import tokamak, time; time.sleep(0.3)"))
    assert not folder.exists()


@pytest.mark.parametrize("off", [{"TOKAMAK_DISABLE": "disk-cache"}, {"TOKAMAK_CACHE_SIZE": "0"}])
def test_turned_off(folder, off):
    assert from_disk(folder, **off) == 0
    assert not folder.exists()
    assert "disk cache: off" in log_of(folder, **off)


def test_code_for_other_settings_is_other_code(filled):
    assert from_disk(filled, TOKAMAK_CPU="x86-64") == 0
    assert from_disk(filled, TOKAMAK_CPU="x86-64") == 1
    assert from_disk(filled, TOKAMAK_DISABLE="vector-math") == 0
    assert from_disk(filled, TOKAMAK_DISABLE="streaming") == 0
    assert from_disk(filled, TOKAMAK_CHECK="bounds") == 0
    assert from_disk(filled, TOKAMAK_CHECK="nan") == 1
    assert from_disk(filled) == 1


def test_damaged_entries(filled):
    whole = {path: path.read_bytes() for path in entries(filled)}
    for damage in (
        lambda data: data[:-1],
        lambda data: data[:-200] + bytes([data[-200] ^ 1]) + data[-199:],
        lambda data: b"tokamak0" + data[8:],
    ):
        for path, data in whole.items():
            path.write_bytes(damage(data))
        assert "damaged or of another version" in log_of(filled)
        assert {path: path.read_bytes() for path in entries(filled)} == whole
    assert from_disk(filled) == 1


def test_links_are_not_followed(filled, tmp_path):
    shutil.copytree(filled, tmp_path / "others")
    for path in entries(filled):
        path.unlink()
        path.symlink_to(tmp_path / "others" / path.name)
    assert from_disk(filled) == 0
    assert not any(path.is_symlink() for path in entries(filled))
    assert from_disk(filled) == 1
    link = tmp_path / "link"
    link.symlink_to(filled)
    assert from_disk(link) == 0
    assert "is no folder" in log_of(link)


def test_what_others_may_write_to_is_not_used(filled):
    for mode in (0o770, 0o707):
        filled.chmod(mode)
        assert from_disk(filled) == 0
        assert "may be written to by other users" in log_of(filled)
    filled.chmod(0o700)
    for path in entries(filled):
        path.chmod(0o666)
    assert from_disk(filled) == 0
    assert from_disk(filled) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="files can be given away by root only")
def test_what_is_somebody_elses_is_not_used(filled):
    for path in entries(filled):
        os.chown(path, 65534, 65534)
    assert from_disk(filled) == 0
    assert from_disk(filled) == 1
    os.chown(filled, 65534, 65534)
    before = {path: path.read_bytes() for path in entries(filled)}
    assert from_disk(filled) == 0
    assert "belongs to user 65534" in log_of(filled)
    assert {path: path.read_bytes() for path in entries(filled)} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to mount")
def test_full_and_read_only_disks(folder):
    folder.mkdir(mode=0o700)
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", folder],
            check=True,
            capture_output=True,
        )
    except subprocess.CalledProcessError:
        pytest.skip("needs the right to mount")
    try:
        (folder / "other").write_bytes(b"x" * 4096)
        assert from_disk(folder) == 0
        assert "No space left on device" in log_of(folder)
        assert [path.name for path in folder.iterdir()] == ["other"]
        subprocess.run(["mount", "-o", "remount,size=1m", folder], check=True)
        assert from_disk(folder) == 0
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        assert from_disk(folder) == 1
        assert "Read-only file system" in log_of(folder, TOKAMAK_CPU="x86-64")
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_limit_on_files(folder):
    limited = start(
        folder, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)), TOKAMAK_LOGS="cache"
    )
    out, err = limited.communicate(timeout=120)
    assert limited.returncode == 0, err
    assert "File too large" in err
    assert list(folder.iterdir()) == []


def test_eight_processes_at_once(folder):
    processes = [start(folder) for _ in range(8)]
    for process in processes:
        finish(process)
    assert all(len(path.name) == 64 for path in folder.iterdir())
    assert from_disk(folder) == 1


MANY = """
import numpy as np, tokamak as tk
for i in range(12):
    x = np.arange(50.0)
    got = tk.jit(lambda x: np.exp(x / 50) * {factor} + np.sin(x) ** 2)(x[: 20 + i])
    np.testing.assert_allclose(got, np.exp(x[: 20 + i] / 50) * {factor} + np.sin(x[: 20 + i]) ** 2, rtol=1e-12)
"""


def test_the_size_is_kept(folder):
    for factor in range(3):
        finish(start(folder, MANY.format(factor=factor + 2.5), TOKAMAK_CACHE_SIZE="40k"))
        assert 0 < sum(path.stat().st_size for path in folder.iterdir()) <= 40 << 10


FORKING = """
import os
import numpy as np, tokamak as tk
x = np.arange(100.0)
tk.jit(lambda x: np.exp(x / 100) + 1)(x)
child = os.fork()
got = tk.jit(lambda x: np.exp(x / 100) * (3 if child else 5))(x)
np.testing.assert_allclose(got, np.exp(x / 100) * (3 if child else 5))
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_in_between(folder):
    finish(start(folder, FORKING))
    count = len(entries(folder))
    assert count >= 3
    finish(start(folder, FORKING))
    assert len(entries(folder)) == count


def test_verification_compiles_and_compares(filled):
    assert from_disk(filled, TOKAMAK_VERIFY="1") == 1


def test_command(filled):
    def command(*words, code=0):
        done = subprocess.run(
            [sys.executable, "-m", "tokamak", "cache", *words],
            env={**os.environ, "TOKAMAK_CACHE_DIR": str(filled)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    count = len(entries(filled))
    assert command("path").strip() == str(filled)
    assert f"{count} entr" in command()
    assert "sin_mul_add_sum for" in command("list")
    size = json.loads(command("size", "--json"))
    assert (size["count"], size["folder"], size["off"]) == (count, str(filled), None)
    assert size["bytes"] == sum(path.stat().st_size for path in filled.iterdir())
    assert len(json.loads(command("list", "--json"))["entries"]) == count
    assert "removed" in command("clear")
    assert entries(filled) == []
    assert "0 entries" in command("size")
    assert "no script" in command("wipe", code=2)
    filled.chmod(0o777)
    assert "may be written to by other users" in command("clear", code=1)
