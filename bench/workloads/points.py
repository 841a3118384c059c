"""Many points at once: n-body, k-means, pairwise distances, correlation, logistic regression."""

from __future__ import annotations

import math

import numpy as np

from .model import F32, F64, Workload, arithmetic, data_text, normal, uniform

BODIES = 4096
STEP = 0.01
POINTS, CENTRES, FEATURES = 100_000, 32, 8
PAIRS, DIMENSIONS = 2048, 16
SAMPLES, VARIABLES = 8192, 512
ROWS, COLUMNS = 100_000, 64


def n_body(position, velocity, mass):
    """A step of bodies that attract each other, all pairs at once."""
    distance = position[None, :, :] - position[:, None, :]
    squared = (distance * distance).sum(axis=-1) + 1e-3
    pull = mass[None, :] / (squared * np.sqrt(squared))
    velocity = velocity + STEP * (distance * pull[:, :, None]).sum(axis=1)
    return position + STEP * velocity, velocity


def torch_n_body(torch):
    def run(position, velocity, mass):
        distance = position[None, :, :] - position[:, None, :]
        squared = (distance * distance).sum(-1) + 1e-3
        pull = mass[None, :] / (squared * torch.sqrt(squared))
        velocity = velocity + STEP * (distance * pull[:, :, None]).sum(1)
        return position + STEP * velocity, velocity

    return run


def numba_n_body(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(position, velocity, mass):
        moved, faster = np.empty_like(position), np.empty_like(velocity)
        soft, step = position.dtype.type(1e-3), position.dtype.type(STEP)
        zero = position.dtype.type(0)
        for i in numba.prange(mass.size):
            px, py, pz = position[i, 0], position[i, 1], position[i, 2]
            ax, ay, az = zero, zero, zero
            for j in range(mass.size):
                dx, dy, dz = position[j, 0] - px, position[j, 1] - py, position[j, 2] - pz
                squared = dx * dx + dy * dy + dz * dz + soft
                pull = mass[j] / (squared * math.sqrt(squared))
                ax += dx * pull
                ay += dy * pull
                az += dz * pull
            faster[i, 0] = velocity[i, 0] + step * ax
            faster[i, 1] = velocity[i, 1] + step * ay
            faster[i, 2] = velocity[i, 2] + step * az
            for k in range(3):
                moved[i, k] = position[i, k] + step * faster[i, k]
        return moved, faster

    return run


def k_means(points, centres):
    """Points go to the nearest centre, centres to the mean of their points."""
    squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=-1)
    belongs = squared.argmin(axis=1)[:, None] == np.arange(centres.shape[0])
    total = belongs.T.astype(points.dtype) @ points
    return total / np.maximum(belongs.sum(axis=0), 1).astype(points.dtype)[:, None]


def torch_k_means(torch):
    def run(points, centres):
        label = torch.cdist(points, centres).argmin(1)
        total = torch.zeros_like(centres).index_add_(0, label, points)
        count = torch.zeros(centres.shape[0], dtype=points.dtype).index_add_(
            0, label, torch.ones(points.shape[0], dtype=points.dtype)
        )
        return total / count.clamp(min=1)[:, None]

    return run


