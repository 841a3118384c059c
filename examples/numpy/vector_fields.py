"""Divergence, curl and Laplacian of a velocity field in space, by np.gradient, and its dissipation."""

import numpy as np
import tokamak as tk


@tk.jit
def program(u, v, w, spacing, viscosity):
    dudx, dudy, dudz = np.gradient(u, spacing)
    dvdx, dvdy, dvdz = np.gradient(v, spacing)
    dwdx, dwdy, dwdz = np.gradient(w, spacing)
    divergence = dudx + dvdy + dwdz
    curl = np.stack([dwdy - dvdz, dudz - dwdx, dvdx - dudy])
    strain = (
        dudx**2 + dvdy**2 + dwdz**2 + 0.5 * ((dudy + dvdx) ** 2 + (dudz + dwdx) ** 2 + (dvdz + dwdy) ** 2)
    )
    enstrophy = 0.5 * np.sum(curl**2, axis=0)
    helicity = np.sum(curl * np.stack([u, v, w]), axis=0)
    return divergence, curl, 2 * viscosity * strain.mean(), enstrophy.mean(), np.abs(helicity).max()


def arguments(rng, large=False):
    shape = (80, 80, 80) if large else (6, 6, 6)
    return *(rng.standard_normal(shape) for _ in range(3)), 0.1, 1e-3
