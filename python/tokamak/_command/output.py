"""What commands print."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from .failure import Failure, usage_error

__all__ = ["add_json", "add_output", "check_output", "print_json"]


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_output(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=help)


def check_output(options: argparse.Namespace) -> None:
    """Before the work is done: a page that cannot be written is known at once. Its path is made to lead there wherever a script goes."""
    path = options.output
    if path is None:
        return
    if path == "":
        raise usage_error("-o needs the name of a file")
    options.output = os.path.abspath(path)
    folder = os.path.dirname(options.output)
    source = str(options.target).rpartition(":")[0] or str(options.target)
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise Failure(f"{path} would be overwritten by what is made of it")
    if not os.path.isdir(folder):
        raise Failure(f"cannot write {path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise Failure(f"cannot write {path}: it is a folder")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise Failure(f"cannot write {path}: permission denied")


def print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))
