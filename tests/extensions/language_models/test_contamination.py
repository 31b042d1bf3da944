"""What a model knows of a law before it has seen data, distinguished from reading the data."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT
from model_server import Stub

from mdbench.cli import main
from mdbench.datatypes import find
from mdbench.datatypes.base import Background
from mdbench.datatypes.facts import Protocol
from mdbench.errors import RecordsError, UsageError
from mdbench.extensions.language_models.contamination import (
    PROBES,
    ProbeReport,
    ProbeTarget,
    closest,
)
from mdbench.extensions.language_models.options import ProbeOptions
from mdbench.extensions.language_models.probing import run_probes
from mdbench.extensions.language_models.usage import probe_rows, read_probes
from mdbench.extensions.language_models.views import prompt_view, symmetries
from mdbench.runs.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mdbench.workspace import Workspace

FRICTION, POTENTIAL = "feynman-i.12.1", "feynman-i.14.3"


def task_of(kind: str, name: str) -> tuple[Any, Background]:
    data_type = find(kind, ROOT / "datasets" / kind, ROOT / ".mdbench" / "arrays" / kind)
    source = data_type.source()
    loaded = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT, options={})
    return data_type.task(loaded, "table", Protocol.STRICT), source.background(name)


def ask(
    workspace: Workspace, folder: Path, write: Callable[[str], str], **changes: Any
) -> tuple[ProbeReport, Stub]:
    def said(request: dict[str, Any], _: str) -> str:
        return write(request["messages"][-1]["content"])

    with Stub(write=said) as stub:
        options = ProbeOptions(
            data_type="srsd",
            datasets=(FRICTION, POTENTIAL),
            samples=2,
            result_dir=folder,
            llm_model="m",
            llm_url=stub.url,
            **changes,
        )
        probes, file = run_probes(options, Catalog(workspace), lambda _: None)
    assert file.is_file()
    return probes, stub


def outputs(prompt: str) -> str:
    found = re.search(r"Outputs:\s*(?:- )?(\w+)", prompt)
    assert found is not None
    return found[1]


def test_who_knows_the_names_is_found_out(workspace: Workspace, tmp_path: Path) -> None:
    """It answers what it has learned, whatever the rows say, and nothing without names."""

    def write(prompt: str) -> str:
        if "friction" in prompt:
            return "<think>y = 1</think>\ny = v*N_n"
        if "height" in prompt:
            return "y = 9.80665*m*z"
        return "I do not know."

    probes, stub = ask(workspace, tmp_path / "r", write)
    for one, with_constant in zip(probes.problems, (False, True), strict=True):
        # Both are products: what is recalled, where it has a constant, is also the other's law.
        swapped = 2 * with_constant
        assert one.right == {
            "closed": 2,
            "anon": 0,
            "named": 2,
            "swapped": swapped,
            "rescaled": 0,
        }
        assert one.recalled == 2
        assert one.answered["anon"] == 0
    assert probes.known == [FRICTION, POTENTIAL]
    assert probes.share("closed") == 1.0
    assert stub.count == probes.calls == 2 * 5 * 2
    assert probes.problems[0].exact == {
        "closed": 2,
        "anon": 0,
        "named": 2,
        "swapped": 0,
        "rescaled": 0,
    }


def test_reading_the_rows_is_distinguished_from_recalling(
    workspace: Workspace, tmp_path: Path
) -> None:
    def write(prompt: str) -> str:
        """Answer the law of the rows: a product with a constant, by the first of them."""
        if "Data" not in prompt:
            return "no data"
        names = re.search(r"Data, as \((.+)\)", prompt)
        row = re.search(r"\n\((.+)\)", prompt)
        assert names is not None
        assert row is not None
        *inputs, output = names[1].split(", ")
        *x, y = map(float, row[1].split(", "))
        product = 1.0
        for each in x:
            product *= each
        return f"{output} = {y / product!r} * {' * '.join(inputs)}"

    probes, _ = ask(workspace, tmp_path / "r", write)
    for one in probes.problems:
        assert one.right == {"closed": 0, "anon": 2, "named": 2, "swapped": 2, "rescaled": 2}
        assert one.exact["rescaled"] == one.exact["swapped"] == 2
    assert probes.known == []
    (row,) = probe_rows([probes])
    assert row == ["srsd", "m", "2", "0%", "100%", "100%", "100%", "100%", "100%", "0"]


def test_probes_are_written_down_read_and_replayed(workspace: Workspace, tmp_path: Path) -> None:
    write = lambda prompt: f"{outputs(prompt)} = 2"  # noqa: E731
    first, _ = ask(workspace, tmp_path / "r", write)
    assert read_probes(tmp_path / "r") == [first]
    second, stub = ask(workspace, tmp_path / "s", write, llm_replay=tmp_path / "r")
    assert second == first
    assert stub.count == 0
    assert read_probes(tmp_path / "none") == []
    bad = tmp_path / "t" / "llm-probes"
    bad.mkdir(parents=True)
    (bad / "x.json").write_text("{}")
    with pytest.raises(RecordsError, match="no file of mdbench llm probe"):
        read_probes(tmp_path / "t")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"llm_model": None}, "--llm-model is missing"),
        ({"llm_url": None}, "No endpoint of"),
        ({"data_type": "derivation"}, "has no tables"),
        ({"prompt": "anon"}, "--prompt is of runs"),
        ({"llm_calls": 3}, "budget of this job is used up"),
    ],
)
def test_what_is_missing_is_said(
    workspace: Workspace, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with Stub() as stub:
        given = {"llm_model": "m", "llm_url": stub.url, "data_type": "srsd", **changes}
        options = ProbeOptions(datasets=(FRICTION,), result_dir=tmp_path, **given)
        with pytest.raises(UsageError, match=words):
            run_probes(options, Catalog(workspace), lambda _: None)


def test_the_command_prints_what_came_of_it(
    workspace: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("mdbench.workspace.Workspace.find", lambda: workspace)
    out = str(tmp_path / "r")
    with Stub() as stub:
        words = ["--data-type", "srsd", "--dataset", FRICTION, "--llm-model", "m"]
        words += ["--llm-url", stub.url, "--samples", "1", "--result-dir", out]
        assert main(["llm", "probe", *words]) == 0
    said = capsys.readouterr().out
    assert f"{FRICTION}  of 1: closed 0" in said
    assert "4 completions" in said  # nothing of its size to swap with
    assert main(["llm", "probe", "--data-type", "srsd"]) != 0
    (file,) = (tmp_path / "r" / "llm-probes").glob("*.json")
    assert set(json.loads(file.read_text())["problems"][0]["right"]) == set(PROBES) - {"swapped"}


# The views.


def test_symmetries_are_those_of_the_law() -> None:
    task, _ = task_of("srsd", POTENTIAL)
    told = {(each.kind, each.variables) for each in symmetries(task)}
    assert told == {("odd", ("x0",)), ("odd", ("x1",)), ("exchange", ("x0", "x1"))}


@pytest.mark.parametrize("seed", range(4))
def test_a_wrong_prior_states_nothing_that_is_true(seed: int) -> None:
    for kind, name in (("srsd", POTENTIAL), ("ode", "harmonic-oscillator")):
        task, background = task_of(kind, name)
        prior = prompt_view("prior", task, background, seed).description
        wrong = prompt_view("wrong-prior", task, background, seed).description
        assert prior is not None
        assert wrong is not None
        true = {line for line in prior.splitlines() if "sign" in line or "places" in line}
        false = {line for line in wrong.splitlines() if "sign" in line or "places" in line}
        assert true
        assert false
        assert not true & false


@pytest.mark.parametrize("prompt", ["anon", "named", "prior"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [("srsd", POTENTIAL), ("ode", "harmonic-oscillator"), ("surface", "EBS4"), ("real", "kepler")],
)
def test_the_truth_in_the_prompts_names_is_the_truth_in_its_own(
    kind: str, name: str, prompt: str
) -> None:
    task, background = task_of(kind, name)
    view = prompt_view(prompt, task, background, 5)
    own_to_told = {own: told for told, own in view.own.items()}
    for text in task.dataset.truth:
        told = re.sub(r"[A-Za-z_]\w*", lambda word: own_to_told.get(word[0], word[0]), text)
        assert view.equation(told) == text
    part = view.reordered(task.refit)
    for place, name_ in enumerate(view.variables):
        column = task.variables.index(view.own[name_])
        assert (part.inputs["X"][:, place] == task.refit.inputs["X"][:, column]).all()
    assert (view.description is None) == (prompt == "anon")
    if view.description is not None:
        assert name not in view.description


def test_names_are_made_fit_for_python_and_for_equations() -> None:
    task, _ = task_of("srsd", POTENTIAL)
    background = Background(names={"x0": "lambda", "x1": "log", "y": "lambda"})
    view = prompt_view("named", task, background, 0)
    assert view.variables == ("lambda_", "log_")
    assert view.targets == ("lambda__",)
    assert view.equation("lambda_*log(log_) + x0 + 1e3") == "x0*log(x1) + unknown_x0 + 1e3"


def test_the_rows_of_a_problem_of_the_same_size_are_taken() -> None:
    tasks = [task_of("srsd", name) for name in (FRICTION, POTENTIAL, "feynman-i.12.2")]
    subjects = [ProbeTarget(str(i), task, known) for i, (task, known) in enumerate(tasks)]
    assert closest(subjects[0], subjects) is subjects[1]
    assert closest(subjects[1], subjects) is subjects[0]
    assert closest(subjects[2], subjects) is None


@pytest.mark.parametrize("piece", ["<think>", "\n", "`"])
def test_a_million_letters_of_nonsense_are_no_answer(
    workspace: Workspace, tmp_path: Path, piece: str
) -> None:
    nonsense = piece * (1_000_000 // len(piece))
    probes, _ = ask(workspace, tmp_path, lambda _: nonsense)
    assert all(not any(one.answered.values()) for one in probes.problems)
