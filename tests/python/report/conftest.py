"""One explanation, measured, and its page, for all tests of reports."""

import pytest
from browser import Browser
from report_programs import MLP_ARGS, mlp


@pytest.fixture(scope="session")
def explained():
    return mlp.explain(*MLP_ARGS).measure(0.02)


@pytest.fixture(scope="session")
def page_file(explained, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    explained.save(path)
    return path


@pytest.fixture(scope="session")
def browser():
    with Browser() as one:
        yield one


# ---- Data
