"""Heat in a plate: a stencil with slice updates. The edges are held at fixed temperatures."""

import tokamak as tk


@tk.jit(static_argnums=1)
def program(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[0, :] = 1.0
        u[-1, :] = 0.0
    return u.mean()


def arguments(rng, large=False):
    return rng.random((1000, 1000) if large else (20, 30)), 4
