"""Tokamak compiles functions written with NumPy into few, fused, native kernels.

>>> import numpy as np, tokamak as tk
>>> @tk.jit
... def f(w, x, b):
...     return np.maximum(w * x + b, 0).sum()
"""

import os as _os
import typing as _typing

from . import _starting

_starting.begin()

import numpy as _np  # noqa: E402

from . import _native  # noqa: E402

_packages = _os.path.dirname(_os.path.dirname(_os.path.abspath(_np.__file__)))
_python = _os.path.dirname(_os.path.abspath(_os.__file__))

# Lines that are nobody's own: errors tell of those that called them.
_native.set_library_folders(
    [_os.path.dirname(_os.path.abspath(module)) + _os.sep for module in (__file__, _np.__file__)]
    + [_os.path.dirname(_os.path.realpath(__file__)) + _os.sep]
    + [_os.path.join(_packages, name, "") for name in ("scipy", "pandas", "sklearn", "skimage", "matplotlib")]
    + [
        _os.path.join(_python, name + ".py")
        for name in ("contextlib", "copy", "functools", "random", "statistics")
    ]
)

from . import _logging, _standard  # noqa: E402
from ._array import Array, array, constant  # noqa: E402
from ._errors import (  # noqa: E402
    Error,
    InternalError,
    Unsupported,
    UserError,
    UserFloatingPointError,
    UserIndexError,
    UserMemoryError,
    UserOSError,
    UserOverflowError,
    UserTypeError,
    UserValueError,
    UserZeroDivisionError,
)
from ._functions import (  # noqa: E402
    erf,
    erfc,
    gelu,
    layer_norm,
    log_softmax,
    logsumexp,
    relu,
    rms_norm,
    rsqrt,
    sigmoid,
    silu,
    softmax,
)
from ._jit import CacheInfo, Jitted, jit  # noqa: E402
from ._logging import set_logs  # noqa: E402
from ._making import asarray, from_dlpack  # noqa: E402
from ._products import (  # noqa: E402
    attention,
    avg_pool,
    batch_norm,
    conv,
    conv_transpose,
    dot,
    dot_general,
    einsum,
    inner,
    matmul,
    max_pool,
    outer,
    tensordot,
    vdot,
    window,
)
from ._profile import Profile, ProfileEvent, ProfileTotal, compare, load_profile, profile  # noqa: E402
from ._runtime import memory_stats, num_threads, set_checks, set_num_threads, trim_memory  # noqa: E402
from ._standard import *  # noqa: E402, F403

_logging.start()

if _typing.TYPE_CHECKING:
    from ._explanation import Explanation
else:  # hidden from type checkers, to whom every name would exist

    def __getattr__(name):
        """What few programs need is imported when they do."""
        if name == "Explanation":
            from ._explanation import Explanation

            return Explanation
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__: str = _native.__version__

__all__ = [
    *_standard.__all__,
    "Array",
    "CacheInfo",
    "Error",
    "Explanation",
    "InternalError",
    "Jitted",
    "Profile",
    "ProfileEvent",
    "ProfileTotal",
    "Unsupported",
    "UserError",
    "UserFloatingPointError",
    "UserIndexError",
    "UserMemoryError",
    "UserOSError",
    "UserOverflowError",
    "UserTypeError",
    "UserValueError",
    "UserZeroDivisionError",
    "array",
    "asarray",
    "attention",
    "avg_pool",
    "batch_norm",
    "compare",
    "constant",
    "conv",
    "conv_transpose",
    "dot",
    "dot_general",
    "einsum",
    "erf",
    "erfc",
    "from_dlpack",
    "gelu",
    "inner",
    "jit",
    "layer_norm",
    "load_profile",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max_pool",
    "memory_stats",
    "num_threads",
    "outer",
    "profile",
    "relu",
    "rms_norm",
    "rsqrt",
    "set_checks",
    "set_logs",
    "set_num_threads",
    "sigmoid",
    "silu",
    "softmax",
    "tensordot",
    "trim_memory",
    "vdot",
    "window",
]

_starting.end()
