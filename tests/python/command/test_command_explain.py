"""`tokamak explain` of functions."""

import numpy as np
import pytest
import tokamak as tk
from command_support import ARGS, SCRIPT, as_json, command


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


@pytest.mark.parametrize("name", ["Layer.forward", "Layer.jitted"])
def test_methods_of_classes_that_can_be_made(folder, name):
    text = command(folder, "explain", f"script.py:{name}", "--args", "f32[2,4]")
    assert text.startswith(f"{name}(f32[2,4])\n{name}: 1 kernel for 2 operations\n")
    assert "DIFFER" not in command(
        folder, "bench", f"script.py:{name}", "--args", "f32[2,4]", "--seconds", "0.05"
    )


def test_methods_that_need_an_object(folder):
    words = ("--args", "f32[3]")
    message = command(folder, "explain", "script.py:Scale.forward", *words, code=1)
    assert "Scale cannot be made without arguments: missing a required argument: 'factor'" in message
    assert "name model.forward" in message and len(message.splitlines()) == 1
    assert "1 kernel for 1 operation" in command(folder, "explain", "script.py:scale.forward", *words)
    message = command(folder, "explain", "script.py:Broken.forward", *words, code=1)
    assert message.startswith("error: Broken() raised ValueError: cannot be made\n  at ")


def place_of(code):
    return f"script.py:{SCRIPT[: SCRIPT.index(code)].count(chr(10)) + 1}"


def test_json_has_what_the_text_has(folder, tmp_path):
    subtracting, unused = place_of("return x - total"), place_of("unused = np.exp")
    words = ("explain", "script.py:wasteful", "--args", "f32[1000000]")
    got = as_json(folder, *words, "-o", tmp_path / "page.html")
    (refused,) = got["refused"]
    assert (refused["consumer"], refused["producer"], refused["times"]) == ("sub", "reduce_sum", 1)
    assert refused["line"].endswith(subtracting)
    (dead,) = got["dead"]
    assert (dead["text"], dead["type"]) == ("exp %x", "f32[1000000]") and dead["line"].endswith(unused)
    assert list(got["times"]) == ["trace", "passes", "fusion", "code", "plan"]
    assert got["operations"] == 2 and got["memory"]["in_place"] == 0
    for kernel in got["kernels"]:
        assert kernel["runs"] and kernel["has_code"] and kernel["from_disk_cache"] in (False, True)
        assert 0 < kernel["measured"]["share"] <= 1
    assert 0 < got["measured"]["kernel_seconds"] <= got["measured"]["seconds"]

    text = command(folder, *words)
    assert f"sub into the kernel of reduce_sum: {refused['reason'][:20]}" in text and subtracting in text
    assert f"{dead['name']} = exp %x  {unused}" in text
    assert "measured" not in as_json(folder, *words)
