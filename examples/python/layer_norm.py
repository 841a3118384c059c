"""Layer norm and gelu: two reductions and a dozen operations become one kernel that reads its rows once.

Also: parameters in a dict, `tk.profile`, and the memory plan.
"""

import numpy as np
import tokamak as tk


@tk.jit
def block(parameters, x):
    return tk.gelu(tk.layer_norm(x, parameters["scale"], parameters["shift"]))


rng = np.random.default_rng(0)
x = rng.standard_normal((4096, 1024), dtype=np.float32)
parameters = {"scale": np.ones(1024, np.float32), "shift": np.zeros(1024, np.float32)}

y = block(parameters, x)

centered = x - x.mean(axis=-1, keepdims=True, dtype=np.float64)
normal = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5)
np.testing.assert_allclose(y, 0.5 * normal * (1 + tk.erf(normal / np.sqrt(2))), rtol=1e-4, atol=1e-5)

e = block.explain(parameters, x)
print(f"{len(e.kernels)} kernel: {' '.join(e.kernels[0].ops)}")
memory = e.memory
print(f"{memory.peak_bytes:,} bytes planned, {memory.naive_bytes:,} with a buffer for every operation")

with tk.profile() as p:
    for _ in range(10):
        block(parameters, x)
print(p)
