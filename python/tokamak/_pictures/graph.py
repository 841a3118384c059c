"""The graph as traced, with kernels as boxes around the operations that they swallowed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from .. import _native
from .._format import bytes_text, plural, time_text
from . import INK, SOFT, WARN, Picture, clipped, colour, element, label
from .layers import Placed, Point, Size, layered

if TYPE_CHECKING:
    from .._explanation import Explanation

__all__ = ["MOST_OPERATIONS", "first_line", "graph_picture"]

MOST_OPERATIONS = 80  # beyond, kernels are drawn closed
_MOST_BOXES = 200
_HEAD, _PAD, _NODE = 26.0, 12.0, 38.0
_ENTRY = (6.0, 0.0)
_IN_ANY_ORDER = {"add", "mul", "max", "min", "hypot", "bit_and", "bit_or", "bit_xor", "eq", "ne"}  # operands


@dataclass
class _Box:
    """Something with a place: an operation, or a kernel around several."""

    middle: Point
    size: Size
    operation: int | None = None
    kernel: int | None = None


def graph_picture(e: Explanation) -> Picture:
    drawing = _Drawing(e)
    return Picture(drawing.draw(), drawing.placed.width, drawing.placed.height, f"The graph of {e.name}")


class _Drawing:
    def __init__(self, e: Explanation) -> None:
        self.e = e
        self.all = e.traced
        hidden = _views_of_no_use(self.all)
        shown = [i for i, one in enumerate(self.all) if not _is_number(one) and i not in hidden]
        self.inside: list[list[int]] = [[] for _ in e.kernels]  # the operations of each kernel
        alone = []
        for i in shown:
            for kernel in self.all[i].kernels:
                self.inside[kernel].append(i)
            if not self.all[i].kernels:
                alone.append(i)
        if len(e.kernels) + len(alone) > _MOST_BOXES:
            raise ValueError(
                f"{e.name} has {plural(len(e.kernels), 'kernel')}, too many for a still picture; "
                "e.save('report.html') draws them all, to zoom and search"
            )
        self.closed = len(shown) > MOST_OPERATIONS
        self.home = {i: number for number, i in enumerate(alone, len(e.kernels))}  # which outer node has it
        for number, inside in reversed(list(enumerate(self.inside))):
            self.home.update(dict.fromkeys(inside, number))
        for number, inside in enumerate(self.inside):  # of one that is cut into several, where it is whole
            self.home.update({i: number for i in inside if self.all[i].becomes in e.kernels[number].writes})
        self.crossings = self._crossings()
        self.entries: list[list[int]] = [[] for _ in e.kernels]  # values that each kernel reads
        for _, number, value in self.crossings:
            if number < len(e.kernels) and value not in self.entries[number]:
                self.entries[number].append(value)
        self.layouts = [self._inside_of(number) for number in range(len(e.kernels))]
        sizes = [self._kernel_size(number) for number in range(len(e.kernels))]
        sizes += [_size(self.all[i], self.all) for i in alone]
        self.outer_edges = self._edges_between()
        kernels = len(e.kernels)
        # Kernels run in their order; an edge against it, between operations that the passes moved, goes up.
        self.up = [a > b and a < kernels for a, b in self.outer_edges]
        edges = [(b, a) if up else (a, b) for (a, b), up in zip(self.outer_edges, self.up, strict=True)]
        self.placed = layered(sizes, edges, 30, 44)
        self.boxes = [
            _Box(middle, size, alone[i - kernels] if i >= kernels else None, i if i < kernels else None)
            for i, (middle, size) in enumerate(zip(self.placed.middles, sizes, strict=True))
        ]
        self.nodes = self._nodes()

    def _inside_of(self, number: int) -> Placed | None:
        if self.closed or not self.inside[number]:
            return None
        entries = self.entries[number]
        at = {value: i for i, value in enumerate([*self.inside[number], *entries])}
        edges = [(at[value], at[reader]) for value, reader in self._edges_in(number)]
        sizes = [_size(self.all[i], self.all) for i in self.inside[number]] + [_ENTRY] * len(entries)
        return layered(sizes, edges, 14, 22, len(entries))

    def _edges_in(self, number: int) -> list[tuple[int, int]]:
        """From values, of the kernel and from outside, to their readers in it."""
        known = {*self.inside[number], *self.entries[number]}
        return [(i, o) for o in self.inside[number] for i in dict.fromkeys(self.all[o].inputs) if i in known]

    def _kernel_size(self, number: int) -> Size:
        title = 7.4 * len(self._title(number)) + 24
        layout = self.layouts[number]
        if layout is None:
            return max(title, 130.0), 48.0
        return max(layout.width + 2 * _PAD, title), layout.height + _HEAD + _PAD

    def _title(self, number: int) -> str:
        return clipped(self.e.kernels[number].name, 44)

    def _edges_between(self) -> list[tuple[int, int]]:
        found: dict[tuple[int, int], None] = {}
        for _, number, value in self.crossings:
            found[self.home[value], number] = None
        return list(found)

    def _crossings(self) -> list[tuple[int, int, int]]:
        """Values that are read outside the kernel that has them: reader, where it stands, value."""
        crossings = []
        for reader, one in enumerate(self.all):
            if reader not in self.home:
                continue
            for number in one.kernels or [self.home[reader]]:
                inside = set(self.inside[number]) if number < len(self.inside) else set()
                for value in dict.fromkeys(one.inputs):
                    if value in self.home and value not in inside and self.home[value] != number:
                        crossings.append((reader, number, value))
        # An output that no operation computes is copied from where it is.
        for number in (number for number, operations in enumerate(self.inside) if not operations):
            read = self.e.kernels[number].reads
            copied = [i for i, one in enumerate(self.all) if one.becomes in read and i in self.home]
            crossings += [(value, number, value) for value in copied]
        return crossings

    def _nodes(self) -> dict[tuple[int, int], _Box]:
        """By the outer node they stand in, and the operation."""
        nodes = {}
        for number, box in enumerate(self.boxes):
            if box.operation is not None:
                nodes[number, box.operation] = box
                continue
            layout = self.layouts[number]
            if layout is None:
                continue
            left, top = self._corner(number, layout)
            for operation, (x, y) in zip(self.inside[number], layout.middles, strict=False):
                size = _size(self.all[operation], self.all)
                nodes[number, operation] = _Box((left + x, top + y), size, operation, number)
        return nodes

    def draw(self) -> list[str]:
        kernels = [box for box in self.boxes if box.kernel is not None]
        parts = [self._draw_kernel(box) for box in kernels]
        parts += self._draw_edges()
        parts += [self._draw_node(box) for box in self.nodes.values()]
        parts += [self._draw_title(box) for box in kernels]
        return parts

    def _draw_kernel(self, box: _Box) -> str:
        assert box.kernel is not None
        kernel, own = self.e.kernels[box.kernel], colour(box.kernel)
        left, top = box.middle[0] - box.size[0] / 2, box.middle[1] - box.size[1] / 2
        took = self.e.measured.kernels[box.kernel] if self.e.measured else None
        moved = bytes_text(kernel.bytes_read + kernel.bytes_written)
        work = plural(len(kernel.ops), "operation") if kernel.ops else "copies"
        note = f"{work}, {moved}" + (f", {time_text(took.seconds)}" if took else "")
        width, height = box.size
        parts = [
            element(
                "rect",
                x=left,
                y=top,
                width=width,
                height=height,
                rx=10,
                fill=own,
                fill_opacity=0.09,
                stroke=own,
            ),
        ]
        if self.layouts[box.kernel] is None:
            parts.append(label(note, left + 12, top + 36, fill=SOFT, font_size=11))
        return "".join(parts)

    def _draw_title(self, box: _Box) -> str:
        """On top of edges, which would cross it."""
        assert box.kernel is not None
        x, y = box.middle[0] - box.size[0] / 2 + 12, box.middle[1] - box.size[1] / 2 + 18
        halo: dict[str, float | str | None] = {
            "stroke": "#ffffff",
            "stroke_width": 4,
            "paint_order": "stroke",
        }
        own = colour(box.kernel)
        return label(self._title(box.kernel), x, y, mono=True, font_weight="bold", fill=own, **halo)

    def _draw_node(self, box: _Box) -> str:
        assert box.operation is not None
        one = self.all[box.operation]
        is_argument = one.op == "parameter"
        ink = WARN if one.is_dead else INK
        line = WARN if one.is_dead else "#b4bac4" if box.kernel is None else colour(box.kernel)
        gone = one.becomes is None and one.done_by is None and not one.is_dead
        dashes = "3 3" if one.is_dead else "1.5 3" if gone else "5 4" if one.is_view else None
        (x, y), (width, height) = box.middle, box.size
        struck = "line-through" if one.is_dead else None
        return "".join(
            [
                element(
                    "rect",
                    x=x - width / 2,
                    y=y - height / 2,
                    width=width,
                    height=height,
                    rx=19 if is_argument else 7,
                    fill="#f6f7f9" if is_argument else "#ffffff",
                    stroke=line,
                    stroke_width=3 if one.is_output else 1.3,
                    stroke_dasharray=dashes,
                ),
                label(
                    first_line(one, self.all),
                    x,
                    y - 3,
                    mono=True,
                    text_anchor="middle",
                    font_weight="bold",
                    fill=ink,
                    text_decoration=struck,
                ),
                label(
                    _second_line(one), x, y + 11, mono=True, text_anchor="middle", fill=SOFT, font_size=10.5
                ),
            ]
        )

    def _draw_edges(self) -> list[str]:
        parts = []
        entered: dict[tuple[int, int, int], list[Point]] = {}  # from the border of a kernel to a reader in it
        for number, layout in enumerate(self.layouts):
            if layout is None:
                continue
            left, top = self._corner(number, layout)
            middles = [(left + x, top + y) for x, y in layout.middles[len(self.inside[number]) :]]
            entry = dict(zip(self.entries[number], middles, strict=True))
            for (value, reader), route in zip(self._edges_in(number), layout.routes, strict=True):
                through = [(left + x, top + y) for x, y in route]
                if value in entry:
                    entered[number, value, reader] = [entry[value], *through]
                    continue
                ends = self.nodes[number, value], self.nodes[number, reader]
                parts.append(_curve(*ends, through, colour(number), 1.3))
        routes = dict(zip(self.outer_edges, zip(self.placed.routes, self.up, strict=True), strict=True))
        for reader, number, value in self.crossings:
            source = self.home[value]
            route, up = routes[source, number]
            start = self.nodes.get((source, value), self.boxes[source])
            end = self.nodes.get((number, reader), self.boxes[number])
            through = (route[::-1] if up else route) + entered.get((number, value, reader), [])
            parts.append(_curve(start, end, through, SOFT, 2.2))
        return list(dict.fromkeys(parts))

    def _corner(self, number: int, layout: Placed) -> Point:
        """Where the inside of a kernel begins."""
        (x, y), (_, height) = self.boxes[number].middle, self.boxes[number].size
        return x - layout.width / 2, y - height / 2 + _HEAD


def _views_of_no_use(all_of_them: list[_native.OperationReport]) -> set[int]:
    """Views that nothing reads cost nothing, and are not drawn."""
    read: set[int] = set()
    unused: set[int] = set()
    for i, one in reversed(list(enumerate(all_of_them))):  # readers come after what they read
        if one.is_view and one.is_dead and i not in read:
            unused.add(i)
        else:
            read.update(one.inputs)
    return unused


def _is_number(one: _native.OperationReport) -> bool:
    return one.op == "constant" and not one.name.startswith("%")


def first_line(one: _native.OperationReport, all_of_them: list[_native.OperationReport]) -> str:
    """What a node says first: the op, and the numbers it is with; all operands in their order where that has a meaning."""
    name = one.name if one.op == "parameter" else one.op.removeprefix("reduce_")
    inputs = [all_of_them[i] for i in one.inputs]
    is_ordered = len(inputs) > 1 and one.op not in _IN_ANY_ORDER
    told = [other.name for other in inputs if is_ordered or _is_number(other)]
    return clipped(f"{name} · {', '.join(told)}" if told else name, 26)


def _second_line(one: _native.OperationReport) -> str:
    return one.type if one.op == "parameter" else f"{one.name}: {one.type}"


def _size(one: _native.OperationReport, all_of_them: list[_native.OperationReport]) -> Size:
    width = max(58.0, 7.6 * len(first_line(one, all_of_them)) + 20, 6.5 * len(_second_line(one)) + 18)
    return width, _NODE


def _curve(start: _Box, end: _Box, through: list[Point], ink: str, width: float) -> str:
    points = [
        (start.middle[0], start.middle[1] + start.size[1] / 2),
        *through,
        (end.middle[0], end.middle[1] - end.size[1] / 2),
    ]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (ax, ay), (bx, by) in pairwise(points):
        bend = (by - ay) / 2
        path += f"C{ax:.1f} {ay + bend:.1f} {bx:.1f} {by - bend:.1f} {bx:.1f} {by:.1f}"
    x, y = points[-1]
    head = element("path", d=f"M{x - 4:.1f} {y - 7:.1f}L{x:.1f} {y:.1f}L{x + 4:.1f} {y - 7:.1f}z", fill=ink)
    return element("path", d=path, fill="none", stroke=ink, stroke_width=width, stroke_opacity=0.8) + head
