"""Places the nodes of a graph in layers, so that every edge goes down: what _pages/layout.js does for pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

__all__ = ["Placed", "layered"]

Size = tuple[float, float]
Point = tuple[float, float]
_SWEEPS = 10


@dataclass
class Placed:
    middles: list[Point]
    routes: list[list[Point]]  # of each edge, the points between its ends
    width: float
    height: float


@dataclass
class _Item:
    """A node, or the place that an edge over several layers holds open in one."""

    size: Size
    layer: int
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    x: float = 0.0


def layered(
    sizes: Sequence[Size],
    edges: Sequence[tuple[int, int]],
    gap_x: float = 22,
    gap_y: float = 30,
    entries: int = 0,
) -> Placed:
    """The last `entries` nodes are where edges come in from outside: they stand at the top."""
    layer_of = _layers(len(sizes), edges, len(sizes) - entries)
    items = [_Item(size, layer) for size, layer in zip(sizes, layer_of, strict=True)]
    routes = [_join(items, *edge) for edge in edges]
    layers: list[list[int]] = [[] for _ in range(max((item.layer for item in items), default=-1) + 1)]
    for i, item in enumerate(items):
        layers[item.layer].append(i)
    _order(layers, items)
    _spread(layers, items, gap_x)
    left = min((item.x - item.size[0] / 2 for item in items), default=0.0)
    right = max((item.x + item.size[0] / 2 for item in items), default=0.0)
    middles: list[Point] = [(0.0, 0.0)] * len(items)
    top = 0.0
    for layer in layers:
        height = max((items[i].size[1] for i in layer), default=0.0)
        for i in layer:
            middles[i] = (items[i].x - left, top + height / 2)
        top += height + gap_y
    through = [[middles[i] for i in route] for route in routes]
    return Placed(middles[: len(sizes)], through, right - left, max(0.0, top - gap_y))


def _layers(count: int, edges: Sequence[tuple[int, int]], entries_from: int) -> list[int]:
    """Below all that a node comes from, and right above its first reader where that makes no more lines longer than it makes shorter,
    so that parts of one array that are read here and there do not all stand side by side. Entries stay at the top."""
    readers: list[list[int]] = [[] for _ in range(count)]
    sources = [0] * count
    for source, reader in edges:
        readers[source].append(reader)
        sources[reader] += 1
    waiting = list(sources)
    layer = [0] * count
    ready = [i for i in range(count) if waiting[i] == 0]
    for i in ready:
        for reader in readers[i]:
            layer[reader] = max(layer[reader], layer[i] + 1)
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    for i in reversed(ready):  # readers first
        if readers[i] and sources[i] <= len(readers[i]) and i < entries_from:
            layer[i] = max(layer[i], min(layer[reader] for reader in readers[i]) - 1)
    return layer


def _join(items: list[_Item], source: int, reader: int) -> list[int]:
    """Links two nodes, over an item in each layer between them."""
    route = []
    last = source
    for layer in range(items[source].layer + 1, items[reader].layer):
        items.append(_Item((6, 0), layer))
        route.append(len(items) - 1)
    for i in [*route, reader]:
        if items[i].layer > items[last].layer:
            items[last].below.append(i)
            items[i].above.append(last)
        last = i
    return route


def _order(layers: list[list[int]], items: list[_Item]) -> None:
    """Sorts layers by the average place of their neighbours, down and up in turn."""
    place = {i: number for layer in layers for number, i in enumerate(layer)}
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wish = {}
            for i in layer:
                near = items[i].above if sweep % 2 == 0 else items[i].below
                wish[i] = fmean(place[other] for other in near) if near else place[i]
            layer.sort(key=lambda i: (wish[i], place[i]))
            place.update((i, number) for number, i in enumerate(layer))


def _spread(layers: list[list[int]], items: list[_Item], gap: float) -> None:
    """Moves every item towards its neighbours, as far as those beside it let it."""
    for sweep in range(_SWEEPS + 3):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            _settle([items[i] for i in layer], items, gap)


def _settle(layer: list[_Item], items: list[_Item], gap: float) -> None:
    """The closest to the wishes that keeps order and distances: neighbours that would overlap move as one."""
    groups: list[tuple[float, int, list[tuple[_Item, float]]]] = []  # sum of wishes, how many, members
    offset = 0.0
    for i, item in enumerate(layer):
        if i > 0:
            offset += (layer[i - 1].size[0] + item.size[0]) / 2 + gap
        near = item.above + item.below
        wish = fmean(items[other].x for other in near) if near else item.x
        total, count, members = wish - offset, 1, [(item, offset)]
        while groups and groups[-1][0] / groups[-1][1] > total / count:
            before = groups.pop()
            total, count, members = before[0] + total, before[1] + count, before[2] + members
        groups.append((total, count, members))
    for total, count, members in groups:
        for item, at in members:
            item.x = total / count + at