def numba_k_means(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(points, centres):
        n, features = points.shape
        k = centres.shape[0]
        parts = numba.get_num_threads()
        total = np.zeros((parts, k, features), points.dtype)
        count = np.zeros((parts, k), points.dtype)
        for part in numba.prange(parts):
            for i in range(part * n // parts, (part + 1) * n // parts):
                best, label = np.inf, 0
                for j in range(k):
                    squared = points.dtype.type(0)
                    for m in range(features):
                        squared += (points[i, m] - centres[j, m]) ** 2
                    if squared < best:
                        best, label = squared, j
                count[part, label] += 1
                for m in range(features):
                    total[part, label, m] += points[i, m]
        whole, number = total.sum(axis=0), count.sum(axis=0)
        for j in range(k):
            whole[j] /= max(number[j], 1)
        return whole

    return run


def pairwise(x, y):
    difference = x[:, None, :] - y[None, :, :]
    return np.sqrt((difference * difference).sum(axis=-1))


def torch_pairwise(torch):
    return lambda x, y: torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


def numba_pairwise(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(x, y):
        out = np.empty((x.shape[0], y.shape[0]), x.dtype)
        for i in numba.prange(x.shape[0]):
            for j in range(y.shape[0]):
                squared = x.dtype.type(0)
                for k in range(x.shape[1]):
                    squared += (x[i, k] - y[j, k]) ** 2
                out[i, j] = math.sqrt(squared)
        return out

    return run


def correlation(x):
    """Of the columns."""
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred
    deviation = np.sqrt(np.diagonal(covariance))
    return covariance / deviation[:, None] / deviation[None, :]


def torch_correlation(torch):
    return lambda x: torch.corrcoef(x.T)


def logistic_step(x, y, w):
    """A step of gradient descent, and the loss before it."""
    p = 1 / (1 + np.exp(-(x @ w)))
    loss = -(y * np.log(p + 1e-7) + (1 - y) * np.log(1 - p + 1e-7)).mean()
    return w - 0.5 * (x.T @ (p - y)) / x.shape[0], loss


def torch_logistic_step(torch):
    def run(x, y, w):
        p = torch.sigmoid(x @ w)
        loss = -(y * torch.log(p + 1e-7) + (1 - y) * torch.log(1 - p + 1e-7)).mean()
        return w - 0.5 * (x.T @ (p - y)) / x.shape[0], loss

    return run


WORKLOADS = [
    Workload(
        name="n-body",
        group="grids",
        title="n-body step, all pairs",
        data=data_text(F32, BODIES, 3),
        function=n_body,
        inputs=lambda rng: [normal(rng, BODIES, 3), normal(rng, BODIES, 3), uniform(rng, 0, 1, BODIES)],
        flops=arithmetic(BODIES**2, simple=17, divisions=2),
        tolerance=1e-4,
        torch=torch_n_body,
        numba=numba_n_body,
        quick=True,
        memory=True,
        ablate=True,
    ),
    Workload(
        name="k-means",
        group="grids",
        title="k-means step",
        data=f"{data_text(F32, POINTS, FEATURES)}, {CENTRES} centres",
        function=k_means,
        inputs=lambda rng: [normal(rng, POINTS, FEATURES), normal(rng, CENTRES, FEATURES)],
        flops=arithmetic(POINTS * CENTRES * FEATURES, simple=3),
        tolerance=1e-3,  # a point between two centres may go to either
        torch=torch_k_means,
        numba=numba_k_means,
        memory=True,
        ablate=True,
    ),
    Workload(
        name="pairwise",
        group="grids",
        title="pairwise distances",
        data=data_text(F32, PAIRS, PAIRS, DIMENSIONS),
        function=pairwise,
        inputs=lambda rng: [normal(rng, PAIRS, DIMENSIONS), normal(rng, PAIRS, DIMENSIONS)],
        flops=arithmetic(PAIRS**2, simple=3 * DIMENSIONS, divisions=1),
        torch=torch_pairwise,
        numba=numba_pairwise,
    ),
    Workload(
        name="correlation",
        group="other",
        title="correlation matrix",
        data=data_text(F64, SAMPLES, VARIABLES),
        function=correlation,
        inputs=lambda rng: [normal(rng, SAMPLES, VARIABLES, dtype=F64)],
        flops=2.0 * SAMPLES * VARIABLES**2,
        torch=torch_correlation,
    ),
    Workload(
        name="logistic",
        group="other",
        title="step of logistic regression",
        data=data_text(F32, ROWS, COLUMNS),
        function=logistic_step,
        inputs=lambda rng: [
            normal(rng, ROWS, COLUMNS),
            rng.integers(0, 2, ROWS).astype(F32),
            normal(rng, COLUMNS, scale=0.1),
        ],
        flops=4.0 * ROWS * COLUMNS,
        torch=torch_logistic_step,
        ablate=True,
    ),
]
