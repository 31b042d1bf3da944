"""The page: whole, safe and readable without scripts; and in a real browser, without a network."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browser import PROGRAM, Browser
from reporting import data, many, write

from mdbench.cli import main
from mdbench.data.field import Field
from mdbench.data.trajectory import Trajectory
from mdbench.reports.entries import entry
from mdbench.drawing.fields import field_pictures
from mdbench.reports.leaderboard import Kind, board
from mdbench.reports.pictures import Drawn
from mdbench.reports.results import Result, report_order
from mdbench.reports.site import COLUMNS, cells, page
from mdbench.drawing.trajectories import Found, trajectory_pictures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

KINDS = {
    "truth": Kind("baseline", reference=True),
    "zero": Kind("baseline"),
    "sindy": Kind("linear"),
    "linear": Kind("linear"),
    "operon": Kind("genetic"),
}
VOID = {"meta", "link", "br", "img", "input"}
TABLE = "document.querySelector('table.board')"
ROWS = f"[...{TABLE}.tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent.trim()))"


def html(records: list[dict[str, Any]]) -> str:
    return page([Result.model_validate(one) for one in records], KINDS, picture=drawn)


def drawn(results: Sequence[Result], numbers: Mapping[str, int]) -> Drawn:
    """Draw a trajectory, a line and planes of the first system, and say something of the second."""
    if results[0].dataset == "system 1":
        return Drawn(note="No picture here.")
    if results[0].dataset != "system 0":
        return Drawn()
    t, x = np.linspace(0, 1, 20), np.linspace(0, 1, 30)
    one = Trajectory(t, np.stack([t, t**2], axis=1))
    found = [Found("operon", numbers["operon"], "0.990 and 0.500", [one.u[16:], one.u])]
    u = (x[:, None] * np.exp(t))[..., None]
    line = Field(t, {"x": x}, u, u)
    plane = Field(t, {"x": x, "y": x}, np.stack([u] * 30), np.stack([u] * 30))
    pictures = trajectory_pictures("system 0", one, one, found)
    pictures += field_pictures(line, [("operon", "1.0e-3", ["1.1*u0"])])
    return Drawn(pictures + field_pictures(plane, []))


def expected(records: list[dict[str, Any]]) -> list[list[str]]:
    results = sorted((Result.model_validate(one) for one in records), key=report_order)
    found = board([entry(one) for one in results], KINDS)
    return [[cell.text for cell in cells(row)] for row in found.rows]


class Balanced(HTMLParser):
    """Checks that elements are closed in order, and gathers ids, links and tables."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.stack.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()  # nothing is left open: SVG

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def test_the_page_is_one_whole_document_without_addresses() -> None:
    text = html([*many(4), data("sindy", data_type="pde", targets=["u0_t"], equations=["u0_xx"])])
    parser = Balanced()
    parser.feed(text)
    assert parser.stack == []
    assert len(parser.ids) == len(set(parser.ids))
    shown = [link for link in parser.links if link.startswith("data:image/png;base64,")]
    assert len(shown) == 1 + 1 + 3 + 3  # a line, an error, three planes; and their scales
    for link in {*parser.links} - {*shown}:
        assert link.startswith(("#", "data:,")), link
        assert link == "data:," or link[1:] in parser.ids
    assert text.count("No picture here.") == 1
    for picture in shown:
        text = text.replace(picture, "")
    assert not re.search(r"https?:|//[a-z]|url\(|@import", text)
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(svg)
    for formula in re.findall(r"<math.*?</math>", text, re.DOTALL):
        ET.fromstring(formula)
    assert "nan" not in re.sub(r"<script.*", "", text, flags=re.DOTALL).lower().split()


def test_methods_of_a_data_type_share_no_colour_before_they_must() -> None:
    together = {"ode": "TLMOZES", "pde": "TLMZBEPW", "srsd": "TOAFG", "one": "abcdefghijklmn"}
    text = html([data(name, data_type=kind) for kind, names in together.items() for name in names])
    legends = re.findall(r'<p class="legend">(.*?)</p>', text)
    assert [len(re.findall("<span>", legend)) for legend in legends] == [7, 14, 8, 5]
    for legend in legends:
        signs = re.findall(r"<svg.*?</svg>", legend)
        assert len(set(signs)) == len(signs)
        colours = re.findall(r'class="sign (m\d)"', legend)
        assert len(set(colours)) == min(7, len(colours))


