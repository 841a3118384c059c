"""Integers, masks and gathers."""

from __future__ import annotations

import numpy as np

from .model import F32, Workload, arithmetic, data_text, normal

HEIGHT, WIDTH = 2160, 3840
VOCABULARY, FEATURES = 50_000, 256
BAGS, WORDS = 16_384, 32


def threshold(image):
    """White where it is bright, black elsewhere, and how much of it is bright."""
    bright = image > 127
    return np.where(bright, np.uint8(255), np.uint8(0)), bright.sum()


def torch_threshold(torch):
    def run(image):
        bright = image > 127
        white, black = torch.tensor(255, dtype=torch.uint8), torch.tensor(0, dtype=torch.uint8)
        return torch.where(bright, white, black), bright.sum()

    return run


def numba_threshold(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(image):
        out = np.empty_like(image)
        count = 0
        for i in numba.prange(image.shape[0]):
            for j in range(image.shape[1]):
                bright = image[i, j] > 127
                out[i, j] = 255 if bright else 0
                count += bright
        return out, np.int64(count)

    return run


def mask_arithmetic(a, b, c):
    """Bytes as masks: where two of three agree on the upper half."""
    x, y, z = a > 127, b > 127, c > 127
    return (x & y) | (y & z) | (x & z)


def torch_mask_arithmetic(torch):
    return mask_arithmetic


def numba_mask_arithmetic(numba):
    @numba.njit(parallel=True)
    def run(a, b, c):
        out = np.empty(a.shape, np.bool_)
        for i in numba.prange(a.shape[0]):
            for j in range(a.shape[1]):
                x, y, z = a[i, j] > 127, b[i, j] > 127, c[i, j] > 127
                out[i, j] = (x & y) | (y & z) | (x & z)
        return out

    return run


def embedding_sum(table, words):
    return table[words].sum(axis=1)


def torch_embedding_sum(torch):
    return lambda table, words: torch.nn.functional.embedding_bag(words, table, mode="sum")


def numba_embedding_sum(numba):
    @numba.njit(parallel=True, fastmath=True)
    def run(table, words):
        out = np.zeros((words.shape[0], table.shape[1]), table.dtype)
        for i in numba.prange(words.shape[0]):
            for j in range(words.shape[1]):
                word = words[i, j]
                for k in range(table.shape[1]):
                    out[i, k] += table[word, k]
        return out

    return run


def images(count):
    return lambda rng: [rng.integers(0, 256, (HEIGHT, WIDTH), dtype=np.uint8) for _ in range(count)]


WORKLOADS = [
    Workload(
        name="threshold",
        group="other",
        title="threshold of an image",
        data=data_text(np.uint8, HEIGHT, WIDTH),
        function=threshold,
        inputs=images(1),
        tolerance=0,
        torch=torch_threshold,
        numba=numba_threshold,
        quick=True,
        ablate=True,
    ),
    Workload(
        name="masks",
        group="other",
        title="majority of three masks",
        data=data_text(np.uint8, HEIGHT, WIDTH),
        function=mask_arithmetic,
        inputs=images(3),
        tolerance=0,
        torch=torch_mask_arithmetic,
        numba=numba_mask_arithmetic,
        numexpr="((a > 127) & (b > 127)) | ((b > 127) & (c > 127)) | ((a > 127) & (c > 127))",
    ),
    Workload(
        name="embedding-sum",
        group="other",
        title="sums of embeddings",
        data=data_text(F32, BAGS, WORDS, FEATURES),
        function=embedding_sum,
        inputs=lambda rng: [
            normal(rng, VOCABULARY, FEATURES),
            rng.integers(0, VOCABULARY, (BAGS, WORDS)),
        ],
        reads=BAGS * WORDS * FEATURES * 4,
        flops=arithmetic(BAGS * WORDS * FEATURES, simple=1),
        torch=torch_embedding_sum,
        numba=numba_embedding_sum,
        memory=True,
    ),
]
