"""A field or an option is declared once, and is seen wherever it matters."""

from __future__ import annotations

import ast
import pickle
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT, add_method

from mdbench import datatypes
from mdbench.cli import main
from mdbench.datatypes.facts import Option, Protocol
from mdbench.errors import UsageError
from mdbench.records import Record, RecordStore
from mdbench.runs.options import metadata, read, typed_fields
from mdbench.runs.spec import CommonOptions, JobSpec
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

JOB = JobSpec(
    algorithm="zero",
    data_type="ode",
    dataset="rc-circuit",
    snr_db=20.0,
    seed=3,
    timeout_s=9.5,
    threads=2,
    options={"variant": "released", "max_rows": 70, "dummy": True},
)
OPTIONS = (
    Option("--variant"),
    Option("--max-rows", changes_system=False),
    Option("--dummy", metavar=""),
    Option("--never-given"),
)


def test_a_specification_can_be_sent_and_looked_up() -> None:
    sent = pickle.loads(pickle.dumps(JOB))
    assert sent == JOB
    assert {JOB: 1}[sent] == 1
    assert sent != replace(JOB, options={})
    assert str(JOB) == "zero · rc-circuit · 20 dB · seed 3"


def test_what_nobody_asked_for_changes_no_key() -> None:
    plain = replace(JOB, options={}, snr_db=None)
    assert plain.key_parts() == {
        "data_type": "ode",
        "name": "rc-circuit",
        "snr_db": "clean",
        "seed": "3",
        "protocol": "strict",
        "timeout_s": "9.5",
        "threads": "2",
    }
    more = replace(JOB, memory_mb=512, processes=9, output_mb=77, save_pareto=True)
    assert {
        name: part for name, part in more.key_parts().items() if name not in plain.key_parts()
    } == {
        "memory_mb": "512",
        "processes": "9",
        "output_mb": "77",
        "variant": "released",
        "max_rows": "70",
        "dummy": "true",
    }


def test_a_system_is_named_by_what_asks_another_question() -> None:
    assert JOB.system(OPTIONS) == "rc-circuit (released, dummy)"
    assert replace(JOB, options={"max_rows": 70}).system(OPTIONS) == "rc-circuit"
    assert replace(JOB, options={"level": 0.5}).system((Option("--level"),)) == (
        "rc-circuit (level=0.5)"
    )


def recorded(job: JobSpec) -> Record:
    return Record.model_validate(
        {
            "mdbench": "0",
            "key": "0" * 64,
            "key_parts": {},
            "system": "",
            "view": "table",
            "status": "failed",
            "runtime": {"name": "venv"},
            "provenance": {"machine": {"cpu": "", "cores": 1, "memory_mb": 1, "os": ""}},
            "measured": {"started": "2026-01-01T00:00:00Z"},
            **job.recorded(),
        }
    )


ASKS: dict[str, Any] = {"llm_model": "a", "prompt": "anon", "llm_calls": 7}
ASKS_ALL: dict[str, Any] = {
    "llm_model": "a",
    "llm_settings": '{"top_p": 0.5}',
    "prompt": "prior",
    "llm_calls": 1,
    "llm_prompt_tokens": 2,
    "llm_completion_tokens": 3,
    "llm_seconds": 4.5,
    "llm_money": 0.5,
    "llm_price": (0.15, 0.6),
}


@pytest.mark.parametrize(
    "job",
    [
        JOB,
        replace(JOB, dataset_path=Path("mine/a.csv"), protocol=Protocol.PUBLISHED, snr_db=None),
        replace(JOB, memory_mb=512, processes=9, output_mb=77, options={}),
        *([replace(JOB, **ASKS), replace(JOB, **ASKS_ALL)] if hasattr(JOB, "llm_model") else []),
    ],
)
def test_a_record_gives_the_specification_back(job: JobSpec) -> None:
    record = recorded(job)
    assert JobSpec.of(record) == job
    assert JobSpec.of(Record.model_validate_json(record.to_line())) == job
    kept = record.model_copy(update={"front": ()})
    assert JobSpec.of(kept) == replace(job, save_pareto=True)


def test_what_an_old_record_does_not_say_is_as_usual_or_an_error() -> None:
    record = recorded(JOB)
    budget = record.budget.model_copy(update={"processes": None, "output_mb": None})
    assert JobSpec.of(record.model_copy(update={"budget": budget})) == JOB
    budget = record.budget.model_copy(update={"timeout_s": None})
    with pytest.raises(UsageError, match="has no timeout_s"):
        JobSpec.of(record.model_copy(update={"budget": budget}))


