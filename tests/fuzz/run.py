"""Random programs against the interpreter, for every instruction set and with parts of the compiler left out.

Programs are numbered. Each is compiled and run on every instruction set that this machine has, and some of
them without one of the parts that TOKAMAK_DISABLE names; each time without one pass, unfused and so on (see
tests/fuzz/check.cpp). A failure is made small and written to a file that `fuzz_programs check` reads.

    python tests/fuzz/run.py [--seconds S | --programs N] [--first N] [--jobs J] [--keep DIR] FUZZ_PROGRAMS
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

BATCH = 40  # programs of one process
SHRINK_SECONDS = 60
MOST_FAILURES = 20
PROGRESS_SECONDS = 20


def settings_of(tool: Path) -> tuple[list[str], list[str]]:
    """The instruction sets that this machine has, and the parts of the compiler that can be left out."""
    told = subprocess.run([tool, "settings"], check=True, capture_output=True, text=True).stdout
    cpus, parts = told.splitlines()
    return cpus.split(), parts.split()


@dataclass(frozen=True)
class Setting:
    cpu: str
    part: str = ""

    def environment(self) -> dict[str, str]:
        return {**os.environ, "TOKAMAK_CPU": self.cpu, "TOKAMAK_DISABLE": self.part}

    def __str__(self) -> str:
        return f"TOKAMAK_CPU={self.cpu}" + (f" TOKAMAK_DISABLE={self.part}" if self.part else "")


@dataclass
class Failure:
    seed: int
    setting: Setting
    what: str


@dataclass
class Tally:
    tried: Counter[str] = field(default_factory=Counter)  # by setting
    ops: Counter[str] = field(default_factory=Counter)
    compiled: int = 0
    failures: list[Failure] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, failure: Failure) -> None:
        self.failures.append(failure)
        print(f"seed {failure.seed}, {failure.setting}: {failure.what}", flush=True)


def run_batch(tool: Path, first: int, count: int, setting: Setting, tally: Tally) -> None:
    """A process that crashes is started again behind the program that did it."""
    end = first + count
    while first < end:
        command = [tool, "run", str(first), str(end - first)]
        ended = subprocess.run(
            command, env=setting.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        current = first
        open_seed: int | None = None
        with tally.lock:
            for line in ended.stdout.splitlines():
                word, _, rest = line.partition(" ")
                if word == "begin":
                    current = open_seed = int(rest)
                    tally.tried[str(setting)] += 1
                elif word in ("end", "wrong"):
                    open_seed = None
                    if word == "wrong":
                        tally.add(Failure(current, setting, rest))
                elif word == "compiled":
                    tally.compiled += int(rest)
                elif word == "op":
                    op, _, uses = rest.partition(" ")
                    tally.ops[op] += int(uses)
            if ended.returncode != 0:
                last = (ended.stderr.strip().splitlines() or [""])[-1]
                tally.add(Failure(current, setting, f"the process ended with {ended.returncode} {last}"))
        if ended.returncode == 0:
            return
        if open_seed is None and current == first:
            return  # it did not begin
        first = current + 1


def batches(
    first: int, programs: int | None, cpus: list[str], parts: list[str]
) -> Iterator[tuple[int, int, Setting]]:
    end = None if programs is None else first + programs
    for number in itertools.count():
        start = first + number * BATCH
        if end is not None and start >= end:
            return
        count = BATCH if end is None else min(BATCH, end - start)
        for cpu in cpus:
            yield start, count, Setting(cpu)
        # A part and a processor each time: all pairs come in turn.
        cpu = cpus[number // len(parts) % len(cpus)]
        yield start, max(1, count // 3), Setting(cpu, parts[number % len(parts)])


def shrink(tool: Path, failure: Failure, keep: Path) -> None:
    made = subprocess.run(
        [tool, "shrink", str(failure.seed), str(SHRINK_SECONDS)],
        env=failure.setting.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    print(f"\nFAILED: seed {failure.seed}, {failure.setting}: {failure.what}")
    if made.returncode != 0:
        print(f"  not repeated: {made.stderr.strip()}")
        return
    keep.mkdir(parents=True, exist_ok=True)
    cpu_and_part = "-".join(filter(None, [failure.setting.cpu, failure.setting.part]))
    path = keep / f"seed-{failure.seed}-{cpu_and_part}.tok"
    path.write_text(made.stdout)
    print(made.stdout[:4000])
    print(f"again: {failure.setting} {tool} check {path}", flush=True)


def first_of_each(failures: list[Failure]) -> list[Failure]:
    """One failure of every seed, and not too many."""
    found: dict[int, Failure] = {}
    for failure in failures:
        found.setdefault(failure.seed, failure)
    return sorted(found.values(), key=lambda failure: failure.seed)[:MOST_FAILURES]


def turns(tally: Tally, cpus: list[str], parts: list[str]) -> Iterator[str]:
    """How often each setting was tried, and which of all that there are had no turn: a short run ends before."""
    absent: list[str] = []
    for setting in (Setting(cpu, part) for part in ["", *parts] for cpu in cpus):
        count = tally.tried[str(setting)]
        if count:
            yield f"  {setting!s:50} {count}"
        else:
            absent.append(str(setting))
    if absent:
        yield f"{len(absent)} settings had no turn; with more time they have:"
        yield from (f"  {setting}" for setting in absent)


def summarise(tally: Tally, programs: int, seconds: float, cpus: list[str], parts: list[str]) -> None:
    print(
        f"\n{programs} programs in {seconds:.0f} s ({programs / seconds * 3600:.0f} an hour), "
        f"run {sum(tally.tried.values())} times, compiled in {tally.compiled} ways"
    )
    for line in turns(tally, cpus, parts):
        print(line)
    absent = [op for op, count in tally.ops.items() if count == 0]
    print(f"{sum(tally.ops.values())} operations; each op as often as:")
    words = [f"{op} {count}" for op, count in sorted(tally.ops.items(), key=lambda item: item[1])]
    line = " "
    for word in words:
        if len(line) + len(word) > 110:
            print(line)
            line = " "
        line += f" {word},"
    print(line.rstrip(","))
    if absent:
        print(f"without {', '.join(absent)}")
    print(f"{len({failure.seed for failure in tally.failures})} programs failed")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", type=Path, metavar="FUZZ_PROGRAMS")
    parser.add_argument("--seconds", type=float, help="stop after so long; otherwise it goes on until Ctrl-C")
    parser.add_argument("--programs", type=int, help="stop after so many")
    parser.add_argument("--first", type=int, help="number of the first program; otherwise the time decides")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where failures are written")
    asked = parser.parse_args()
    first = asked.first if asked.first is not None else int(time.time()) % 1_000_000 * 4000
    cpus, parts = settings_of(asked.tool)
    print(f"programs from {first} on, on {', '.join(cpus)}", flush=True)
    tally = Tally()
    begin = shown = time.monotonic()
    reached = first
    left = batches(first, asked.programs, cpus, parts)
    running: set[Future[None]] = set()
    with ThreadPoolExecutor(asked.jobs) as pool:
        try:
            while True:
                now = time.monotonic()
                is_over = asked.seconds is not None and now - begin > asked.seconds
                while not is_over and len(running) < asked.jobs and (batch := next(left, None)) is not None:
                    reached = batch[0] + batch[1]
                    running.add(pool.submit(run_batch, asked.tool, *batch, tally))
                if not running:
                    break
                done, running = wait(running, timeout=PROGRESS_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if time.monotonic() - shown > PROGRESS_SECONDS:
                    shown = time.monotonic()
                    print(
                        f"{shown - begin:6.0f} s: up to {reached}, compiled {tally.compiled} times, "
                        f"{len(tally.failures)} failures",
                        flush=True,
                    )
                if len(tally.failures) > 5 * MOST_FAILURES:
                    print("enough failures")
                    asked.seconds = 0
        except KeyboardInterrupt:
            print("\nstopped")
    seconds = time.monotonic() - begin
    programs = max(tally.tried.values(), default=0)
    for failure in first_of_each(tally.failures):
        shrink(asked.tool, failure, asked.keep)
    summarise(tally, programs, seconds, cpus, parts)
    return 1 if tally.failures or programs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
