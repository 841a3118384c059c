"""Moving averages, volatility and signals of a price series."""

import numpy as np
import tokamak as tk


def moving_mean(x, n):
    total = np.cumsum(x)
    out = np.full(x.shape, np.nan)
    out[n - 1] = total[n - 1] / n
    out[n:] = (total[n:] - total[:-n]) / n
    return out


@tk.jit
def program(price):
    returns = np.zeros_like(price)
    returns[1:] = np.log(price[1:] / price[:-1])
    short, long = moving_mean(price, 5), moving_mean(price, 20)
    windows = np.lib.stride_tricks.sliding_window_view(returns, 20)
    volatility = windows.std(axis=-1)
    signal = np.zeros(price.shape)
    signal[short > long] = 1
    signal[short < long] = -1
    return short, long, volatility, (signal[:-1] * returns[1:]).sum()


def arguments(rng, large=False):
    n = 300_000 if large else 250
    return (100 * np.exp(np.cumsum(0.01 * rng.standard_normal(n))),)
