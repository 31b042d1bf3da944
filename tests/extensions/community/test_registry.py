"""Registries: forged records are found, audits decide, and the order of bundles decides nothing."""

from __future__ import annotations

import copy
import itertools
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import ZERO, HereRuntime, Quiet, add_method, execute, make_workspace

from mdbench.cli import main
from mdbench.cli.contradictions import contradictions
from mdbench.cli.options import Exit
from mdbench.errors import MdbenchError, RecordsError
from mdbench.extensions.community.audits import Sample, read_audit
from mdbench.extensions.community.checks import Folders, Trust, check_records
from mdbench.extensions.community.evidence import Evidence
from mdbench.extensions.community.signatures import sign
from mdbench.extensions.community.store import Registry
from mdbench.records import Record, RecordStore, key_of
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import make_plan
from mdbench.runs.reproduce import rescored
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.workspace import Workspace

needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")

MEAN = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        self.value = p.Y.mean(axis=0)
    def predict(self, p):
        return np.tile(self.value, (len(p.X), 1))
    def equations(self):
        return [repr(float(each)) for each in self.value]
"""
LINE = ["--algorithm", "mean", "--data-type", "ode", "--work", "20"]
DATASETS = ["rc-circuit", "autocatalysis", "harmonic-oscillator-damping"]


@pytest.fixture
def workspace(command_line: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("COLUMNS", "200")
    add_method(command_line, "mean", MEAN)
    assert main(["run", *LINE, "--dataset", *DATASETS]) == 0
    return command_line


def records() -> list[Record]:
    return RecordStore(Path("results/mean-ode.jsonl")).read()


def bundle_of(ones: list[Record], name: str) -> Path:
    folder = Path(f"of-{name}")
    folder.mkdir(exist_ok=True)
    text = "".join(record.to_line() + "\n" for record in ones)
    (folder / "mean-ode.jsonl").write_text(text, encoding="utf-8")
    out = Path(f"{name}.zip")
    assert main(["bundle", str(folder), "--out", str(out), "--title", name]) == Exit.DONE
    return out


def make_key(name: str, kind: str = "ed25519") -> None:
    """Make an SSH key in the current folder."""
    line = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", name, "-C", name]
    subprocess.run(line, check=True)


def name_signer(*names: str) -> None:
    """Let the registry name the people whose word counts."""
    publics = [Path(f"{name}.pub").read_text(encoding="utf-8") for name in names]
    lines = [f"{name}@lab {public}" for name, public in zip(names, publics, strict=True)]
    Path("registry").mkdir(exist_ok=True)
    Path("registry/allowed_signers").write_text("".join(lines), encoding="utf-8")


def make_signer(name: str) -> None:
    """Make a key whose word counts."""
    make_key(name)
    name_signer(name)


def with_parts(data: dict[str, Any], **parts: str) -> dict[str, Any]:
    """Change parts of the key and the key with them, as a careful forger does."""
    data["key_parts"] = data["key_parts"] | parts
    data["key"] = key_of(data["key_parts"])
    return data


def put(place: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(data: dict[str, Any]) -> dict[str, Any]:
        *path, last = place.split(".")
        inside = data
        for name in path:
            inside = inside[name]
        inside[last] = value
        return data

    return change


def with_score(name: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(data: dict[str, Any]) -> dict[str, Any]:
        assert name in data["metrics"] or name == "made_up"
        data["metrics"] = data["metrics"] | {name: value}
        return data

    return change


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(data: dict[str, Any]) -> dict[str, Any]:
        data["metrics"] = {key: value for key, value in data["metrics"].items() if key != name}
        return data

    return change


FORGED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a better score": with_score("nmse", 1e-12),
    "a better score by a hair": lambda data: with_score("nmse", data["metrics"]["nmse"] * 0.99)(
        data
    ),
    "identified": with_score("identified", 1),
    "a smaller answer": with_score("complexity", 1e-3),
    "a score that is left out": without("nmse"),
    "a score that does not exist": with_score("made_up", 1.0),
    "no scores": put("metrics", {}),
    "another answer, the old scores": put("equations", ["-0.5*u0"]),
    "an answer with the truth's score": lambda data: with_score("nmse", 1e-30)(
        put("equations", data["truth"])(data)
    ),
    "another floor": put("floor", 0.9),
    "an easier truth": put("truth", ["0.3"]),
    "no truth": put("truth", None),
    "another target": put("targets", ["u1_t"]),
    "judged by less": put("judged_by", ["nmse"]),
    "another system": put("system", "harmonic"),
    "a part": put("part", "fold 1"),
    "another dataset": put("dataset", "autocatalysis"),
    "another dataset, with its key": lambda data: put("system", "autocatalysis")(
        put("dataset", "autocatalysis")(with_parts(data))
    ),
    "another seed": put("seed", 7),
    "another noise": put("snr_db", 10.0),
    "another protocol": put("protocol", "published"),
    "another view": put("view", "trajectory"),
    "another budget": put("budget.work_s", 5.0),
    "more threads": put("budget.threads", 4),
    "another key": put("key", "0" * 64),
    "other parts, the old key": lambda data: put(
        "key_parts", data["key_parts"] | {"adapter": "1" * 64}
    )(data),
    "another lock": put("provenance.lock_sha256", "2" * 64),
    "another scorer": put("provenance.scorer", "999"),
    "an option that was not given": put("options", {"derivatives": "exact"}),
    "names": put("names", {"u0": "prey"}),
    "a unit": put("measured_in", {"u0": "m"}),
    "a dimension": put("dim", 3),
    "a target's source": put("target_source", "file"),
    "failed, with an answer": put("status", "failed"),
    "timed out, with scores": lambda data: put("equations", None)(put("status", "timeout")(data)),
    "failed for no reason": lambda data: (
        data
        | {"status": "failed", "equations": None, "metrics": {}, "selection": None, "front": None}
    ),
    "a job from the future": put("measured.started", "2097-01-01T00:00:00Z"),
    "a job from the past": put("measured.started", "1999-01-01T00:00:00Z"),
    "negative time": put("measured.wall_s", -1.0),
    "no time at all": put("measured.wall_s", None),
    "more work than allowed": put("measured.work_s", 1000.0),
    "a fit longer than the job": put("measured.fit_s", 1e6),
    "more processor time than there is": put("measured.cpu_s", 1e9),
    "a core of another world": put("measured.speed", 1e6),
    "invalid candidates that were never given": put(
        "selection", {"loss": 0.1, "fitness": 1.0, "candidates": 1, "invalid": 5}
    ),
    "a curve that goes back": put(
        "measured.anytime",
        [
            {"share": 0.5, "score": 0.1, "time_s": 1.0, "work_s": 1.0},
            {"share": 0.1, "score": 0.1, "time_s": 2.0, "work_s": 2.0},
        ],
    ),
}


def test_a_genuine_bundle_is_scored_again_and_every_forgery_is_found(workspace: Workspace) -> None:
    genuine = records()
    assert [contradictions(record) for record in genuine] == [[], [], []]
    assert [one.trust for one in check_records(genuine, workspace, 1)] == [Trust.RESCORED] * 3
    first = next(record for record in genuine if record.dataset == "rc-circuit")
    forged = []
    for name, change in FORGED.items():
        data = change(copy.deepcopy(first.model_dump(mode="json", by_alias=True)))
        forged.append(Record.model_validate(data))
        assert forged[-1] != first, name
    assert len(forged) > 40
    found = dict(zip(FORGED, check_records(forged, workspace, 1), strict=True))
    assert [name for name, one in found.items() if not one.faults] == []


def test_data_that_are_not_those_of_the_dataset_are_only_claimed(workspace: Workspace) -> None:
    data = with_parts(records()[0].model_dump(mode="json", by_alias=True), dataset="3" * 64)
    (verdict,) = check_records([Record.model_validate(data)], workspace, 1)
    assert verdict.trust is Trust.CLAIMED
    assert "dataset" in verdict.reason
    own = records()[0].model_dump(mode="json", by_alias=True) | {"dataset_path": "mine.csv"}
    (verdict,) = check_records([Record.model_validate(own)], workspace, 1)
    assert verdict.trust is Trust.CLAIMED or verdict.faults


def rewritten(bundle: Path, out: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Change the files of an archive, and not what it lists."""
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out


