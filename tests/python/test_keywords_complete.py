"""Every function that docs/numpy.md lists as compiled, and every keyword that NumPy gives it, is in one of the tables of calls."""

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest
import scipy.special  # noqa: F401 - for names
from test_keywords_numeric import TABLE as NUMERIC
from test_keywords_reductions import TABLE as REDUCTIONS
from test_keywords_shapes import TABLE as SHAPES
from test_keywords_ufuncs import CALLS, METHODS
from tokamak._registry import LATE

TABLES = {**REDUCTIONS, **SHAPES, **NUMERIC, **CALLS}
UFUNC_KEYWORDS = {"out", "where", "casting", "order", "dtype", "subok", "signature"}
GUFUNC_KEYWORDS = (UFUNC_KEYWORDS - {"where"}) | {"axes"}
METHOD_KEYWORDS = {
    "reduce": {"axis", "dtype", "out", "keepdims", "initial", "where"},
    "accumulate": {"axis", "dtype", "out"},
    "reduceat": {"axis", "dtype", "out"},
    "outer": UFUNC_KEYWORDS - {"where"},
    "at": set(),
}

#: What is in no table, and why
EXCEPTIONS = {
    ("scipy.special", "where"): "SciPy's own write outside of their memory; test_where_of_special_ufuncs",
    ("np.pad", "kwargs"): "they depend on the mode; every one is in PADDING",
    ("np.clip", "kwargs"): "those of ufuncs, which are in the table by name",
    ("np.einsum", "kwargs"): "dtype, order and casting, which are in the table by name",
    ("np.einsum", "operands"): "given by position",
    ("np.fromfunction", "kwargs"): "of the function that is called; `by` in the table",
    ("np.piecewise", "args"): "of the functions that are called",
    ("np.piecewise", "kw"): "of the functions that are called; `by` in the table",
    ("np.apply_along_axis", "args"): "of the function that is called",
    ("np.apply_along_axis", "kwargs"): "of the function that is called",
    ("np.gradient", "varargs"): "distances; test_sequences",
}


def compiled():
    """Those that the page lists: by name, with the function."""
    path = Path(__file__).parents[2] / "docs" / "coverage.py"
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("coverage_page", path))
    module.__loader__.exec_module(module)
    for prefix, namespace in module.NAMESPACES.items():
        for name, function in module.functions(namespace):
            if module.kind_of(function) == "compiled":
                yield f"{prefix}.{name}", function
    for home, rules in LATE.items():
        for name in rules:
            yield f"{home}.{name}", getattr(importlib.import_module(home), name)


COMPILED = dict(compiled())


def keywords_of(name, function):
    """What NumPy's signature has beyond the arguments that the table gives by position."""
    if isinstance(function, np.ufunc):
        return UFUNC_KEYWORDS if function.signature is None else GUFUNC_KEYWORDS
    parameters = list(inspect.signature(function).parameters.values())
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters[:1]):
        return {one.name for one in parameters[1:]}
    return {one.name for one in parameters[len(TABLES[name].arguments) :]}


def is_excused(name, keyword):
    return (name, keyword) in EXCEPTIONS or (name.rpartition(".")[0], keyword) in EXCEPTIONS


@pytest.mark.parametrize("name", COMPILED)
def test_every_function_and_keyword(name):
    assert name in TABLES, f"{name} is compiled, but in no table of keywords"
    wanted = keywords_of(name, COMPILED[name])
    missing = {one for one in wanted if one not in TABLES[name].keywords and not is_excused(name, one)}
    assert not missing, f"{name}: no strategy for {', '.join(sorted(missing))}"


def test_every_method_of_ufuncs():
    ufuncs = {
        one.__name__: one
        for name, one in COMPILED.items()
        if isinstance(one, np.ufunc) and name.startswith("np.")
    }
    for name, ufunc in ufuncs.items():
        if ufunc.signature is not None or name == "ldexp":  # its second operand has another dtype
            continue
        methods = ["at"] if ufunc.nout == 1 else []
        methods += ["outer"] if ufunc.nin == 2 else []
        methods += ["reduce", "accumulate", "reduceat"] if (ufunc.nin, ufunc.nout) == (2, 1) else []
        for method in methods:
            assert METHOD_KEYWORDS[method] <= set(METHODS[f"np.{name}.{method}"].keywords), f"{name}.{method}"


def test_nothing_else_is_excused():
    for name, keyword in EXCEPTIONS:
        assert name in (*COMPILED, *LATE), name
        assert keyword not in TABLES.get(name, TABLES["np.sum"]).keywords or keyword == "where"


def test_counts():
    """What the tables cover: functions, and functions with a keyword."""
    pairs = sum(len(case.keywords) for case in (*TABLES.values(), *METHODS.values()))
    assert len(COMPILED) > 300 and pairs > 1500
