"""Classification by the k nearest neighbours, weighted by their distance."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames=("k", "classes"))
def program(train, labels, test, k, classes):
    squared = np.sum(test**2, axis=1)[:, np.newaxis] + np.sum(train**2, axis=1) - 2 * np.dot(test, train.T)
    distance = np.sqrt(np.maximum(squared, 0))
    nearest = np.argpartition(distance, k, axis=1)[:, :k]
    weight = 1 / (np.take_along_axis(distance, nearest, axis=1) + 1e-9)
    votes = np.zeros((len(test), classes))
    for c in range(classes):
        votes[:, c] = np.sum(weight * (labels[nearest] == c), axis=1)
    return votes.argmax(axis=1), votes.max(axis=1) / votes.sum(axis=1)


def arguments(rng, large=False):
    n, m, features = (4000, 500, 16) if large else (60, 12, 4)
    labels = rng.integers(0, 4, n)
    train = rng.standard_normal((n, features)) + labels[:, None]
    return train, labels, rng.standard_normal((m, features)) + 1.5, 5, 4
