"""The documentation site: Markdown by MyST, C++ from Doxygen by breathe, Python from the package itself, in furo's clothes.

Nothing is loaded from another address. ./docs/build makes it; warnings are errors.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]

project = "Penstock"
author = "The Penstock authors"
copyright = "the Penstock authors. Licence: Apache 2.0"  # noqa: A001 - the name that Sphinx wants
version = release = re.search(r'PENSTOCK_VERSION "(.*?)"', (ROOT / "include/penstock/version.hpp").read_text())[1]

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.graphviz", "pages"]
exclude_patterns = ["site", "build", "performance/README.md"]
source_suffix = {".md": "markdown"}
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4
myst_fence_as_directive = []

breathe_projects = {"penstock": str(ROOT / "build/docs/doxygen/xml")}
breathe_default_project = "penstock"
breathe_default_members = ("members",)
breathe_show_include = False
cpp_id_attributes = ["PENSTOCK_EXPORT"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True

graphviz_output_format = "svg"
pygments_style = "friendly"

html_theme = "furo"
html_title = f"Penstock {release}"
html_static_path = ["_static"]
html_css_files = ["penstock.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"source_repository": "", "top_of_page_buttons": []}
html_last_updated_fmt = None
