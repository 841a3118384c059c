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


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def least(pairs: Sequence[tuple[float, str]]) -> tuple[float, str]:
    return min(pairs)


def against_best(group: Group, members: Sequence[Measured]) -> list[Reached]:
    ratios = [(m.faster, m.name) for m in members if m.faster is not None]
    found = []
    if ratios:
        worst, name = least(ratios)
        mean = geometric_mean([ratio for ratio, _ in ratios])
        asked, met = f"{group.faster:g} x the best peer", worst >= group.faster
        if group.mean is not None:
            asked, met = f"{asked}, {group.mean:g} x in the mean", met and mean >= group.mean
        found.append(Reached(group.title, asked, f"{worst:.2f} x, {mean:.2f} x in the mean", name, met))
    shares = [(m.share, m.name) for m in members if m.share is not None]
    if group.share is not None and shares:
        worst, name = least(shares)
        mean = geometric_mean([share for share, _ in shares])
        asked = f"{group.share:.0%} of the machine's limit"
        reached = f"{worst:.0%}, {mean:.0%} in the mean"
        found.append(Reached(group.title, asked, reached, name, worst >= group.share))
    return found


def against_named(group: Group, members: Sequence[Measured]) -> list[Reached]:
    found = []
    for peer, factor in zip(group.against, group.factors, strict=True):
        ratios = [(m.seconds[peer] / m.seconds["tokamak"], m.name) for m in members if has(m.seconds, peer)]
        if ratios:
            worst, name = least(ratios)
            found.append(
                Reached(group.title, f"{factor:g} x {TITLES[peer]}", f"{worst:.1f} x", name, worst >= factor)
            )
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
            found.append(Reached("first call", asked, reached, name, worst >= factor))
    return found


MEMORY_SLACK = 256 * 1024  # bytes: pages of stacks and small heaps


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
    return [Reached("peak memory", "no more than the best peer", reached, name, worst >= 0.99)]


def reached(all_measured: Sequence[Measured]) -> list[Reached]:
    found: list[Reached] = []
    for group in GROUPS:
        members = [m for m in all_measured if m.group == group.name and "tokamak" in m.seconds]
        if members:
            found += against_named(group, members) if group.against else against_best(group, members)
    return found + first_calls(all_measured) + memory(all_measured)


def slower(all_measured: Sequence[Measured]) -> list[Measured]:
    """The workloads at which a peer is faster, the worst first."""
    behind = [m for m in all_measured if m.faster is not None and m.faster < 1]
    return sorted(behind, key=lambda m: m.faster or 0)
