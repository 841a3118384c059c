"""Regression of several classes by gradient descent, with weight decay."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="steps")
def program(x, labels, w, b, rate, steps):
    n = x.shape[0]
    onehot = np.zeros((n, w.shape[1]))
    onehot[np.arange(n), labels] = 1
    losses = []
    for _ in range(steps):
        scores = x @ w + b
        scores -= np.max(scores, axis=1, keepdims=True)
        p = np.exp(scores)
        p /= np.sum(p, axis=1, keepdims=True)
        losses.append(-np.mean(np.log(p[np.arange(n), labels])))
        d = (p - onehot) / n
        w -= rate * (x.T @ d + 1e-3 * w)
        b -= rate * d.sum(axis=0)
    return np.array(losses), np.mean(np.argmax(x @ w + b, axis=1) == labels)


def arguments(rng, large=False):
    n, features, classes = (20_000, 40, 10) if large else (60, 8, 3)
    x = rng.standard_normal((n, features))
    labels = np.argmax(x @ rng.standard_normal((features, classes)), axis=1)
    return x, labels, np.zeros((features, classes)), np.zeros(classes), 0.5, 4