def _record_edited(files: dict[str, bytes]) -> None:
    files["records/mean-ode.jsonl"] = files["records/mean-ode.jsonl"].replace(b"ok", b"OK", 1)


def _file_added(files: dict[str, bytes]) -> None:
    files["records/more.jsonl"] = b""


def _file_outside(files: dict[str, bytes]) -> None:
    files["../escaped"] = b"x"


def _listing_gone(files: dict[str, bytes]) -> None:
    del files["bundle.json"]


def _records_gone(files: dict[str, bytes]) -> None:
    del files["records/mean-ode.jsonl"]


def _listing_newer(files: dict[str, bytes]) -> None:
    files["bundle.json"] = files["bundle.json"].replace(b'"bundle": 1', b'"bundle": 99')


@pytest.mark.parametrize(
    "change",
    [_record_edited, _file_added, _file_outside, _listing_gone, _records_gone, _listing_newer],
)
def test_an_archive_that_was_changed_is_refused(
    workspace: Workspace, change: Callable[[dict[str, bytes]], None]
) -> None:
    forged = rewritten(bundle_of(records(), "genuine"), Path("forged.zip"), change)
    with pytest.raises(MdbenchError):
        Registry(Path("registry"), workspace).submit(forged, n_jobs=1)
    assert not list(Path("registry").rglob("*.zip"))


