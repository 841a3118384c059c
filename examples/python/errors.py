"""What mistakes look like: the operation, the types, and the line of the program."""

import numpy as np
import tokamak as tk

x = np.arange(12.0).reshape(3, 4)


@tk.jit
def does_not_broadcast(x):
    return x + np.ones(5)


@tk.jit
def branches(x):
    return x if x.sum() > 0 else -x


@tk.jit
def not_supported(x):
    return np.linalg.inv(x)


for function in (does_not_broadcast, branches, not_supported):
    try:
        function(x)
    except tk.Error as error:
        print(f"{type(error).__name__}: {error}\n")
    else:
        raise SystemExit("no error")
