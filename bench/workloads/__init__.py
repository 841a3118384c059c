"""All workloads, by name, in the order in which they are run."""

from __future__ import annotations

from . import (
    elementwise,
    finance,
    fractals,
    grids,
    layouts,
    lookups,
    neural,
    points,
    products,
    reductions,
    rows,
)
from .model import GROUPS, Workload

WORKLOADS: dict[str, Workload] = {}
for _module in (
    elementwise,
    finance,
    fractals,
    rows,
    reductions,
    layouts,
    lookups,
    grids,
    points,
    products,
    neural,
):
    for _one in _module.WORKLOADS:
        assert _one.name not in WORKLOADS and _one.group in {group.name for group in GROUPS}, _one.name
        WORKLOADS[_one.name] = _one

# Those that are measured at many sizes: the name, and what makes the workload of a size.
GROWING = {
    "fused-sum": elementwise.fused_sum,
    "activation": elementwise.activation,
    "softmax": rows.growing_softmax,
    "sum": reductions.growing_sum,
}


def find(name: str) -> Workload:
    """A workload by its name; those of growing size are called `name@elements`."""
    if "@" in name:
        base, _, size = name.partition("@")
        return GROWING[base](int(size))
    return WORKLOADS[name]


def selected(asked: list[str]) -> list[Workload]:
    """Those of the names or groups asked for, `softmax` standing for all of `softmax-...`; all if none is."""
    return [
        one
        for one in WORKLOADS.values()
        if not asked or any(one.group == a or one.name == a or one.name.startswith(a + "-") for a in asked)
    ]