def test_what_methods_say_cannot_act() -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    text = html(
        [
            data("sindy", evil, reason=evil, equations=[evil, evil]),
            data("zero", evil, status="failed") | {"reason": evil},
            data("linear", evil, truth=[evil, evil]),
        ]
    )
    assert evil not in text
    assert "<img" not in text
    assert text.count("<script") == 2
    parser = Balanced()
    parser.feed(text)
    assert not any(name.startswith("on") for name, _ in parser.attributes)


def test_sections_of_systems_show_truth_answers_and_failures() -> None:
    text = html(
        [
            data("sindy", fidelity={"verdict": "one_term_off", "missing": ["u0_t: u0*u1"]}),
            data("a", simulation={"r2": 0.75, "r2_unseen": -31.4, "ended": "whole"}),
            data("b", simulation={"r2": 0.5, "r2_unseen": None, "ended": "blew_up"}),
            data("c", simulation={"r2": 0.25, "r2_unseen": None, "ended": "whole"}),
            data("zero", status="timeout"),
            data("operon", seed=1, verdict="identified"),
            data("operon", seed=2, verdict="different"),
        ]
    )
    section = text[text.index('<details class="system"') :]
    assert "Truth" in section
    told = re.findall(r'<td data-l="R² (?:test|unseen)"[^>]*>([^<]*)', section)
    assert told[:6] == ["0.750", "-3.1e1", "0.500", "blew up", "0.250", "–"]
    assert "missing: u0_t: u0*u1" in section
    assert "it went wrong" in section
    assert "seed 1 of 2; 1 identified" in section
    assert "identified by 1 method" in section


def test_the_columns_are_explained_and_filled() -> None:
    assert all(len(row) == len(COLUMNS) for row in expected(many(3)))
    text = html(many(3))
    assert all(f"<b>{name}</b>: {meaning}" in text for name, meaning in COLUMNS if meaning)


def test_columns_of_simulations_and_residuals_stand_where_there_are_any() -> None:
    scores = {"r2_accuracy": 1.0, "solution": 0.0, "normalized_edit_distance": 0.5}
    text = html(
        [
            data("sindy", "circuit"),
            data("sindy", "burgers", data_type="pde", simulation=None, residual=0.125),
            data("sindy", "force", data_type="srsd", simulation=None, scores=scores),
        ]
    )
    heads = [set(re.findall(r"<th[^>]*>([^<]*)", table)) for table in text.split("<thead>")[1:]]
    heads = [head for head in heads if "family" in head]
    kinds = ("R² test", "residual", "NED")
    assert [[name in head for name in kinds] for head in heads] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]
    assert '<td data-v="0.125">1.3e-1</td>' in text


def test_results_of_any_shape_make_a_page() -> None:
    html([data("a", status="unavailable", dim=None, targets=[], truth=None)])
    html([data("a", nmse=None, complexity=None), data("b", nmse=0.0)])
    html([data(f"m{i}", nmse=10.0**i) for i in range(20)])


