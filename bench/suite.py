"""All workloads against all peers, or those named.

    python bench/suite.py [NAME ...] [--quick] [--ablate] [--seconds S] [--threads N] [--out FOLDER] [--list]

A NAME is a group (large, reading, grids, cache, call, products, decoding, other) or what names of workloads
begin with: `softmax` is eight of them. A run of everything writes docs/benchmarks.md with its charts and
numbers; any other run writes the same to build/bench. A peer that is not there, or fails, is shown as such.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import report
import targets
import workloads
from charts import seconds_text
from contestants import ABLATIONS, CONTESTANTS, Contestant, keep_to
from measure import Bench, Effort, Measured, Team
from roofline import Roofline
from tables import Column, bold, bytes_text, dim, green, machine, paint, print_table
from workloads.model import Workload

ROOT = Path(__file__).resolve().parent.parent
PARTIAL = ROOT / "build" / "bench"  # where the page of a run goes that is not of everything
SIZES = [16 * 4**i for i in range(12)]  # 16 to 64M
QUICK_SIZES = [16, 16 << 10, 1 << 20]
QUICK_SECONDS = 150
TITLES = {one.name: one.title for one in (*ABLATIONS, *CONTESTANTS)}  # "tokamak" is in both
FULL = Effort(seconds=3.0, turn=0.03, patience=5.0, first_call=90.0)
QUICK = Effort(seconds=0.5, turn=0.01, patience=0.5, first_call=15.0)


def progress(text: str) -> None:
    """A line that the next one overwrites; nothing where output goes to a file."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 4
        print("\x1b[2K" + dim(f"  {text[:width]} …"), end="\r", flush=True)


def say(text: str = "") -> None:
    if sys.stdout.isatty():
        print("\x1b[2K", end="")
    print(text, flush=True)


def ratio_text(faster: float | None) -> str:
    if faster is None:
        return ""
    text = f"{faster:.2f}x"
    return green(text) if faster >= 1 else paint(text, "33")


def line_of(measured: Measured) -> str:
    """What is told of a workload as soon as it is measured."""
    name = measured.name.ljust(24)
    if "tokamak" not in measured.seconds:
        return f"  {name}{paint('failed: ' + measured.failed.get('tokamak', ''), '31')}"
    parts = [f"Tokamak {seconds_text(measured.seconds['tokamak'])}"]
    if measured.best_peer:
        peer = measured.best_peer
        parts.append(f"{TITLES[peer]} {seconds_text(measured.seconds[peer])}, {ratio_text(measured.faster)}")
    if measured.share is not None:
        parts.append(f"{measured.share:.0%} of the limit")
    if measured.failed:
        parts.append(dim("failed: " + ", ".join(TITLES[n] for n in measured.failed)))
    return f"  {name}{', '.join(parts)}"


def ablation_line(measured: Measured) -> str:
    name = measured.name.ljust(24)
    if "tokamak" not in measured.seconds:
        return line_of(measured)
    on = measured.seconds["tokamak"]
    parts = [f"{TITLES[n]} {s / on:.2f}x" for n, s in measured.seconds.items() if n != "tokamak"]
    return f"  {name}{seconds_text(on)}; {', '.join(parts)}"


