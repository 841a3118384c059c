"""Prices of European options by the formula of Black and Scholes."""

import numpy as np
import tokamak as tk


def normal_cdf(x):
    """The approximation of Abramowitz and Stegun, 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * poly
    return np.where(x > 0, 1.0 - tail, tail)


@tk.jit
def program(spot, strike, years, rate, volatility):
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / root
    d2 = d1 - root
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - spot + discounted


def arguments(rng, large=False):
    n = 500_000 if large else 500
    return rng.uniform(10, 100, n), rng.uniform(10, 100, n), rng.uniform(0.1, 2, n), 0.03, 0.25
