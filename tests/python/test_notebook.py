"""examples/how_fusion_works.ipynb runs from top to bottom, and the repository has what comes out."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "how_fusion_works.ipynb"
RUN = [sys.executable, str(ROOT / "scripts" / "run_notebook.py")]


def code_cells(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def outputs_of(cells):
    return [output for cell in cells for output in cell["outputs"]]


def pictures_of(cells):
    found = [output.get("data", {}).get("image/svg+xml") for output in outputs_of(cells)]
    return ["".join(one) for one in found if one]


def kinds_of(cell):
    """Stream, picture, table: what a cell shows, whatever the numbers are."""
    return [(output["output_type"], sorted(output.get("data", {}))) for output in cell["outputs"]]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A copy that has just been run."""
    path = tmp_path_factory.mktemp("notebook") / "run.ipynb"
    done = subprocess.run([*RUN, NOTEBOOK, path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return path


def test_it_runs_and_gives_what_is_kept(run):
    """Numbers differ from run to run; what kind of thing each cell shows does not."""
    kept, made = code_cells(NOTEBOOK), code_cells(run)
    assert [cell["source"] for cell in kept] == [cell["source"] for cell in made]
    assert [kinds_of(cell) for cell in kept] == [kinds_of(cell) for cell in made]
    assert [cell["execution_count"] for cell in kept] == list(range(1, len(kept) + 1))


def test_nothing_goes_wrong_on_the_side(run):
    for path in (NOTEBOOK, run):
        for output in outputs_of(code_cells(path)):
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr", output


def test_pictures_are_well_formed():
    pictures = pictures_of(code_cells(NOTEBOOK))
    assert len(pictures) >= 4
    for picture in pictures:
        assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_what_is_kept_can_be_shown_anywhere():
    assert NOTEBOOK.stat().st_size < 1_000_000
    text = NOTEBOOK.read_text()
    assert "<script" not in text
    assert str(ROOT) not in text and "/home/" not in text and "/tmp/" not in text


def test_links_lead_somewhere():
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "markdown":
            for part in "".join(cell["source"]).split("](")[1:]:
                assert (NOTEBOOK.parent / part.partition(")")[0]).exists()


def test_a_cell_that_raises_is_named(tmp_path):
    notebook = json.loads(NOTEBOOK.read_text())
    (first, *_) = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    first["source"] = "1 / 0"
    broken = tmp_path / "broken.ipynb"
    broken.write_text(json.dumps(notebook))
    before = broken.read_text()
    done = subprocess.run([*RUN, broken], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "1 / 0" in done.stderr and "ZeroDivisionError" in done.stderr
    assert broken.read_text() == before
    done = subprocess.run([*RUN, tmp_path / "missing.ipynb"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "there is no" in done.stderr
