"""Products of bfloat16 by the tiles of AMX: who may use them, and that nothing of them is left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FLAGS = set(Path("/proc/cpuinfo").read_text().split())

pytestmark = pytest.mark.skipif(
    not {"amx_bf16", "avx512_bf16"} <= FLAGS or os.environ.get("TOKAMAK_CPU", "native") != "native",
    reason="this machine has no AMX",
)

PRODUCT = """
import ml_dtypes, numpy as np, tokamak as tk

def random(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(ml_dtypes.bfloat16)

f = tk.jit(lambda x, w: np.maximum(x @ w, 0))
x, w = random(300, 257), random(257, 190)
expected = np.maximum(x.astype(np.float32) @ w.astype(np.float32), 0)

def check():
    np.testing.assert_allclose(f(x, w).astype(np.float32), expected, rtol=1e-2, atol=1e-2)
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_process_that_is_refused_does_without():
    """A signal stack that has no room for tiles: Linux then refuses them."""
    small = """
import ctypes
class Stack(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
room = ctypes.create_string_buffer(8192)
libc = ctypes.CDLL(None)
assert libc.sigaltstack(ctypes.byref(Stack(ctypes.addressof(room), 0, 8192)), None) == 0
"""
    ask = "check()\nprint('amx' in f.explain(x, w).kernels[0].loops)\n"
    assert run(PRODUCT + ask).strip() == "True"
    assert run(small + PRODUCT + ask).strip() == "False"


def test_forked_processes_and_threads_use_them_too():
    program = """
import os, threading
check()
for _ in range(5):
    child = os.fork()
    if child == 0:
        check()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
threads = [threading.Thread(target=check) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check()
"""
    run(PRODUCT + program, TOKAMAK_NUM_THREADS="3")


def test_a_signal_in_the_midst_changes_nothing():
    """Linux keeps the tiles of a thread that it interrupts."""
    program = """
import signal
calls = 0
def handle(signum, frame):
    global calls
    calls += 1
first = f(x, w)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while calls < 50:
    assert np.array_equal(f(x, w), first)
signal.setitimer(signal.ITIMER_REAL, 0)
"""
    run(PRODUCT + program)


def test_any_number_of_threads_gives_the_same_bits():
    program = """
results = []
for threads in (1, 2, 3, 7):
    tk.set_num_threads(threads)
    results.append(f(x, w))
print(all(np.array_equal(results[0], other) for other in results))
"""
    assert run(PRODUCT + program).strip() == "True"
