"""Settings of the documentation site. Build it with `sphinx-build -n -W --keep-going docs docs/_build/html`."""

import os
import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))
# Notebooks run offline.
os.environ["HF_HUB_OFFLINE"] = "1"

project = "eyechart"
author = "The eyechart authors"
project_copyright = "The eyechart authors"
release = version = metadata.version("eyechart")
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb", "mathml", "reference_pages", "accessible"]
exclude_patterns = ["_build", "reference/generated", "examples"]

# A missing page, anchor or image is a warning, and `-W` makes it an error.
nitpicky = True
# Types of other projects, and types without an entry on this site.
nitpick_ignore_regex = [("py:.*", ".*")]

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
# Progress bars and library warnings differ between machines.
nb_output_stderr = "remove"

# Docstrings mark code with single backticks.
default_role = "code"
# An option stays what can be pasted: "--model", without a dash in place of two hyphens.
smartquotes = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = napoleon_use_rtype = False

html_theme = "furo"
html_title = "eyechart"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_show_copyright = html_show_sphinx = False
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
html_theme_options = {"navigation_with_keys": True}
