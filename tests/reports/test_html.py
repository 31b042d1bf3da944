"""The page: whole, safe and readable without scripts; and in a real browser, without a network."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from browser import PROGRAM, Browser
from report_pages import html
from reporting import DROPPED, KINDS, SCORES, SPECS, compare, data, many, points, texts, write
from sweeps import sampled

from mdbench.cli import main
from mdbench.cli.report import write_parts
from mdbench.datatypes.equations.options import derivatives_asked
from mdbench.datatypes.facts import Protocol
from mdbench.records import Record
from mdbench.reports import html as pages
from mdbench.reports import leaderboard
from mdbench.reports.coverage import undecided_note
from mdbench.reports.entries import given_options
from mdbench.reports.figures import figures
from mdbench.reports.html import page
from mdbench.reports.leaderboard import MethodFacts
from mdbench.reports.tables import leaderboard_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

VOID = {"meta", "link", "br", "img", "input"}


def table(data_type: str) -> str:
    return f"document.querySelector('table.board[data-type={data_type}]')"


def rows(data_type: str = "ode") -> str:
    cells = "[...r.cells].map(c => [c.textContent.trim(), c.title])"
    return f"[...{table(data_type)}.tBodies[0].rows].map(r => {cells})"


NUMBERS = {"linear": 0, "operon": 1, "sindy": 2, "truth": 3, "zero": 4}
TABLE = table("ode")


def expected(
    kept: list[dict[str, Any]], data_type: str = "ode", protocol: str = "strict"
) -> list[list[list[str]]]:
    """Return the leaderboard's cells, in the columns of the whole page, with their warnings."""
    whole = [one for one in EVERYTHING if one["protocol"] == protocol]
    shown = [column.key for column in leaderboard_table(compare(whole, data_type)).columns]
    found = [one for one in kept if (one["data_type"], one["protocol"]) == (data_type, protocol)]
    table = leaderboard_table(compare(found, data_type))
    place = {column.key: number for number, column in enumerate(table.columns)}
    return [
        [
            [row[place[key]].text, row[place[key]].warning] if key in place else ["–", ""]
            for key in shown
        ]
        for row in table.rows
    ]


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
    for kind, names in together.items():
        section = text.partition(f'<section id="{kind}">')[2].partition("</section>")[0]
        colours = re.findall(r'class="dot (m\d)"', section)
        assert len(colours) == len(names)
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
    assert 'title="agreement is worse than 1.0e-4">0.50\xa0⚠</td>' in section
    results = re.findall(r"<b>([^<]*)</b><small>", section)
    marks = ["✓ identified", "±1 one term off"]
    assert results == ["finished", "undecided", "finished", *marks, "timeout"]
    assert re.search(r"missing: <math.*?: <math [^>]*=.u0\*u1.>", section)
    assert "it went wrong" in section
    assert "seed 1; 1 of 2 identified" in section
    assert "identified by 1 method" in section


def test_a_score_that_no_equation_would_beat_shows_why() -> None:
    still = {"rest": ["the rates of the test are 6e-06 of those before it"]}
    for given, title, sign in (
        ({"notes": still, "verdict": "identified", "floor": 280.0}, "at rest in the test", "‡"),
        ({"floor": 280.0}, "the truth scores no better than no equation", "‡"),
        ({}, "worse than no equation", "⚠"),
    ):
        text = html([data("sindy", nmse=2.4, **given)])
        assert re.search(rf'title="{title}[^"]*">2.4\xa0{sign}</td>', text)
        assert ("worse than no equation" in text) == (sign == "⚠")
    text = html([data("sindy", nmse=2.4, verdict="identified", floor=0.3)])
    assert "2.4</td>" in text
    assert "worse than no equation" not in text


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"oracle": 1}, ""),
        ({"oracle": 1, "sindy": 0}, "identified by 0 methods"),
        ({"oracle": 1, "sindy": 1, "operon": 0}, "identified by 1 method"),
        ({"oracle": 1, "sindy": 1, "operon": 1}, "identified by 2 methods"),
        ({"oracle": 1, "linear": 1, "sindy": 0}, "identified by 0 methods and 1 baseline"),
        ({"linear": 1, "zero": 1, "sindy": 1}, "identified by 1 method and 2 baselines"),
        ({"linear": 0, "zero": 0, "sindy": 0}, "identified by 0 methods"),
    ],
)
def test_who_is_given_the_truth_is_not_counted_and_baselines_by_themselves(
    found: dict[str, int], says: str
) -> None:
    kinds = {
        "oracle": MethodFacts("linear", reference=True),  # by what it is given, not by its name
        "linear": MethodFacts("baseline"),
        "zero": MethodFacts("baseline"),
        "truth": MethodFacts("linear"),
    }
    results = [
        Record.model_validate(data(name, seed=seed, verdict="identified" if held else ""))
        for name, held in found.items()
        for seed in (0, 1)
    ]
    text = page(results, leaderboard.boards(results, kinds, SPECS))
    shown = re.search(r'<span class="by">([^<]*)</span>', text)
    assert (shown[1] if shown else "") == says


