"""Turns points by unit quaternions, and integrates the attitude of bodies from their angular velocity."""

import numpy as np
import tokamak as tk


def multiply(p, q):
    w0, x0, y0, z0 = p[..., 0], p[..., 1], p[..., 2], p[..., 3]
    w1, x1, y1, z1 = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    return np.stack(
        [
            w0 * w1 - x0 * x1 - y0 * y1 - z0 * z1,
            w0 * x1 + x0 * w1 + y0 * z1 - z0 * y1,
            w0 * y1 - x0 * z1 + y0 * w1 + z0 * x1,
            w0 * z1 + x0 * y1 - y0 * x1 + z0 * w1,
        ],
        axis=-1,
    )


def rotate(q, v):
    t = 2 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


@tk.jit(static_argnames="steps")
def program(attitude, rate, points, dt, steps):
    for _ in range(steps):
        spin = np.concatenate([np.zeros_like(rate[:, :1]), rate], axis=1)
        attitude += 0.5 * dt * multiply(attitude, spin)
        attitude /= np.linalg.norm(attitude, axis=1, keepdims=True)
    turned = rotate(attitude, points)
    w, x, y, z = attitude.T
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
    return turned, np.degrees(yaw), np.degrees(pitch)


def arguments(rng, large=False):
    n = 100_000 if large else 20
    attitude = rng.standard_normal((n, 4))
    attitude /= np.linalg.norm(attitude, axis=1, keepdims=True)
    return attitude, rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), 0.01, 2
