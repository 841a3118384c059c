"""NumPy's functions for Arrays. Importing this package fills the table in `_registry`."""

from . import (
    contractions,
    creation,
    dispatch,
    elementwise,
    indexing,
    joining,
    reductions,
    shapes,
    ufuncs,
    while_tracing,
    writing,
)

__all__ = [
    "contractions",
    "creation",
    "dispatch",
    "elementwise",
    "indexing",
    "joining",
    "reductions",
    "shapes",
    "ufuncs",
    "while_tracing",
    "writing",
]
