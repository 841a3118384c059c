"""Conway's Game of Life on a torus."""

import numpy as np
import tokamak as tk


@tk.jit
def program(board):
    neighbours = np.zeros(board.shape, dtype=np.int64)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy or dx:
                neighbours += np.roll(np.roll(board, dy, axis=0), dx, axis=1)
    born = (board == 0) & (neighbours == 3)
    lives = (board == 1) & ((neighbours == 2) | (neighbours == 3))
    board[...] = 0
    board[born | lives] = 1
    return board.sum()


def arguments(rng, large=False):
    return (rng.integers(0, 2, (1000, 1000) if large else (20, 30)),)
