"""How Sphinx builds the site; docs/site/build_site.py calls it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from undwarf import __version__

project = "undwarf"
author = "the undwarf authors"
copyright = author
release = version = __version__
extensions = ["myst_parser", "directives"]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True
smartquotes = False  # they make one dash of the two of an option

myst_enable_extensions = ["deflist", "attrs_inline"]
myst_heading_anchors = 4
# Only files of the site are linked by path.
myst_url_schemes = ["http", "https", "mailto"]

PROJECT = ("comparison", "architecture", "benchmarks", "changes", "contributing", "security")
WITH_CONTENTS = (*PROJECT, "how-to/*", "explanation/*", "reference/*", "reference/*/*")
html_theme = "pydata_sphinx_theme"
html_title = "undwarf"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "undwarf"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    # The pictures of the tutorial need the width.
    "secondary_sidebar_items": {pages: ["page-toc"] for pages in WITH_CONTENTS},
    "show_toc_level": 2,
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "comparison": []}
