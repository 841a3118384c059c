"""The page of a run: tables in Markdown, with charts, out of the JSON files that runs left in a folder.

    python bench/report.py FOLDER      writes FOLDER/benchmarks.md again, and the charts beside it

FOLDER/benchmarks/results.json is of the run against the peers, ablation.json of the one that turns parts of
Tokamak off, compile.json of the count of instructions. What is not there is left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import charts
import targets
from charts import Panel, Row, seconds_text
from contestants import ABLATIONS, CONTESTANTS
from measure import Measured
from workloads.model import DIVISION, ELEMENTARY, GROUPS

TITLES = {one.name: one.title for one in CONTESTANTS}
PEERS = TITLES.keys() - {"tokamak"}
OFF = {one.name: one.title for one in ABLATIONS if one.name != "tokamak"}
COMPILERS = ("tokamak", "compile", "jax", "numba", "onnx")


def save(
    path: Path, about: Mapping[str, Any], measured: Sequence[Measured], growth: Sequence[Measured]
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = {
        "about": about,
        "workloads": [with_ratios(m) for m in measured],
        "growth": [with_ratios(m) for m in growth],
        "reached": [asdict(one) for one in targets.reached(measured)],
    }
    path.write_text(json.dumps(numbers, indent=1) + "\n")


def with_ratios(measured: Measured) -> dict[str, Any]:
    ratios = {"best_peer": measured.best_peer, "faster": measured.faster, "share_of_limit": measured.share}
    return asdict(measured) | ratios


def load(numbers: Mapping[str, Any], key: str) -> list[Measured]:
    names = Measured.__dataclass_fields__
    return [Measured(**{k: v for k, v in one.items() if k in names}) for one in numbers[key]]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def in_order(values: Mapping[str, Any], names: Mapping[str, str] = TITLES) -> list[str]:
    return [name for name in names if name in values]


def taking_part(measured: Sequence[Measured]) -> list[str]:
    return [name for name in TITLES if any(name in m.seconds or name in m.failed for m in measured)]


def time_cell(measured: Measured, name: str) -> str:
    if name in measured.seconds:
        text = seconds_text(measured.seconds[name]) + ("\\*" if name in measured.doubtful else "")
        return f"**{text}**" if name == "tokamak" else text
    return "failed" if name in measured.failed else ""


def ratio_cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


class Page:
    """The page as it grows, and the charts it shows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts: list[str] = []

    def say(self, *texts: str) -> None:
        self.parts += texts

    def show(self, name: str, label: str, svg: str) -> None:
        (self.folder / "benchmarks" / f"{name}.svg").write_text(svg)
        self.say(f"![{label}](benchmarks/{name}.svg)")

    def write(self) -> Path:
        path = self.folder / "benchmarks.md"
        path.write_text("\n\n".join(self.parts) + "\n")
        return path


def prose(text: str) -> str:
    """A paragraph, on one line."""
    return " ".join(text.split())


def processor_text(about: Mapping[str, Any]) -> str:
    return f"{about['processor']}, {about['threads']} threads, {about['vectors']}"


def introduce(page: Page, about: Mapping[str, Any]) -> None:
    versions = ", ".join(f"{TITLES[name]} {v}" for name, v in about["versions"].items() if name in PEERS)
    page.say(
        "# Benchmarks",
        "Written by `make bench`, which runs all of this: do not edit.",
        prose(
            f"""{processor_text(about)}; Python
            {about["python"]}; {versions}. Tokamak compiles plain NumPy functions
            ([bench/workloads](../bench/workloads)); the others run what people write for them, on the same
            data, with the same number of threads. Every answer is compared with NumPy's in double precision
            before a time is taken. The contestants, each in a process of its own, take turns; a time is the
            best of the turns that other processes did not disturb. A star marks those that had no such
            turn."""
        ),
    )
    limits = about["limits"]
    if limits["missing"]:
        page.say(f"The limits of the machine are not known: {limits['missing']}.")
        return
    speed = {name: f"{limits[name] / 1e9:.1f} GB/s" for name in ("read", "write", "copy", "add")}
    halves = f", {limits['bf16_flops'] / 1e9:.0f} in products of bf16" if limits["bf16_flops"] else ""
    page.say(
        prose(
            f"""The limits of the machine were measured in the same run, between the turns of each
            workload: the best of its own rounds count for it. The best of all: it reads {speed["read"]}, writes
            {speed["write"]}, copies {speed["copy"]} and adds arrays at {speed["add"]}, with non-temporal
            stores, bytes read and written together; fused multiply-adds in registers do
            {limits["flops"] / 1e9:.0f} GFLOP/s in f32{halves}. *Limit* below is the least time that a call
            can take, by the bytes it must move (once, where they take more than half of the last cache) or by
            its arithmetic, over the time it took. An elementary function counts as {ELEMENTARY} operations, a
            division and a square root as {DIVISION}."""
        )
    )


