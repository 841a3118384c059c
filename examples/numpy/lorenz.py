"""An ensemble of Lorenz systems by the method of Runge and Kutta, with its spread."""

import numpy as np
import tokamak as tk


def derivative(state, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


@tk.jit(static_argnames="steps")
def program(state, dt, steps):
    trajectory = np.empty((steps + 1, *state.shape))
    trajectory[0] = state
    for i in range(steps):
        k1 = derivative(state)
        k2 = derivative(state + dt / 2 * k1)
        k3 = derivative(state + dt / 2 * k2)
        k4 = derivative(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        trajectory[i + 1] = state
    return trajectory, trajectory.std(axis=2)


def arguments(rng, large=False):
    return rng.standard_normal((3, 50_000 if large else 30)), 0.005, 10 if large else 4
