"""Every public name says what it is: the reference of the documentation is made of that."""

import inspect
import re
import sys
from pathlib import Path

import pytest
import tokamak

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "site"))

import cpp_reference
import python_reference

CLASSES = [thing for name in tokamak.__all__ if inspect.isclass(thing := getattr(tokamak, name))]
PARTS = [part for parts in python_reference.PARTS.values() for part in parts]


def test_every_public_name_has_a_place_in_the_reference():
    pages = [text for _, text in python_reference.pages().values()]
    for name in tokamak.__all__:
        assert any(f"}} {name}\n" in text or f"}} {name}(" in text for text in pages), name


@pytest.mark.parametrize("name", tokamak.__all__)
def test_public_name(name):
    thing = getattr(tokamak, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert python_reference.own_doc(thing), f"tokamak.{name} has no docstring of its own"


@pytest.mark.parametrize("one", [*CLASSES, *PARTS], ids=lambda one: one.__name__)
def test_class(one):
    assert python_reference.class_doc(one), f"{one.__name__} has no docstring of its own"
    if one.__module__ != "tokamak._native":
        for name, member in python_reference.members_of(one).items():
            assert python_reference.own_doc(member), f"{one.__name__}.{name} has no docstring"


def test_signatures_are_as_in_the_code():
    assert python_reference.signature_of(tokamak.softmax) == "(x, axis: int | tuple[int, ...] = -1)"
    assert "indexing: Literal['xy', 'ij'] = 'xy'" in python_reference.signature_of(tokamak.meshgrid)
    assert python_reference.signature_of(tokamak.load_profile) == "(path: str | PathLike[str]) -> Profile"


def test_every_cpp_function_has_a_place_in_the_reference():
    folder = Path(__file__).resolve().parents[2] / "include" / "tokamak"
    pages = cpp_reference.pages(folder)
    assert {header.stem for header in folder.glob("*.h")} == {*cpp_reference.ORDER, "export", "tokamak"}
    declared = re.findall(
        r"(?m)^(?:inline )?(?:Array|std::vector<Array>) (\w+|operator\S+?)\(",
        (folder / "functions.h").read_text(),
    )
    assert len(declared) > 150
    text = pages["cpp_functions"][1]
    assert re.findall(r"cpp:function\} (?:Array|std::vector<Array>) (\w+|operator\S+?)\(", text) == declared


def test_cpp_reference_of_classes():
    text = cpp_reference.pages(Path(__file__).resolve().parents[2] / "include" / "tokamak")["cpp_jit"][1]
    assert "{cpp:class} template <class Function> Jitted\n\nWhat jit() returns." in text
    assert "{cpp:member} bool fuse = true\n\nfalse: one kernel per operation" in text
    assert "state_" not in text and "handle_" not in text and "detail::Results" not in text
