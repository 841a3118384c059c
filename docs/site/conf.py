"""How Sphinx makes the site of the pages that assemble.py puts together.

Every warning is an error: scripts/build-site.sh says so.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes

project = "Tokamak"
copyright = "the authors of Tokamak, Apache-2.0"  # what the theme shows below every page

extensions = ["myst_parser"]
exclude_patterns: list[str] = []
myst_heading_anchors = 4  # links to headings work as on GitHub, and those that lead nowhere are warnings
myst_enable_extensions = ["attrs_block"]
highlight_language = "none"
add_module_names = False
python_maximum_signature_line_length = 88
cpp_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "Tokamak"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b62a8", "color-brand-content": "#0b62a8"},
    "dark_css_variables": {"color-brand-primary": "#6db3f2", "color-brand-content": "#6db3f2"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def unlink_std(app, doctree, page):
    """`std::vector` has nothing to do with the function `std` of the library, to which Sphinx would link."""
    for signature in doctree.findall(addnodes.desc_signature):
        for link in list(signature.findall(nodes.reference)):
            if link.astext() == "std":
                link.replace_self(link.children)


def setup(app):
    app.connect("doctree-resolved", unlink_std)
