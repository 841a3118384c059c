"""What `--args` makes of types and values."""

import re
import signal
import subprocess
import sys
import time

import numpy as np
from command_support import command, on_a_terminal
from tokamak._command import arguments


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
