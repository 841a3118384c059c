"""Address space that gives out anywhere in a call: it raises MemoryError, loses nothing, and the next call works."""

import subprocess
import sys

LIMITED = """
import gc, os, resource
import numpy as np, tokamak as tk

tk.set_num_threads(2)
programs = {
    "several results": lambda x: (np.sin(x), x * 2, x.sum(axis=0), np.sqrt(x)),
    "between steps": lambda x: np.cumsum(np.cumsum(x, axis=0)[::-1], axis=1).max(axis=0),
    "sorting": lambda x: (np.sort(x, axis=0), np.argsort(x.reshape(-1))),
    "products": lambda x: np.tanh(x @ x[:400].T) @ x[:400],
    "gathered": lambda x: x[np.arange(len(x)) // 2][:, ::-1] + np.sort(x, axis=1)[::-1],
}
x = (np.arange(500_000) * 37 % 1009 / 1000).reshape(1250, 400)
jitted = {name: tk.jit(f) for name, f in programs.items()}
parts = lambda result: result if isinstance(result, tuple) else (result,)
expected = {name: [part.tobytes() for part in parts(f(x))] for name, f in jitted.items()}

def used(what):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(what))

def settle():
    gc.collect()
    tk.trim_memory()

def attempt(name, room):
    settle()
    unlimited = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used("VmSize") + room, unlimited[1]))
    try:
        result, enough = jitted[name](x), True
    except MemoryError:
        result, enough = None, False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, unlimited)
    if enough:
        assert [part.tobytes() for part in parts(result)] == expected[name], name
    return enough

settle()
in_use = tk.memory_stats()["in_use"]
refused, settled = 0, None
for turn in range(2):
    for name in programs:
        room = 0
        while not attempt(name, room):
            refused += 1
            settle()
            assert tk.memory_stats()["in_use"] == in_use, (name, room)
            assert [part.tobytes() for part in parts(jitted[name](x))] == expected[name], (name, room)
            room += 900_000
            assert room < 1 << 30, name
    settle()
    settled = settled or used("VmRSS")
assert used("VmRSS") < settled + (16 << 20), (used("VmRSS"), settled)
print(refused)
"""


def test_calls_that_run_out_of_address_space():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) > 40
