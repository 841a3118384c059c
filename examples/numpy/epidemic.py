"""An epidemic in regions with age groups (SEIR) that people travel between, day by day."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="days")
def program(state, contacts, travel, beta, sigma, gamma, days):
    S, E, I, R = state
    population = S + E + I + R
    new_cases = np.zeros((days, S.shape[0]))
    peak = I.sum(axis=1)
    for day in range(days):
        present = travel @ I
        force = beta * (present / population) @ contacts
        infected = np.minimum(force * S, S)
        onset = sigma * E
        recovered = gamma * I
        S -= infected
        E += infected - onset
        I += onset - recovered
        R += recovered
        new_cases[day] = onset.sum(axis=1)
        peak = np.maximum(peak, I.sum(axis=1))
    return new_cases, peak, R.sum() / population.sum()


def arguments(rng, large=False):
    regions, groups, days = (1000, 16, 12) if large else (10, 4, 6)
    population = rng.uniform(1e3, 1e5, (regions, groups))
    state = np.zeros((4, regions, groups))
    state[2] = 1e-3 * population
    state[0] = population - state[2]
    travel = rng.random((regions, regions)) / regions
    travel /= travel.sum(axis=1, keepdims=True)
    return state, rng.random((groups, groups)) / groups, travel, 0.6, 0.2, 0.1, days
