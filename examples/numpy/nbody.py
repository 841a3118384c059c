"""A step of bodies that attract each other, all pairs at once."""

import numpy as np
import tokamak as tk


@tk.jit
def program(position, velocity, mass, dt):
    distance = position[None, :, :] - position[:, None, :]
    squared = (distance**2).sum(axis=-1) + 1e-3
    pull = distance * (mass[None, :] * squared**-1.5)[:, :, None]
    velocity += dt * pull.sum(axis=1)
    position += dt * velocity
    return 0.5 * (mass * (velocity**2).sum(axis=-1)).sum()


def arguments(rng, large=False):
    n = 600 if large else 16
    return rng.standard_normal((n, 3)), np.zeros((n, 3)), rng.random(n), 0.01
