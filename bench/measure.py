"""Measuring: the contestants of a workload are prepared and checked, then take turns.

Before a turn there is a rest, until the threads of the one before have gone to sleep and the machine is idle,
or patience is at its end. A time is the best of all turns; turns during which other processes took part of
the machine are left out, unless there are no others.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contestants import Contestant
from exchange import Folder
from roofline import Roofline
from turns import rest
from worker import GoneError, Prepared, Task, WorkerProcess
from workloads.model import SHORT, Workload

FEWEST_TURNS = 3
FEWEST_LONG_TURNS = 1  # of a contestant that takes longer than its share of the time


@dataclass
class Times:
    """The turns of one contestant."""

    quiet: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    spent: float = 0

    def add(self, seconds: float, disturbed: bool, spent: float) -> None:
        (self.disturbed if disturbed else self.quiet).append(seconds)
        self.spent += spent

    @property
    def count(self) -> int:
        return len(self.quiet) + len(self.disturbed)

    @property
    def counting(self) -> list[float]:
        return self.quiet or self.disturbed


@dataclass
class Measured:
    """What is known of a workload after its turns. Times are in seconds."""

    name: str
    group: str
    title: str
    data: str
    size: int | None
    seconds: dict[str, float] = field(default_factory=dict)
    median: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    doubtful: list[str] = field(default_factory=list)  # who had no undisturbed turns
    failed: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    memory: dict[str, int] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    reads: int = 0
    writes: int = 0
    flops: float = 0
    arithmetic: str = "f32"  # or "f64", or "bf16" of products
    limit: float | None = None  # the seconds that the machine takes at least

    @property
    def best_peer(self) -> str | None:
        peers = [name for name in self.seconds if name != "tokamak"]
        return min(peers, key=self.seconds.__getitem__) if peers else None

    @property
    def faster(self) -> float | None:
        """The time of the fastest peer over Tokamak's."""
        if self.best_peer is None or "tokamak" not in self.seconds:
            return None
        return self.seconds[self.best_peer] / self.seconds["tokamak"]

    @property
    def share(self) -> float | None:
        if self.limit is None or "tokamak" not in self.seconds:
            return None
        return self.limit / self.seconds["tokamak"]


@dataclass
class Effort:
    """How much time is given to what."""

    seconds: float  # for the turns of a workload
    turn: float  # of a turn, at least
    patience: float  # to wait for an idle machine, for each workload
    first_call: float  # after which a first call is given up
    start: float = 120.0  # after which a process that does not begin is given up


class Team:
    """The processes of the contestants. One that does not answer is ended, and started again when needed."""

    def __init__(self, contestants: Sequence[Contestant], threads: int, effort: Effort, logs: Path) -> None:
        self.contestants = list(contestants)
        self.threads, self.effort, self.logs = threads, effort, logs
        self.workers: dict[str, WorkerProcess] = {}
        self.versions: dict[str, str] = {}
        self.absent: dict[str, str] = {}  # and why
        logs.mkdir(parents=True, exist_ok=True)

    def new_worker(self, contestant: Contestant) -> WorkerProcess:
        log = self.logs / f"{contestant.name}.log"
        return WorkerProcess(contestant, self.threads, log, self.effort.start)

    def start(self, progress: Callable[[str], None]) -> None:
        """One after the other: they load much, and some compile when they begin."""
        for contestant in self.contestants:
            progress(f"starting {contestant.title}")
            self.worker(contestant)

    def worker(self, contestant: Contestant) -> WorkerProcess | None:
        if contestant.name in self.absent:
            return None
        worker = self.workers.get(contestant.name)
        if worker is None or not worker.alive:
            worker = self.new_worker(contestant)
            problem = worker.wait_until_ready()
            if problem:
                worker.end()
                self.absent[contestant.name] = problem
                return None
            self.versions[contestant.name] = worker.version
            self.workers[contestant.name] = worker
        return worker

    def end(self) -> None:
        for worker in self.workers.values():
            worker.end()


