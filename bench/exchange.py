"""Arrays that processes hand to each other through files in memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Shared:
    """An array in a file; `load` copies it to memory of the process's own."""

    path: str
    dtype: np.dtype
    shape: tuple[int, ...]

    def load(self) -> np.ndarray:
        return np.fromfile(self.path, np.uint8).view(self.dtype).reshape(self.shape)


class Folder:
    def __init__(self) -> None:
        in_memory = Path("/dev/shm")
        self.path = Path(tempfile.mkdtemp(prefix="bench-", dir=in_memory if in_memory.is_dir() else None))

    def put(self, name: str, arrays: Sequence[np.ndarray]) -> list[Shared]:
        found = []
        for i, array in enumerate(arrays):
            array = np.asarray(array)
            path = self.path / f"{name}-{i}"
            path.write_bytes(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            found.append(Shared(str(path), array.dtype, array.shape))
        return found

    def clear(self) -> None:
        for path in self.path.iterdir():
            path.unlink()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
