"""The Ising model: a sweep of Metropolis over a checkerboard, with random numbers that are drawn before."""

import numpy as np
import tokamak as tk


@tk.jit
def program(spins, random, beta):
    i, j = np.indices(spins.shape)
    for colour in (0, 1):
        neighbours = (
            np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
        )
        cost = 2 * spins * neighbours
        flip = (random[colour] < np.exp(-beta * cost)) & ((i + j) % 2 == colour)
        spins[flip] *= -1
    energy = -np.mean(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1)))
    return spins.mean(), energy


def arguments(rng, large=False):
    n = 800 if large else 24
    return rng.choice(np.array([-1, 1]), (n, n)), rng.random((2, n, n)), 0.44
