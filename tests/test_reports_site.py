"""The page: whole, safe and readable without scripts; and in a real browser, without a network."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browser import PROGRAM, Browser
from reporting import DROPPED, KINDS, SPECS, boards, compare, data, many, points, texts, write

from mdbench.cli import main
from mdbench.data.field import Field
from mdbench.data.trajectory import Trajectory
from mdbench.datatypes.base import Drawn
from mdbench.drawing.fields import field_pictures
from mdbench.drawing.trajectories import Found, trajectory_pictures
from mdbench.reports.columns import cells, columns, undecided
from mdbench.reports.results import Result
from mdbench.reports.site import page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

VOID = {"meta", "link", "br", "img", "input"}


def table(data_type: str) -> str:
    return f"document.querySelector('table.board[data-type={data_type}]')"


def rows(data_type: str = "ode") -> str:
    cells = "[...r.cells].map(c => [c.textContent.trim(), c.title])"
    return f"[...{table(data_type)}.tBodies[0].rows].map(r => {cells})"


TABLE = table("ode")


def html(records: list[dict[str, Any]]) -> str:
    results = [Result.model_validate(one) for one in records]
    return page(results, boards(records), picture=drawn, derivatives={"ode": "∂"})


def drawn(results: Sequence[Result], numbers: Mapping[str, int]) -> Drawn:
    """Draw a trajectory, a line and planes of the first system, and say something of the second."""
    if results[0].dataset == "system 1":
        return Drawn(note="No picture here.")
    if results[0].dataset != "system 0":
        return Drawn()
    t, x = np.linspace(0, 1, 20), np.linspace(0, 1, 30)
    one = Trajectory(t, np.stack([t, t**2], axis=1))
    found = [Found("operon", numbers["operon"], "R² 0.990", [one.u[16:], one.u])]
    u = (x[:, None] * np.exp(t))[..., None]
    line = Field(t, {"x": x}, u, u)
    plane = Field(t, {"x": x, "y": x}, np.stack([u] * 30), np.stack([u] * 30))
    pictures = trajectory_pictures("system 0", one, one, found)
    pictures += field_pictures(line, [("operon", "1.0e-3", ["1.1*u0"])])
    return Drawn(pictures + field_pictures(plane, []))


def expected(kept: list[dict[str, Any]], data_type: str = "ode") -> list[list[list[str]]]:
    """Give the leaderboard's cells, in the columns of the whole page, with their warnings."""
    shown = columns(compare(EVERYTHING, data_type))
    found = compare([one for one in kept if one["data_type"] == data_type], data_type)
    return [[[one.text, one.warning] for one in cells(found, row, shown)] for row in found.rows]


EVERYTHING = [*many(), *texts(), *points()]


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
    assert [len(re.findall("<span ", legend)) for legend in legends] == [7, 14, 8, 5]
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
            data("sindy", verdict="one_term_off", notes={"missing": ["u0_t: u0*u1"]}),
            data("a", scores={"r2_test": 0.75, "agreement": 0.5}),
            data("b", scores={"r2_test": None, "identified": None}),
            data("c", scores={"r2_test": DROPPED}),
            data("zero", status="timeout"),
            data("operon", seed=1, verdict="identified"),
            data("operon", seed=2),
        ]
    )
    section = text[text.index('<details class="system"') :]
    assert "Truth" in section
    assert "<mfrac><mrow><mi>∂</mi>" in section
    assert re.findall(r'<td data-l="R²"[^>]*>([^<]*)', section)[:3] == ["0.750", "?", "–"]
    assert 'title="agreement is worse than 1.0e-4">5.0e-1\xa0⚠</td>' in section
    results = re.findall(r"<b>([^<]*)</b><small>", section)
    assert results == ["ok", "undecided", "ok", "✓ identified", "±1 one off", "timeout"]
    assert "missing: u0_t: u0*u1" in section
    assert "it went wrong" in section
    assert "seed 1 of 2; 1 identified" in section
    assert "identified by 1 method" in section


def test_the_columns_are_explained() -> None:
    text = html(EVERYTHING)
    for data_type in SPECS:
        explained = text[text.index(f'id="how-{data_type}"') :]
        for column in columns(compare(EVERYTHING, data_type)):
            assert not column.meaning or f"<b>{column.title}</b>: {column.meaning}" in explained


