"""Arguments and results, taken apart into leaves and put together again.

Containers are tuples, lists, dicts, named tuples, dataclasses, partials, and instances of the user's classes; what stands for part of
the program, such as text or a function, is kept in the structure. A structure is hashable: two calls with equal structures can
share a program.

What the arguments of one call lead to twice is one object: the structure says where it was met first (see Session).
"""

from .flattening import attributes_of, flatten, flatten_instance, slots_of
from .names import paths, values
from .sessions import LEAF, NONE, is_array, opened, together, with_numbers
from .statics import Function, Identity, Static, key_of
from .unflattening import unflatten

__all__ = [
    "LEAF",
    "NONE",
    "Function",
    "Identity",
    "Static",
    "attributes_of",
    "flatten",
    "flatten_instance",
    "is_array",
    "key_of",
    "opened",
    "paths",
    "slots_of",
    "together",
    "unflatten",
    "values",
    "with_numbers",
]
