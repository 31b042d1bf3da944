"""The site of results: whole, linked, small at first sight, and used in a real browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from browser import PROGRAM, Browser
from reporting import DROPPED, data, many, write

from mdbench.cli import main

if TYPE_CHECKING:
    from pathlib import Path

needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no browser: apt install chromium")
FIRST_VIEW = 100_000
"""Bytes that the first page may take, with its style and its script."""


class Links(HTMLParser):
    """Gathers addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src"}]


def records() -> list[dict[str, Any]]:
    rows = many(8)
    rows += [data("sindy", "a/b <i>", seed=seed, verdict="identified") for seed in (0, 1)]
    own = {"identified": DROPPED, "one_term_off": DROPPED}
    rows.append(data("sindy", "mine", scores=own, dataset_path="mine.csv", truth=None))
    rows.append(data("operon", "a/b <i>", status="timeout", reason="<script>alert(1)</script>"))
    return rows


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    results = write(folder / "r", records())
    assert main(["report", str(results), "--site", str(folder / "site"), "--title", "Ours"]) == 0
    return folder / "site"


def test_every_link_leads_to_a_file_of_the_site(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text
        for address in Links(text).addresses:
            assert not re.match(r"[a-z]+:(?!,)", address) or address.startswith("data:"), address
            if not address.startswith(("data:", "#")):
                assert (page.parent / address).resolve().is_file(), (page.name, address)


def test_the_first_view_is_small_however_many_results(site: Path, tmp_path: Path) -> None:
    rows = [data(f"method{m}", f"s{s}") for m in range(60) for s in range(20)]
    folder = write(tmp_path / "r", rows)
    assert main(["report", str(folder), "--site", str(tmp_path / "large")]) == 0
    for made in (site, tmp_path / "large"):
        first = Links((made / "index.html").read_text(encoding="utf-8")).addresses
        loaded = {"index.html", *(a for a in first if a.endswith((".css", ".js")))}
        assert loaded == {"index.html", "site.css", "site.js"}
        assert sum((made / name).stat().st_size for name in loaded) < FIRST_VIEW


def test_a_problem_has_all_its_answers_and_each_its_record(site: Path) -> None:
    index = (site / "problems.html").read_text(encoding="utf-8")
    address = re.search(r'href="(problems/ode/a-b[^"]*)"', index)
    assert address
    page = site / address[1]
    text = page.read_text(encoding="utf-8")
    assert "Truth" in text
    assert len(re.findall(r"<tr data-m=", text)) == 3  # every seed
    assert text.count("<b>✓ identified</b>") == 2  # whatever boards of own data do not have
    assert "&lt;script&gt;alert(1)" in text  # why there is no answer
    links = re.findall(r'record <a href="([^"]*)">(\w+)</a>', text)
    assert len(links) == 3
    for link, key in links:
        lines = (page.parent / link).resolve().read_text(encoding="utf-8").splitlines()
        assert [line for line in map(json.loads, lines) if line["key"].startswith(key)]


def test_a_method_has_where_it_stands_its_failures_and_all_answers(site: Path) -> None:
    text = (site / "methods" / "operon.html").read_text(encoding="utf-8")
    own = [row for row in records() if row["algorithm"] == "operon"]
    assert "Operon" in text  # what it is, from its folder
    assert "licence" in text
    answers = text[text.index("All answers") :]
    assert answers.count("<tr><td><a href") == len(own)
    assert "&lt;script&gt;alert(1)" in text[: text.index("All answers")]
    right = (site / "methods" / "sindy.html").read_text(encoding="utf-8")
    assert "a/b &lt;i&gt;</a> (ode): 0 other methods" in right


def test_a_folder_of_something_else_is_not_written_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = write(tmp_path / "r", many(3))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("x", encoding="utf-8")
    assert main(["report", str(results), "--site", str(tmp_path / "home")]) == 2
    assert "is no site of results" in capsys.readouterr().err
    # Its own is written again, without pages of problems that are no longer there.
    other = write(tmp_path / "other", [data("sindy", "another")])
    assert main(["report", str(other), "--site", str(tmp_path / "site")]) == 0
    assert main(["report", str(results), "--site", str(tmp_path / "site")]) == 0
    names = {path.name for path in (tmp_path / "site" / "problems").rglob("*.html")}
    assert names == {f"system-{n}.html" for n in range(3)}


def test_a_methods_page_names_what_few_others_have_right(tmp_path: Path) -> None:
    names = ("sindy", "operon", "gplearn", "pysindy")
    rows = [data(name, "easy", verdict="identified") for name in names]
    right = ("sindy", "operon")
    rows += [data(n, "half", verdict="identified" if n in right else "different") for n in names]
    rows += [data(n, "all", verdict="identified" if n != "gplearn" else "different") for n in names]
    results = write(tmp_path / "r", rows)
    assert main(["report", str(results), "--site", str(tmp_path / "site")]) == 0
    pages = {n: (tmp_path / "site" / "methods" / f"{n}.html").read_text("utf-8") for n in names}
    listed = {
        n: text.partition("few others are</h2>")[2].partition("</ul>")[0]
        for n, text in pages.items()
    }
    assert "half" in listed["sindy"]  # one of three others
    assert "1 other method" in listed["operon"]
    assert not any("easy" in text or ">all<" in text for text in listed.values())
    assert listed["gplearn"] == listed["pysindy"] == ""


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_searched_and_sorted_without_a_network(
    site: Path, tmp_path: Path, width: int
) -> None:
    with Browser(tmp_path / "profile", width=width) as page:
        for name in ("index", "problems", "methods", "methods/sindy", "problems/ode/system-1"):
            page.open(site / f"{name}.html")
            assert page.run("document.documentElement.scrollWidth <= innerWidth"), name
        page.open(site / "methods" / "sindy.html")
        page.run("document.getElementById('search').focus()")
        page.wait("globalThis.searched !== undefined")
        page.run(
            "search.value = 'operon'; search.dispatchEvent(new Event('input', {bubbles: true}))"
        )
        page.wait("document.querySelector('#matches a') !== null")
        assert page.run("document.querySelector('#matches a').getAttribute('href')").endswith(
            "../methods/operon.html"
        )
        page.open(site / "problems.html")
        page.run(
            "const box = document.querySelector('.narrow'); box.value = 'a/b';"
            "box.dispatchEvent(new Event('input'))"
        )
        assert page.run("document.querySelectorAll('tbody tr:not([hidden])').length") == 1
        page.open(site / "methods.html")
        heads = "document.querySelectorAll('th button')[0].click()"
        names = "[...document.querySelectorAll('tbody tr')].map(r => r.cells[0].textContent)"
        page.run(heads)
        first = page.run(names)
        page.run(heads)
        assert page.run(names) == first[::-1] == sorted(first, reverse=True)
        assert page.problems == []
        assert all(address.startswith(("file:", "data:")) for address in page.requests)