def test_options_are_read_by_their_names() -> None:
    asked = RunOptions.of(
        {
            "algorithm": "a",
            "data_type": "ode",
            "snr": [None, 25],
            "seeds": "0-2",
            "memory": "1G",
            "with_noise": False,
            "save_pareto": True,
            "timeout": 7,
            "max_rows": 10,
            "dummy_columns": True,
        }
    )
    assert asked == RunOptions(
        ("a",),
        "ode",
        snr=(None, 25.0),
        seeds=(0, 1, 2),
        memory_mb=1024,
        save_pareto=True,
        timeout_s=7.0,
        special=("--max-rows=10", "--dummy-columns"),
    )
    with pytest.raises(UsageError, match="--data-type is missing"):
        RunOptions.of({"algorithm": "a"})
    with pytest.raises(UsageError, match="--timeout is '0'"):
        RunOptions.of({"algorithm": "a", "data_type": "ode", "timeout": 0})


SHADE = metadata(
    "--shade NAME", "Of the method's colour.", key="shade", omitted="none", question=True
)


@dataclass(frozen=True, kw_only=True)
class Shaded(JobSpec):
    shade: str = field(default="none", metadata=SHADE)


@dataclass(frozen=True, kw_only=True)
class ShadedTerms(CommonOptions):
    shade: str = field(default="none", metadata=SHADE)


def test_a_new_field_is_declared_once() -> None:
    dark = Shaded(**vars(JOB), shade="dark")
    assert dark.key_parts() == JOB.key_parts() | {"shade": "dark"}
    assert Shaded(**vars(JOB)).key_parts() == JOB.key_parts()
    assert dark.recorded()["options"] == {**JOB.options, "shade": "dark"}
    assert Shaded.of(recorded(dark)) == dark
    assert dark.question == (*JOB.question, "dark")
    assert read(ShadedTerms, {"shade": "dark"}).shade == "dark"
    assert typed_fields(ShadedTerms)["shade"][0].help == "Of the method's colour."


TOY = """
from mdbench.datatypes.facts import Option
from mdbench.datatypes.ode.data_type import Ode

class Toy(Ode):
    name = "toy"
    options = (Option.choice("--shade", ("light", "dark"), "How it looks."),)

DATA_TYPE = Toy
"""


@pytest.fixture
def workspace(
    command_line: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Workspace:
    monkeypatch.setenv("COLUMNS", "200")
    (command_line.root / "datasets").unlink()
    (command_line.root / "datasets").mkdir()
    (command_line.root / "datasets" / "toy").symlink_to(ROOT / "datasets" / "ode")
    kinds = tmp_path / "kinds"
    (kinds / "toy").mkdir(parents=True)
    (kinds / "toy" / "data_type.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(datatypes, "__path__", [*datatypes.__path__, str(kinds)])
    for name in ("toy", "toy.data_type"):
        monkeypatch.delitem(sys.modules, f"mdbench.datatypes.{name}", raising=False)
    toml = add_method(command_line, "zero") / "method.toml"
    text = toml.read_text(encoding="utf-8").replace('["ode"]', '["toy"]')
    toml.write_text(text, encoding="utf-8")
    return command_line


@pytest.mark.usefixtures("workspace")
def test_a_new_option_of_a_data_type_is_declared_once(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["--algorithm", "zero", "--data-type", "toy", "--dataset", "rc-circuit"]
    assert main(["run", "--help"]) == 0
    section = capsys.readouterr().out.partition("With --data-type toy:")[2]
    assert " ".join(section.split()).startswith("--shade light|dark How it looks.")
    assert main(["run", *line]) == 0
    assert main(["run", *line, "--shade", "dark"]) == 0
    plain, dark = RecordStore(Path("results/zero-toy.jsonl")).read()
    assert (plain.options, plain.system) == ({}, "rc-circuit")
    assert (dark.options, dark.system) == ({"shade": "dark"}, "rc-circuit (dark)")
    assert dark.key_parts == plain.key_parts | {"shade": "dark"}
    assert JobSpec.of(dark) == replace(JobSpec.of(plain), options={"shade": "dark"})
    capsys.readouterr()
    assert main(["plan", "--why", *line, "--shade=light"]) == 0
    assert "run: shade changed (dark -> light) since its record of" in capsys.readouterr().out
    assert main(["reproduce", "results/zero-toy.jsonl"]) == 0
    assert "2 of 2 records reproduced." in capsys.readouterr().out
    assert main(["run", *line, "--shade", "pink"]) == 2
    assert "--shade is 'pink'." in capsys.readouterr().err


@pytest.mark.parametrize(
    "module", ["runs", "records/store.py", "cli/main.py", "cli/run.py", "cli/commands"]
)
def test_nothing_names_a_metric_or_a_data_type(module: str) -> None:
    kinds = datatypes.classes()
    names = {kind.name for kind in kinds} | {spec.name for kind in kinds for spec in kind.metrics}
    where = ROOT / "mdbench" / module
    for path in where.rglob("*.py") if where.is_dir() else [where]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = node.value if isinstance(node, ast.Constant) else None
            assert named not in names, f"{path}: {named}"
