"""Heat spreads over a plate: many steps of the same work, compiled once each time it repeats.

The loop over the steps is plain Python. It is traced to a thousand equal stencils, which share one kernel.
"""

import time

import numpy as np
import tokamak as tk

STEPS = 1000


def step(u):
    inside = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return np.pad(inside, 1)


@tk.jit
def relax(u):
    for _ in range(STEPS):
        u = step(u)
    return u


plate = np.zeros((128, 128))
plate[48:80, 48:80] = 100.0

start = time.perf_counter()
explanation = relax.explain(plate)
compiled = time.perf_counter()
warm = relax(plate)
ran = time.perf_counter()

expected = plate
for _ in range(STEPS):
    expected = step(expected)
numpy_done = time.perf_counter()
np.testing.assert_array_equal(warm, expected)

kernels = len({kernel.loops for kernel in explanation.kernels})
print(f"{STEPS} steps compiled in {compiled - start:.2f} s, to {kernels} kernel")
print(
    f"ran in {(ran - compiled) * 1e3:.1f} ms, NumPy in {(numpy_done - ran) * 1e3:.1f} ms; the bits are equal"
)