def test_answers_without_equations_have_their_scores() -> None:
    text = html([data("a", data_type="texts", scores={"accuracy": 0.5, "verbosity": "wordy"})])
    assert '<td data-l="verbosity" data-v="wordy">wordy</td>' in text
    assert "NMSE" not in text
    assert "identified" not in text
    assert "× floor" not in text


def test_of_a_data_type_that_is_not_here_all_is_shown_by_name() -> None:
    records = [data("a", data_type="new", scores={"chamfer_loss": 0.25, "ending": "early"})]
    text = html([*records, data("b", data_type="new", status="failed")])
    assert "chamfer loss" in text
    assert '<td data-v="0.25">0.250</td>' in text


def test_results_of_any_shape_make_a_page() -> None:
    html([data("a", status="unavailable", dim=None, targets=[], truth=None, judged_by=[])])
    html([data("a", nmse=None, complexity=None), data("b", nmse=0.0)])
    html([data("a", nmse=None, equations=None), data("b", status="timeout")])
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
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no browser: apt install chromium")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "report.html"
    path.write_text(html(EVERYTHING), encoding="utf-8")
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


FILTERS: list[tuple[dict[str, str], Any]] = [
    ({}, bool),
    *(
        ({"noise": str(n)}, lambda r, snr_db=snr_db: r["snr_db"] == snr_db)
        for n, snr_db in enumerate((None, 20.0, 10.0))
    ),
    ({"protocol": "0"}, lambda r: r["protocol"] == "published"),
    ({"noise": "2", "protocol": "1"}, lambda r: r["snr_db"] == 10 and r["protocol"] == "strict"),
    *(({"dim": str(dim)}, lambda r, dim=dim: r["dim"] == dim) for dim in (1, 2, 3)),
    *(
        ({"family": family}, lambda r, family=family: KINDS[r["algorithm"]].family == family)
        for family in ("linear", "genetic", "baseline")
    ),
]


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize(("filters", "keep"), FILTERS)
def test_filters_give_the_leaderboard_of_what_they_keep(
    opened: Browser, filters: dict[str, str], keep: Any
) -> None:
    choose(opened, **filters)
    kept = [record for record in EVERYTHING if keep(record)]
    for data_type in SPECS:
        assert opened.run(rows(data_type)) == expected(kept, data_type)
        own = [record for record in kept if record["data_type"] == data_type]
        note = f"document.querySelector('#{data_type} .undecided').textContent"
        assert opened.run(note) == undecided(compare(own, data_type))
    told = opened.run("document.getElementById('filtered').textContent")
    assert told == (f"{len(kept)} of {len(EVERYTHING)} results" if filters else "")
    visible = "[...document.querySelectorAll('details.system')].filter(d => !d.hidden).length"
    assert opened.run(visible) == (
        {"1": 8, "2": 8, "3": 3}[filters["dim"]] if "dim" in filters else 19
    )
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


@pytest.mark.browser
@needs_browser
def test_a_click_sorts_and_another_turns_round(opened: Browser) -> None:
    head = f"{TABLE}.tHead.rows[0].cells"
    names = opened.run(f"[...{head}].map(cell => cell.textContent)")
    assert names == [column.title for column in columns(compare(EVERYTHING))]
    for name in ("time", "NMSE", "method", "R² test"):
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
        assert opened.run(rows())[-1][1][0] == "truth (reference)"
    choose(opened, noise="1")  # a filter keeps the order that was chosen
    ranks = [float(row[0][0]) for row in opened.run(rows())[:-1]]
    assert ranks == sorted(ranks, reverse=True)
    opened.run("document.forms[0].reset()")


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_overflows_and_it_is_readable_without_scripts(tmp_path: Path, width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(EVERYTHING), encoding="utf-8")
    with Browser(tmp_path / "profile", width=width, dark=True) as one:
        one.open(path, script=False)
        one.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert one.run("document.documentElement.scrollWidth") <= width
        assert one.run(rows()) == expected(EVERYTHING)
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