def test_report_writes_a_page_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write(tmp_path / "r", many(3)), tmp_path / "deep" / "page.html"
    assert main(["report", str(folder), "--out", str(out), "--title", "A & B"]) == 0
    assert "<title>A &amp; B</title>" in out.read_text(encoding="utf-8")
    assert "MB)" in capsys.readouterr().out
    assert main(["report", str(folder), "--text"]) == 0
    shown = capsys.readouterr().out
    assert "truth*" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert main(["report", str(tmp_path / "r" / "logs")]) == 2
    assert "no folder" in capsys.readouterr().err
    assert main(["report", str(folder), "--out", str(folder / "zero-ode.jsonl" / "x")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_an_empty_folder_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sindy-ode.jsonl").write_text("", encoding="utf-8")
    assert main(["report", str(tmp_path)]) == 2
    assert "no records" in capsys.readouterr().err


# Not a reason that a CI machine may have: .ci/run installs a browser.
browser = pytest.mark.skipif(PROGRAM is None, reason="no browser: apt install chromium")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "report.html"
    path.write_text(html(many()), encoding="utf-8")
    with Browser(folder / "profile") as one:
        one.open(path)
        yield one
        assert one.problems == []
        asked = [request for request in one.requests if not request.startswith("data:")]
        assert asked == [path.as_uri()]  # and nothing else


def choose(page: Browser, **filters: str) -> None:
    for name in ("noise", "dim", "family", "protocol"):
        page.run(f"document.forms[0].elements['{name}'].value = {filters.get(name, '')!r}")
    page.run("document.forms[0].dispatchEvent(new Event('change'))")


@browser
@pytest.mark.parametrize(
    ("filters", "keep"),
    [
        ({}, bool),
        ({"noise": "0"}, lambda r: r["snr_db"] is None),
        (
            {"noise": "2", "protocol": "1"},
            lambda r: r["snr_db"] == 10 and r["protocol"] == "strict",
        ),
        ({"dim": "2"}, lambda r: r["dim"] == 2),
        ({"family": "linear"}, lambda r: r["algorithm"] in {"sindy", "linear"}),
    ],
)
def test_filters_give_the_leaderboard_of_what_they_keep(
    opened: Browser, filters: dict[str, str], keep: Any
) -> None:
    choose(opened, **filters)
    kept = [record for record in many() if keep(record)]
    assert opened.run(ROWS) == expected(kept)
    told = opened.run("document.getElementById('filtered').textContent")
    assert told == (f"{len(kept)} of {len(many())} results" if filters else "")
    visible = "[...document.querySelectorAll('details.system')].filter(d => !d.hidden).length"
    assert opened.run(visible) == (3 if "dim" in filters else 9)
    lines = opened.run(
        "[...document.querySelectorAll('table.answers tbody tr')].filter(r => !r.hidden)"
        ".map(r => r.dataset.n + r.dataset.m)"
    )
    shown = {r["algorithm"] for r in kept}
    if "dim" not in filters:
        assert {line[1:] for line in lines} == shown
    if "noise" in filters:
        assert {line[0] for line in lines} == {filters["noise"]}
    choose(opened)


@browser
def test_a_click_sorts_and_another_turns_round(opened: Browser) -> None:
    head = f"{TABLE}.tHead.rows[0].cells"
    names = opened.run(f"[...{head}].map(cell => cell.textContent)")
    assert names == [name for name, _ in COLUMNS]  # as all of them say something here
    for name in ("time", "NMSE", "method", "R² unseen"):
        column = names.index(name)
        values = f"[...{TABLE}.tBodies[0].rows].map(r => r.cells[{column}].dataset.v)"
        opened.run(f"{head}[{column}].querySelector('button').click()")
        up = opened.run(values)
        key = str if name == "method" else float
        assert up == sorted(up, key=key)
        assert opened.run(f"{head}[{column}].getAttribute('aria-sort')") == "ascending"
        opened.run(f"{head}[{column}].querySelector('button').click()")
        assert opened.run(values) == up[::-1]
    # What has no value stays at the end: the reference has no rank.
    for _ in range(2):
        opened.run(f"{head}[0].querySelector('button').click()")
        assert opened.run(ROWS)[-1][1] == "truth (reference)"
    choose(opened, noise="1")  # a filter keeps the order that was chosen
    ranks = [float(row[0]) for row in opened.run(ROWS)[:-1]]
    assert ranks == sorted(ranks, reverse=True)
    opened.run("document.forms[0].reset()")


@browser
@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_overflows_and_it_is_readable_without_scripts(tmp_path: Path, width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(many()), encoding="utf-8")
    with Browser(tmp_path / "profile", width=width, dark=True) as one:
        one.open(path, script=False)
        one.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert one.run("document.documentElement.scrollWidth") <= width
        assert one.run(ROWS) == expected(many())
        assert one.run("getComputedStyle(document.getElementById('filters')).display") == "none"
        # Smallest letters of the figures, as they are seen.
        sizes = one.run(
            "[...document.querySelectorAll('svg.plot text')].map(t => parseFloat("
            "getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width / 480)"
        )
        assert min(sizes) > 9
        shrunk = one.run(
            "[...document.querySelectorAll('svg.panel')]"
            ".map(s => s.getBoundingClientRect().width / s.getAttribute('width'))"
        )
        assert len(shrunk) == 1 + 1 + 3
        assert min(shrunk) > 0.8  # of letters of 12 pixels
        scales = "[...document.querySelectorAll('.scale img')].map(i => i.naturalWidth)"
        assert one.run(scales) == [64] * 3
        # On a telephone equations stand below what is said of them, else beside it.
        beside = (
            "(() => { const row = document.querySelector('table.answers tbody tr');"
            "const [all, last] = [row, row.lastElementChild].map(e => e.getBoundingClientRect());"
            "return last.left - all.left; })()"
        )
        assert (one.run(beside) > 100) == (width > 600)
        # Formulas are laid out as mathematics: an index stands lower than its letter.
        lower = (
            "(() => { const [a, b] = document.querySelector('math msub').children; return "
            "b.getBoundingClientRect().bottom > a.getBoundingClientRect().bottom; })()"
        )
        assert one.run(lower)
        assert one.problems == []
