"""The payoff of an Asian option over paths of random numbers that are drawn before."""

import numpy as np
import tokamak as tk


@tk.jit
def program(normal, spot, strike, rate, volatility):
    steps = normal.shape[1]
    dt = 1.0 / steps
    growth = (rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * normal
    paths = spot * np.exp(np.cumsum(growth, axis=1))
    payoff = np.maximum(paths.mean(axis=1) - strike, 0)
    price = np.exp(-rate) * payoff
    return price.mean(), price.std() / np.sqrt(normal.shape[0])


def arguments(rng, large=False):
    return rng.standard_normal((50_000, 64) if large else (50, 16)), 100.0, 105.0, 0.02, 0.3
