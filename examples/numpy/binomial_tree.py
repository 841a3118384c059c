"""American options by the binomial tree of Cox, Ross and Rubinstein, for many strikes at once."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="n")
def program(spot, strikes, years, rate, volatility, n):
    dt = years / n
    up = np.exp(volatility * np.sqrt(dt))
    down = 1 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    prices = spot * up ** (2.0 * np.arange(n + 1) - n)
    values = np.maximum(strikes[:, None] - prices, 0)
    for i in range(n - 1, -1, -1):
        values = discount * (p * values[:, 1:] + (1 - p) * values[:, :-1])
        prices = spot * up ** (2.0 * np.arange(i + 1) - i)
        values = np.maximum(values, strikes[:, None] - prices)
    return values[:, 0]


def arguments(rng, large=False):
    strikes, n = (5000, 50) if large else (10, 10)
    return 100.0, np.linspace(80, 120, strikes), 1.0, 0.03, 0.25, n
