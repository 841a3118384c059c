"""Lets a torch that was built for CUDA load without CUDA: makes libraries in which every function fails.

    python cuda_stand_ins.py

The torch of PyPI for x86-64 Linux needs gigabytes of CUDA's libraries to load, and none of them to compute on
a processor. For each that it needs and that is not there, this puts one of the same name next to torch's own.
It has the functions that torch may look up, under the version that it asks for; each returns an error, so
that torch finds no device. Does nothing where torch needs no such library.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tempfile
from pathlib import Path

CUDA = re.compile(r"lib(cu|nccl|nv)\w*\.so")
FUNCTION = re.compile(r"_*(cu|nccl|nv)\w*")
ERROR = 100  # "no device", for CUDA


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library: Path) -> set[str]:
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", str(library))))


def versions(library: Path) -> dict[str, set[str]]:
    """The versions of symbols that it asks for, by library."""
    found: dict[str, set[str]] = {}
    file = ""
    for match in re.finditer(
        r"File: (\S+)|Name: (\S+)", output_of("readelf", "--version-info", str(library))
    ):
        file = match[1] or file
        if match[2]:
            found.setdefault(file, set()).add(match[2])
    return found


def functions(library: Path) -> set[str]:
    names = output_of("nm", "--dynamic", "--undefined-only", "--format=posix", str(library)).splitlines()
    return {name for line in names if FUNCTION.fullmatch(name := line.split()[0].split("@")[0])}


def make(name: str, code: Path, asked: set[str], folder: Path) -> None:
    script = code.with_suffix(".map")
    script.write_text("".join(f"{version} {{ global: *; }};\n" for version in sorted(asked or {name})))
    options = [
        "-w",
        "-shared",
        "-fPIC",
        "-fno-builtin",
        f"-Wl,-soname,{name}",
        f"-Wl,--version-script={script}",
    ]
    subprocess.run(["gcc", *options, str(code), "-o", str(folder / name)], check=True)


def main() -> None:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.submodule_search_locations, "torch is not installed"
    folder = Path(spec.submodule_search_locations[0]) / "lib"
    own = sorted(folder.glob("lib*.so"))
    missing = {name for library in own for name in needed(library) if CUDA.match(name)}
    missing = {name for name in missing if not (folder / name).exists()}
    asked: dict[str, set[str]] = {}
    for library in own:
        for name, found in versions(library).items():
            asked.setdefault(name, set()).update(found)
    names = sorted(set().union(*map(functions, own)))
    with tempfile.TemporaryDirectory() as temporary:
        code = Path(temporary) / "stand_in.c"
        code.write_text("".join(f"int {name}(void) {{ return {ERROR}; }}\n" for name in names))
        for name in sorted(missing):
            make(name, code, asked.get(name, set()), folder)
    if missing:
        print(f"setup: torch will find no CUDA: {len(missing)} of its libraries are stand-ins")


if __name__ == "__main__":
    main()
