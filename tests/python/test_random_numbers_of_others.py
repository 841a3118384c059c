"""Other threads draw random numbers, or load NumPy's, while a function that draws none is traced."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import tokamak as tk
from tokamak._random import undisturbed


def test_functions_are_traced_while_other_threads_draw():
    ends = threading.Event()

    def draw():
        while not ends.is_set():
            np.random.rand(10)
            random.random()

    threads = [threading.Thread(target=draw) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # they draw during most traces
    short = sys.getswitchinterval()
    for thread in threads:
        thread.start()
    try:
        for i in range(150):
            assert tk.jit(lambda x, i=i: x + i)(np.ones(3))[0] == 1 + i
        with pytest.raises(tk.Unsupported, match="random numbers"):
            tk.jit(lambda x: x + np.random.rand(3))(np.ones(3))
        assert sys.getswitchinterval() == short
    finally:
        sys.setswitchinterval(interval)
        ends.set()
        for thread in threads:
            thread.join()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_not_make_its_threads_wait():
    before = sys.getswitchinterval()
    with undisturbed:
        child = os.fork()
        if child == 0:
            os._exit(0 if sys.getswitchinterval() == before else 1)
        assert sys.getswitchinterval() > before
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sys.getswitchinterval() == before


def test_functions_are_traced_while_another_thread_loads_numpys_numbers():
    """It is in sys.modules long before it has its generator."""
    program = """
        import sys, threading, types
        import numpy as np, tokamak as tk
        assert "numpy.random" not in sys.modules
        sys.modules["numpy.random"] = types.ModuleType("numpy.random")  # as far as it is at first
        assert tk.jit(lambda x: x + 1)(np.ones(3))[0] == 2
        del sys.modules["numpy.random"]
        np.random.rand(3)
        assert tk.jit(lambda x: x + 2)(np.ones(3))[0] == 3
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)
