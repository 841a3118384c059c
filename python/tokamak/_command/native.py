"""The native program, for what works on text IR."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import text_ir
from .failure import Failure

__all__ = ["COMMANDS", "hand_over", "is_for_it", "options_of"]

COMMANDS = {
    "opt": "run graph passes over text IR and print the result",
    "run": "run the functions of a text IR file on made-up data",
}


def is_for_it(words: Sequence[str]) -> bool:
    """Whether the native program does this: its own subcommands, explain of a file of text IR without a page, and what is kept on
    disk."""
    if not words:
        return False
    is_text = any(map(text_ir.is_text, words[1:])) and not _has_output(words)
    is_about_disk = set(words[1:]) <= {"size", "list", "path", "clear", "--json"}
    return (
        words[0] in COMMANDS or (words[0] == "explain" and is_text) or (words[0] == "cache" and is_about_disk)
    )


def _has_output(words: Sequence[str]) -> bool:
    return any(word.startswith(("-o", "--output")) for word in words)


def _program() -> str:
    path = Path(__file__).parent.parent / "_bin" / "tokamak"
    if not path.exists():
        raise Failure(f"the native program is not where it belongs: {path}")
    return os.fspath(path)


def hand_over(words: Sequence[str]) -> int:
    """Runs it in the place of this process."""
    program = _program()
    os.execv(program, ["tokamak", *words])


def options_of(command: str) -> list[tuple[str, str]]:
    """The options of one of its subcommands, each with what it is for."""
    text = subprocess.run([_program(), command, "--help"], capture_output=True, text=True, check=True).stdout
    options = []
    for line in text.splitlines():
        if line.startswith("  --"):
            name, _, about = line.strip().partition(" ")
            options.append((name.partition("=")[0], about.strip()))
    return options
