"""NumPy's functions for Arrays. Importing this package fills the table in `_registry`."""

from . import creation, dispatch, elementwise, indexing, joining, reductions, shapes, ufuncs

__all__ = ["creation", "dispatch", "elementwise", "indexing", "joining", "reductions", "shapes", "ufuncs"]
