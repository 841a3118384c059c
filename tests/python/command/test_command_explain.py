"""`tokamak explain` of functions."""

import numpy as np
import tokamak as tk
from command_support import ARGS, as_json, command


def test_explain(folder):
    text = command(folder, "explain", "script.py:activation", *ARGS)
    assert text.startswith("activation(f32[100,8], f32[100,8])\n")
    assert "1 kernel" in text and "sin_cos_mul_add_mul_max" in text
    text = command(folder, "explain", "script.py:activation", *ARGS, "--show", "loops,asm,memory")
    assert "loops of sin_cos" in text and "asm of sin_cos" in text and "arena" in text
    assert "6 kernels" in command(folder, "explain", "script.py:activation", *ARGS, "--no-fuse")


def test_explain_says_what_the_api_says(folder):
    got = as_json(folder, "explain", "script.py:activation", *ARGS)

    def activation(x, y):
        return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)

    wanted = tk.jit(activation).explain(*[np.ones((100, 8), np.float32)] * 2)
    (kernel,) = got["kernels"]
    assert kernel["ops"] == wanted.kernels[0].ops
    assert kernel["bytes_read"] == wanted.kernels[0].bytes_read
    assert kernel["flops"] == wanted.kernels[0].flops
    assert got["memory"]["peak_bytes"] == wanted.memory.peak_bytes
    assert any(line.endswith("script.py:8") for line in kernel["lines"])


def test_modules(folder):
    assert "1 kernel" in command(folder, "explain", "script:activation", *ARGS)


def test_every_option_that_is_completed_is_there(folder):
    """Of a function, too, where the same command takes text IR."""
    assert "1 kernel" in command(folder, "explain", "script.py:activation", *ARGS, "--summary")
    assert "1 kernel" in command(folder, "explain", "f.tok", "--summary")
