"""The site: ``sphinx-build -W docs docs/_build`` at the root of the project, without network."""

from __future__ import annotations

import re
from typing import Any

from docutils.nodes import Element, SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from spectra import __version__

project = "kernel-spectra"
author = "The kernel-spectra developers"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/*.rst"]

myst_enable_extensions = ["dollarmath"]
# Pages link to headings of one another.
myst_heading_anchors = 3

# Members are listed by autodoc, and numpydoc's own tables would list them twice.
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": "Mapping,Enum,tuple"}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = f"kernel-spectra {release}"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"


def _inline_math(self: HTML5Translator, node: Element) -> None:
    self.body.append(tex2mathml(node.astext()))
    raise SkipNode


def _block_math(self: HTML5Translator, node: Element) -> None:
    self.body.append(tex2mathml(node.astext(), as_block=True))
    raise SkipNode


# Docstrings are read in editors first: they write |x - y| and signature_ as they are, which
# reStructuredText would take for a substitution and for a link.
_KEPT = re.compile(r"(``.*?``|:[\w:]+:`[^`]*`|`[^`]*`_{0,2})")
_MARKUP = re.compile(r"\||(?<=\w)_(?!\w)")
_NAMED = re.compile(r"^[\w, ]+ : |^[\w, *]+$")


def _plain_text(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Escape what is meant as plain text, outside of literals, formulas and examples."""
    block: int | None = None
    example = False
    for i, line in enumerate(lines):
        text = line.lstrip()
        indent = len(line) - len(text)
        if block is not None and text and indent <= block:
            block = None
        example = bool(text) and (example or text.startswith(">>>"))
        if block is None and not example and not (indent == 0 and _NAMED.match(line)):
            pieces = _KEPT.split(line)
            pieces[::2] = [_MARKUP.sub(r"\\\g<0>", piece) for piece in pieces[::2]]
            if not text.startswith(".. "):
                lines[i] = "".join(pieces)
        if block is None and (text.startswith(".. math::") or text.endswith("::")):
            block = indent


def _not_ours(
    app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: it is on its own pages."""
    return True if str(getattr(thing, "__module__", "")).startswith("sklearn.") else None


def setup(app: Sphinx) -> None:
    """Formulas as MathML, which browsers draw themselves: no script, no fonts from elsewhere."""
    # Before numpydoc, which reads the sections.
    app.connect("autodoc-process-docstring", _plain_text, priority=400)
    app.connect("autodoc-skip-member", _not_ours)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