def show_targets(page: Page, measured: Sequence[Measured]) -> None:
    rows = [
        [one.group, one.asked, one.reached, f"`{one.worst}`", one.by, "yes" if one.met else "no"]
        for one in targets.reached(measured)
    ]
    page.say("## Asked and reached", "The least that a workload of the group reached, and which one it was.")
    page.say(table(["group", "asked", "reached", "worst workload", "reached by", "met"], rows))
    behind = targets.slower(measured)
    if behind:
        listed = "; ".join(
            f"`{m.name}` ({ratio_cell(m.faster)} of {TITLES[m.best_peer or '']})" for m in behind
        )
        page.say(f"A peer is faster at {len(behind)} of {len(measured)} workloads: {listed}.")
    else:
        page.say(f"No peer is faster at any of {len(measured)} workloads.")
    for one in targets.out_of_reach(measured):
        listed = ", ".join(f"`{name}` ({bound:.2g})" for name, bound in zip(one.names, one.at_most, strict=True))
        page.say(
            f"{one.asked} cannot be had here, by the limits above, and as a first call takes a later one at least; in"
            f" brackets what could be: {listed}."
        )


def show_times(page: Page, measured: Sequence[Measured]) -> None:
    page.say(
        "## Time of a call",
        prose(
            """*Faster* is the time of the fastest peer over Tokamak's: below 1 it is faster than Tokamak. An
            empty field is a peer that has no way to say it, or that nobody would use for it. In the charts, 1
            is Tokamak."""
        ),
    )
    for group in GROUPS:
        members = [m for m in measured if m.group == group.name and "tokamak" in m.seconds]
        if not members:
            continue
        page.say(f"### {group.title[0].upper()}{group.title[1:]}")
        rows = [
            Row(m.name, {k: m.seconds[k] / m.seconds["tokamak"] for k in in_order(m.seconds)})
            for m in members
        ]
        label = "Time of a call over Tokamak's: further right is slower"
        page.show(f"times-{group.name}", label, charts.dots(rows, TITLES, label, "x", line=1.0))
        page.say(times_table(members))


def times_table(members: Sequence[Measured]) -> str:
    names = taking_part(members)
    rows = []
    for m in members:
        cells = [time_cell(m, name) for name in names]
        share = "" if m.share is None else f"{m.share:.0%}"
        kernels = str(m.notes.get("kernels", ""))
        rows.append([f"`{m.name}`", m.data, kernels, *cells, ratio_cell(m.faster), share])
    return table(["workload", "data", "kernels", *(TITLES[n] for n in names), "faster", "limit"], rows)


def show_first_calls(page: Page, measured: Sequence[Measured]) -> None:
    if not any("tokamak" in m.first for m in measured):
        return
    page.say(
        "## First call",
        prose(
            """Compiling and the first run, in a process that has compiled another program before. Caches of
            compiled code are off."""
        ),
    )
    rows = [
        Row(m.name, {k: m.first[k] * 1e3 for k in COMPILERS if k in m.first})
        for m in measured
        if "tokamak" in m.first
    ]
    label = "First call, milliseconds: further right is slower"
    page.show("first", label, charts.dots(rows, TITLES, label))
    names = [name for name in COMPILERS if any(name in m.first for m in measured)]
    cells = [
        [f"`{m.name}`", *(seconds_text(m.first[n]) if n in m.first else "" for n in names)] for m in measured
    ]
    page.say(table(["workload", *(TITLES[n] for n in names)], cells))


def show_memory(page: Page, measured: Sequence[Measured]) -> None:
    members = [m for m in measured if m.memory]
    if not members:
        return
    names = [name for name in TITLES if any(name in m.memory for m in members)]
    page.say(
        "## Memory",
        prose(
            """By how much a call raises the resident memory of its process at the most, in MB, its result
            included; each in a fresh process that has made the call once before, and has given back what it
            could."""
        ),
    )
    rows = [Row(m.name, {n: max(m.memory[n] / 1e6, 0.01) for n in in_order(m.memory)}) for m in members]
    label = "Memory of a call, MB: further right is more"
    page.show("memory", label, charts.dots(rows, TITLES, label))
    cells = [
        [f"`{m.name}`", *(f"{m.memory[n] / 1e6:.1f}" if n in m.memory else "" for n in names)]
        for m in members
    ]
    page.say(table(["workload", *(TITLES[n] for n in names)], cells))