def test_a_bundle_with_a_forged_record_is_refused_and_the_record_is_named(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    del workspace
    first, *others = records()
    better = first.model_copy(update={"metrics": {**first.metrics, "nmse": 1e-9}})
    forged = bundle_of([better, *others], "forged")
    capsys.readouterr()
    assert main(["registry", "submit", str(forged), "registry"]) == Exit.ERROR
    printed = " ".join(capsys.readouterr().err.split())
    assert "1 of 3 records" in printed
    assert f"mean · {first.system}" in printed
    assert "nmse is 1e-09, and scored again" in printed
    assert not list(Path("registry").rglob("*.zip"))


def test_two_results_of_one_job_in_a_bundle_are_refused(workspace: Workspace) -> None:
    folder = Path("twice")
    for name, nmse in (("a", 0.1), ("b", 0.2)):
        (folder / name).mkdir(parents=True)
        one = records()[0]
        changed = one.model_copy(update={"metrics": {**one.metrics, "nmse": nmse}})
        (folder / name / "mean-ode.jsonl").write_text(changed.to_line() + "\n", encoding="utf-8")
    assert main(["bundle", str(folder), "--out", "twice.zip"]) == Exit.DONE
    with pytest.raises(RecordsError, match="two results of one job"):
        Registry(Path("registry"), workspace).submit(Path("twice.zip"), n_jobs=1)


def answer_of_another(record: Record, workspace: Workspace) -> Record:
    """Return a record with an answer that its method never gave, and with that answer's scores."""
    taken = record.model_copy(update={"equations": record.truth})
    return without_measured(rescored(taken, Catalog(workspace)).after)


def without_measured(record: Record) -> Record:
    """Return a record that states nothing of how its answer came about."""
    measured = record.measured.model_copy(update={"anytime": (), "smaller_budgets": ()})
    return record.model_copy(update={"measured": measured})


def trusts(registry: Registry) -> dict[str, set[Trust]]:
    """Return the classes of the records of each bundle, by its title."""
    content = registry.read()
    evidence = Evidence(content)
    return {
        submission.about["title"]: {judged.trust for judged in evidence.judge(submission)}
        for submission in content.submissions
    }


@needs_ssh_keygen
def test_an_audit_verifies_the_jobs_that_were_run_and_finds_an_answer_that_was_not_the_methods(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    genuine = bundle_of(records(), "genuine")
    stolen = bundle_of([answer_of_another(one, workspace) for one in records()], "stolen")
    for bundle in (genuine, stolen):  # the scores follow from the answers of both
        assert main(["registry", "submit", str(bundle), "registry"]) == Exit.DONE
    assert "3 re-scored" in capsys.readouterr().out
    make_signer("alice")
    audit = ["--sample", "0.5", "--sign", "alice", "--n-jobs", "1"]
    assert main(["registry", "audit", str(genuine), *audit, "--out", "good.json"]) == Exit.DONE
    assert "2 equal, 0 different, 0 undecided" in capsys.readouterr().out
    assert main(["registry", "submit", "good.json", "registry"]) == Exit.DONE
    registry = Registry(Path("registry"), workspace)
    # Both have a record of the job that was run again, and one of them has its answer.
    assert trusts(registry)["genuine"] == {Trust.RERUN, Trust.RESCORED}
    assert trusts(registry)["stolen"] == {Trust.CLAIMED}
    assert (
        main(["registry", "audit", str(stolen), *audit, "--out", "bad.json"]) == Exit.NOT_AS_WISHED
    )
    assert "0 equal, 2 different, 0 undecided" in capsys.readouterr().out
    assert main(["registry", "submit", "bad.json", "registry"]) == Exit.DONE
    assert registry.read().left_out == ()
    assert trusts(registry)["stolen"] == {Trust.CLAIMED}

    # The board ranks what was verified, and names what was not with the reason.
    assert main(["registry", "board", "registry", "--out", "site"]) == Exit.DONE
    page = Path("site/index.html").read_text(encoding="utf-8")
    assert "run again by alice@lab: another result" in page
    table = Path("site/records.csv").read_text(encoding="utf-8")
    assert table.count(",claimed,closed,") == 3
    assert table.count(",re-run,closed,") >= 2
    assert "Conflicts" in page
    ranked = Path("site/closed.html").read_text(encoding="utf-8")
    names = {one.about["title"]: one.name for one in registry.read().submissions}
    assert f"mean @{names['genuine']}" in ranked
    assert names["stolen"] not in ranked
    assert not Path("site/open.html").exists()


def test_the_sample_follows_from_the_bundle_and_the_salt(workspace: Workspace) -> None:
    del workspace
    own = records()
    chosen = {
        tuple(one.key for one in Sample(0.3, 1, salt).of(order, bundle))
        for order in itertools.permutations(own)
        for bundle, salt in (("a" * 64, "x"),)
    }
    assert len(chosen) == 1
    assert len(Sample(1e-6, 1, "").of(own, "a" * 64)) == 1
    assert len(Sample(1e-6, 2, "").of(own, "a" * 64)) == 2
    assert len(Sample(1e-6, 60, "").of(own, "a" * 64)) == 3
    assert len(Sample(1.0, 1, "").of(own, "a" * 64)) == 3
    many = [own[0].model_copy(update={"key": f"{n:064x}"}) for n in range(400)]
    of = {
        (bundle, salt): {one.key for one in Sample(0.25, 1, salt).of(many, bundle * 64)}
        for bundle in "ab"
        for salt in "xy"
    }
    for one, other in itertools.combinations(of.values(), 2):
        assert len(one) == len(other) == 100
        assert 5 < len(one & other) < 60  # as by chance: 25 are expected

    # A few records of one method are not hidden among very many of another.
    few = [one.model_copy(update={"algorithm": "other"}) for one in own]
    chosen_of = [one.algorithm for one in Sample(0.05, 2, "x").of([*many, *few], "a" * 64)]
    assert (chosen_of.count("mean"), chosen_of.count("other")) == (20, 2)


def test_what_somebody_wrote_into_the_folder_counts_only_if_it_is_what_it_says(
    workspace: Workspace,
) -> None:
    genuine = bundle_of(records(), "genuine")
    registry = Registry(Path("registry"), workspace)
    made = registry.submit(genuine, n_jobs=1)
    for name in (f"{'0' * 64}.zip", "notes.zip"):
        shutil.copy(genuine, Path("registry/bundles") / name)
    Path("registry/bundles/broken.zip").write_bytes(genuine.read_bytes()[:-100])
    for kind in ("audits", "withdrawals", "verdicts"):
        Path("registry", kind).mkdir()
        Path("registry", kind, "none.json").write_text("{}", encoding="utf-8")
    content = registry.read()
    assert [one.sha256 for one in content.submissions] == [made.sha256]
    assert len(content.left_out) == 5
    # What was found before is kept outside, and is made again where it cannot be read.
    (kept,) = (workspace.home / "verdicts").glob(f"{made.sha256}.json")
    assert not list(Path("registry/verdicts").glob(f"{made.sha256}*"))
    kept.write_text("nothing", encoding="utf-8")
    assert registry.read() == content


@needs_ssh_keygen
def test_only_signed_audits_of_named_people_count(workspace: Workspace) -> None:
    genuine = bundle_of(records(), "genuine")
    registry = Registry(Path("registry"), workspace)
    registry.submit(genuine, n_jobs=1)
    audit = ["registry", "audit", str(genuine), "--sample", "0.1", "--n-jobs", "1", "--out"]
    make_key("alice")
    make_key("mallory")
    assert main([*audit, "unsigned.json"]) == Exit.DONE
    assert main([*audit, "alice.json", "--sign", "alice"]) == Exit.DONE
    assert main([*audit, "mallory.json", "--sign", "mallory"]) == Exit.DONE
    for name in ("unsigned", "alice", "mallory"):
        registry.add_audit(Path(f"{name}.json"))
    # Where nobody is named, nobody's word counts.
    assert trusts(registry) == {"genuine": {Trust.RESCORED}}
    assert len(registry.read().left_out) == 3
    name_signer("alice")
    assert trusts(registry) == {"genuine": {Trust.RERUN, Trust.RESCORED}}
    content = registry.read()
    assert [checked.signer for checked in content.audits] == ["alice@lab"]
    assert len(content.left_out) == 2

    # A signature of another file, or one for another purpose, is none.
    shutil.copy("alice.json.sig", "unsigned.json.sig")
    registry.add_audit(Path("unsigned.json"))
    assert len(registry.read().audits) == 1
    for number in (1, 99):
        Path("other.json").write_text(json.dumps({"audit": number}), encoding="utf-8")
        with pytest.raises(RecordsError, match=f"format {number}"):
            read_audit(Path("other.json"))
    with pytest.raises(MdbenchError, match="Nothing was signed"):
        sign(Path("unsigned.json"), Path("no-key"))


@pytest.mark.parametrize(
    "line",
    [
        ["registry", "submit", "nothing.zip", "registry"],
        ["registry", "audit", "nothing.zip"],
        ["registry", "audit", "results/mean-ode.jsonl"],
        ["registry", "board", "nothing"],
        ["registry", "board", "results"],
        ["registry", "submit", "results/mean-ode.jsonl", "registry"],
    ],
)
def test_what_cannot_be_done_is_said_in_two_lines(
    workspace: Workspace, line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    del workspace
    capsys.readouterr()
    assert main(line) == Exit.ERROR
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert 1 < printed.count("\n") <= 4


@pytest.mark.usefixtures("workspace")
def test_a_report_counts_the_records_that_do_not_fit_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [json.loads(record.to_line()) for record in records()]
    folder = Path("edited")
    folder.mkdir()
    (folder / "mean-ode.jsonl").touch()

    def told() -> str:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "mean-ode.jsonl").write_text(lines, encoding="utf-8")
        capsys.readouterr()
        assert main(["report", str(folder), "--text"]) == Exit.DONE
        return capsys.readouterr().out

    assert "fit together" not in told()
    rows[1]["seed"] = 5
    name = rows[1]["dataset"]
    assert f"1 of 3 records does not fit together, as if edited: mean on {name}, seed 5" in told()
    rows[0]["key"] = "0" * 64
    rows[2]["status"], rows[2]["reason"] = "failed", "it did"
    assert "3 of 3 records do not fit together" in told()


def test_a_record_under_another_methods_name_is_found_by_its_folder(tmp_path: Path) -> None:
    """The key does not hold the name: what else would show that `zero` calls itself `sindy`?"""
    place = make_workspace(tmp_path)
    for name in ("zero", "other"):
        add_method(place, name, ZERO + f"# {name}\n")
    options = RunOptions(("zero",), "ode", ("rc-circuit",), result_dir=tmp_path / "out")
    [record] = execute(make_plan(options, place), HereRuntime(), Quiet()).records
    assert record.answered
    folders = Folders(place)
    assert folders.named(record) == record
    for name, wrong in (("zero", False), ("other", True), ("sindy", True)):
        renamed = record.model_copy(update={"algorithm": name})
        faults = list(folders.faults(renamed))
        assert any("its folder is that of zero" in fault for fault in faults) is wrong
    # Of a folder that is not here nobody can say that its name is another's.
    for part, what in (("adapter", "folder"), ("environment", "lock")):
        parts = record.key_parts | {part: "abcdef12" * 8}
        stranger = record.model_copy(update={"key_parts": parts})
        assert list(folders.faults(stranger)) == []
        assert folders.named(stranger).method == f"zero [unknown {what} abcdef12]"
    # Nor does a record decide what its method was given.
    given = record.model_copy(update={"given": ("truth",)})
    assert folders.named(given).given == ()
