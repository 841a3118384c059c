"""Compiles a NumPy function into one kernel, runs it, and asks what it became."""

import numpy as np
import tokamak as tk


@tk.jit
def f(w, x, b):
    return np.maximum(w * x + b, 0).sum()


rng = np.random.default_rng(0)
w, x, b = (rng.standard_normal(8_000_000) for _ in range(3))

print("sum:", f(w, x, b), "NumPy:", f.__wrapped__(w, x, b))
e = f.explain(w, x, b)
print(e)
print(e.kernels[0].loops)
