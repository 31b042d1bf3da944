"""How Sphinx makes docs/ into pages; see scripts/docs.

The pages are plain Markdown, as they are read on a forge.  What Sphinx needs beside it is added
here: the table of contents follows the links of the pages that only list others, and each module
that a heading of the API page names is followed by what its docstrings say.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).resolve().parent
# An editable install is of the folder that it was made in; the pages are of this one.
sys.path[:0] = [str(FOLDER.parent), str(FOLDER.parent / "scripts")]

_PROJECT = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "mdbench"
author = "the authors of mdbench"
version = release = _PROJECT["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
highlight_language = "text"
autodoc_typehints = "none"  # signatures say them
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = f"mdbench {version}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
templates_path = ["_templates"]  # the search page: see _write_texts
copybutton_exclude = ".linenos, .gp, .go"  # prompts and what is printed are not copied
html_theme_options = {
    "logo": {"text": "mdbench"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "methods": [], "settings": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_toc_level": 1,
}
html_show_sphinx = False
html_context = {"default_mode": "auto"}
copyright = f"{author}, MIT licence"  # noqa: A001 - Sphinx's name
html_sidebars = {page: [] for page in ("index", "results/gallery", "api", "methods", "settings")}

LISTS = ("index", "how-to", "reference", "results/results", "explanation", "authors")
"""Pages that list others: their links are the table of contents."""
GENERATED = {
    "options": "options_page",
    "methods": "methods_page",
    "results/published-numbers": "published_page",
}
"""Pages with a place for what a module of scripts/ makes of the code and the records."""
SECTIONS = (
    *("installation", "how-to", "reference", "results/results", "explanation"),
    *("results/gallery", "api", "faq"),
)


def _contents(page: str, text: str) -> str:
    """Give the table of contents that the links of a page make, which is not shown on it."""
    if page == "index":
        pages = list(SECTIONS)
    else:
        links = re.findall(r"^- \[[^\]]+\]\(([\w./-]+)\.md(?:#[^)]*)?\)", text, re.MULTILINE)
        pages = list(dict.fromkeys(links))
    listed = "\n".join(pages)
    return f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 2\n\n{listed}\n```\n"


COMMANDS = re.compile(r"\./|\.venv/|scripts/|git |export |mdbench |pip |#|[A-Z_]+=\S+ ")
"""How the lines of a block of commands begin."""


def _coloured(text: str) -> str:
    """Make blocks of commands and of Python into blocks with their language, for colours."""

    def fenced(match: re.Match[str]) -> str:
        lines = [line[4:] for line in match[2].rstrip("\n").split("\n")]
        code = "\n".join(lines)
        if all(COMMANDS.match(line) for line in lines if line):
            language = "shell"
        elif re.match(r"import |from \w+ import ", code):
            language = "python"
        else:
            return match[0]
        return f"{match[1]}```{language}\n{code}\n```\n"

    return re.sub(r"(\n\n)((?: {4}[^\n]*\n|\n(?= {4}))+)", fenced, text)


def _thumbnails(text: str) -> str:
    """Put a small picture of each figure, which leads to its section, below the introduction."""
    figures = re.findall(r"^## ([^\n]+)\n.*?!\[[^\]]*\]\(([^)]+)\)", text, re.MULTILINE | re.DOTALL)
    anchors = [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title, _ in figures]
    small = "\n".join(
        f"- [![{title}]({file})](#{anchor})"
        for (title, file), anchor in zip(figures, anchors, strict=True)
    )
    return text.replace("\n## ", f"\n{small}\n\n## ", 1)


def _modules(text: str) -> str:
    """Follow each heading that names a module by what its docstrings say."""

    def described(match: re.Match[str]) -> str:
        directive = f".. automodule:: {match[1]}\n   :members:"
        return f"{match[0]}\n\n```{{eval-rst}}\n{directive}\n```\n"

    return re.sub(
        r"^## `(mdbench[\w.]*)`.*?(?=^## |\Z)", described, text, flags=re.MULTILINE | re.DOTALL
    )


def _complete(_: Sphinx, page: str, source: list[str]) -> None:
    # What is not a page is in the repository only.
    outside = re.escape("../" * (page.count("/") + 1))
    source[0] = re.sub(rf"\[([^\]]+)\]\({outside}([^)]+)\)", r"\1 (`\2`)", source[0])
    if page in GENERATED:
        source[0] = import_module(GENERATED[page]).filled(source[0])
    source[0] = _coloured(source[0])
    if page in LISTS:
        source[0] += _contents(page, source[0])
    elif page == "results/gallery":
        source[0] = _thumbnails(source[0])
    elif page == "api":
        source[0] = _modules(source[0])


MARKUP = re.compile(r"<!--.*?-->|</?\w[^<>]*>|\s+", re.DOTALL)
"""What is no text of a page: comments, tags, and more than one space."""


def _write_texts(app: Sphinx, failure: Exception | None) -> None:
    """Write the text of all pages into a script, from which the search page shows excerpts.

    A page that is opened from a file may not read others, as Sphinx's own search does.
    """
    if failure is not None or app.builder.name != "html":
        return
    texts = {
        app.builder.get_target_uri(page): MARKUP.sub(" ", app.env.get_doctree(page).astext())
        for page in sorted(app.env.found_docs)
    }
    script = f"const PAGE_TEXTS = {json.dumps(texts, ensure_ascii=False)};\n"
    (Path(app.outdir) / "_static" / "texts.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register what is done to the pages."""
    app.connect("source-read", _complete)
    app.connect("build-finished", _write_texts)
