"""Gene expression: samples are brought to one distribution, then the genes that differ most are ranked."""

import numpy as np
import tokamak as tk


@tk.jit
def program(counts, treated):
    log = np.log2(counts + 1)
    order = np.argsort(log, axis=0)
    target = np.sort(log, axis=0).mean(axis=1)
    ranks = np.argsort(order, axis=0)
    normal = target[ranks]
    group = treated.astype(float)
    n1, n0 = group.sum(), (1 - group).sum()
    mean1 = normal @ group / n1
    mean0 = normal @ (1 - group) / n0
    var1 = ((normal - mean1[:, None]) ** 2) @ group / (n1 - 1)
    var0 = ((normal - mean0[:, None]) ** 2) @ (1 - group) / (n0 - 1)
    t = (mean1 - mean0) / np.sqrt(var1 / n1 + var0 / n0 + 1e-12)
    top = np.argsort(-np.abs(t))[:10]
    return normal, t, top, np.percentile(normal, [5, 50, 95], axis=0)


def arguments(rng, large=False):
    genes, samples = (20_000, 12) if large else (50, 6)
    counts = rng.gamma(2.0, 50.0, (genes, samples)) * rng.uniform(0.5, 2, samples)
    return counts, np.arange(samples) % 2 == 0
