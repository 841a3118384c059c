"""A notebook as a page: its text, its code, and the outputs that are kept in it. Pictures become files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def page_of(notebook: Path, pictures: Path) -> str:
    cells = json.loads(notebook.read_text())["cells"]
    return "\n\n".join(
        part for i, cell in enumerate(cells) for part in parts_of(cell, f"{notebook.stem}-{i}", pictures)
    )


def parts_of(cell: dict[str, Any], name: str, pictures: Path) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    outputs = [shown(output, f"{name}-{i}", pictures) for i, output in enumerate(cell["outputs"])]
    return [fenced("python", source), *outputs]


def shown(output: dict[str, Any], name: str, pictures: Path) -> str:
    data = output.get("data", {})
    text = "".join(output.get("text", data.get("text/plain", "")))
    if "image/svg+xml" in data:
        (pictures / f"{name}.svg").write_text("".join(data["image/svg+xml"]))
        title = text.partition("\n")[0].removeprefix("<picture: ").removesuffix(">")
        return f"![{title}]({name}.svg)"
    if "text/html" in data:
        return fenced("{raw} html", "".join(data["text/html"]))
    return fenced("text", text)


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
