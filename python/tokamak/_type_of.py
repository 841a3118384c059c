"""`type(x)` in the user's code while a function is traced: what it would be without tracing.

isinstance asks an object for its class, and a traced value says np.ndarray, or np.float64, or int. `type(x)` asks nobody. So while a
function is traced, modules whose functions it runs and that name `type` have a `type` of their own, which is Python's for everything
but Arrays.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from ._native import ArrayBase


class _Meta(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], ArrayBase):
            return args[0].__class__
        return type(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, type)

    def __eq__(cls, other: object) -> bool:
        return other is type or other is cls

    def __hash__(cls) -> int:
        return hash(type)

    def __getitem__(cls, item: Any) -> Any:
        return type[item]

    def __repr__(cls) -> str:
        return repr(type)


class TypeOf(type, metaclass=_Meta):
    """Python's `type`, but for Arrays."""


TypeOf.__name__ = TypeOf.__qualname__ = "type"

_lock = threading.Lock()
_replaced: dict[
    int, tuple[dict[str, Any], int]
] = {}  # by id: the variables of a module, and how many traces use them


class replacing_type:
    """Inside, `type` is another one in these modules, given by their variables."""

    __slots__ = ("_modules",)

    def __init__(self, modules: list[dict[str, Any]]) -> None:
        self._modules = modules

    def __enter__(self) -> None:
        if not self._modules:
            return
        with _lock:
            for variables in self._modules:
                count = _replaced.get(id(variables), (variables, 0))[1]
                _replaced[id(variables)] = (variables, count + 1)
                variables["type"] = TypeOf

    def __exit__(self, *raised: object) -> None:
        if not self._modules:
            return
        with _lock:
            for variables in self._modules:
                _put_back(variables)


def _put_back(variables: dict[str, Any]) -> None:
    count = _replaced.get(id(variables), (variables, 1))[1]
    if count > 1:
        _replaced[id(variables)] = (variables, count - 1)
        return
    _replaced.pop(id(variables), None)
    if variables.get("type") is TypeOf:
        del variables["type"]


def _forget_other_threads() -> None:
    """In the child of a fork: threads that traced are not there any more."""
    global _lock
    from ._native import is_tracing

    _lock = threading.Lock()
    if is_tracing():
        return
    for variables, _ in list(_replaced.values()):
        _replaced[id(variables)] = (variables, 1)
        _put_back(variables)


os.register_at_fork(after_in_child=_forget_other_threads)
