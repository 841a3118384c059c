"""The documentation site, as scripts/build-site.sh has just made it: `make test-site`."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site" / "html"
SPHINX = ROOT / ".venv-site" / "bin" / "sphinx-build"
sys.path[:0] = [str(ROOT / "docs" / "site"), str(ROOT / "tests" / "python")]

import assemble  # noqa: E402
from browser import Browser  # noqa: E402


class Links(HTMLParser):
    """What a page links to and loads, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.ids = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        self.targets += [(tag, given[name]) for name in ("href", "src") if given.get(name)]


@pytest.fixture(scope="module")
def pages():
    return {path: Links(path) for path in SITE.rglob("*.html")}


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


def test_no_link_leads_nowhere(pages):
    for path, page in pages.items():
        for _, link in page.targets:
            target, _, anchor = link.partition("#")
            if not link.startswith(("http:", "https:", "data:")):
                there = (path.parent / target.partition("?")[0]).resolve() if target else path
                assert there.exists(), f"{path.relative_to(SITE)} links to {link}"
                assert not anchor or anchor in pages[there].ids, f"{path.relative_to(SITE)} links to {link}"


def test_nothing_is_loaded_from_elsewhere(pages):
    for path, page in pages.items():
        loaded = [link for tag, link in page.targets if tag != "a"]
        assert not [link for link in loaded if link.startswith(("http", "//"))], path.relative_to(SITE)


LOOKS = [("index", 390, True), ("index", 1280, False)] + [
    (page, width, not dark)
    for page in ("index", "readme", "comparison", "python", "cpp_functions")
    for width, dark in ((390, True), (1280, False))
]


@pytest.mark.parametrize("page, width, dark", LOOKS)
def test_page_in_a_browser(browser, page, width, dark):
    tab = browser.open(SITE / f"{page}.html", width=width, dark=dark)
    assert tab.problems == []
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("document.querySelector('h1').getBoundingClientRect().width") > 100
    assert all(address.startswith(("file:", "data:")) for address in tab.requests)
    colour = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, colour.strip("rgb()").split(","))) < 200) == dark


@pytest.mark.parametrize("page", ["command", "explain", "environment", "readme"])
def test_tables_fit_phones(browser, page):
    """Those of many columns scroll."""
    tab = browser.open(SITE / f"{page}.html", width=390)
    cut = tab.run(
        """[...document.querySelectorAll('.table-wrapper')]
          .filter(one => one.querySelectorAll('tr:first-child > *').length / one.querySelectorAll('tr:first-child').length <= 3)
          .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent.slice(0, 60))"""
    )
    assert cut == []


def test_search_finds_names_and_words(browser):
    tab = browser.open(SITE / "search.html")
    for words, page in {"donate_argnums": "performance.html", "conv_transpose": "cpp_functions.html"}.items():
        tab.run(f"location.search = '?q={words}'")
        tab.wait(f"document.querySelector('#search-results a[href*=\"{page}\"]')")
    # The lines around what was found are shown where a server gives out the pages: files may not read files.
    assert all("fetch" in problem or "ERR_FAILED" in problem for problem in tab.problems), tab.problems


def test_navigation_has_every_page(pages):
    links = {link for _, link in pages[SITE / "index.html"].targets}
    for name in assemble.pages_of_the_project(ROOT).values():
        assert f"{name}.html" in links or name == "index", name


# What is wrong in the pages stops the build.


def build(tmp_path, text):
    """A site of a few pages, whose first has this text. What Sphinx says: nothing when all is well."""
    project = tmp_path / "project"
    navigation = "- [Other](other.md)\n- [Readme](../README.md)\n- [Contributing](../CONTRIBUTING.md)\n"
    files = {
        "docs/index.md": f"# Start\n\n{text}\n\n## Pages\n\n{navigation}",
        "docs/other.md": "# Other\n\n## A heading\n",
        "README.md": "# Readme\n\n[the other](docs/other.md#a-heading)\n",
        "CONTRIBUTING.md": "# Contributing\n",
        "src/code.cpp": "int main() {}\n",
    }
    for name, content in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content)
    pages = tmp_path / "pages"
    pages.mkdir()
    assemble.assemble(project, pages, {})
    command = [
        SPHINX,
        "-q",
        "-W",
        "--keep-going",
        "-c",
        ROOT / "docs/site",
        "-b",
        "html",
        pages,
        tmp_path / "html",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return done.stderr


def test_links_that_lead_somewhere(tmp_path):
    text = "[a](other.md#a-heading), [b](#pages), [c](../src/code.cpp), [d](../src), [e](https://example.org)"
    assert build(tmp_path, text) == ""
    assert "source/src/code.cpp.html" in (tmp_path / "html/index.html").read_text()
    assert "main" in (tmp_path / "html/source/src/code.cpp.html").read_text()


def test_broken_links_are_errors(tmp_path):
    links = ["gone.md", "other.md#no-heading", "#nor-this", "../src/gone.cpp", "../../outside.md", "gone.png"]
    said = build(tmp_path, "\n\n".join(f"See [this]({link})." for link in links))
    assert said.count("WARNING") == len(links), said
    for link in links:
        assert link.split("#")[-1] in said, said
