"""What commands print."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from .failure import Failure

__all__ = ["add_json", "add_output", "check_writable", "print_json"]


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_output(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=help)


def check_writable(path: str | None) -> None:
    """Before the work is done: a page that cannot be written is known at once."""
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise Failure(f"cannot write {path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise Failure(f"cannot write {path}: it is a folder")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise Failure(f"cannot write {path}: permission denied")


def print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))
