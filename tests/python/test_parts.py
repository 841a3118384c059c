"""TOKAMAK_DISABLE: programs without one of the parts that make them fast are right, and do without it."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
from pathlib import Path

import ml_dtypes, numpy as np, tokamak as tk

def f(x):
    for _ in range(4):
        x = np.tanh(np.cumsum(np.sort(np.exp(-x * x), axis=1), axis=0)) + np.log1p(np.abs(x))
    return x

x = np.linspace(-3, 3, 64 * 64, dtype=np.float32).reshape(64, 64)
jitted = tk.jit(f)
np.testing.assert_allclose(jitted(x), f(x), rtol=2e-5, atol=1e-6)
memory = jitted.explain(x).memory
print("reuse", memory.peak_bytes < memory.naive_bytes // 3)

large = np.ones(32 << 20, np.float32)
plus = tk.jit(lambda x: np.exp(x) + 1)
np.testing.assert_allclose(plus(large)[-1], np.e + 1, rtol=1e-6)
print("pool", tk.memory_stats()["cached"] > 1 << 20)
kernel = plus.explain(large).kernels[0]
print("streaming", "(streamed)" in kernel.loops)
print("vector-math", "tokamak_each" not in kernel.llvm)

q, k, v = np.random.default_rng(0).standard_normal((3, 96, 16), np.float32)
causal = tk.jit(lambda q, k, v: tk.attention(q, k, v, causal=True))
np.testing.assert_allclose(causal(q, k, v)[0], v[0], rtol=1e-6)
print("skipping", "are skipped" in causal.explain(q, k, v).kernels[0].loops)

image, weights = np.ones((4, 32, 40, 40), np.float32), np.ones((32, 32, 3, 3), np.float32)
conv = tk.jit(tk.conv)
np.testing.assert_array_equal(conv(image, weights), 9 * 32)
print("winograd", "Winograd" in conv.explain(image, weights).kernels[0].loops)

flags = Path("/proc/cpuinfo").read_text().split()
if "amx_bf16" in flags and "avx512_bf16" in flags and os.environ.get("TOKAMAK_CPU", "native") == "native":
    halves = np.ones((64, 96), ml_dtypes.bfloat16)
    product = tk.jit(lambda x: x @ x.T)
    np.testing.assert_array_equal(product(halves).astype(np.float32), 96)
    print("amx", "amx" in product.explain(halves).kernels[0].loops)
"""


def run(disabled):
    environment = {**os.environ, "TOKAMAK_DISABLE": disabled}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines()), done.stderr


def test_all_parts_are_there():
    parts, errors = run("")
    assert set(parts.values()) == {"True"} and not errors


@pytest.mark.parametrize("part", ["reuse", "pool", "streaming", "vector-math", "skipping", "winograd", "amx"])
def test_without(part):
    parts, errors = run(part)
    if part == "amx" and part not in run("")[0]:
        pytest.skip("this machine has no AMX")
    assert [name for name, there in parts.items() if there == "False"] == [part] and not errors


def test_several_and_unknown():
    parts, errors = run("pool,nonsense,streaming")
    assert parts["pool"] == parts["streaming"] == "False" and parts["reuse"] == "True"
    assert "names no part 'nonsense'" in errors


def test_a_processor_that_nobody_has_is_an_error_of_the_first_call():
    """Not the end of the process that imports the package, which begins to compile in the background."""
    program = """
import time
import tokamak as tk
time.sleep(0.3)
try:
    tk.jit(abs)(1.0)
except Exception as error:
    print(error)
"""
    environment = {**os.environ, "TOKAMAK_CPU": "z80"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "z80" in done.stdout
