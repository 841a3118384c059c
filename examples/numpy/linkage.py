"""Genetics: allele frequencies, a test of Hardy and Weinberg, and linkage between all pairs of sites."""

import numpy as np
import tokamak as tk


@tk.jit
def program(genotypes):
    missing = genotypes < 0
    called = (~missing).sum(axis=0)
    alternate = np.where(missing, 0, genotypes).sum(axis=0)
    p = alternate / (2 * called)
    q = 1 - p
    expected = np.stack([q**2, 2 * p * q, p**2]) * called
    observed = np.stack([(genotypes == k).sum(axis=0) for k in range(3)])
    chi2 = ((observed - expected) ** 2 / expected).sum(axis=0)
    inbreeding = 1 - observed[1] / called / (2 * p * q)

    x = np.where(missing, 2 * p, genotypes)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    r2 = (x.T @ x / len(x)) ** 2
    np.fill_diagonal(r2, 0)
    return p, chi2, inbreeding, r2, r2.max(axis=1)


def arguments(rng, large=False):
    people, sites = (2000, 500) if large else (40, 12)
    frequency = rng.uniform(0.2, 0.8, sites)
    genotypes = rng.binomial(2, frequency, (people, sites)).astype(np.int8)
    genotypes[rng.random((people, sites)) < 0.03] = -1
    return (genotypes,)
