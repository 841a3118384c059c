"""What is asked of groups of workloads, and what a run reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from measure import Measured
from workloads.model import GROUPS, Group

FIRST_CALL = {"jax": 3.0, "compile": 50.0}  # times faster than
TITLES = {"numpy": "NumPy", "jax": "jax.jit", "compile": "torch.compile"}


@dataclass(frozen=True)
class Reached:
    """A line of the table: what is asked, what is reached, and by whom the least."""

    group: str
    asked: str
    reached: str
    worst: str
    met: bool
    by: str  # how many workloads of the group reach it


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def least(pairs: Sequence[tuple[float, str]]) -> tuple[float, str]:
    return min(pairs)


def enough(pairs: Sequence[tuple[float, str]], asked: float) -> str:
    return f"{sum(value >= asked for value, _ in pairs)} of {len(pairs)}"


def against_best(group: Group, members: Sequence[Measured]) -> list[Reached]:
    ratios = [(m.faster, m.name) for m in members if m.faster is not None]
    found = []
    if ratios:
        worst, name = least(ratios)
        mean = geometric_mean([ratio for ratio, _ in ratios])
        asked, met = f"{group.faster:g} x the best peer", worst >= group.faster
        if group.mean is not None:
            asked, met = f"{asked}, {group.mean:g} x in the mean", met and mean >= group.mean
        text = f"{worst:.2f} x, {mean:.2f} x in the mean"
        found.append(Reached(group.title, asked, text, name, met, enough(ratios, group.faster)))
    shares = [(m.share, m.name) for m in members if m.share is not None]
    if group.share is not None and shares:
        worst, name = least(shares)
        mean = geometric_mean([share for share, _ in shares])
        asked = f"{group.share:.0%} of the machine's limit"
        reached = f"{worst:.0%}, {mean:.0%} in the mean"
        by = enough(shares, group.share)
        found.append(Reached(group.title, asked, reached, name, worst >= group.share, by))
    return found


def against_named(group: Group, members: Sequence[Measured]) -> list[Reached]:
    found = []
    for peer, factor in zip(group.against, group.factors, strict=True):
        ratios = [(m.seconds[peer] / m.seconds["tokamak"], m.name) for m in members if has(m.seconds, peer)]
        if ratios:
            worst, name = least(ratios)
            asked, by = f"{factor:g} x {TITLES[peer]}", enough(ratios, factor)
            found.append(Reached(group.title, asked, f"{worst:.1f} x", name, worst >= factor, by))
    return found


def has(values: dict[str, float], peer: str) -> bool:
    return "tokamak" in values and peer in values


def first_calls(all_measured: Sequence[Measured]) -> list[Reached]:
    found = []
    for peer, factor in FIRST_CALL.items():
        ratios = [(m.first[peer] / m.first["tokamak"], m.name) for m in all_measured if has(m.first, peer)]
        if ratios:
            worst, name = least(ratios)
            mean = geometric_mean([ratio for ratio, _ in ratios])
            reached = f"{worst:.1f} x, {mean:.1f} x in the mean"
            asked = f"{factor:g} x faster than {TITLES[peer]}"
            by = enough(ratios, factor)
            found.append(Reached("first call", asked, reached, name, worst >= factor, by))
    return found


MEMORY_SLACK = 256 * 1024  # bytes: pages of stacks and small heaps
AS_MUCH = 0.99


def memory(all_measured: Sequence[Measured]) -> list[Reached]:
    ratios = []
    for m in all_measured:
        peers = [value for name, value in m.memory.items() if name != "tokamak"]
        if "tokamak" in m.memory and peers:
            ratios.append(((min(peers) + MEMORY_SLACK) / (m.memory["tokamak"] + MEMORY_SLACK), m.name))
    if not ratios:
        return []
    worst, name = least(ratios)
    reached = f"{1 / worst:.2f} of it at most"
    by = enough(ratios, AS_MUCH)
    return [Reached("peak memory", "no more than the best peer", reached, name, worst >= AS_MUCH, by)]


def reached(all_measured: Sequence[Measured]) -> list[Reached]:
    found: list[Reached] = []
    for group in GROUPS:
        members = [m for m in all_measured if m.group == group.name and "tokamak" in m.seconds]
        if members:
            found += against_named(group, members) if group.against else against_best(group, members)
    return found + first_calls(all_measured) + memory(all_measured)


@dataclass(frozen=True)
class OutOfReach:
    """What no program can be, on this machine: so much faster than a peer that is this near to its limit."""

    asked: str
    names: list[str]
    at_most: list[float]  # times faster, each


def is_limit(measured: Measured) -> bool:
    """Not where somebody takes less: of what stays in caches, say."""
    return measured.limit is not None and measured.limit <= min(measured.seconds.values(), default=0)


def out_of_reach(all_measured: Sequence[Measured]) -> list[OutOfReach]:
    """A call takes the limit at least. A first call takes a later one at least: that compiles nothing."""
    bounds: dict[tuple[float, str], list[tuple[float, str]]] = {}
    for group in GROUPS:
        bounds.setdefault((group.faster, "the best peer"), []).extend(
            (m.seconds[m.best_peer] / (m.limit or math.inf), m.name)
            for m in all_measured
            if m.group == group.name and m.best_peer and is_limit(m) and not group.against
        )
    for peer, factor in FIRST_CALL.items():
        bounds[factor, f"{TITLES[peer]} at a first call"] = [
            (m.first[peer] / m.seconds["tokamak"], m.name)
            for m in all_measured
            if peer in m.first and "tokamak" in m.seconds
        ]
    found = []
    for (factor, who), pairs in bounds.items():
        less = sorted((bound, name) for bound, name in pairs if bound < factor)
        if less:
            names, at_most = [name for _, name in less], [bound for bound, _ in less]
            found.append(OutOfReach(f"{factor:g} x {who}", names, at_most))
    return found


def slower(all_measured: Sequence[Measured]) -> list[Measured]:
    """The workloads at which a peer is faster, the worst first."""
    behind = [m for m in all_measured if m.faster is not None and m.faster < 1]
    return sorted(behind, key=lambda m: m.faster or 0)