def test_who_only_predicts_is_shown_apart_and_counted_nowhere() -> None:
    only = {"nmse": 1e-9} | dict.fromkeys(SCORES.keys() - {"nmse"}, DROPPED)
    records = [
        data("forest", scores=only, equations=None),
        data("sindy", nmse=0.5),
        data("operon", nmse=0.1, verdict="identified"),
    ]
    text = html(records)
    shown = re.search(r'<span class="by">([^<]*)</span>', text)
    assert shown
    assert shown[1] == "identified by 1 method"
    assert text.count("no equations: it only predicts") == 1
    board = compare(records)
    assert [(row.method, row.rank) for row in board.rows] == [
        ("operon", 1),
        ("sindy", 2),
        ("forest", None),
    ]
    assert "forest (predictor)" in str(leaderboard_table(board).rows)
    # What it has no equations for is no failure of its own, and no success.
    forest = next(row for row in board.rows if row.method == "forest")
    assert forest.values["identified"].of == 0


def test_methods_that_identify_a_system_are_counted_within_a_class() -> None:
    budgets = {"sindy": 10.0, "operon": 60.0, "eql": 60.0, "linear": 3600.0}
    kinds = {name: MethodFacts("linear") for name in budgets} | {"linear": MethodFacts("baseline")}
    results = [
        Record.model_validate(
            data(name, verdict="identified", budget={"timeout_s": seconds, "threads": 1})
        )
        for name, seconds in budgets.items()
    ]
    text = page(results, leaderboard.boards(results, kinds, SPECS))
    shown = re.search(r'<span class="by">([^<]*)</span>', text)
    assert shown
    assert shown[1].replace("\xa0", " ") == (
        "limit 60 s, strict: identified by 2 methods and 1 baseline; "
        "limit 10 s, strict: identified by 1 method and 1 baseline"
    )


def test_the_columns_are_explained() -> None:
    text = html(EVERYTHING)
    for data_type in SPECS:
        explained = text[text.index(f'id="how-{data_type}"') :]
        for column in leaderboard_table(compare(EVERYTHING, data_type)).columns:
            assert not column.meaning or f"<b>{column.title}</b>: {column.meaning}" in explained


