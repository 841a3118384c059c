"""Kalman filters that follow many targets: position and velocity from noisy positions."""

import numpy as np
import tokamak as tk


@tk.jit
def program(measured, process_noise, noise):
    n, steps = measured.shape
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = process_noise * np.array([[0.25, 0.5], [0.5, 1.0]])
    x = np.zeros((n, 2, 1))
    P = np.tile(10.0 * np.eye(2), (n, 1, 1))
    track = np.empty((n, steps))
    for k in range(steps):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + noise
        K = P @ H.T / S
        x = x + K * (measured[:, k, None, None] - H @ x)
        P = (np.eye(2) - K @ H) @ P
        track[:, k] = x[:, 0, 0]
    return track, P


def arguments(rng, large=False):
    n, steps = (5000, 12) if large else (4, 6)
    path = np.cumsum(rng.standard_normal((n, steps)), axis=1)
    return path + 0.5 * rng.standard_normal((n, steps)), 0.05, 0.25
