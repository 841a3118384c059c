"""Puts together the pages that the site is made of.

    python docs/site/assemble.py PAGES

PAGES becomes a folder with everything that Sphinx needs:
  - the pages of docs/, README.md, CONTRIBUTING.md and the notebooks of examples/, as they are but for where
    their links lead;
  - the references, made from the Python package and from the C++ headers;
  - the files of the project that pages link to, as pages of their own, so that the site is whole without a
    network. Pages of folders list what is in them.

docs/index.md is the start page, and the lists in it are the navigation: a heading is a group, an item that
begins with a link is an entry of it.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cpp_reference
import notebook
import python_reference

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {".cpp": "cpp", ".def": "cpp", ".h": "cpp", ".py": "python", ".sh": "bash", ".tok": "text"}
LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(?ms)^(?P<fence> *`{3,})[^\n]*\n.*?^(?P=fence)`*$")
COMMENT = re.compile(r"(?s)<!--.*?-->")


def pages_of_the_project(root: Path) -> dict[Path, str]:
    """The files that are pages, with the names they have in the site."""
    pages = {
        path: path.stem for folder in ("docs/*.md", "examples/*.ipynb") for path in sorted(root.glob(folder))
    }
    return pages | {root / name: name.partition(".")[0].lower() for name in ("README.md", "CONTRIBUTING.md")}


class Assembly:
    """The site while it is put together. `references` are pages made from files or folders, by these."""

    def __init__(self, root: Path, out: Path, references: dict[Path, str]) -> None:
        self.root = root
        self.out = out
        self.pages = pages_of_the_project(root)
        self.places = self.pages | references
        self.sources: set[Path] = set()  # files and folders that pages link to

    def write(self, name: str, text: str) -> None:
        path = self.out / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add_pages(self) -> None:
        for path, name in self.pages.items():
            markdown = notebook.page_of(path, self.out) if path.suffix == ".ipynb" else path.read_text()
            text = outside_fences(markdown, partial(self.with_links, path=path, name=name))
            self.write(name, text + navigation(text) if name == "index" else text)

    def add_sources(self) -> None:
        for path in sorted(self.sources):
            self.write(self.place_of(path), self.source_page(path))

    def with_links(self, prose: str, path: Path, name: str) -> str:
        """Links of the page at `path` made to lead from the page `name` of the site. Those that lead nowhere
        stay as they are: Sphinx complains of them. Comments are emptied, but keep their lines."""
        prose = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), prose)
        return LINK.sub(lambda link: f"]({self.led(link[1], path, name)})", prose)

    def led(self, link: str, path: Path, name: str) -> str:
        target, mark, anchor = link.partition("#")
        there = (path.parent / target).resolve()
        if not target or ":" in target or not there.is_relative_to(self.root) or not there.exists():
            return link
        if there.suffix == ".svg":
            shutil.copy(there, self.out)
            return there.name
        up = "../" * name.count("/")
        return f"{up}{self.place_of(there)}.md{mark}{anchor}"

    def place_of(self, path: Path) -> str:
        """The name of the page for a file or folder."""
        if path in self.places:
            return self.places[path]
        self.sources.add(path)
        return f"source/{path.relative_to(self.root)}"

    def source_page(self, path: Path) -> str:
        title = f"---\norphan: true\nno-search: true\n---\n# {path.relative_to(self.root)}\n\n"
        if path.is_dir():
            return title + "".join(
                f"- {self.listed(child, self.place_of(path))}\n" for child in children(path)
            )
        text = path.read_text().rstrip()
        fence = "`" * (2 + max([2, *map(len, re.findall("`+", text))]))
        return f"{title}{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text}\n{fence}\n"

    def listed(self, path: Path, page: str) -> str:
        name = f"`{path.name}{'/' if path.is_dir() else ''}`"
        if path not in self.sources and path not in self.places:
            return name
        return f"[{name}]({'../' * page.count('/')}{self.place_of(path)}.md)"


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """The text with everything but its blocks of code changed."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def navigation(index: str) -> str:
    """The lists of the start page as the navigation that Sphinx wants to be told of."""
    groups = re.split(r"(?m)^## (.+)$", index)[1:]
    text = ""
    for caption, body in zip(groups[::2], groups[1::2], strict=True):
        entries = re.findall(r"(?m)^- \[(.+?)\]\((\S+?)\.md\)", body)
        if entries:
            lines = "\n".join(f"{title} <{target}>" for title, target in entries)
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"
    return text


def children(folder: Path) -> Iterator[Path]:
    for child in sorted(folder.iterdir()):
        if not child.name.startswith(".") and child.name != "__pycache__":
            yield child


def assemble(root: Path, out: Path, references: dict[Path, str]) -> None:
    assembly = Assembly(root, out, references)
    assembly.add_pages()
    assembly.add_sources()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", type=Path, metavar="PAGES", help="the folder to make")
    out = parser.parse_args().pages.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    made = python_reference.pages() | cpp_reference.pages(ROOT / "include" / "tokamak")
    for name, (_, text) in made.items():
        (out / f"{name}.md").write_text(text)
    references = {ROOT / origin: name for name, (origin, _) in made.items()}
    assemble(ROOT, out, references)


if __name__ == "__main__":
    main()
