"""What the documents say and what the code does are held together."""

from __future__ import annotations

import importlib
import pkgutil
import re
import tomllib

import methods_page
import options_page
import pytest
import typer
from harness import ROOT

import mdbench
from mdbench import methods
from mdbench.cli.main import app
from mdbench.method_spec import Limit, MethodSpec
from mdbench.runtimes import protocol

README = (ROOT / "README.md").read_text(encoding="utf-8")
AUTHORS = (ROOT / "docs" / "adding-a-method.md").read_text(encoding="utf-8")
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")


def rows(text: str) -> dict[str, str]:
    """Return the tables' rows: the names in the first cell, and the rest."""
    found = {}
    for line in text.splitlines():
        if line.startswith("| `"):
            first, _, rest = line.strip("| ").partition(" | ")
            for name in re.findall(r"`([^`]+)`", first):
                found[name] = rest
    return found


def test_the_page_of_options_has_all_verbs_and_options() -> None:
    text = options_page.filled((ROOT / "docs" / "options.md").read_text(encoding="utf-8"))
    for name, verb in options_page.commands(typer.main.get_command(app)):
        assert verb.hidden or f"\n## {name}\n" in text, name
        shown = [param for param in verb.params if not getattr(param, "hidden", False)]
        for option in (word for param in shown for word in param.opts if word[:2] == "--"):
            assert verb.hidden or option == "--help" or f"`{option}" in text, (name, option)


@pytest.mark.slow
def test_the_table_of_methods_has_all_and_no_others() -> None:
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert not re.search(r"^\| \[`", text, re.MULTILINE)
    rows = re.findall(r"^\| \[`(\w+)`\]", methods_page.filled(text), re.MULTILINE)
    assert sorted(rows) == sorted(methods.discover(ROOT / "algorithms"))


def test_the_table_of_the_readme_is_that_of_the_edition() -> None:
    page = (ROOT / "docs" / "results" / "edition-1.md").read_text(encoding="utf-8")
    table = page[page.index("<!-- best -->\n") :].partition("\n")[2].partition("<!-- end -->")[0]
    assert table.count("\n| ") > 5
    assert table in README


PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (*ROOT.glob("docs/*.md"), *ROOT.glob("docs/results/*.md"))
)
MOST_PAGES = 40
"""Pages; those of results (``docs/results``) and letters (``docs/authors``) are counted apart."""


def test_there_are_as_many_pages_as_somebody_can_look_through() -> None:
    assert len([*ROOT.glob("docs/*.md")]) <= MOST_PAGES


@pytest.mark.parametrize("file", ["README.md", *PAGES])
def test_links_lead_somewhere(file: str) -> None:
    path = ROOT / file
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_no_page_says_to_install_a_package_that_is_not_ours() -> None:
    # `mdbench` on the package index belongs to another project.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] != "mdbench"
    assert list(project["scripts"]) == ["mdbench"]
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.sh")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(pip|uv|pipx|uvx)\b[^\n]* mdbench(?![\w-])", text), path


def test_every_key_of_a_method_is_explained() -> None:
    explained = rows(AUTHORS)
    named = {re.sub(r"[\[\]]", "", name).split(".")[0] for name in explained}
    keys = {field.alias or name for name, field in MethodSpec.model_fields.items()}
    assert keys <= named, keys - named
    for key in Limit.model_fields:
        assert f"`{key}`" in explained["[[limits]]"]


@pytest.mark.parametrize(
    "message",
    [
        protocol.JobOrder,
        protocol.Refit,
        protocol.Describe,
        protocol.Predict,
        protocol.Hello,
        protocol.Broken,
        protocol.Started,
        protocol.Candidates,
        protocol.Fitted,
        protocol.Described,
        protocol.Predicted,
        protocol.Failed,
        protocol.Ended,
    ],
)
def test_every_message_is_explained_with_its_keys(message: type[protocol.JobOrder]) -> None:
    (kind,) = message.model_fields["type"].annotation.__args__  # type: ignore[union-attr]
    explained = rows(PROTOCOL)[kind]
    for key in message.model_fields:
        assert key == "type" or f"`{key}`" in explained, key


def test_every_module_is_imported_and_has_its_public_names() -> None:
    for module in pkgutil.walk_packages(mdbench.__path__, "mdbench."):
        if module.name.endswith("__main__") or ".template" in module.name:
            continue
        found = importlib.import_module(module.name)
        missing = [name for name in getattr(found, "__all__", ()) if not hasattr(found, name)]
        assert not missing, f"{module.name} has no {missing}"