class Bench:
    """Measures workloads with a team, and the machine's limits beside them."""

    def __init__(self, team: Team, roofline: Roofline, progress: Callable[[str], None]) -> None:
        self.team, self.roofline, self.progress = team, roofline, progress
        self.folder = Folder()

    def close(self) -> None:
        self.team.end()
        self.folder.remove()

    def task(self, workload: Workload) -> tuple[Task, Measured]:
        inputs = workload.make_inputs()
        answers = workload.make_answer(inputs)
        dtypes = [workload.result_dtype(answer, inputs) for answer in answers]
        task = Task(
            workload.name,
            self.folder.put("input", inputs),
            self.folder.put("answer", answers),
            dtypes,
            workload.tolerance,
        )
        measured = Measured(workload.name, workload.group, workload.title, workload.data, workload.size)
        measured.reads = workload.reads or sum(a.nbytes for a in inputs)
        measured.writes = sum(a.size * d.itemsize for a, d in zip(answers, dtypes, strict=True))
        measured.flops = workload.flops
        dtype = SHORT.get(inputs[0].dtype.name, "")
        if dtype == "f64" or (dtype == "bf16" and workload.group == "products"):
            measured.arithmetic = dtype
        return task, measured

    def measure(self, workload: Workload) -> Measured:
        self.progress(f"{workload.name}: limits of the machine")
        self.roofline.sample()
        self.progress(f"{workload.name}: data")
        task, measured = self.task(workload)
        calls: dict[str, WorkerProcess] = {}
        for contestant in self.team.contestants:
            if not contestant.has(workload):
                continue
            self.progress(f"{workload.name}: {contestant.title}, first call")
            worker = self.team.worker(contestant)
            if worker is None:
                measured.failed[contestant.name] = self.team.absent[contestant.name]
                continue
            prepared = self.prepared(worker, task)
            if prepared.failed:
                measured.failed[contestant.name] = prepared.failed
                if prepared.wrong:
                    measured.wrong.append(contestant.name)
                continue
            measured.first[contestant.name] = prepared.first_seconds
            if contestant.name == "tokamak":
                measured.notes = prepared.notes
            calls[contestant.name] = worker
        self.progress(f"{workload.name}: {len(calls)} take turns")
        self.take_turns(measured, calls)
        limits = self.roofline.now
        measured.limit = limits.seconds(measured.reads, measured.writes, measured.flops, measured.arithmetic)
        for worker in calls.values():
            if worker.alive:
                worker.ask("drop", limit=self.team.effort.start)
        self.folder.clear()
        return measured

    def prepared(self, worker: WorkerProcess, task: Task) -> Prepared:
        rest(time.perf_counter() + 1)
        try:
            return worker.ask("prepare", task, limit=self.team.effort.first_call)
        except (GoneError, RuntimeError) as error:
            return Prepared(failed=str(error))

    def take_turns(self, measured: Measured, calls: dict[str, WorkerProcess]) -> None:
        """In rounds, until the time is spent. Whose turns take more than a fair share of it has few."""
        effort = self.team.effort
        times = {name: Times() for name in calls}
        until = time.perf_counter() + effort.seconds + effort.patience
        share = effort.seconds / max(len(calls), 1)

        def wants_more(name: str) -> bool:
            one = times[name]
            if one.spent > share:
                return one.count < FEWEST_LONG_TURNS
            return one.count < FEWEST_TURNS or one.spent < share

        while waiting := [name for name in times if wants_more(name)]:
            for name in waiting:
                rest(until)
                start = time.perf_counter()
                try:
                    seconds, disturbed = calls[name].ask("turn", effort.turn, limit=effort.first_call)
                except (GoneError, RuntimeError) as error:
                    measured.failed[name] = str(error)
                    del times[name], calls[name]
                    continue
                times[name].add(seconds, disturbed, time.perf_counter() - start)
            rest(until)
            self.roofline.turn(measured.reads, measured.writes, measured.arithmetic)
        for name, one in times.items():
            measured.seconds[name] = min(one.counting)
            measured.median[name] = statistics.median(one.counting)
            measured.turns[name] = one.count
            if not one.quiet:
                measured.doubtful.append(name)

    def measure_memory(self, workload: Workload, measured: Measured) -> None:
        """In fresh processes: what others left in pools must not hide what a call needs."""
        task, _ = self.task(workload)
        for contestant in self.team.contestants:
            if contestant.name not in measured.seconds:
                continue
            self.progress(f"{workload.name}: {contestant.title}, memory")
            worker = self.team.new_worker(contestant)
            try:
                if not worker.wait_until_ready():
                    limit = self.team.effort.first_call
                    measured.memory[contestant.name] = worker.ask("memory", task, limit=limit)
            except (GoneError, RuntimeError) as error:
                measured.notes.setdefault("memory_failed", {})[contestant.name] = str(error)
            finally:
                worker.end()
        self.folder.clear()
