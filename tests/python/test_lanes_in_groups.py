"""Lanes that read elements several times in a row, in turns, or one of each group of neighbours: np.repeat, np.tile, x[1::8], bits.

They load what they need of memory at once, and nothing beyond its ends."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tokamak as tk

from support import DTYPES, assert_same, random_array

PROGRAMS = {
    "repeated": lambda x: np.repeat(x, 8),
    "repeated in pairs": lambda x: np.repeat(x, 2)[:-1],
    "repeated in threes": lambda x: np.repeat(x, 3),
    "repeated often": lambda x: np.repeat(x, 256)[256:-3],
    "repeated and cut": lambda x: np.repeat(x, 4)[3:-5],
    "repeated rows": lambda x: np.repeat(np.repeat(x.reshape(5, -1), 2, 0), 4, 1),
    "in turns": lambda x: np.tile(x[:8], x.size)[:-3],
    "in long turns": lambda x: np.tile(x, 3)[1:],
    "in turns of two": lambda x: np.where(np.tile(x[:2], x.size) == x[0], x[1], x[0]),
    "every second": lambda x: x[::2],
    "every second from the second": lambda x: x[1::2],
    "every fourth": lambda x: np.maximum(x[3::4], x[2::4][: x[3::4].size]),
    "every eighth": lambda x: x[5::8],
    "one of four": lambda x: x[: x.size // 4 * 4].reshape(-1, 4)[:, 1],
    "one of eight": lambda x: x[: x.size // 8 * 8].reshape(-1, 8)[:, 7],
    "one of eight in rows": lambda x: x[: x.size // 5 * 5].reshape(5, -1)[:, 2::8],
    "the last ones of rows": lambda x: x[: x.size // 5 * 5].reshape(5, -1)[:, 1:][:, ::2][:, -9:],
    "backwards": lambda x: x[::-2],
    "pairs": lambda x: x[: x.size // 2 * 2].reshape(-1, 2).max(axis=1),
}
OF_BITS = {
    "packed": lambda x: np.packbits(x),
    "packed little": lambda x: np.packbits(x, bitorder="little"),
    "packed rows": lambda x: np.packbits(x.reshape(5, -1), axis=1),
    "packed columns": lambda x: np.packbits(x.reshape(5, -1), axis=0),
    "packed of a part": lambda x: np.packbits(x[3:-2]),
    "packed of steps": lambda x: np.packbits(x[1::3]),
    "packed of a comparison": lambda x: np.packbits(x > x[::-1]),
}
OF_BYTES = {
    "unpacked": lambda x: np.unpackbits(x),
    "unpacked little": lambda x: np.unpackbits(x, bitorder="little"),
    "unpacked rows": lambda x: np.unpackbits(x.reshape(5, -1), axis=1),
    "unpacked columns": lambda x: np.unpackbits(x.reshape(5, -1), axis=0),
    "unpacked in part": lambda x: np.unpackbits(x, count=8 * x.size - 5),
    "unpacked and more": lambda x: np.unpackbits(x, count=8 * x.size + 11),
    "there and back": lambda x: np.packbits(np.unpackbits(x)[::-1]),
}
SIZES = [20, 165, 1000, 40_005]


def cases():
    for dtype in DTYPES:
        programs = dict(PROGRAMS)
        programs.update(OF_BITS if dtype.kind in "biu" else {})
        programs.update(OF_BYTES if dtype == np.uint8 else {})
        for name in programs:
            yield dtype, name, programs[name]


@pytest.mark.parametrize(
    "dtype, name, program", [pytest.param(*one, id=f"{one[1]}-{one[0]}") for one in cases()]
)
def test_values(dtype, name, program, rng):
    for size in SIZES:
        x = random_array(rng, (size,), dtype)
        assert_same(tk.jit(program)(x), program(x), what=f"{name} of {size}")
        y = np.concatenate([x[:1], x])[1:]  # lies elsewhere
        assert_same(tk.jit(program)(y), program(y), what=f"{name} of {size}")


@pytest.mark.parametrize("level", ["", "x86-64", "x86-64-v3"])
def test_memory_around_is_not_read(level):
    """The array fills pages, and those before and behind cannot be read."""
    code = f"""
import ctypes, mmap, sys
import numpy as np, tokamak as tk
sys.path.insert(0, {str(__file__.rpartition("/")[0])!r})
from test_lanes_in_groups import cases

libc = ctypes.CDLL(None, use_errno=True)
for dtype, name, program in cases():
    if dtype.itemsize == 2 or dtype.kind == "i":
        continue
    for size in (165, 4095):
        data = np.random.default_rng(0).integers(0, 5, size).astype(dtype)
        pages = -(-data.nbytes // 4096)
        memory = mmap.mmap(-1, 4096 * (pages + 2))
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for page in (0, pages + 1):
            assert libc.mprotect(ctypes.c_void_p(start + 4096 * page), 4096, 0) == 0
        f = tk.jit(program)
        for offset in (4096, 4096 * (pages + 1) - data.nbytes):
            x = np.frombuffer(memory, dtype, size, offset)
            x[...] = data
            np.testing.assert_array_equal(f(x), program(data), err_msg=f"{{name}} {{dtype}} {{size}}")
"""
    environment = {**os.environ, "TOKAMAK_CPU": level} if level else dict(os.environ)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or done.returncode

