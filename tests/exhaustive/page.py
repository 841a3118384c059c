"""Writes what `exhaustive` found into docs/numerics.md.

    python tests/exhaustive/page.py [RESULTS]     RESULTS: the lines of JSON that exhaustive --results wrote
    python tests/exhaustive/page.py --check       whether the page has what docs/exhaustive.json says

Findings are kept in docs/exhaustive.json, so that a run over some functions replaces only theirs. A run over
a sample of the values is not taken.
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
MISSING = "-"
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
        self.f32_cpus = [cpu for cpu in self.cpus if any(key[1:] == ("f32", cpu) for key in self.found)]
        # Runs over f16 are short and have all functions, in the order of ops.def.
        in_order = sorted(self.found.items(), key=lambda item: item[0][1] != "f16")
        self.measured = list(dict.fromkeys(name for (name, *_), f in in_order if "max_ulp" in f))
        self.exact = list(dict.fromkeys(name for (name, *_), f in in_order if "max_ulp" not in f))

    def ulp(self, function: str, dtype: str, cpu: str) -> str:
        """Rounded up."""
        finding = self.found.get((function, dtype, cpu))
        if finding is None:
            return MISSING
        return f"{math.ceil(finding['max_ulp'] * 1000 - 1e-6) / 1000:.3f}"

    def place(self, function: str, cpu: str) -> str:
        finding = self.found.get((function, "f32", cpu))
        return MISSING if finding is None else f"{float(finding['at']):.9g}"

    def rows(self) -> Iterator[list[str]]:
        f32 = [column for cpu in self.f32_cpus for column in (f"f32, {CPUS[cpu]}", "at")]
        yield ["function", *f32, "f16", "bf16", *(f"f64, {CPUS[cpu]}" for cpu in self.cpus)]
        for name in self.measured:
            cells = [c for cpu in self.f32_cpus for c in (self.ulp(name, "f32", cpu), self.place(name, cpu))]
            halves = [max(self.ulp(name, dtype, cpu) for cpu in self.cpus) for dtype in ("f16", "bf16")]
            yield [f"`{name}`", *cells, *halves, *(self.ulp(name, "f64", cpu) for cpu in self.cpus)]

    def summary(self) -> str:
        measured = [f for f in self.found.values() if "max_ulp" in f]
        f64 = [f["values"] for f in measured if f["type"] == "f64"]
        asked = sum(f["judged_exactly"] for f in measured)
        reference = max(f["reference_ulp"] for f in measured)
        inverted = sorted({f["function"] for f in measured if f.get("monotone") is False})
        order = f"all but {', '.join(inverted)} are" if inverted else "all are"
        digits = math.floor(-math.log10(reference)) if reference > 0 else 15
        missing = any(MISSING in row for row in self.rows())
        return (
            f"MPFR was asked {asked:,} times. Where it was, the double precision that decides otherwise was "
            f"never off by more than 10^-{digits} ULP of the result. Each column of f64 is of "
            f"{min(f64, default=0):,} numbers or more for each function. In f16 and bf16, {order} monotone "
            "where the true function is." + (" A dash is what was not run." if missing else "")
        )

    def exact_list(self) -> str:
        """By processor: which have all bits right for all values."""
        lines = []
        for cpu in self.cpus:
            right = [n for n in self.exact if (f := self.found.get((n, "f32", cpu))) is not None and f["ok"]]
            plain = [f"`{name}`" for name in right if not name.startswith("convert")]
            targets = [name.removeprefix("convert to ") for name in right if name.startswith("convert")]
            converted = [f"conversions to {', '.join(targets)}"] if targets else []
            if right:
                lines.append(f"All bits right for every f32 ({CPUS[cpu]}): {', '.join(plain + converted)}.")
        return "\n\n".join(lines)


def tables(findings: list[Finding]) -> str:
    table = Table(findings)
    header, *rows = table.rows()
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n\n" + "\n\n".join(filter(None, [table.summary(), table.exact_list()])) + "\n"


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
