"""Distances on the earth between all pairs of places."""

import numpy as np
import tokamak as tk


@tk.jit
def program(latitude, longitude):
    lat, lon = np.radians(latitude), np.radians(longitude)
    dlat = lat[:, None] - lat
    dlon = lon[:, None] - lon
    h = np.sin(dlat / 2) ** 2 + np.cos(lat[:, None]) * np.cos(lat) * np.sin(dlon / 2) ** 2
    return 2 * 6371.0 * np.arcsin(np.sqrt(np.clip(h, 0, 1)))


def arguments(rng, large=False):
    n = 1000 if large else 20
    return rng.uniform(-90, 90, n), rng.uniform(-180, 180, n)
