"""The pages of the C++ reference, made from the public headers.

In a header, `///` before a declaration and `///<` behind it say what it is; `//` on lines of its own opens a
group of declarations, its first sentence being the heading. Private members, `detail` and what ends in an
underscore are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

# What users come for first.
ORDER = ("jit", "array", "functions", "explanation", "memory", "errors", "types")
TITLES = {
    "jit": "Compiling",
    "array": "Arrays",
    "functions": "Functions",
    "explanation": "Explanations",
    "memory": "Memory and threads",
    "errors": "Errors",
    "types": "Types",
}


@dataclass
class Declaration:
    kind: str  # the directive of Sphinx: "function", "struct", "enum-class", ...
    signature: str
    text: str = ""
    members: list[Declaration] = field(default_factory=list)


@dataclass
class Group:
    """What a `//` comment stands above."""

    text: str
    declarations: list[Declaration] = field(default_factory=list)


class Reader:
    """Reads the declarations between two braces of a header, or all of it."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.at = 0
        self.groups = [Group("")]
        self.forward: dict[str, tuple[str, str]] = {}  # what was said of types before they are defined

    def read(self, owner: str = "", public: bool = True) -> list[Group]:
        text = ""
        while self.at < len(self.code):
            if blank := self.match(r"\s+"):
                text = "" if blank.count("\n") > 1 and not text.startswith("///") else text
            elif behind := self.match(r"///<[^\n]*(?:\n[ \t]*///<?[^\n]*)*"):
                declarations = self.groups[-1].declarations
                if declarations and public:
                    declarations[-1].text = comment_text(behind)
            elif before := self.match(r"///[^\n]*(?:\n[ \t]*///[^\n]*)*"):
                text = before
            elif remark := self.match(r"//[^\n]*(?:\n[ \t]*//(?!/)[^\n]*)*"):
                if "NOLINT" not in remark and self.begins_line(len(remark)) and public:
                    self.groups.append(Group(comment_text(remark)))
            elif self.match(r"#[^\n]*"):
                pass
            elif access := self.match(r"(public|private|protected):"):
                public = access == "public:"
            elif self.match(r"namespace detail \{"):
                self.at = closing(self.code, self.at - 1)
            elif self.match(r"namespace [\w ]*\{") or self.match(r"\}"):
                pass
            else:
                made = self.declaration(owner, comment_text(text))
                if made and public:
                    self.groups[-1].declarations.append(made)
                text = ""
        return self.groups

    def match(self, pattern: str) -> str:
        found = re.compile(pattern).match(self.code, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else ""

    def begins_line(self, length: int) -> bool:
        start = self.at - length
        return not self.code[self.code.rfind("\n", 0, start) + 1 : start].strip()

    def declaration(self, owner: str, text: str) -> Declaration | None:
        """The next one; none where it is of no interest to users."""
        start = self.at
        self.at, body = end_of_declaration(self.code, start)
        head = re.sub(r"//[^\n]*", "", self.code[start : body or self.at])
        head = re.sub(r"\s+", " ", head.replace("TOKAMAK_API ", "").rstrip("; \n")).strip()
        inside = self.code[body + 1 : self.at].rstrip("; \n").removesuffix("}") if body else None
        template, rest = split_template(head)
        kind = re.match(r"(class|struct|enum class) (\w+)", rest)
        if kind is None:
            return of_value(template, rest, owner, text)
        name = kind[2]
        if kind[1] == "enum class":
            values = [Declaration("enumerator", one.strip()) for one in (inside or "").split(",")]
            return Declaration("enum-class", name, text, values)
        if inside is None:  # it is told of where it is defined
            self.forward[name] = (text, re.sub(r", class \w+ = .*> $", "> ", template))
            return None
        if "<" in rest:  # a specialisation, which stands for the template that it alone defines
            text, template = self.forward[name]
        made = Declaration(kind[1], template + rest.removeprefix(kind[1]).strip().partition("<")[0], text)
        for group in Reader(inside).read(name, public=kind[1] == "struct"):
            if group.text and group.declarations:
                group.declarations[0].text = f"{group.text} {group.declarations[0].text}".strip()
            made.members += group.declarations
        return made


def split_template(head: str) -> tuple[str, str]:
    """`template <...> ` and what follows it."""
    if not head.startswith("template <"):
        return "", head
    depth = 0
    for i, one in enumerate(head):
        depth += (one == "<") - (one == ">")
        if one == ">" and depth == 0:
            return head[: i + 1] + " ", head[i + 2 :]
    raise ValueError(head)


def of_value(template: str, rest: str, owner: str, text: str) -> Declaration | None:
    """A function, a type by another name, or a variable."""
    if not rest or rest.startswith(("friend ", "using Error::")) or rest.endswith("= default"):
        return None
    if re.search(r"\w::\w+$", rest.split("(")[0]) or re.search(r"\w_( =.*)?$", rest):
        return None  # defined outside of its class, or not for users
    rest = re.sub(r"\{\.\w+ = ", "{", rest.removeprefix("inline "))  # Sphinx knows no names of members there
    if rest.startswith("using "):
        return Declaration("type", template + rest.removeprefix("using "), text)
    if "(" in rest:
        return Declaration("function", template + (re.sub(r"\) : .*$", ")", rest) if owner else rest), text)
    return Declaration("member", re.sub(r" = \{.*$", "", rest), text)


def end_of_declaration(code: str, at: int) -> tuple[int, int]:
    """Where it ends, and where its body begins, if it has one."""
    depth = 0
    while at < len(code):
        if code[at] == "{" and depth == 0 and not re.search(r"(=\s*|\w_)$", code[:at]):
            end = closing(code, at)
            rest = re.compile(r"\s*;").match(code, end)
            return (rest.end() if rest else end), at
        if code[at] == ";" and depth == 0:
            return at + 1, 0
        depth += (code[at] in "({") - (code[at] in ")}")
        at += 1
    return at, 0


def closing(code: str, at: int) -> int:
    """One behind the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == "{") - (code[i] == "}")
        if depth == 0:
            return i + 1
    raise ValueError(f"a brace is not closed: {code[at : at + 60]}")


def comment_text(comment: str) -> str:
    return "\n".join(re.sub(r"^\s*//+<? ?", "", line) for line in comment.splitlines())


def rendered(declarations: list[Declaration], depth: int = 0) -> str:
    """As directives of Sphinx, those of members inside."""
    fence = "`" * (6 - depth)
    text = ""
    for one in declarations:
        inside = rendered(one.members, depth + 1)
        text += f"\n{fence}{{cpp:{one.kind}}} {one.signature}\n\n{prose(one.text)}\n{inside}{fence}\n"
    return text


def prose(text: str) -> str:
    """A comment as Markdown: lines that are indented further are code."""
    blocks = re.split(r"(?m)((?:^  +\S.*\n?)+)", text)
    return "".join(
        f"\n```cpp\n{block.rstrip()}\n```\n" if i % 2 else block.replace("*", r"\*").replace("[", r"\[")
        for i, block in enumerate(blocks)
    )


def page_of(header: Path) -> str:
    name = header.stem
    text = (
        f"# C++: {TITLES[name].lower()}\n\n`#include <tokamak/{header.name}>`, or `<tokamak/tokamak.h>`.\n\n"
    )
    text += "```{cpp:namespace} tokamak\n```\n"
    for group in Reader(header.read_text()).read():
        heading, _, rest = group.text.partition(".")
        if group.text and group.declarations:
            text += f"\n## {heading.strip()}\n\n{prose(rest.strip())}\n"
        elif group.text:
            text += f"\n{prose(group.text)}\n"
        text += rendered(group.declarations)
    return text


def pages(folder: Path) -> dict[str, tuple[str, str]]:
    """By their names: what each is made from, and its text."""
    entries = "".join(f"- [{TITLES[name]}](cpp_{name}.md)\n" for name in ORDER)
    toctree = "\n".join(f"{TITLES[name]} <cpp_{name}>" for name in ORDER)
    overview = (
        "# C++ reference\n\nMade from the headers in `include/tokamak`, all of which "
        "`#include <tokamak/tokamak.h>` has. Names are in the namespace `tokamak`; "
        "with `namespace tk = tokamak;` they read as in Python.\n\n"
        f"{entries}\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    )
    made = {"cpp": ("include/tokamak", overview)}
    return made | {
        f"cpp_{name}": (f"include/tokamak/{name}.h", page_of(folder / f"{name}.h")) for name in ORDER
    }
