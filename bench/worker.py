"""A process that runs one contestant: prepares workloads, checks answers, takes turns, measures memory.

The processes are kept for the whole run. The one that asks (measure.py) sees to it that one works at a time.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import contestants
import numpy as np
import workloads
from contestants import Contestant
from exchange import Shared
from turns import turn
from workloads.model import as_list


class WrongAnswerError(Exception):
    pass


@dataclass(frozen=True)
class Task:
    """A workload with its data and the answer to expect."""

    name: str
    inputs: list[Shared]
    answers: list[Shared]
    dtypes: list[np.dtype]  # of the results
    tolerance: float | None


@dataclass
class Prepared:
    """What came of preparing a workload."""

    failed: str = ""
    wrong: bool = False
    first_seconds: float = 0  # building and the first call
    second_seconds: float = 0
    notes: dict[str, Any] = field(default_factory=dict)


def deviation(got: np.ndarray, want: np.ndarray, tolerance: float) -> tuple[float, float]:
    """The largest, relative to the largest magnitude, and the share of elements beyond the tolerance."""
    got, want = np.atleast_1d(got).astype(np.float64), np.atleast_1d(want).astype(np.float64)
    scale = max(float(np.abs(want).max(initial=0)), 1e-30)
    errors = np.abs(got - want)
    errors /= scale
    errors[~np.isfinite(errors)] = np.inf
    return float(errors.max(initial=0)), float((errors > tolerance).mean()) if errors.size else 0.0


def check(task: Task, results: list[np.ndarray], outliers: float) -> None:
    if len(results) != len(task.answers):
        raise WrongAnswerError(f"{len(results)} results, not {len(task.answers)}")
    for got, shared, dtype in zip(results, task.answers, task.dtypes, strict=True):
        want = shared.load()
        if got.shape != want.shape:
            raise WrongAnswerError(f"shape {got.shape}, not {want.shape}")
        if got.ndim and got.dtype != dtype:
            raise WrongAnswerError(f"{got.dtype}, not {dtype}")
        tolerance = task.tolerance
        if tolerance is None:
            tolerance = workloads.model.TOLERANCE.get(dtype, 0.0)
        worst, share = deviation(got, want, tolerance)
        if share > outliers:
            raise WrongAnswerError(f"off by {worst:.2e} of the largest element, in {share:.1%} of them")


class Worker:
    """What happens in the process."""

    def __init__(self, contestant: Contestant, threads: int) -> None:
        self.library = contestants.open_library(contestant, threads)
        self.call: Any = None

    def version(self) -> str:
        return self.library.version

    def prepare(self, task: Task) -> Prepared:
        prepared = Prepared()
        try:
            answer = self.build(task, prepared)
            start = time.perf_counter()
            again = self.call()
            prepared.second_seconds = time.perf_counter() - start
            del again
            outliers = workloads.find(task.name).outliers
            check(task, [self.library.to_numpy(one) for one in as_list(answer)], outliers)
            prepared.notes = self.library.notes()
        except WrongAnswerError as error:
            prepared.failed, prepared.wrong = f"wrong answer: {error}", True
        except Exception as error:  # a peer that cannot run this one must not stop the others
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            prepared.failed = f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
        return prepared

    def build(self, task: Task, prepared: Prepared) -> Any:
        workload = workloads.find(task.name)
        inputs = [shared.load() for shared in task.inputs]
        results = [
            contestants.Result(dtype, answer.shape)
            for dtype, answer in zip(task.dtypes, task.answers, strict=True)
        ]
        build = self.library.prepare(workload, inputs, results)
        start = time.perf_counter()
        self.call = build()
        answer = self.call()
        prepared.first_seconds = time.perf_counter() - start
        return answer

    def turn(self, seconds: float) -> tuple[float, bool]:
        return turn(self.call, seconds)

    def drop(self) -> None:
        self.call = None
        self.library.trim()

    def memory(self, task: Task) -> int:
        """Bytes by which a call raises the resident memory, its result included, once it is compiled."""
        self.library.give_back_at_once()
        answer = self.build(task, Prepared())
        del answer
        self.library.trim()
        before = status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        answer = self.call()
        peak = status("VmHWM")
        del answer
        return max(peak - before, 0)


def status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve(connection: Connection, contestant: Contestant, threads: int, log: str) -> None:
    """The life of the process: (method, arguments) in, (whether it worked, result) out."""
    os.setsid()  # so that what it starts can be ended with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        worker = Worker(contestant, threads)
    except Exception as error:
        connection.send((False, f"{type(error).__name__}: {error}"))
        return
    connection.send((True, worker.version()))
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send((True, getattr(worker, method)(*arguments)))
        except Exception as error:
            connection.send((False, f"{type(error).__name__}: {error}"))


class GoneError(Exception):
    """The process did not answer in time, or died."""


class WorkerProcess:
    """A worker, as seen from the one that asks."""

    def __init__(self, contestant: Contestant, threads: int, log: Path, limit: float) -> None:
        self.contestant = contestant
        here, there = multiprocessing.Pipe()
        for name, value in (contestants.environment(threads) | dict(contestant.environment)).items():
            os.environ[name] = value  # the process inherits it
        threads = int(os.environ["TOKAMAK_NUM_THREADS"])
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=serve, args=(there, contestant, threads, str(log)), daemon=True)
        self.process.start()
        for name in contestant.environment:
            os.environ.pop(name)
        there.close()
        self.connection = here
        self.version = ""
        self.limit = limit

    def wait_until_ready(self) -> str:
        """Empty, or why there is no such contestant."""
        try:
            worked, text = self.answer(self.limit)
        except GoneError as error:
            return str(error)
        if not worked:
            return text
        self.version = text
        return ""

    def answer(self, limit: float) -> tuple[bool, Any]:
        try:
            if not self.connection.poll(limit):
                self.end()
                raise GoneError(f"gave no answer in {limit:.0f} s")
            return self.connection.recv()
        except (EOFError, OSError) as error:
            self.process.join(1)
            raise GoneError(f"died with code {self.process.exitcode}") from error

    def ask(self, method: str, *arguments: Any, limit: float) -> Any:
        try:
            self.connection.send((method, arguments))
        except OSError as error:
            raise GoneError("is not there any more") from error
        worked, result = self.answer(limit)
        if not worked:
            raise RuntimeError(result)
        return result

    @property
    def alive(self) -> bool:
        return self.process.is_alive()

    def end(self) -> None:
        if self.process.is_alive() and self.process.pid is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self.process.kill()
        self.process.join(5)
        self.connection.close()
