"""How the `tokamak` command is run by its tests, and on what."""

import json
import os
import pty
import select
import subprocess
import sys

import tokamak as tk

SCRIPT = """
import sys
import time
import numpy as np
import tokamak as tk

def activation(x, y):
    return np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)

@tk.jit
def scaled(x, factor=2.0, *, axis=0):
    return (x * factor).sum(axis=axis)

class Model:
    @staticmethod
    def forward(params, x):
        return params["w"] @ x + params["b"][0]

class Layer:
    def __init__(self, width=4):
        self.weights = np.ones((width, width), np.float32)

    def forward(self, x):
        return np.maximum(x @ self.weights, 0)

    @tk.jit
    def jitted(self, x):
        return np.maximum(x @ self.weights, 0)

class Scale:
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return x * self.factor

class Broken:
    def __init__(self):
        raise ValueError("cannot be made")

    def forward(self, x):
        return x

scale = Scale(3)

def wasteful(x):
    unused = np.exp(x)
    total = x.sum()
    return x - total, total

def untraceable(x):
    return x if x.sum() > 0 else -x

def raises(x):
    raise KeyError("mine")

def leaves(x):
    sys.exit(0)

def leaves_with_a_code(x):
    sys.exit(7)

def closes(x):
    sys.stdout.close()
    return x + 1

def closed_form(x):
    return (np.sin(x) * x + 1).sum()

def writes(u):
    u[0] = 1

def forever(x):
    time.sleep(100)

def different(x):
    return x + 1 if hasattr(x, "_traced") else x

number = 3

if __name__ == "__main__":
    print(scaled(np.ones((3, 4))), sys.argv[1:])
"""


TEXT = """func @f(%x: f32[4,8], %y: f32[4,8]) {
  %0 = add %x, %y
  %1 = exp %0
  return %1
}
"""


ARGS = ("--args", "f32[100,8], f32[100,8]")


def command(folder, *words, code=0, **more):
    done = subprocess.run(
        [sys.executable, "-m", "tokamak", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        **more,
    )
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def as_json(folder, *words):
    return json.loads(command(folder, *words, "--json"))


def native(folder, *words, code):
    program = os.path.join(os.path.dirname(tk.__file__), "_bin", "tokamak")
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    return done.stderr


def on_a_terminal(folder, *words, program=("-m", "tokamak")):
    """What the command, or a script, writes to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, *program, *map(str, words)])
    text = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not more:
            break
        text += more
    os.waitpid(pid, 0)
    os.close(terminal)
    return text.decode(errors="replace")
