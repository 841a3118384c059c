"""Principal components by power iteration, one after the other with deflation."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames=("components", "steps"))
def program(data, start, components, steps):
    centred = (data - data.mean(axis=0)) / data.std(axis=0)
    covariance = np.dot(centred.T, centred) / (len(data) - 1)
    total = np.trace(covariance)
    vectors, values = [], []
    for _ in range(components):
        v = start / np.linalg.norm(start)
        for _ in range(steps):
            v = np.dot(covariance, v)
            v /= np.linalg.norm(v)
        value = v @ covariance @ v
        covariance = covariance - value * np.outer(v, v)
        vectors.append(v)
        values.append(value)
    vectors = np.array(vectors)
    return centred @ vectors.T, np.array(values) / total


def arguments(rng, large=False):
    n, features = (50_000, 40) if large else (60, 6)
    mixing = rng.standard_normal((features, features))
    return rng.standard_normal((n, features)) @ mixing, np.ones(features), 3, 8
