"""What a traced function takes from outside its arguments: globals, closures, defaults, attributes, and what those hold.

A program computes with what was there when the function was traced. So that it never computes with what is no longer
there, everything that the function's code can reach by name is noted as a guard, and looked at in every call (`_native.Guards`,
which runs no Python code). Where one does not hold, the function is traced anew.

Reached are: the globals that the code names, its closure and its defaults; the functions, classes, instances and modules among
them, and what their code names in turn; of instances, classes and modules the attributes that any of that code names; the
contents of lists, dicts, sets and tuples; the elements of arrays. Code that belongs to Python, NumPy or an installed
package is not looked into, unless the jitted function is part of that package.
"""

from .guards import Captured, owner_of
from .libraries import is_library, is_plain_object
from .walk import captured_by

__all__ = ["Captured", "captured_by", "is_library", "is_plain_object", "owner_of"]
