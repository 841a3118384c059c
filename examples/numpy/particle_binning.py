"""Particles in a box: their mass goes to the cells of a grid, and the field of the grid pushes them."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnums=4)
def program(position, velocity, mass, dt, n):
    cell = (position * n).astype(int) % n
    flat = cell[:, 0] * n + cell[:, 1]
    density = np.zeros(n * n)
    np.add.at(density, flat, mass)
    count = np.bincount(flat, minlength=n * n)
    density = density.reshape(n, n)
    force = np.stack(np.gradient(density), axis=-1)
    velocity -= dt * force[cell[:, 0], cell[:, 1]]
    position += dt * velocity
    position -= np.floor(position)
    speed = np.sqrt((velocity**2).sum(axis=1))
    spectrum, _ = np.histogram(speed, bins=32, range=(0.0, 2.0), weights=mass)
    where, _, _ = np.histogram2d(position[:, 0], position[:, 1], bins=16, range=[(0, 1), (0, 1)])
    return density, count.reshape(n, n), spectrum, where


def arguments(rng, large=False):
    particles, n = (300_000, 128) if large else (200, 8)
    return rng.random((particles, 2)), rng.standard_normal((particles, 2)), rng.random(particles), 1e-3, n
