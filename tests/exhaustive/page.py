"""Writes what `exhaustive` found into docs/numerics.md.

    python tests/exhaustive/page.py [RESULTS]     RESULTS: the lines of JSON that exhaustive --results wrote
    python tests/exhaustive/page.py --check       whether the page has what docs/exhaustive.json says

Findings are kept in docs/exhaustive.json, so that a run over some functions replaces only theirs. A run over a sample of the
values is not taken.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
FINDINGS = DOCS / "exhaustive.json"
PAGE = DOCS / "numerics.md"
BEGIN, END = "<!-- exhaustive: made by tests/exhaustive/page.py -->\n", "<!-- end -->\n"

Finding = dict[str, Any]
CPUS = {"x86-64-v3": "FMA", "x86-64": "no FMA", "x86-64-v4": "AVX-512"}


def key(finding: Finding) -> tuple[str, ...]:
    return tuple(str(finding.get(name, "")) for name in ("pairs", "function", "type", "cpu"))


def merged(old: list[Finding], new: Iterable[Finding]) -> list[Finding]:
    """In the order in which they were first found."""
    found = {key(finding): finding for finding in old}
    for finding in new:
        if not finding["sampled"]:
            found[key(finding)] = finding
    return list(found.values())


class Table:
    def __init__(self, findings: list[Finding]) -> None:
        self.found = {(f["function"], f["type"], f["cpu"]): f for f in findings if "function" in f}
        self.cpus = [cpu for cpu in CPUS if any(key[2] == cpu for key in self.found)]
        self.measured = list(dict.fromkeys(name for (name, *_), f in self.found.items() if "max_ulp" in f))
        self.exact = list(dict.fromkeys(name for (name, *_), f in self.found.items() if "max_ulp" not in f))

    def ulp(self, function: str, dtype: str, cpu: str) -> str:
        """Rounded up."""
        finding = self.found.get((function, dtype, cpu))
        if finding is None:
            return "–"
        return f"{math.ceil(finding['max_ulp'] * 1000 - 1e-6) / 1000:.3f}"

    def place(self, function: str, cpu: str) -> str:
        finding = self.found.get((function, "f32", cpu))
        return "–" if finding is None else f"{float(finding['at']):.9g}"

    def rows(self) -> Iterator[list[str]]:
        f32 = [column for cpu in self.cpus for column in (f"f32, {CPUS[cpu]}", "at")]
        yield ["function", *f32, "f16", "bf16", *(f"f64, {CPUS[cpu]}" for cpu in self.cpus)]
        for name in self.measured:
            cells = [c for cpu in self.cpus for c in (self.ulp(name, "f32", cpu), self.place(name, cpu))]
            halves = [max(self.ulp(name, dtype, cpu) for cpu in self.cpus) for dtype in ("f16", "bf16")]
            yield [f"`{name}`", *cells, *halves, *(self.ulp(name, "f64", cpu) for cpu in self.cpus)]

    def summary(self) -> str:
        measured = [f for f in self.found.values() if "max_ulp" in f]
        f64 = [f["values"] for f in measured if f["type"] == "f64"]
        asked = sum(f["judged_exactly"] for f in measured)
        reference = max(f["reference_ulp"] for f in measured)
        inverted = sorted({f["function"] for f in measured if f.get("monotone") is False})
        order = f"all but {', '.join(inverted)}" if inverted else "all"
        digits = math.ceil(-math.log10(reference)) if reference > 0 else 15
        return (
            f"MPFR was asked {asked:,} times, and the double precision that decides otherwise was never off by more than "
            f"10^-{digits - 1} ULP of the result. Of f64 it were {min(f64, default=0):,} numbers or more. "
            f"Results of f16 and bf16 rise and fall where the true function does: {order}."
        )

    def exact_list(self) -> str:
        everywhere = [n for n in self.exact if all((n, "f32", cpu) in self.found for cpu in self.cpus)]
        wrong = [f for f in self.found.values() if "max_ulp" not in f and not f["ok"]]
        if not everywhere or wrong:
            return ""
        plain = [f"`{name}`" for name in everywhere if " to " not in name]
        targets = [name.removeprefix("convert to ") for name in everywhere if name.startswith("convert to ")]
        return f"All bits right for every f32, f16 and bf16: {', '.join(plain)}, conversions to {', '.join(targets)}."


def tables(findings: list[Finding]) -> str:
    table = Table(findings)
    header, *rows = table.rows()
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", table.summary(), "", table.exact_list()]) + "\n"


def with_tables(page: str, text: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + text + "\n" + END + after


def main(words: list[str]) -> int:
    findings = json.loads(FINDINGS.read_text()) if FINDINGS.exists() else []
    if words == ["--check"]:
        right = PAGE.read_text() == with_tables(PAGE.read_text(), tables(findings))
        print("" if right else f"{PAGE} is not what {FINDINGS} says: python tests/exhaustive/page.py")
        return 0 if right else 1
    for name in words:
        findings = merged(findings, map(json.loads, Path(name).read_text().splitlines()))
    FINDINGS.write_text("[\n" + ",\n".join(json.dumps(finding) for finding in findings) + "\n]\n")
    PAGE.write_text(with_tables(PAGE.read_text(), tables(findings)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