def show_growth(page: Page, growth: Sequence[Measured]) -> None:
    if not growth:
        return
    by_program: dict[str, list[Measured]] = {}
    for m in growth:
        by_program.setdefault(m.name.partition("@")[0], []).append(m)
    panels = []
    for members in by_program.values():
        curves = {
            name: [(float(m.size or 1), m.seconds[name]) for m in members if name in m.seconds]
            for name in TITLES
        }
        panels.append(Panel(members[0].title, {name: curve for name, curve in curves.items() if curve}))
    page.say(
        "## Growth",
        "The time of a call, and the first call, as arrays grow. f32; softmax in rows of up to 1024.",
    )
    page.show("growth", "Time of a call by size", charts.lines(panels, TITLES, "elements", "Time of a call"))
    for program, members in by_program.items():
        names = taking_part(members)
        rows = [
            [charts.number(float(m.size or 0)), *(time_cell(m, n) for n in names), ratio_cell(m.faster)]
            for m in members
        ]
        page.say(f"`{program}`", table(["elements", *(TITLES[n] for n in names), "faster"], rows))


def show_failures(page: Page, measured: Sequence[Measured]) -> None:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for m in measured:
        for name, why in m.failed.items():
            by_reason.setdefault((TITLES[name], why), []).append(f"`{m.name}`")
    if by_reason:
        page.say("## Who could not take part")
        page.say(
            table(["who", "why", "where"], [[n, w, ", ".join(where)] for (n, w), where in by_reason.items()])
        )


def show_ablation(page: Page, measured: Sequence[Measured], elsewhere: str) -> None:
    """`elsewhere`: the machine, where it is another one than that of the other numbers."""

    def slowdown(m: Measured, name: str) -> float:
        return m.seconds[name] / m.seconds["tokamak"]

    members = [m for m in measured if "tokamak" in m.seconds]
    names = [name for name in OFF if any(name in m.seconds for m in members)]
    page.say(
        "## Where the speed comes from",
        prose(
            """How many times longer a call takes with one part of Tokamak turned off (`make bench
            ARGS=--ablate`)."""
            + (f" Measured on another machine: {elsewhere}." if elsewhere else "")
        ),
    )
    rows = [Row(m.name, {n: slowdown(m, n) for n in names if n in m.seconds}) for m in members]
    label = "Time of a call over that with everything on"
    page.show("ablation", label, charts.dots(rows, OFF, label, "x", line=1.0))
    cells = [
        [f"`{m.name}`", seconds_text(m.seconds["tokamak"])]
        + [f"{slowdown(m, n):.2f}x" if n in m.seconds else "failed" if n in m.failed else "" for n in names]
        for m in members
    ]
    page.say(table(["workload", "everything on", *(OFF[n] for n in names)], cells))


def show_compile_cost(page: Page, numbers: Mapping[str, Any]) -> None:
    page.say(
        "## What compiling costs",
        prose(
            """Instructions that tracing and compiling execute on one thread, counted by callgrind (`make
            bench-compile`): noise does not touch them."""
        ),
    )
    rows = [
        [f"`{name}`", f"{one['instructions'] / 1e6:.1f} M", str(one["kernels"])]
        for name, one in numbers["workloads"].items()
    ]
    page.say(table(["workload", "instructions", "kernels"], rows))


def write_page(folder: Path) -> Path:
    page = Page(folder)

    def numbers_of(name: str) -> Any:
        path = folder / "benchmarks" / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    results, ablation, compiling = (numbers_of(name) for name in ("results", "ablation", "compile"))
    introduce(page, (results or ablation)["about"])
    measured = load(results, "workloads") if results else []
    growth = load(results, "growth") if results else []
    if measured:
        show_targets(page, measured)
        show_times(page, measured)
        show_first_calls(page, measured)
        show_memory(page, measured)
    show_growth(page, growth)
    if ablation:
        machine = processor_text(ablation["about"])
        is_same = not results or machine == processor_text(results["about"])
        show_ablation(page, load(ablation, "workloads"), "" if is_same else machine)
    if compiling:
        show_compile_cost(page, compiling)
    show_failures(page, measured + growth)
    return page.write()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    print(write_page(parser.parse_args().folder))


if __name__ == "__main__":
    main()