def test_answers_without_equations_have_their_scores() -> None:
    text = html([data("a", data_type="texts", scores={"accuracy": 0.5, "verbosity": "wordy"})])
    assert '<td data-l="verbosity" data-v="wordy">wordy</td>' in text
    assert "NMSE" not in text
    assert "identified" not in text
    assert "ratio to truth" not in text


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
    assert "derivatives: fd (63 results); smooth (63 results)\n" in shown
    assert "<dt>derivatives</dt><dd>fd (63 results);" in out.read_text(encoding="utf-8")
    assert max(map(len, shown.splitlines())) <= 80
    assert main(["report", str(tmp_path / "r" / "logs")]) == 2
    assert "no folder" in capsys.readouterr().err
    assert main(["report", str(folder), "--out", str(folder / "zero-ode.jsonl" / "x")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_an_empty_folder_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    for name in ("noise", "dim", "family", "class"):
        page.run(f"document.forms[0].elements['{name}'].value = {filters.get(name, '')!r}")
    page.run("document.forms[0].dispatchEvent(new Event('change'))")


STRICT, PUBLISHED = "limit 60 s, strict", "limit 60 s, published"
FILTERS: list[tuple[dict[str, str], Any]] = [
    ({}, bool),
    *(
        ({"noise": str(n)}, lambda r, snr_db=snr_db: r["snr_db"] == snr_db)
        for n, snr_db in enumerate((None, 20.0, 10.0))
    ),
    ({"class": PUBLISHED}, lambda r: r["protocol"] == "published"),
    ({"noise": "2", "class": STRICT}, lambda r: r["snr_db"] == 10 and r["protocol"] == "strict"),
    *(({"dim": str(dim)}, lambda r, dim=dim: r["dim"] == dim) for dim in (1, 2, 3)),
    *(
        ({"family": family}, lambda r, family=family: KINDS[r["algorithm"]].family == family)
        for family in ("linear", "genetic", "baseline")
    ),
]


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize(("filters", "keep"), sampled(FILTERS, share=0.4))
def test_filters_give_the_leaderboard_of_what_they_keep(
    opened: Browser, filters: dict[str, str], keep: Any
) -> None:
    choose(opened, **filters)
    kept = [record for record in EVERYTHING if keep(record)]
    for data_type in SPECS:
        for number, protocol in enumerate(("strict", "published")):
            block = f"{data_type}-class-1" if number else data_type
            hidden = f"{table(block)}.closest('.block').hidden"
            own = [record for record in kept if record["protocol"] == protocol]
            assert opened.run(hidden) == (bool(filters.get("class")) and not own)
            if opened.run(hidden) or not [r for r in own if r["data_type"] == data_type]:
                continue
            assert opened.run(rows(block)) == expected(own, data_type, protocol)
            own = [record for record in own if record["data_type"] == data_type]
            note = f"document.querySelector('#{block}-board .undecided').textContent"
            assert opened.run(note) == undecided_note(compare(own, data_type))
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
    assert names == [column.title for column in leaderboard_table(compare(EVERYTHING)).columns]
    for name in ("time", "NMSE", "method", "R² test"):
        column = names.index(name)
        shown = f"[...{TABLE}.tBodies[0].rows]"
        values = f"{shown}.map(r => [r.dataset.g, r.cells[{column}].dataset.v])"
        opened.run(f"{head}[{column}].querySelector('button').click()")
        up = opened.run(values)
        key = str if name == "method" else float
        # Methods that are not compared stay behind those that are.
        assert up == sorted(up, key=lambda each: (each[0], key(each[1])))
        assert {group for group, _ in up} == {"0", "1", "2", "3"}
        assert opened.run(f"{head}[{column}].getAttribute('aria-sort')") == "ascending"
        opened.run(f"{head}[{column}].querySelector('button').click()")
        down = [each for group in "0123" for each in up[::-1] if each[0] == group]
        assert opened.run(values) == down
    # What has no value stays at the end: the reference has no rank.
    for _ in range(2):
        opened.run(f"{head}[0].querySelector('button').click()")
        assert opened.run(rows())[-1][1][0] == "truth (reference)"
    choose(opened, noise="1")  # a filter keeps the order that was chosen
    ranks = [float(row[0][0]) for row in opened.run(rows()) if row[0][0] != "–"]
    assert ranks == sorted(ranks, reverse=True)
    assert len(ranks) == 2
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
        # On a telephone equations are below their description, else next to it.
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


def test_the_head_shows_the_conditions_and_several_values_of_them() -> None:
    text = html([data("a"), data("b"), data("c", budget={**data()["budget"], "timeout_s": 75.0})])
    head = text[text.index('<dl class="facts">') : text.index('<section id="how">')]
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", head))
    one = data()
    assert facts["budget of a job"] == "limit 60 s (2 results); limit 75 s (1 result)"
    assert facts["seeds"] == str(one["seed"])
    assert facts["protocol"] == one["protocol"]
    assert facts["runtime"] == one["runtime"]["name"]
    assert facts["mdbench"] == one["mdbench"]
    assert one["provenance"]["machine"]["cpu"] in facts["machine"]
    text = html([data("a", study="ab" * 32), data("b")])
    assert f"{'ab' * 32} (1 result); none (1 result)" in text


def test_the_head_shows_which_derivatives_methods_were_given() -> None:
    def told(*records: dict[str, Any]) -> Sequence[tuple[str, str]]:
        results = [Record.model_validate(one) for one in records]
        return given_options(results, {"ode": ["derivatives", "inputs"], "srsd": ["variant"]})

    fd = data("a", options={"derivatives": "fd"})
    assert told(data("a")) == [("derivatives", "smooth")]
    assert told(data("a", protocol="published")) == [("derivatives", "fd")]
    assert told(fd, fd, data("b")) == [("derivatives", "fd (2 results); smooth (1 result)")]
    assert told(fd, data("b", data_type="srsd")) == [("derivatives", "fd")]
    assert told(data("a", data_type="srsd"), data("a", protocol="later")) == []
    for protocol in Protocol:
        assert protocol.usual == {"derivatives": derivatives_asked({}, protocol)}


def test_methods_that_were_mostly_cut_off_are_marked_where_they_are_ranked() -> None:
    records = [data("a", f"s{i}", status="partial" if i < 3 else "ok") for i in range(5)]
    records += [data("b", f"s{i}", status="timeout" if i < 2 else "ok") for i in range(4)]
    text = html(records)
    board = text[text.index('<table class="board') :]
    assert re.findall(r'data-v="[ab]">(.*?)<', board[: board.index("</table>")]) in (
        ["a\xa0†", "b"],
        ["b", "a\xa0†"],
    )
    assert "† Most of its jobs were cut off" in text
    assert '<p class="note cut"></p>' in html([data("a")])


def test_data_without_a_known_truth_have_no_verdicts_and_are_not_called_clean() -> None:
    scores = {"identified": DROPPED, "one_term_off": DROPPED, "f1": DROPPED}
    own: dict[str, Any] = {"dataset_path": "mine.csv", "truth": None, "snr_db": None}
    text = html([data("a", scores=scores, **own), data("b", scores=scores, **own)])
    shown = text[text.index("<main>") : text.index('id="how"')]
    heads = re.findall(r"<th[^>]*>(.*?)</th>", shown)
    assert "R²" in heads  # of the simulation, against what was measured
    assert not {"identified", "one term off", "F1", "Truth"} & set(heads)
    assert "✓" not in shown
    assert shown.count("as measured") == 2  # the lines of the system
    assert "clean" not in text[text.index("<body") : text.index('id="how"')].replace("cleanest", "")
    assert "rue trajector" not in shown


def test_the_best_answer_of_a_system_stands_there_as_code() -> None:
    text = html(
        [
            data("a", nmse=1e-3, equations=["1.5*u0", "-u1"], targets=["u0_t", "u1_t"]),
            data("b", nmse=1e-5, equations=["2.5*u0<0", "u1"], targets=["u0_t", "u1_t"]),
            data("truth", nmse=0.0, equations=["9.5*u0", "u1"], targets=["u0_t", "u1_t"]),
            data("a", "long", equations=["+".join(["u0*u1"] * 1000)], targets=["u0_t"]),
        ]
    )
    assert text.count('class="codes"') == 0  # the best one is no equation, the other too long
    text = html([data("a", nmse=1e-3, equations=["1.5*u0", "-u1"], targets=["u0_t", "u1_t"])])
    (found,) = re.findall(r'<details class="codes"[^>]*>(.*?)</details>', text, re.DOTALL)
    assert re.findall(r"<b>(.*?)</b>", found) == ["Python", "LaTeX", "SymPy", "Julia", "C"]
    assert "u0_t = 1.5*u0" in found
    assert "result[0] = 1.5*u0;" in found


def visible(page: Browser, type_of: str = "ode") -> dict[str, list[str]]:
    """Return of each figure by noise the methods that are seen, and where."""
    every = f"[...document.querySelectorAll('#{type_of}-board svg[data-figure]')]"
    found: dict[str, list[str]] = page.run(
        f"Object.fromEntries({every}.map(s => [s.dataset.figure, "
        "[...s.querySelectorAll('g[data-m]')].filter(g => g.style.display !== 'none')"
        ".map(g => g.dataset.m).sort()]))"
    )
    return found


@pytest.mark.browser
@needs_browser
def test_filters_draw_figures_of_what_they_keep(opened: Browser) -> None:
    before = opened.run("document.querySelector('#ode .figures').innerHTML")
    choose(opened, family="linear")
    assert set(map(tuple, visible(opened).values())) == {("sindy",)}  # linear lacks jobs
    legend = "[...document.querySelectorAll('#ode-board .legend [data-m]')]"
    legend += ".filter(s => s.style.display"
    assert opened.run(f"{legend} !== 'none').map(s => s.dataset.m)") == ["sindy"]
    choose(opened, noise="1")
    kept = [r for r in EVERYTHING if r["snr_db"] == 20 and r["protocol"] == "strict"]
    kept = [r for r in kept if r["data_type"] == "ode"]
    # The marks lie where a report of these records alone has them, on the axes of all.
    whole = compare([r for r in EVERYTHING if r["data_type"] == "ode"])
    (figure,) = (f for f in figures(whole, NUMBERS) if f.title.startswith("Identified by"))
    low, high, _ = map(float, re.findall(r'data-y="(.*?)"', figure.svg)[0].split())
    for row in compare(kept).drawn:
        share = row.values["identified"].value
        height = opened.run(
            '(() => { const g = document.querySelector("#ode svg[data-figure=identified] '
            f"g[data-m='{row.method}']\"); return Number(g.dataset.p.split(' ')[1]) + Number("
            "g.lastElementChild.getAttribute('transform').slice(0, -1).split(' ')[1]); })()"
        )
        assert share is not None
        assert height == pytest.approx(14 + 270 * (1 - (100 * share - low) / (high - low)), abs=0.2)
    hidden = "[...document.querySelectorAll('#ode .of-all')].every(e => e.hidden)"
    assert opened.run(hidden)
    maps = "[...document.querySelectorAll('#ode-board .heatmap')].filter(d => !d.hidden).length"
    assert opened.run(maps) == 1
    choose(opened)
    assert opened.run("document.querySelector('#ode .figures').innerHTML") == before
    assert opened.run(maps) == 3


@pytest.mark.browser
@needs_browser
def test_a_view_stands_in_the_address(opened: Browser) -> None:
    values = "[...document.querySelectorAll('#filters select')].map(s => s.value).join('|')"
    choose(opened, noise="1", family="linear")
    assert opened.run("location.hash") == "#?noise=20+dB&family=linear"
    opened.run("document.querySelector('a[href=\"#ode\"]').click()")
    assert opened.run("location.hash") == "#ode?noise=20+dB&family=linear"
    for sent, wanted in (
        ("#?dim=2", "|2||"),
        ("#texts?noise=clean&class=limit+60+s%2C+strict", f"0|||{STRICT}"),
        ("#?noise=<b>&family=nobody&x=1&__proto__=2", "|||"),
        ("#ode?%", "|||"),
    ):
        opened.run(f"location.hash = {sent!r}; dispatchEvent(new Event('hashchange'))")
        assert opened.run(values) == wanted
    told = opened.run("document.getElementById('filtered').textContent")
    assert told == ""
    choose(opened, family="linear")
    choose(opened)
    assert "family" not in opened.run("location.hash")


@pytest.mark.browser
@needs_browser
def test_a_page_that_is_sent_opens_with_its_view_and_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(html(many(3)), encoding="utf-8")
    value = "document.forms[0].elements.family.value"
    with Browser(tmp_path / "profile", width=360) as one:
        one.ask("Emulation.setScriptExecutionDisabled", value=False)
        one.open(path, place="#?family=linear")
        assert one.run(value) == "linear"
        assert one.run(f"{TABLE}.tBodies[0].rows.length") == 2
        choose(one, family="genetic")
        one.run("history.back()")
        one.wait(f"{value} === 'linear' && {TABLE}.tBodies[0].rows.length === 2")
        # On a telephone: five columns, and all of them on demand.
        shown = f"[...{TABLE}.tHead.rows[0].cells].filter(c => c.offsetWidth).length"
        assert one.run(shown) == 5
        one.run("document.querySelector('input.whole').click()")
        assert one.run(shown) == one.run(f"{TABLE}.tHead.rows[0].cells.length") > 10
        one.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert one.run("document.documentElement.scrollWidth") <= 360
        assert one.problems == []


@pytest.mark.browser
@needs_browser
def test_code_is_copied_or_selected(opened: Browser) -> None:
    opened.run(
        "document.querySelectorAll('details.system, .codes').forEach(d => { d.open = true; });"
        "window.copied = []; Object.defineProperty(navigator, 'clipboard', {configurable: true, "
        "value: {writeText: async (text) => { window.copied.push(text); }}})"
    )
    opened.run("document.querySelector('button.copy').click()")
    opened.wait("document.querySelector('button.copy').textContent === 'copied'")
    first = opened.run("document.querySelector('.codes pre').textContent")
    assert opened.run("window.copied[0]") == first
    assert first.startswith("import numpy as np")
    # A page from a disk may have no clipboard.
    opened.run(
        "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: undefined});"
        "document.execCommand = () => false; document.querySelectorAll('button.copy')[1].click()"
    )
    opened.wait("document.querySelectorAll('button.copy')[1].textContent.startsWith('selected')")
    assert opened.run("String(getSelection()).includes('begin{align}')")


@pytest.mark.browser
@needs_browser
def test_no_block_of_a_heat_map_covers_a_name(opened: Browser) -> None:
    opened.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    covered = opened.run(
        "[...document.querySelectorAll('svg.heat > g')].filter(g => g.checkVisibility())"
        ".map(g => [g.querySelector(':scope > text'), ...g.querySelectorAll('path')]"
        ".map(e => e.getBoundingClientRect()))"
        ".filter(([name, ...blocks]) => blocks.some(b => name.right > b.left)).length"
    )
    assert opened.run("document.querySelectorAll('svg.heat > g').length") > 0
    assert covered == 0


CONTRAST = """(() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const rgb = (text) => { const n = numbers(text); return [...n.slice(0, 3), n[3] ?? 1]; };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) =>
    c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (e) => {
    const block = e.closest("svg.heat g g")?.querySelector("path");
    if (block) return rgb(getComputedStyle(block).fill);
    for (; e; e = e.parentElement) {
      const found = rgb(getComputedStyle(e).backgroundColor);
      if (found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement;
    if (!node.textContent.trim() || ["SCRIPT", "title", "OPTION"].includes(e.tagName)) continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith("svg");
    const [a, b] = [light(rgb(svg ? style.fill : style.color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const kind = e.closest("[class]")?.getAttribute("class");
    if (ratio < 4.5) low.push([ratio.toFixed(2), e.tagName, kind,
      node.textContent.trim().slice(0, 20)].join(" "));
  }
  return [...new Set(low)].slice(0, 10);
})()"""


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_letters_stand_out_and_the_keyboard_reaches_all(tmp_path: Path, *, dark: bool) -> None:
    path = tmp_path / "report.html"
    path.write_text(html([*many(2), *texts(2)]), encoding="utf-8")
    with Browser(tmp_path / "profile", dark=dark) as one:
        one.open(path)
        one.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert one.run(CONTRAST) == []
        if dark:
            return
        wanted = one.run(
            "[...document.querySelectorAll('a[href], button, select, summary, input, pre')]"
            ".filter(e => e.checkVisibility()).map((e, i) => { e.dataset.tab = i; return i; })"
        )
        key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        reached = set()
        for _ in range(2 * len(wanted) + 50):
            one.ask("Input.dispatchKeyEvent", type="rawKeyDown", **key)
            at = one.run("document.activeElement.dataset.tab ?? ''")
            reached |= {int(at)} if at else set()
            if len(reached) == len(wanted):
                break
        assert reached == set(wanted)
        assert one.problems == []


@pytest.mark.browser
@needs_browser
def test_paper_holds_every_column_and_what_is_open(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    long = " + ".join(f"{n}.25*u0**{n}*u1" for n in range(1, 18))
    wide = [data("operon", "wide", equations=[long, long], truth=[long, long])]
    path.write_text(html([*many(3), *wide]), encoding="utf-8")
    with Browser(tmp_path / "profile", width=1047) as one:  # A4, less its margins, at 96 dots
        one.open(path)
        pdf = base64.b64decode(one.ask("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert pdf.startswith(b"%PDF")
        boxes = set(re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)", pdf))
        assert all(float(w) > float(h) for w, h in boxes)  # landscape
        assert len(boxes) == 1
        one.ask("Emulation.setEmulatedMedia", media="print", features=[])
        closed = "[...document.querySelectorAll('details:not([open])')].map(d => d.id)"
        before = one.run(closed)
        one.run("dispatchEvent(new Event('beforeprint'))")
        assert one.run(closed) == before != []  # a page of all would have hundreds of sheets
        one.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        one.run("dispatchEvent(new Event('beforeprint'))")
        assert one.run("document.documentElement.scrollWidth") <= 1047
        cut = one.run(
            "[...document.querySelectorAll('.board th, .board td, .answers td, svg')]"
            ".filter(e => e.checkVisibility() && e.getBoundingClientRect().right > 1047.5)"
            ".map(e => e.textContent.slice(0, 30))"
        )
        assert cut == []
        columns_seen = f"[...{TABLE}.tHead.rows[0].cells].filter(c => c.offsetWidth).length"
        assert one.run(columns_seen) == one.run(f"{TABLE}.tHead.rows[0].cells.length")
        assert one.run("document.querySelectorAll('math + .plain').length") >= 3
        one.run("dispatchEvent(new Event('afterprint'))")
        assert one.run("document.querySelectorAll('math + .plain, math[hidden]').length") == 0


@pytest.mark.browser
@needs_browser
def test_closed_parts_of_a_large_page_are_made_when_they_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = html(EVERYTHING)
    monkeypatch.setattr(pages, "PACKED_FROM", 1)
    text = html(EVERYTHING)
    assert len(text) < len(whole)
    path = tmp_path / "report.html"
    path.write_text(whole, encoding="utf-8")
    parts = "[...document.querySelectorAll('details.system, details.heatmap')]"
    shown = (
        f"{parts}.map(d => [d.id || d.textContent.slice(0, 9), d.hidden, d.innerText])"
        ".map(each => each.join('|'))"
    )
    with Browser(tmp_path / "profile") as one:
        states = []
        for page_text in (whole, text):
            path.write_text(page_text, encoding="utf-8")
            one.open(path)
            assert one.run("document.querySelectorAll('table.answers').length > 0") == (
                page_text is whole
            )
            nodes = one.run("document.querySelectorAll('*').length")
            choose(one, noise="1", family="linear")  # holds for what is opened later, too
            one.wait(
                "(document.querySelectorAll('details').forEach(d => { d.open = true; }), "
                "!document.querySelector('script.packed'))"
            )
            states.append((nodes, one.run(shown), one.run(rows()), one.run(rows("ode-class-1"))))
        assert states[1][0] < states[0][0] / 3
        assert states[1][1:] == states[0][1:]
        # The address of a system opens it, and its tables can be sorted.
        path = path.rename(tmp_path / "sent.html")
        one.open(path, place="#ode/system-0")
        place = "document.getElementById('ode/system-0')"
        one.wait(f"{place}.open && {place}.querySelector('table.answers th button') !== null")
        assert one.run(f"{place}.querySelector('button.copy').hidden") is False
        assert one.run("document.querySelectorAll('table.answers').length") == 1
        assert one.problems == []
        one.open(path, script=False)
        assert one.run("document.querySelector('noscript').checkVisibility()")


@pytest.mark.browser
@needs_browser
def test_parts_in_files_next_to_a_page_are_read_when_they_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = html(EVERYTHING)
    monkeypatch.setattr(pages, "PACKED_FROM", 1)
    parts = pages.Parts("my results & more.html")
    text = html(EVERYTHING, parts=parts)
    assert len(text) < len(html(EVERYTHING)) < len(whole)
    path = tmp_path / "my results & more.html"
    shown = (
        "[...document.querySelectorAll('details.system, details.heatmap')].map(d => d.innerText)"
    )
    with Browser(tmp_path / "profile") as one:
        states = []
        for page_text in (whole, text):
            path.write_text(page_text, encoding="utf-8")
            write_parts(tmp_path / parts.folder, parts)
            one.open(path)
            choose(one, noise="1", family="linear")  # needs the columns, which are in a file
            one.wait(
                "(document.querySelectorAll('details').forEach(d => { d.open = true; }), "
                "!document.querySelector('script.packed'))"
            )
            states.append((one.run(shown), one.run(rows()), one.run(rows("ode-class-1"))))
        assert states[0] == states[1]
        assert one.problems == []
        # Without its files the page says what is missing, and what it has stays.
        path = tmp_path / "alone.html"
        path.write_text(text.replace(quote(parts.folder), "alone.html.parts"), encoding="utf-8")
        one.open(path, place="#ode/system-0")
        place = "document.getElementById('ode/system-0')"
        one.wait(f"{place}.innerText.includes('it belongs next to this page')")
        assert f"{place}.parts/" not in one.run(f"{place}.innerText")
        choose(one, noise="1")
        one.wait("document.getElementById('filtered').textContent.includes('cannot be read')")


def test_files_of_an_older_page_are_removed_and_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "report.html.parts"
    parts = pages.Parts("report.html")
    assert [parts.keep("QQ=="), parts.keep("QkI=")][1] == "report.html.parts/2.js"
    write_parts(folder, parts)
    (folder / "notes.js").touch()
    assert (folder / "1.js").read_text() == 'mdbench.parts["report.html.parts/1.js"]="QQ=="'
    fewer = pages.Parts("report.html")
    fewer.keep("Qw==")
    write_parts(folder, fewer)
    assert {file.name for file in folder.iterdir()} == {"1.js", "notes.js"}
    (folder / "notes.js").unlink()
    write_parts(folder, pages.Parts("report.html"))
    assert not folder.exists()
    write_parts(folder, pages.Parts("report.html"))


def test_anchors_are_names_and_none_is_there_twice() -> None:
    own: dict[str, Any] = {"dataset_path": "mine.csv"}
    text = html([data("a", "x y"), data("a", "x?y"), data("a", "x y", **own), data("a", "z")])
    names = re.findall(r'<details class="system"(?: open)? id="([^"]*)"', text)
    assert names == ["ode/own/x-y", "ode/x-y", "ode/x-y-2", "ode/z"]
    # Another system changes no other one's address.
    text = html([data("a", "m"), data("a", "z")])
    assert re.findall(r'<details class="system" open id="([^"]*)"', text) == ["ode/m", "ode/z"]


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("width", [390, 1400])
def test_what_scrolls_is_reached_by_keys_and_the_filters_are_a_landmark(
    tmp_path: Path, width: int
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html([*many(2), *texts(2)]), encoding="utf-8")
    with Browser(tmp_path / "profile", width=width) as one:
        one.open(path)
        one.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        wide = (
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        )
        one.wait(f"{wide}.every(e => e.tabIndex === 0)")
        assert one.run(f"{wide}.length") > (0 if width == 390 else -1)
        fit = (
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth <= e.clientWidth)"
        )
        assert one.run(f"{fit}.every(e => e.tabIndex === -1)")
        assert one.run("document.querySelector('form').getAttribute('aria-label')") == "Filters"
