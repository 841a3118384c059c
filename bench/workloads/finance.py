"""Prices of European options by the formula of Black and Scholes."""

from __future__ import annotations

import math

import numpy as np

from .model import F64, Workload, arithmetic, data_text, uniform

RATE = 0.03
VOLATILITY = 0.25


def normal_cdf(x):
    """The approximation of Abramowitz and Stegun, 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * poly
    return np.where(x > 0, 1.0 - tail, tail)


def black_scholes(spot, strike, years):
    root = VOLATILITY * np.sqrt(years)
    d1 = (np.log(spot / strike) + (RATE + 0.5 * VOLATILITY**2) * years) / root
    d2 = d1 - root
    discounted = strike * np.exp(-RATE * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - spot + discounted


def torch_black_scholes(torch):
    def cdf(x):
        k = 1.0 / (1.0 + 0.2316419 * torch.abs(x))
        poly = k * (
            0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = torch.exp(-0.5 * x * x) * 0.3989422804014327 * poly
        return torch.where(x > 0, 1.0 - tail, tail)

    def run(spot, strike, years):
        root = VOLATILITY * torch.sqrt(years)
        d1 = (torch.log(spot / strike) + (RATE + 0.5 * VOLATILITY**2) * years) / root
        discounted = strike * torch.exp(-RATE * years)
        call = spot * cdf(d1) - discounted * cdf(d1 - root)
        return call, call - spot + discounted

    return run


def numba_black_scholes(numba):
    @numba.njit(fastmath=True)
    def cdf(x):
        k = 1.0 / (1.0 + 0.2316419 * abs(x))
        poly = k * (
            0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = math.exp(-0.5 * x * x) * 0.3989422804014327 * poly
        return 1.0 - tail if x > 0 else tail

    @numba.njit(parallel=True, fastmath=True)
    def run(spot, strike, years):
        call, put = np.empty_like(spot), np.empty_like(spot)
        for i in numba.prange(spot.size):
            root = VOLATILITY * math.sqrt(years[i])
            d1 = (math.log(spot[i] / strike[i]) + (RATE + 0.5 * VOLATILITY**2) * years[i]) / root
            discounted = strike[i] * math.exp(-RATE * years[i])
            call[i] = spot[i] * cdf(d1) - discounted * cdf(d1 - root)
            put[i] = call[i] - spot[i] + discounted
        return call, put

    return run


def make(size: int, **settings) -> Workload:
    return Workload(
        title="Black-Scholes",
        data=data_text(F64, size),
        function=black_scholes,
        inputs=lambda rng: [
            uniform(rng, 10, 100, size, dtype=F64),
            uniform(rng, 10, 100, size, dtype=F64),
            uniform(rng, 0.1, 2, size, dtype=F64),
        ],
        flops=arithmetic(size, simple=45, divisions=5, elementary=4),
        torch=torch_black_scholes,
        numba=numba_black_scholes,
        **settings,
    )


WORKLOADS = [
    make(4 << 20, name="black-scholes", group="large", quick=True, memory=True, ablate=True),
    make(16 << 10, name="black-scholes-16k", group="cache"),
]
