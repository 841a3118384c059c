"""Steps of training a small neural net by back-propagation with momentum."""

import numpy as np
import tokamak as tk


def relu(x):
    return np.maximum(0, x)


@tk.jit(static_argnames="rate")
def program(x, y, params, velocity, rate=0.05):
    batch = x.shape[0]
    z1 = x @ params["w1"] + params["b1"]
    a1 = relu(z1)
    z2 = a1 @ params["w2"] + params["b2"]
    a2 = np.tanh(z2)
    out = a2 @ params["w3"] + params["b3"]
    loss = 0.5 * np.mean(np.sum((out - y) ** 2, axis=1))

    d3 = (out - y) / batch
    d2 = (d3 @ params["w3"].T) * (1 - a2**2)
    d1 = d2 @ params["w2"].T
    d1[z1 <= 0] = 0
    grads = {
        "w1": x.T @ d1,
        "b1": d1.sum(axis=0),
        "w2": a1.T @ d2,
        "b2": d2.sum(axis=0),
        "w3": a2.T @ d3,
        "b3": d3.sum(axis=0),
    }
    for key in params:
        velocity[key] = 0.9 * velocity[key] - rate * grads[key]
        params[key] += velocity[key]
    return loss


def arguments(rng, large=False):
    n, inputs, hidden, outputs = (2000, 128, 256, 10) if large else (16, 8, 16, 2)
    sizes = {"1": (inputs, hidden), "2": (hidden, hidden), "3": (hidden, outputs)}
    params = {}
    for i, size in sizes.items():
        params["w" + i] = rng.standard_normal(size) / np.sqrt(size[0])
        params["b" + i] = np.zeros(size[1])
    velocity = {key: np.zeros_like(value) for key, value in params.items()}
    return rng.standard_normal((n, inputs)), rng.standard_normal((n, outputs)), params, velocity
