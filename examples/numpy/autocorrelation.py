"""The autocorrelation of a series, its partial sums, and a forecast by the equations of Yule and Walker."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames=("lags", "order"))
def program(x, lags, order):
    x = x - x.mean()
    n = len(x)
    r = np.empty(lags + 1)
    r[0] = np.dot(x, x) / n
    for k in range(1, lags + 1):
        r[k] = np.dot(x[:-k], x[k:]) / n
    rho = r / r[0]
    time = 1 + 2 * np.sum(rho[1:])
    # the recursion of Levinson and Durbin
    a = np.zeros(order + 1)
    a[0] = 1
    error = r[0]
    for m in range(1, order + 1):
        reflection = -np.dot(a[:m], r[m:0:-1]) / error
        a[: m + 1] = a[: m + 1] + reflection * a[: m + 1][::-1]
        error = error * (1 - reflection**2)
    forecast = -np.dot(a[1:], x[: -order - 1 : -1])
    return rho, time, a, error, forecast


def arguments(rng, large=False):
    n, lags, order = (500_000, 30, 4) if large else (200, 8, 3)
    return np.convolve(rng.standard_normal(n), [1.0, 0.7, 0.4, 0.1], mode="same"), lags, order
