"""What fused multiply-adds in registers reach on this machine."""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from turns import rest


def fma_code() -> bytes:
    """A loop of 12 independent fused multiply-adds of 8 floats, as a C function of the number of rounds."""
    vzeroall, vzeroupper, ret = b"\xc5\xfc\x77", b"\xc5\xf8\x77", b"\xc3"
    body = b""
    for register in range(12):  # vfmadd231ps ymm<register>, ymm14, ymm15
        second = 0x42 | (0x80 if register < 8 else 0)
        body += bytes([0xC4, second, 0x0D, 0xB8, 0xC7 | (register % 8) << 3])
    body += b"\x48\xff\xcf"  # dec rdi
    jump = b"\x0f\x85" + (-(len(body) + 6)).to_bytes(4, "little", signed=True)  # jnz to the beginning
    return vzeroall + body + jump + vzeroupper + ret


class Peak:
    """What fused multiply-adds in registers reach on all threads at once: the best of samples taken between
    the programs. Empty where other instructions would be faster, or memory may not hold code."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.threads = about["threads"]
        self.gflops: dict[str, float] = {}
        self.loop: Callable[[int], None] | None = None
        if about["vectors"] not in ("AVX2", "x86-64-v3") or not sys.platform.startswith("linux"):
            return
        try:
            memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        except OSError:
            return
        memory.write(fma_code())
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self.memory = memory  # lives as long as the function
        self.loop = ctypes.CFUNCTYPE(None, ctypes.c_int64)(address)

    def sample(self) -> None:
        if self.loop is None:
            return
        rounds = 1_000_000
        rest(time.perf_counter() + 1)
        for _ in range(10):
            workers = [threading.Thread(target=self.loop, args=(rounds,)) for _ in range(self.threads - 1)]
            start = time.perf_counter()
            for worker in workers:
                worker.start()
            self.loop(rounds)
            for worker in workers:
                worker.join()
            done = self.threads * rounds * 12 * 8 * 2 / (time.perf_counter() - start) / 1e9
            self.gflops["float32"] = max(done, self.gflops.get("float32", 0))
        self.gflops["float64"] = self.gflops["float32"] / 2