class Run:
    """One run of the suite."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.started = time.perf_counter()
        self.effort = QUICK if options.quick else FULL
        if options.seconds:
            self.effort.seconds = options.seconds
        team = ABLATIONS if options.ablate else CONTESTANTS
        wanted = options.contestants or [one.name for one in team]
        self.contestants = [one for one in team if one.name in {"tokamak", *wanted}]
        self.out: Path = options.out or (ROOT / "docs" if self.is_everything else PARTIAL)
        self.roofline = Roofline(options.threads)
        logs = self.out / "benchmarks" / "logs" if options.out else PARTIAL / "logs"
        self.team = Team(self.contestants, options.threads, self.effort, logs)
        self.bench = Bench(self.team, self.roofline, progress)
        self.measured: list[Measured] = []
        self.growth: list[Measured] = []

    @property
    def is_everything(self) -> bool:
        return not (self.options.names or self.options.quick or self.options.contestants)

    @property
    def workloads(self) -> list[Workload]:
        found = workloads.selected(self.options.names)
        if self.options.names:
            return found
        if self.options.ablate:
            return [one for one in found if one.ablate]
        return [one for one in found if one.quick or not self.options.quick]

    def growing(self) -> list[Workload]:
        if self.options.ablate or "growth" in self.options.without:
            return []
        if self.options.names and not set(self.options.names) & {"growth", *workloads.GROWING}:
            return []
        sizes = QUICK_SIZES if self.options.quick else SIZES
        programs = [p for p in workloads.GROWING if not self.options.quick or p == "fused-sum"]
        if self.options.names and "growth" not in self.options.names:
            programs = [p for p in programs if p in self.options.names]
        return [workloads.GROWING[program](size) for program in programs for size in sizes]

    def is_out_of_time(self) -> bool:
        """A quick run keeps its promise also where the machine is slow."""
        return self.options.quick and time.perf_counter() - self.started > QUICK_SECONDS

    def in_time(self, asked: Sequence[Workload]) -> Iterator[Workload]:
        for i, workload in enumerate(asked):
            if self.is_out_of_time():
                say(paint(f"  out of time: left out {', '.join(one.name for one in asked[i:])}", "33"))
                return
            yield workload

    def wants_memory(self, workload: Workload) -> bool:
        if self.options.ablate or "memory" in self.options.without:
            return False
        if self.options.names:
            return True
        return workload.memory and (not self.options.quick or workload.name == "activation")

    def run(self) -> int:
        self.team.start(progress)
        self.introduce()
        if "tokamak" in self.team.absent:
            return 1
        try:
            self.measure_everything()
        except BaseException:  # what there is by now is worth keeping, but is no page of the documentation
            self.out = self.options.out or PARTIAL
            self.finish()
            raise
        self.finish()
        return 1 if any("tokamak" in m.failed for m in (*self.measured, *self.growth)) else 0

    def measure_everything(self) -> None:
        for workload in self.in_time(self.workloads):
            self.measured.append(self.one(workload))
        self.measure_disturbed_again()
        self.measure_memory()
        growing = self.growing()
        if growing:
            say(bold("\nGrowth"))
        for workload in self.in_time(growing):
            self.growth.append(self.one(workload))

    def measure_disturbed_again(self) -> None:
        """Those in which Tokamak had no turn to itself: minutes later others may be at rest."""
        disturbed = [m.name for m in self.measured if "tokamak" in m.doubtful]
        again = self.in_time([one for one in self.workloads if one.name in disturbed])
        found = {workload.name: self.one(workload) for workload in again}
        self.measured = [found.get(m.name, m) for m in self.measured]

    def measure_memory(self) -> None:
        by_name = {m.name: m for m in self.measured}
        asked = [one for one in self.workloads if one.name in by_name and self.wants_memory(one)]
        for workload in self.in_time(asked):
            self.bench.measure_memory(workload, by_name[workload.name])

    def one(self, workload: Workload) -> Measured:
        measured = self.bench.measure(workload)
        say(ablation_line(measured) if self.options.ablate else line_of(measured))
        for name in measured.wrong:
            say(paint(f"    {TITLES[name]}: {measured.failed[name]}", "31"))
        return measured

    def introduce(self) -> None:
        self.about: dict[str, Any] = machine() | {"threads": self.options.threads}
        self.about["versions"] = dict(self.team.versions)
        say(bold("Tokamak ") + dim(", ".join(f"{TITLES[n]} {v}" for n, v in self.team.versions.items())))
        say(dim(f"{self.about['processor']}, {self.about['threads']} threads, {self.about['vectors']}"))
        for name, why in self.team.absent.items():
            say(paint(f"{TITLES[name]} does not take part: {why}", "33"))
        if self.about["load_before"] > 1:
            load = f"{self.about['load_before']:.1f}"
            say(dim(f"The machine is busy (load {load}): times will be longer, and vary."))

    def finish(self) -> None:
        self.about["limits"] = asdict(self.roofline.best)
        self.about["seconds"] = time.perf_counter() - self.started
        name = "ablation" if self.options.ablate else "results"
        folder = self.out / "benchmarks"
        report.save(folder / f"{name}.json", self.about, self.measured, self.growth)
        page = report.write_page(self.out)
        width = shutil.get_terminal_size((140, 24)).columns
        if not self.options.ablate:
            print_times(self.measured, self.contestants, width)
            print_targets(self.measured, width)
        minutes, seconds = divmod(round(self.about["seconds"]), 60)
        say(dim(f"\n{page} and {folder}/{name}.json, after {minutes} min {seconds} s"))


def print_times(measured: Sequence[Measured], contestants: Sequence[Contestant], width: int) -> None:
    if not measured:
        return

    def cell(m: Measured, name: str) -> str:
        if name in m.seconds:
            return seconds_text(m.seconds[name]) + ("*" if name in m.doubtful else "")
        return "failed" if name in m.failed else ""

    columns = [
        Column("workload", [m.name for m in measured], left=True),
        Column("data", [m.data for m in measured], left=True, style=dim, optional=True),
    ]
    for one in contestants:
        cells = [cell(m, one.name) for m in measured]
        if any(cells):
            columns.append(Column(one.title, cells, style=bold if one.name == "tokamak" else str))
    columns += [
        Column("faster", [f"{m.faster:.2f}x" if m.faster else "" for m in measured]),
        Column("limit", [f"{m.share:.0%}" if m.share else "" for m in measured], optional=True),
        Column("memory", [memory_text(m) for m in measured], optional=True),
    ]
    say(f"\n{bold('Time of a call')} {dim('the best of interleaved turns; * others were at work meanwhile')}")
    print_table(columns, width)


def memory_text(measured: Measured) -> str:
    peers = [value for name, value in measured.memory.items() if name != "tokamak"]
    if "tokamak" not in measured.memory or not peers:
        return ""
    return f"{bytes_text(measured.memory['tokamak'])} / {bytes_text(min(peers))}"


def print_targets(measured: Sequence[Measured], width: int) -> None:
    rows = targets.reached(measured)
    if not rows:
        return
    say(f"\n{bold('Asked and reached')}")
    print_table(
        [
            Column("group", [one.group for one in rows], left=True),
            Column("asked", [one.asked for one in rows], left=True),
            Column("reached", [one.reached for one in rows], left=True),
            Column("worst workload", [one.worst for one in rows], left=True),
            Column("reached by", [one.by for one in rows]),
            Column("met", ["yes" if one.met else "no" for one in rows]),
        ],
        width,
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="a few workloads, in less than three minutes")
    parser.add_argument(
        "--ablate", action="store_true", help="Tokamak with its parts turned off, one at a time"
    )
    parser.add_argument("--seconds", type=float, help="for the turns of each workload")
    parser.add_argument(
        "--threads", type=int, default=len(os.sched_getaffinity(0)), help="of everyone (%(default)s)"
    )
    parser.add_argument(
        "--contestants", nargs="+", metavar="WHO", help="besides Tokamak: " + ", ".join(TITLES)
    )
    parser.add_argument("--without", nargs="+", choices=["memory", "growth"], default=[])
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the page goes")
    parser.add_argument("--list", action="store_true", help="the names, and nothing else")
    options = parser.parse_args()
    if options.names and not workloads.selected(options.names) and not {*options.names} & {"growth", "sum"}:
        parser.error(f"there is no {' or '.join(options.names)}; --list shows the workloads")
    if options.out and options.out.exists() and not options.out.is_dir():
        parser.error(f"--out: {options.out} is no folder")
    return options


def main() -> int:
    options = parsed()
    if options.list:
        for one in workloads.WORKLOADS.values():
            print(f"{one.name.ljust(24)}{one.group.ljust(10)}{one.title}, {one.data}")
        return 0
    keep_to(options.threads)
    run = Run(options)
    try:
        return run.run()
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    finally:
        run.bench.close()


if __name__ == "__main__":
    sys.exit(main())
