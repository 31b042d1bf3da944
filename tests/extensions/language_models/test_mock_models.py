"""Mock models that know nothing, the law, or answer as small models do; and the table of them."""

from __future__ import annotations

from typing import Any

import pytest
from harness import ROOT
from mock_models import FAULTS, KNOWS, MockModels, law_of
from mock_table import MODELS, mock_faults, mock_finding, mock_table, mock_tokens
from reporting import result

from eqverdict import parse
from mdbench.extensions.language_models.options import asked_of
from mdbench.runs.plan import make_plan
from mdbench.runs.study import Study
from mdbench.workspace import Workspace

STUDIES = sorted((ROOT / "studies").glob("mock-models-*.toml"))


def request(model: str, number: int) -> dict[str, Any]:
    prompt = f"Variables: x0, x1. Write def equation. ({number})"
    return {"model": model, "messages": [{"role": "user", "content": prompt}]}


def texts(model: str) -> list[str]:
    mock = MockModels("7.25*x0*x1")
    return [mock.reply(request(model, number), "good")[0] for number in range(600)]


def test_one_knows_the_law_in_its_share_of_answers_and_the_others_never() -> None:
    known = [text for text in texts("mock-knows-the-law") if "7.25*x0*x1" in text]
    assert 0.5 * KNOWS * 600 < len(known) < 1.6 * KNOWS * 600
    assert not any("7.25*x0*x1" in text for text in texts("mock-knows-nothing"))
    assert not any("7.25*x0*x1" in text for text in texts("mock-small"))


def test_small_models_have_every_fault_and_the_same_answer_to_the_same_request() -> None:
    said = texts("mock-small")
    assert said == texts("mock-small")
    assert any("javascript" in text for text in said)
    assert any("while True" in text for text in said)
    assert any(not text for text in said)
    assert any("<think>" in text for text in said)
    good = set(texts("mock-knows-nothing"))
    usable = sum(text in good for text in said)
    assert 0 < usable < 3 * len(said) / len(FAULTS)


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_the_law_is_written_in_the_names_of_the_prompt(study: Any) -> None:
    plan = make_plan(Study.read(study), Workspace.find())
    surfaces = study.stem.endswith("surface")
    models = {"mock-knows-nothing"} if surfaces else {*MODELS} - {""}
    assert {asked_of(job).llm_model for job in plan.jobs} == {None, *models}
    by_dataset = {job.dataset: job for job in plan.jobs if asked_of(job).llm_model}
    assert len(by_dataset) == (13 if surfaces else 3)
    for job in () if surfaces else by_dataset.values():  # no mock of that study knows a law
        law = law_of(job, plan.catalog)
        own = plan.catalog.load(job).truth
        assert own is not None
        names = {f"x{n}" for n in range(6)}
        assert parse(law, names).complexity == parse(own[0], {*names, "u0"}).complexity


def answered(algorithm: str, model: str | None, **changes: Any) -> Any:
    llm = {"model": model, "calls": 60}
    return result(algorithm, llm=llm, **changes)


def test_the_table_has_each_loop_with_each_model_beside_its_control() -> None:
    records = [
        answered("llmsr_nollm", None, nmse=0.5),
        answered("llmsr", "mock-knows-nothing", nmse=0.25),
        answered("llmsr", "mock-knows-the-law", nmse=1e-9, verdict="identified"),
        answered("llmsr", "mock-knows-the-law", dataset="lorenz2", nmse=1e-9, verdict="identified"),
        answered("llmsr", "mock-small", status="failed"),
    ]
    lines = mock_table(records).splitlines()
    assert lines[0] == "| suite | method | " + " | ".join(MODELS.values()) + " |"
    assert lines[2].startswith("| ODEBench | `llmsr` | 0 of 1, 0.5")
    assert "| 2 of 2, 1" in lines[2]
    assert lines[2].endswith("| 0 of 1, no answer |")
    assert mock_finding(records) == (
        "**With a model that knows the law, `llmsr` identify 2 of 2. "
        "With the other two no loop identifies more than its control.**"
    )
    found = answered("llmsr", "mock-small", dataset="lorenz3", verdict="identified")
    assert "two `llmsr` identify more than their controls" in mock_finding([*records, found])
    faults = mock_faults(records).splitlines()
    assert faults[2] == "| control | 1 | 60 | 1 | 0 |"
    assert faults[-1] == "| as small models answer | 1 | 60 | 0 | 1 |"


def test_tokens_are_means_of_the_jobs_that_ask_the_mock_that_knows_nothing() -> None:
    def used(algorithm: str, model: str, prompt: int, completion: int) -> Any:
        llm = {"model": model, "calls": 60}
        return result(
            algorithm, llm={**llm, "prompt_tokens": prompt, "completion_tokens": completion}
        )

    records = [
        used("llmsr", "mock-knows-nothing", 12_000, 3_000),
        used("llmsr", "mock-knows-nothing", 14_000, 1_001),
        used("llmsr", "mock-small", 1, 1),
        answered("llmsr_nollm", None),
    ]
    assert mock_tokens(records).splitlines()[2:] == [
        "| ODEBench | `llmsr` | 2 | 60 | 13,000 | 2,000 |"
    ]
