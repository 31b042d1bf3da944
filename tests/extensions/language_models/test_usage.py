"""What was asked of language models, next to the scores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from reporting import boards, data, many, write

from mdbench.api import load
from mdbench.cli import main
from mdbench.extensions.language_models.contamination import ProbeReport, ProbeResult
from mdbench.extensions.language_models.usage import curves, model_usage, usage_row
from mdbench.records import Record, latest_by_case
from mdbench.reports.html import page

if TYPE_CHECKING:
    from pathlib import Path

BUDGET = dict.fromkeys(("calls", "prompt_tokens", "completion_tokens", "seconds", "money"))
SIZES = ("closed", "anon", "named", "swapped", "rescaled")


def llm(model: str = "m", prompt: str = "anon", calls: int = 100, **more: Any) -> dict[str, Any]:
    used = {
        "model": model,
        "settings": None,
        "prompt": prompt,
        "budget": BUDGET,
        "price": [1.0, 2.0],
        "calls": calls,
        "failed": 3,
        "spent": True,
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "estimated": False,
        "money": 0.25,
        "answered_by": ["m-1"],
        "fingerprints": [],
        "curve": [{"calls": 4, "loss": 1.0}, {"calls": 40, "loss": 1e-3}],
    }
    return {**used, **more}


RECORDS = [
    data("loop", "a", nmse=1e-4, llm=llm()),
    data("loop", "b", nmse=1e-2, llm=llm(calls=50, spent=False)),
    data("loop", "a", nmse=1e-6, llm=llm(prompt="named")),
    data("loop", "a", nmse=1e-5, llm=llm("other", curve=None)),
    data("sindy", "a", nmse=1e-3),
]


def results() -> list[Record]:
    return latest_by_case(Record.model_validate(one) for one in RECORDS)


def test_another_model_or_prompt_is_another_method() -> None:
    names = {one.method for one in results()}
    assert names == {"loop (m, anon)", "loop (m, named)", "loop (other, anon)", "sindy"}
    assert {one.algorithm for one in results()} == {"loop", "sindy"}


def test_calls_tokens_and_money_are_shown_next_to_the_score() -> None:
    rows = {one.method: one for one in model_usage(results(), boards(RECORDS))}
    assert set(rows) == {"loop (m, anon)", "loop (m, named)", "loop (other, anon)"}
    one = rows["loop (m, anon)"]
    assert (one.jobs, one.calls, one.failed, one.tokens) == (2, 75, 6, (2000, 400))
    assert one.money == pytest.approx(0.5)
    assert one.spent == 0.5
    assert usage_row(one)[4:10] == ["2", f"NMSE {one.score}", "", "", "75", "6"]
    assert model_usage([], {}) == []


def test_a_control_of_the_same_budget_is_beside_its_method_and_what_the_model_found() -> None:
    budget = llm()["budget"]
    for given, shown in ((budget, True), ({**budget, "calls": 7}, False)):
        control = [
            data("loop_nollm", name, nmse=1e-1, llm={"budget": given}) for name in ("a", "b")
        ]
        arm = [data("loop", "a", llm=llm(found=True)), data("loop", "b", llm=llm(found=False))]
        records = [*arm, *control]
        found = latest_by_case(Record.model_validate(one) for one in records)
        (one,) = model_usage(found, boards(records))
        assert bool(one.control) == shown
        assert one.found == 0.5
        assert usage_row(one)[6] == one.control
        assert "50" in usage_row(one)[7]


def test_a_curve_is_the_median_of_the_best_so_far() -> None:
    numbers = {name: place for place, name in enumerate(sorted({r.method for r in results()}))}
    (figure,) = curves(results(), numbers).values()
    assert "<title>loop (m, anon)</title>" in figure.svg
    assert "other" not in figure.svg
    assert curves([], {}) == {}


def probes() -> ProbeReport:
    one = ProbeResult(
        dataset="a",
        samples=5,
        right={"closed": 5, "anon": 1, "named": 4, "swapped": 0, "rescaled": 1},
        recalled=4,
        exact=dict.fromkeys(SIZES, 0),
        answered=dict.fromkeys(SIZES, 5),
        other="b",
    )
    return ProbeReport(
        mdbench="0",
        model="m<b>",
        data_type="ode",
        protocol="strict",
        seed=0,
        calls=25,
        failed=0,
        prompt_tokens=1,
        completion_tokens=1,
        problems=[one],
    )


def test_the_page_shows_them_where_there_are_some(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", RECORDS)
    (folder / "llm-probes").mkdir()
    (folder / "llm-probes" / "ode-1.json").write_text(probes().model_dump_json())
    html = page(results(), boards(RECORDS), places=[folder])
    assert '<section id="language-models">' in html
    assert "Loss over calls, ode" in html
    assert "m&lt;b&gt;" in html
    assert re.search(r"<td>100%</td><td>20%</td><td>80%</td><td>0%</td><td>20%</td><td>80%", html)
    plain = many(2)
    assert "language-models" not in page([Record.model_validate(r) for r in plain], boards(plain))


def test_text_and_tables_have_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "r", RECORDS)
    (folder / "llm-probes").mkdir()
    (folder / "llm-probes" / "ode-1.json").write_text(probes().model_dump_json())
    assert main(["report", str(folder), "--text"]) == 0
    shown = capsys.readouterr().out
    assert "Language models" in shown
    assert "What language models know" in shown
    assert max(map(len, shown.splitlines())) <= 80
    table = load(folder)
    assert table["llm.calls"].max() == 100
    assert table["llm.prompt"].isna().sum() == 1
