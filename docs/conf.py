"""The documentation's site: ``python -m sphinx -W --keep-going docs build/site``.

Nothing is fetched while it is built: there are no links into other projects' inventories, and formulas
become MathML. Pages of the reference and of the gallery are generated next to the sources, in
``docs/reference/generated`` and ``docs/gallery``, which git ignores.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "_ext"), str(ROOT / "src")]

import onlinesvm  # noqa: E402

project = "onlinesvm"
author = "The onlinesvm developers"
copyright = "The onlinesvm developers, BSD-3-Clause"
version = release = onlinesvm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "matplotlib.sphinxext.plot_directive",
    "mathml",
    "capabilities",
    "inherited",
    "offline",
    "autolink",
]

templates_path = ["_templates"]
exclude_patterns = ["_ext/**", "how/pictures/**"]
highlight_language = "text"  # formulas of docstrings; pages name their language
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# -- pages --------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# -- the gallery ------------------------------------------------------------------------------

EXAMPLES = ROOT / "examples"
has_gallery = any(EXAMPLES.rglob("plot_*.py"))

if has_gallery:
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(EXAMPLES),
        "gallery_dirs": "gallery",
        "filename_pattern": r"plot_.*\.py$",
        "ignore_pattern": r"__init__\.py|conftest\.py",
        "subsection_order": "gallery_order.by_section",
        "within_subsection_order": "gallery_order.by_example",
        "download_all_examples": True,
        "doc_module": ("onlinesvm",),
        "backreferences_dir": "reference/backreferences",
        "inspect_global_variables": True,
        "remove_config_comments": True,
        "show_memory": False,
        "write_computation_times": False,  # its pages fetch their scripts
        "plot_gallery": "True",
        "matplotlib_animations": True,
        "only_warn_on_example_error": False,
        "abort_on_example_error": False,
        "min_reported_time": 1,
        "image_scrapers": ("matplotlib",),
        "first_notebook_cell": "%matplotlib inline",
    }
else:  # a checkout without examples still has the page that others link to
    shutil.rmtree(HERE / "gallery", ignore_errors=True)
    (HERE / "gallery").mkdir()
    (HERE / "gallery" / "index.rst").write_text(
        "Gallery\n=======\n\nThis checkout has no ``examples`` folder.\n", encoding="utf-8"
    )

# Scripts of the gallery draw to files, and say nothing about a screen that is not there.
warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)

# -- the reference ------------------------------------------------------------------------

# Pages of names that no longer exist would be left over otherwise.
shutil.rmtree(HERE / "reference" / "generated", ignore_errors=True)
autosummary_generate = True
autosummary_context = {"has_gallery": has_gallery}
autodoc_default_options = {"exclude-members": "set_fit_request"}
autodoc_typehints = "none"
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_use_unqualified_type_names = True

# -- pictures that a page draws while it is built -------------------------------------------

plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 144)]
plot_working_directory = str(HERE / "how" / "pictures")
plot_basedir = str(HERE)
plot_rcparams = {"figure.figsize": (7.0, 3.2), "font.size": 9.0, "savefig.bbox": "tight"}
plot_apply_rcparams = True

# -- HTML -----------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "onlinesvm"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "onlinesvm"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc", *(["sg_download_links"] if has_gallery else [])],
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# One page per public name would fill the side bar; the reference has its own table of contents.
html_sidebars = {
    "index": [],
    "start": [],
    "search": [],
    "reference/**": [],
    "gallery/**": [],
}
html_context = {"default_mode": "auto"}

copybutton_exclude = ".linenos, .gp"
