"""Flow around a cylinder by the lattice Boltzmann method, with nine velocities (D2Q9)."""

import numpy as np
import tokamak as tk

cx = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
cy = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])


@tk.jit
def program(f, cylinder, tau):
    for i in range(9):
        f[:, :, i] = np.roll(f[:, :, i], cx[i], axis=1)
        f[:, :, i] = np.roll(f[:, :, i], cy[i], axis=0)
    bounced = f[cylinder, :]
    bounced = bounced[:, [0, 5, 6, 7, 8, 1, 2, 3, 4]]
    rho = np.sum(f, axis=2)
    ux = np.sum(f * cx, axis=2) / rho
    uy = np.sum(f * cy, axis=2) / rho
    equilibrium = np.zeros(f.shape)
    for i in range(9):
        cu = cx[i] * ux + cy[i] * uy
        equilibrium[:, :, i] = rho * weights[i] * (1 + 3 * cu + 9 * cu**2 / 2 - 3 * (ux**2 + uy**2) / 2)
    f += -(1.0 / tau) * (f - equilibrium)
    f[cylinder, :] = bounced
    ux[cylinder] = 0
    uy[cylinder] = 0
    vorticity = (np.roll(ux, -1, axis=0) - np.roll(ux, 1, axis=0)) - (
        np.roll(uy, -1, axis=1) - np.roll(uy, 1, axis=1)
    )
    return vorticity


def arguments(rng, large=False):
    ny, nx = (200, 600) if large else (10, 24)
    f = np.ones((ny, nx, 9)) + 0.01 * rng.standard_normal((ny, nx, 9))
    f[:, :, 3] += 2 * (1 + 0.2 * np.cos(2 * np.pi * np.arange(nx) / nx * 4))
    x, y = np.meshgrid(np.arange(nx), np.arange(ny))
    return f, (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < (ny / 4) ** 2, 0.6
