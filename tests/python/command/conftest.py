"""A folder with scripts and text IR, for each file of tests."""

import pytest
from command_support import SCRIPT, TEXT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "boom.py").write_text("import numpy as np\n\ndef f(x):\n    return x\n\n1 / 0\n")
    (folder / "wrong.py").write_text("def f(x:\n")
    (folder / "f.tok").write_text(TEXT)
    return folder
