"""A language model as a judge of answers, compared with the rule."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT
from model_server import Stub
from reporting import result

from mdbench.cli import main
from mdbench.errors import UsageError
from mdbench.extensions.language_models.judge import (
    JudgedAnswer,
    Judgement,
    JudgeReport,
    chosen_answers,
    verdict_of,
)
from mdbench.extensions.language_models.options import JudgeOptions
from mdbench.extensions.language_models.probing import run_judge

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.records import Record


def answer(n: int, skeleton: float | None, **changes: Any) -> Record:
    return result(
        "operon",
        f"system-{n}",
        scores={"skeleton": skeleton},
        equations=[f"{n}.5*u0 + {n}"],
        truth=[f"{n}.5*u0"],
        targets=["u0_t"],
        **changes,
    )


RECORDS = [answer(n, float(n % 4 == 0)) for n in range(40)]
"""Ten with the skeleton, thirty without."""


def asked(stub: Stub, folder: Path, **changes: Any) -> JudgeReport:
    given: dict[str, Any] = {"records": (), "llm_model": "m", "result_dir": folder, "answers": 16}
    options = JudgeOptions(**{**given, "llm_url": stub.url, **changes})
    return run_judge(options, RECORDS, lambda *_: None)[0]


def test_half_of_the_answers_have_the_skeleton_where_there_are_as_many() -> None:
    assert [each.by_rule for each in chosen_answers(RECORDS, 16, 0)].count(True) == 8
    assert [each.by_rule for each in chosen_answers(RECORDS, 30, 0)].count(True) == 10
    assert len(chosen_answers(RECORDS, 200, 0)) == 40
    few = [one for one in RECORDS if one.metrics["skeleton"]][:3]
    assert len(chosen_answers(few, 16, 0)) == 3
    one, other = (
        [each.record.dataset for each in chosen_answers(RECORDS, 16, seed)] for seed in (0, 1)
    )
    assert one != other
    assert one == [each.record.dataset for each in chosen_answers(RECORDS[::-1], 16, 0)]


def test_what_the_rule_has_not_decided_or_stands_twice_is_left_out() -> None:
    records = [answer(1, 1.0), answer(1, 1.0, seed=3), answer(2, None)]
    assert len(chosen_answers(records, 9, 0)) == 1


def test_the_question_has_both_equations_and_no_verdict() -> None:
    text = JudgedAnswer(answer(3, 1.0), by_rule=True).question
    assert text == "True equations:\nu0_t = 3.5*u0\nPredicted equations:\nu0_t = 3.5*u0 + 3"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Answer: yes", True),
        ("<think>Answer: yes</think>\n**Answer: No**", False),
        ("Answer: no. Wait.\nanswer: yes", True),
        ("Yes, they are the same.", None),
        ("<think>Answer: yes", None),
        ("So the final answer is: no", None),
        ("- Answer: no, as `c*x` is missing", False),
        ("**Answer:** Yes", True),
        ('End your answer with a line that has "Answer: yes" or "Answer: no".', None),
        ("Answer: yes or no?", None),
        ("Answer: yes/no", None),
        ("", None),
    ],
)
def test_the_last_line_of_the_form_counts(text: str, verdict: bool | None) -> None:
    assert verdict_of(text) is verdict


@pytest.mark.parametrize("piece", ["x", "<think>", "\n", "answer ", "the ", "*"])
def test_four_million_letters_of_nonsense_are_no_verdict(piece: str) -> None:
    assert verdict_of(piece * (2**22 // len(piece))) is None


def test_a_judge_that_follows_the_rule_agrees_and_a_replay_says_the_same(tmp_path: Path) -> None:
    right = {JudgedAnswer(one, by_rule=True).question for one in RECORDS if one.metrics["skeleton"]}

    def says(request: dict[str, Any], _: str) -> str:
        return f"Answer: {'yes' if request['messages'][-1]['content'] in right else 'no'}"

    with Stub(write=says) as stub:
        found = asked(stub, tmp_path / "live")
    assert (found.agreeing, found.decided, found.calls, found.kappa) == (16, 16, 16, 1.0)
    again = asked(stub, tmp_path / "again", llm_url=None, llm_replay=tmp_path / "live")
    assert again.judgements == found.judgements


def test_a_judge_that_always_says_yes_is_no_better_than_chance(tmp_path: Path) -> None:
    with Stub(write=lambda *_: "Answer: yes") as stub:
        found = asked(stub, tmp_path)
    assert (found.agreeing, found.decided, found.kappa) == (8, 16, 0.0)


def test_prose_is_no_verdict(tmp_path: Path) -> None:
    with Stub(mode="prose") as stub:
        found = asked(stub, tmp_path)
    assert (found.decided, found.agreeing, found.kappa) == (0, 0, None)
    assert found.count(by_rule=True, by_model=None) == 8


def test_kappa_is_that_of_the_textbook() -> None:
    counts = {(True, True): 20, (True, False): 5, (False, True): 10, (False, False): 15}
    ones = [
        Judgement(
            key="k", method="m", dataset="d", truth=(), equations=(), by_rule=rule, by_model=model
        )
        for (rule, model), number in counts.items()
        for _ in range(number)
    ]
    found = JudgeReport(
        mdbench="",
        model="",
        seed=0,
        calls=0,
        failed=0,
        prompt_tokens=0,
        completion_tokens=0,
        judgements=ones,
    )
    assert found.kappa == pytest.approx(0.4)  # Cohen (1960): (0.7 - 0.5) / (1 - 0.5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"llm_model": None}, "--llm-model is missing"),
        ({"llm_url": None}, "No endpoint of m was named"),
        ({"prompt": "anon"}, "--prompt is of runs"),
        ({"llm_calls": 3}, "3 were judged"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with Stub() as stub, pytest.raises(UsageError, match=words):
        asked(stub, tmp_path, **changes)


def test_records_without_a_verdict_are_refused(tmp_path: Path) -> None:
    options = JudgeOptions(
        records=(), llm_model="m", llm_url="http://127.0.0.1:9/v1", result_dir=tmp_path
    )
    with pytest.raises(UsageError, match="No record has equations"):
        run_judge(options, [answer(1, None)], lambda *_: None)


def test_the_command_prints_how_often_they_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ROOT / "docs" / "results" / "noise.jsonl.xz"
    with Stub() as stub:
        words = ["--llm-model", "m", "--llm-url", stub.url, "--answers", "10"]
        words += ["--result-dir", str(tmp_path)]
        assert main(["llm", "judge", "--records", str(kept), *words]) == 0
    out = capsys.readouterr().out
    assert "of 10 answers" in out
    assert "Judgements: " in out
    [file] = (tmp_path / "llm-judgements").glob("*.json")
    assert len(json.loads(file.read_text())["judgements"]) == 10
