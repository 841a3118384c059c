"""Forecasts of many series by the method of Holt and Winters: level, trend and season."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="period")
def program(y, alpha, beta, gamma, period):
    n = y.shape[1]
    level = y[:, :period].mean(axis=1)
    trend = (y[:, period : 2 * period].mean(axis=1) - level) / period
    season = y[:, :period] - level[:, None]
    fitted = np.zeros_like(y)
    for t in range(n):
        s = t % period
        fitted[:, t] = level + trend + season[:, s]
        old = level
        level = alpha * (y[:, t] - season[:, s]) + (1 - alpha) * (level + trend)
        trend = beta * (level - old) + (1 - beta) * trend
        season[:, s] = gamma * (y[:, t] - level) + (1 - gamma) * season[:, s]
    forecast = level[:, None] + trend[:, None] * np.arange(1, period + 1) + season
    error = np.sqrt(np.mean((fitted - y) ** 2, axis=1))
    return fitted, forecast, error


def arguments(rng, large=False):
    series, period, n = (10_000, 12, 48) if large else (10, 4, 12)
    t = np.arange(n)
    y = 10 + 0.1 * t + np.sin(2 * np.pi * t / period) + 0.2 * rng.standard_normal((series, n))
    return y, 0.4, 0.1, 0.2, period
