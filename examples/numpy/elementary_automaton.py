"""Elementary cellular automata (rule 30 and its kin): the history of a row of cells."""

import numpy as np
import tokamak as tk


@tk.jit(static_argnames="steps")
def program(cells, rule, steps):
    table = np.array([(rule >> i) & 1 for i in range(8)], dtype=np.uint8)
    history = np.zeros((steps + 1, len(cells)), dtype=np.uint8)
    history[0] = cells
    for t in range(steps):
        now = history[t]
        code = 4 * np.roll(now, 1) + 2 * now + np.roll(now, -1)
        history[t + 1] = table[code]
    return history, history.mean(axis=1)


def arguments(rng, large=False):
    return rng.integers(0, 2, 200_000 if large else 64).astype(np.uint8), 30, 20 if large else 8
