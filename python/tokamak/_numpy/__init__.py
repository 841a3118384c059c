"""NumPy's functions for Arrays. Importing this package fills the table in `_registry`."""

from . import contractions, creation, dispatch, elementwise, indexing, joining, reductions, shapes, ufuncs

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
]
