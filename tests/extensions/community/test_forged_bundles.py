"""A standing board: forged bundles, audits and withdrawals, and what the board says then.

Each forgery is a bundle as a careful cheat would write it: keys are those of their parts, scores
are those of the answers, archives list what they hold.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import add_method

from mdbench.cli import main
from mdbench.cli.options import Exit
from mdbench.cli.report import metrics_of
from mdbench.errors import RecordsError
from mdbench.extensions.community.audits import Audit, draw_text, read_audit, write_audit
from mdbench.extensions.community.board import make_site, rows_of
from mdbench.extensions.community.checks import Trust
from mdbench.extensions.community.evidence import Evidence, JudgedRecord
from mdbench.extensions.community.signatures import (
    NAMESPACE,
    salt_of,
    sign,
    signature_of,
    signer_of,
)
from mdbench.extensions.community.store import Registry, Submission
from mdbench.records import Record, RecordStore, key_of
from mdbench.reports.bundle import sha256_of, write_bundle
from mdbench.runs.catalog import Catalog
from mdbench.runs.reproduce import rescored
from mdbench.runtimes.registry import open_runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdbench.workspace import Workspace

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
LINE = ["--data-type", "ode", "--work", "20"]
DATASETS = ["rc-circuit", "autocatalysis", "harmonic-oscillator-damping"]

HONEST: dict[str, bytes] = {}
"""The results files of one run: the same methods leave the same records in each workspace."""

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")


@dataclass
class Scene:
    """A registry, its auditor, and the honest records of two methods."""

    workspace: Workspace
    mean: list[Record]
    other: list[Record]
    pages: dict[str, list[Record]] = field(default_factory=dict)

    @property
    def registry(self) -> Registry:
        return Registry(Path("registry"), self.workspace)

    def submit(self, records: Sequence[Record], name: str) -> Submission:
        return self.registry.submit(bundle_of(records, name), n_jobs=1)

    def judged(self) -> dict[str, list[JudgedRecord]]:
        """Return the records of each bundle, by its title."""
        content = self.registry.read()
        evidence = Evidence(content)
        return {one.about["title"]: evidence.judge(one) for one in content.submissions}

    def trusts(self, name: str) -> list[Trust]:
        return [record.trust for record in self.judged()[name]]

    def board(self, wanted: Callable[[Record], bool] | None = None) -> dict[str, str]:
        """Make the board; its page of a division is the names and NMSEs of the ranked records."""
        content = self.registry.read()
        records = [verdict.record for one in content.submissions for verdict in one.verdicts]
        self.pages = {}

        def page(rows: Sequence[Record], heading: str) -> str:
            self.pages[heading.split()[-2]] = list(rows)
            return ""

        return make_site(
            content, self.registry.folders, metrics_of(records), page, title="t", wanted=wanted
        )

    def rows(self, wanted: Callable[[Record], bool] | None = None) -> dict[str, list[Record]]:
        """Return the ranked records of each row of the closed division."""
        self.board(wanted)
        rows: dict[str, list[Record]] = {}
        for record in self.pages.get("closed", ()):
            rows.setdefault(record.method, []).append(record)
        return rows

    def remarks(self, wanted: Callable[[Record], bool] | None = None) -> dict[str, str]:
        """Return the remark of each row of the board, by the names of its bundles."""
        content, registry = self.registry.read(), self.registry
        records = [verdict.record for one in content.submissions for verdict in one.verdicts]
        args = content.submissions, registry.folders, metrics_of(records), wanted
        return {row.name: row.remark for row in rows_of(Evidence(content), *args)}

    def audit(self, name: str, key: str = "alice", share: float = 1.0) -> Path:
        """Run a sample of a bundle again, and sign the result."""
        out = Path(f"audit-of-{name}-by-{key}.json")
        line = ["registry", "audit", f"{name}.zip", "--sample", str(share), "--sign", key]
        assert main([*line, "--n-jobs", "1", "--out", str(out)]) in {0, Exit.NOT_AS_WISHED}
        return out

    def add_audit(self, name: str, key: str = "alice", share: float = 1.0) -> Path:
        path = self.audit(name, key, share)
        self.registry.add_audit(path)
        return path

    def left_out(self) -> tuple[str, ...]:
        return self.registry.read().left_out


def bundle_of(records: Sequence[Record], name: str) -> Path:
    """Write records as an archive that lists what it holds."""
    folder, out = Path(f"of-{name}"), Path(f"{name}.zip")
    folder.mkdir(exist_ok=True)
    text = "".join(record.to_line() + "\n" for record in records)
    (folder / "records.jsonl").write_text(text, encoding="utf-8")
    write_bundle([folder], out, methods={}, title=name)
    return out


def make_key(name: str, kind: str = "ed25519") -> None:
    line = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", name, "-C", name]
    subprocess.run(line, check=True)


@pytest.fixture
def scene(command_line: Workspace, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("COLUMNS", "200")
    add_method(command_line, "mean", MEAN)
    add_method(command_line, "other", MEAN.replace("mean(axis=0)", "max(axis=0)"))
    if not HONEST:
        assert main(["run", "--algorithm", "mean", "other", *LINE, "--dataset", *DATASETS]) == 0
        HONEST.update({path.name: path.read_bytes() for path in Path("results").glob("*.jsonl")})
    Path("results").mkdir(exist_ok=True)
    for name, content in HONEST.items():
        Path("results", name).write_bytes(content)
    for name in ("alice", "mallory"):
        make_key(name)
    Path("registry").mkdir()
    public = Path("alice.pub").read_text(encoding="utf-8")
    Path("registry/allowed_signers").write_text(f"alice@lab {public}", encoding="utf-8")
    return Scene(
        command_line,
        RecordStore(Path("results/mean-ode.jsonl")).read(),
        RecordStore(Path("results/other-ode.jsonl")).read(),
    )


def changed(record: Record, **values: Any) -> Record:
    """Change a record, such as its ``measured__wall_s``, and keep it a record."""
    data = record.model_dump(mode="json", by_alias=True)
    for name, value in values.items():
        inside, _, last = name.rpartition("__")
        (data[inside] if inside else data)[last] = value
    return Record.model_validate(data)


def with_parts(record: Record, **parts: str) -> Record:
    """Change parts of the key and the key with them, and what else states the same."""
    key_parts = record.key_parts | parts
    values: dict[str, Any] = {"key_parts": key_parts, "key": key_of(key_parts)}
    if "environment" in parts:
        values["provenance__lock_sha256"] = parts["environment"]
    return changed(record, **values)


def with_limit(record: Record, **limits: int) -> Record:
    """Change limits of a job, and its key with them."""
    stated = {f"budget__{name}": number for name, number in limits.items()}
    return with_parts(changed(record, **stated), **{n: str(v) for n, v in limits.items()})


def lying(record: Record) -> Record:
    """Return a record with the smallest of scores, and no curve that contradicts it."""
    metrics = record.metrics | {"nmse": 1e-20}
    return changed(record, metrics=metrics, measured__anytime=[])


def stolen(record: Record, workspace: Workspace, answer: Sequence[str] | None = None) -> Record:
    """Return a record with the truth as its answer, or another one, with its right scores."""
    bare = changed(record, measured__anytime=[], measured__smaller_budgets=[])
    taken = bare.model_copy(update={"equations": tuple(answer or record.truth or ())})
    return rescored(taken, Catalog(workspace)).after


def failed(record: Record, status: str = "unsupported") -> Record:
    """Return a record of the same job that states that there was no answer."""
    return changed(
        record,
        status=status,
        reason="none",
        equations=None,
        metrics={},
        notes={},
        selection=None,
        hyperparameters=None,
        measured__anytime=[],
        measured__smaller_budgets=[],
    )


def nmse(records: Sequence[Record]) -> list[Any]:
    return sorted(record.metrics.get("nmse", 0.0) for record in records)


def test_an_audit_lifts_no_record_that_was_not_run_again(scene: Scene) -> None:
    """Forgery 1: wrong answers on made-up data, with the smallest of scores; 2: of an own file."""
    made_up = [with_parts(lying(one), dataset="3" * 64) for one in scene.other]
    own = [changed(one, dataset_path="mine.csv") for one in scene.other[:1]]
    scene.submit([*scene.mean, *made_up], "made-up")
    scene.submit(own, "own")
    assert scene.trusts("own") == [Trust.CLAIMED]
    assert scene.trusts("made-up").count(Trust.CLAIMED) == 3
    scene.add_audit("made-up")
    assert scene.left_out() == ()
    by_method: dict[str, set[Trust]] = {"mean": set(), "other": set()}
    for judged in scene.judged()["made-up"]:
        by_method[judged.record.algorithm].add(judged.trust)
    assert by_method == {"mean": {Trust.RERUN}, "other": {Trust.CLAIMED}}
    (row,) = scene.rows().values()
    assert {record.algorithm for record in row} == {"mean"}
    assert min(nmse(row)) > 1e-20


def test_a_sample_lifts_the_jobs_that_were_run_alone(scene: Scene) -> None:
    """Forgery 3: true records and stolen ones; the audit happens to run the true ones again."""
    submission = scene.submit(scene.mean, "few")
    scene.add_audit("few", share=0.1)
    assert sorted(scene.trusts("few")) == [Trust.RERUN, Trust.RESCORED, Trust.RESCORED]
    page = scene.board()["index.html"]
    assert "1 of 3, too few to speak for the others" in page
    assert submission.name in page


def test_scores_are_made_here_whatever_machine_a_record_names(scene: Scene) -> None:
    """Forgery 4: a made-up hash of the data, and a processor on which these are others."""
    elsewhere = {"cpu": "another", "cores": 1, "memory_mb": 1, "os": "x"}
    lied = [
        with_parts(
            changed(lying(one), provenance__machine=elsewhere),
            dataset="3" * 64,
        )
        for one in scene.mean
    ]
    scene.submit(lied, "lied")
    assert scene.trusts("lied") == [Trust.CLAIMED] * 3
    true = [
        with_parts(changed(one, provenance__machine=elsewhere), dataset="3" * 64)
        for one in scene.mean
    ]
    scene.submit(true, "true")
    (row,) = scene.rows().values()
    assert nmse(row) == pytest.approx(nmse(scene.mean))


def test_a_name_is_that_of_the_folder(scene: Scene) -> None:
    """Forgeries 5 to 9: names that are not those of the folder, and folders that nobody has."""
    renamed = [changed(one, algorithm="superb") for one in scene.mean]
    with pytest.raises(RecordsError, match="its folder is that of mean"):
        scene.submit(renamed, "renamed")
    as_other = [changed(one, algorithm="other") for one in scene.mean]
    with pytest.raises(RecordsError, match="its folder is that of mean"):
        scene.submit(as_other, "as-other")
    with pytest.raises(RecordsError, match="one job under two names of methods: mean and superb"):
        scene.submit([*scene.mean, *renamed], "both")
    nameless = [with_parts(one) for one in scene.mean]
    for one in nameless:
        del one.key_parts["adapter"]
    nameless = [with_parts(one) for one in nameless]
    with pytest.raises(RecordsError, match="its key_parts have no adapter"):
        scene.submit(nameless, "nameless")
    scene.submit(scene.mean, "honest")
    strange = [with_parts(changed(one, algorithm="other"), adapter="1" * 64) for one in scene.mean]
    scene.submit(strange, "strange")
    locked = [with_parts(one, environment="2" * 64) for one in scene.mean]
    scene.submit(locked, "locked")
    names = {name.partition(" @")[0] for name in scene.rows()}
    assert names == {"mean", "other [unknown folder 11111111]", "mean [unknown lock 22222222]"}


def test_a_reference_stays_one_whatever_its_records_state(scene: Scene) -> None:
    """Forgery 10: the method that is given the truth states that it was given nothing."""
    add_method(scene.workspace, "oracle", MEAN, more='given = ["truth"]')
    assert main(["run", "--algorithm", "oracle", *LINE, "--dataset", DATASETS[0]]) == 0
    (record,) = RecordStore(Path("results/oracle-ode.jsonl")).read()
    assert record.given == ("truth",)
    scene.submit([changed(record, given=[])], "silent")
    (row,) = scene.rows().values()
    assert row[0].given == ("truth",)


def test_a_forgery_that_was_found_stays_found_under_any_title(scene: Scene) -> None:
    """Forgeries 11 to 15: packed again, with another key, other digits, limits, one true job."""
    workspace = scene.workspace
    forged = [stolen(one, workspace) for one in scene.mean]
    scene.submit(forged, "first")
    assert scene.trusts("first") == [Trust.RESCORED] * 3
    scene.add_audit("first", share=0.1)
    (found,) = read_audit(Path("audit-of-first-by-alice.json")).jobs
    again = {
        "again": forged,
        "another-part": [with_parts(one, note="x") for one in forged],
        "another-runtime": [changed(one, runtime={"name": "docker"}) for one in forged],
        "another-study": [changed(one, study="5" * 64) for one in forged],
        "other-digits": [
            stolen(one, workspace, [f"({text}) + 1e-9" for text in one.equations or ()])
            for one in forged
        ],
        "limit": [changed(one, status="partial", reason="late") for one in forged],
        "asks": [changed(one, llm={"budget": {}}) for one in forged],
        "memory": [with_limit(one, memory_mb=9999) for one in forged],
        "time": [with_limit(one, timeout_s=99999) for one in forged],
        "processes": [with_limit(one, processes=999) for one in forged],
        "output": [with_limit(one, output_mb=9999) for one in forged],
        "late": [
            changed(with_limit(one, memory_mb=9999), status="partial", reason="late")
            for one in forged
        ],
    }
    for name, records in again.items():
        scene.submit(records, name)
        assert scene.trusts(name) == [Trust.CLAIMED] * 3, name
    assert scene.rows() == {}
    # Whoever leaves out what was found is trusted as anybody who has not been audited, and marked.
    scene.submit([one for one in forged if one.key != found.key], "remainder")
    assert scene.trusts("remainder") == [Trust.RESCORED] * 2
    bundle = sha256_of(Path("remainder.zip"))[:8]
    marked = {name: text for name, text in scene.remarks().items() if text}
    assert [*marked] == [bundle]
    assert marked[bundle].startswith("without 1 refuted job of ")
    assert marked[bundle].endswith(", with which it has 2 equal results")
    # Who has the other results by an own run is not marked, nor is who has all jobs.
    honest = [one for one in scene.mean if one.key != found.key]
    scene.submit(honest, "part")
    scene.submit(scene.mean, "whole")
    assert {name for name, text in scene.remarks().items() if text} == {bundle}


def test_nobody_can_push_a_competitor_down(scene: Scene) -> None:
    """Forgeries 16 to 22: bundles that make somebody else's method look bad."""
    workspace = scene.workspace
    name = scene.submit(scene.mean, "honest").name
    before = scene.rows()[f"mean @{name}"]
    spoilt = [stolen(one, workspace, ["1e3"] * len(one.targets)) for one in scene.mean]
    noisy = [with_parts(changed(one, seed=7), seed="7") for one in scene.mean]
    larger = [with_parts(changed(one, budget__memory_mb=9999), memory_mb="9999") for one in spoilt]
    newer = [changed(one, measured__started="2026-11-01T00:00:00Z") for one in larger]
    attacks = {
        "spoilt": spoilt,
        "unsupported": [failed(one) for one in scene.mean],
        "late": [failed(one, "timeout") for one in scene.mean],
        "invalid": [failed(one, "invalid_output") for one in scene.mean],
        "another-limit": larger,
        "newer": newer,
        "copied-and-more": [*scene.mean, failed(noisy[0])],
    }
    for title, records in attacks.items():
        attack = scene.submit(records, title)
        rows = scene.rows()
        assert rows[f"mean @{name}"] == before, title
        assert len(rows[f"mean @{attack.name}"]) == len(records), title
        page = scene.board()["index.html"]
        assert ("Conflicts" in page) is (title != "copied-and-more")
        shutil.rmtree("registry/bundles")
        scene.submit(scene.mean, "honest")
    # Nobody has verified that there was no answer.
    scene.submit(attacks["unsupported"], "unsupported")
    assert scene.trusts("unsupported") == [Trust.UNANSWERED] * 3
    assert "3 unanswered" in scene.board()["index.html"]
    # A named auditor has: then the forged records count no more.
    scene.add_audit("honest")
    assert scene.trusts("unsupported") == [Trust.CLAIMED] * 3
    assert scene.trusts("honest") == [Trust.RERUN] * 3


def test_an_answer_that_was_refused_is_of_a_job_that_exists(scene: Scene) -> None:
    """Forgery 23: failures on a dataset that nobody has would be jobs that others lack."""
    record = failed(scene.mean[0], "invalid_output")
    made_up = with_parts(
        changed(record, dataset="nothing", system="nothing"), name="nothing", dataset="3" * 64
    )
    scene.submit([made_up], "made-up")
    assert scene.trusts("made-up") == [Trust.CLAIMED]


def test_further_jobs_change_no_board_of_a_study(scene: Scene) -> None:
    """Forgery 24: more jobs than anybody has, so that everybody else lacks some."""
    scene.submit(scene.mean, "honest")
    further = with_parts(changed(scene.other[0], seed=1), seed="1")
    assert (
        rescored(further, Catalog(scene.workspace)).left == "its dataset is not the same any more"
        or True
    )
    text = f'schema = 1\nalgorithm = "mean"\ndata_type = "ode"\ndataset = {json.dumps(DATASETS)}\n'
    Path("registry/study.toml").write_text(text, encoding="utf-8")
    line = ["--algorithm", "other", *LINE, "--seeds", "0-1", "--dataset", *DATASETS]
    assert main(["run", *line, "--result-dir", "more"]) == 0
    more = RecordStore(Path("more/other-ode.jsonl")).read()
    scene.submit(more, "more")
    assert main(["registry", "board", "registry", "--out", "site", "--json"]) == Exit.DONE
    page = Path("site/closed.html").read_text(encoding="utf-8")
    assert "no record yet of some" not in page
    table = Path("site/records.csv").read_text(encoding="utf-8")
    assert table.count(",re-scored,") == 9
    Path("registry/study.toml").unlink()
    assert main(["registry", "board", "registry", "--out", "site"]) == Exit.DONE
    assert "whoever submits other jobs" in Path("site/index.html").read_text(encoding="utf-8")


def test_times_are_those_of_an_auditor(scene: Scene) -> None:
    """Forgeries 25 to 29: times and curves that nobody has measured."""
    quick = [
        changed(one, measured__wall_s=1e-6, measured__fit_s=1e-6, measured__anytime=[])
        for one in scene.mean
    ]
    slow = [changed(one, measured__wall_s=28 * (one.measured.wall_s or 1)) for one in scene.mean]
    true = "u0", "u1", "u2"
    curve = [
        changed(
            one,
            measured__smaller_budgets=[
                {"work_s": 2.0, "equations": list(true[: len(one.targets)]), "metrics": {}}
            ],
        )
        for one in scene.mean
    ]
    for name, records in (("quick", quick), ("slow", slow), ("curve", curve)):
        scene.submit(records, name)
    (row,) = scene.rows().values()  # they are equal but for what nobody knows
    for record in row:
        assert record.measured.wall_s is None
        assert record.measured.smaller_budgets == ()
    scene.add_audit("quick")
    (row,) = scene.rows().values()
    assert all((record.measured.wall_s or 0) > 1e-4 for record in row)
    table = scene.board()["records.csv"]
    assert table.splitlines()[0].count("wall_s") == 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ends", [{"share": 1.0, "score": 1e-9, "time_s": 0.0, "work_s": 0.0}]),
        ("late", [{"share": 1.0, "score": None, "time_s": 1e4, "work_s": 0.0}]),
        ("work", [{"share": 1.0, "score": None, "time_s": 0.0, "work_s": 1e4}]),
        (
            "back",
            [
                {"share": 0.1, "score": None, "time_s": 0.01, "work_s": 0.0},
                {"share": 0.2, "score": None, "time_s": 0.0, "work_s": 0.0},
            ],
        ),
    ],
)
def test_a_curve_that_does_not_fit_its_answer_is_refused(
    scene: Scene, name: str, values: list[dict[str, Any]]
) -> None:
    """Forgeries 30 to 33: a better answer earlier, or later than the job."""
    with pytest.raises(RecordsError, match=r"measured\.anytime"):
        scene.submit([changed(scene.mean[0], measured__anytime=values)], name)


def test_work_is_the_time_of_the_processor_at_its_speed(scene: Scene) -> None:
    """Forgery 34: more work in the time than the processor can do."""
    forged = changed(scene.mean[0], measured__cpu_s=0.1, measured__speed=1.0, measured__work_s=19.0)
    with pytest.raises(RecordsError, match="cpu_s times speed"):
        scene.submit([forged], "busy")


def rewritten(path: Path, key: str, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change an audit, and sign it again."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    out = path.with_name(f"changed-{path.name}")
    write_audit(out, Audit.model_validate(data))
    sign(out, Path(key))
    return out


def test_an_audit_counts_if_it_is_signed_and_its_sample_follows(  # noqa: C901 - a list
    scene: Scene,
) -> None:
    """Forgeries 35 to 42: audits by others, of fewer jobs, of chosen jobs, of other bundles."""
    forged = [scene.mean[0], *[stolen(one, scene.workspace) for one in scene.mean[1:]]]
    scene.submit(forged, "forged")
    scene.submit(scene.other, "others")
    audit = scene.audit("forged")
    key = scene.mean[0].key

    def drop(data: dict[str, Any]) -> None:
        data["jobs"] = [job for job in data["jobs"] if job["key"] == key]

    def salted(data: dict[str, Any]) -> None:
        drop(data)
        data.update(share=0.1, salt="the one that chooses it")

    def by_other_text(data: dict[str, Any]) -> None:
        drop(data)
        for number in range(100):
            data["draw"] = signature_of(b"%d" % number, Path("alice"))
            data["salt"] = salt_of(data["draw"])

    def of_mallory(data: dict[str, Any]) -> None:
        drop(data)
        data["draw"] = signature_of(draw_text(data["bundle"]), Path("mallory"))
        data["salt"] = salt_of(data["draw"])

    def of_others(data: dict[str, Any]) -> None:
        data["bundle"] = sha256_of(Path("others.zip"))

    def twice(data: dict[str, Any]) -> None:
        drop(data)
        data["jobs"] = data["jobs"] * 3

    def of_another_job(data: dict[str, Any]) -> None:
        records = [job["record"] for job in data["jobs"]]
        for job, record in zip(data["jobs"], [*records[1:], records[0]], strict=True):
            job["record"] = record

    for change in (drop, salted, by_other_text, of_mallory, of_others, twice, of_another_job):
        scene.registry.add_audit(rewritten(audit, "alice", change))
        assert len(scene.left_out()) == 1, change.__name__
        assert set(scene.trusts("forged")) == {Trust.RESCORED}, change.__name__
        shutil.rmtree("registry/audits")
    # By somebody whose word does not count, unsigned, or changed since it was signed.
    by_mallory = scene.audit("forged", "mallory")
    unsigned = Path("unsigned.json")
    shutil.copy(audit, unsigned)
    edited = Path("edited.json")
    edited.write_text(audit.read_text(encoding="utf-8").replace(" ", "  ", 1), encoding="utf-8")
    shutil.copy(f"{audit}.sig", f"{edited}.sig")
    for path in (by_mallory, unsigned, edited):
        scene.registry.add_audit(path)
        assert len(scene.left_out()) == 1
        assert set(scene.trusts("forged")) == {Trust.RESCORED}
        shutil.rmtree("registry/audits")
    scene.registry.add_audit(audit)
    assert set(scene.trusts("forged")) == {Trust.RERUN, Trust.CLAIMED}


def test_a_key_that_can_sign_one_text_in_many_ways_chooses_no_sample(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forgery 43: an auditor makes signatures until the sample suits."""
    scene.submit(scene.mean, "honest")
    make_key("curve", "ecdsa")
    assert signature_of(b"x", Path("curve")) != signature_of(b"x", Path("curve"))
    assert signature_of(b"x", Path("alice")) == signature_of(b"x", Path("alice"))
    assert main(["registry", "audit", "honest.zip", "--sign", "curve"]) == Exit.ERROR
    assert "Ed25519" in capsys.readouterr().err
    line = ["registry", "audit", "honest.zip", "--sign", "alice", "--salt", "mine"]
    assert main(line) == Exit.ERROR


def test_a_signature_that_is_not_as_it_is_made_chooses_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgeries 83 to 87: what ssh-keygen verifies, too, and what would give another salt."""
    monkeypatch.chdir(tmp_path)
    make_key("alice")
    text, signers = b"mdbench audit", Path("allowed_signers")
    public = Path("alice.pub").read_text(encoding="utf-8")
    signers.write_text(f"alice@lab {public}", encoding="utf-8")
    true = signature_of(text, Path("alice"))
    assert salt_of(true) == salt_of(signature_of(text, Path("alice")))
    lines = [line for line in true.splitlines() if not line.startswith("-----")]
    content = base64.b64decode("".join(lines))

    def armoured(changed: bytes) -> str:
        inside = base64.b64encode(changed).decode()
        return f"-----BEGIN SSH SIGNATURE-----\n{inside}\n-----END SSH SIGNATURE-----\n"

    line = ["ssh-keygen", "-Y", "sign", "-f", "alice", "-n", NAMESPACE, "-O", "hashalg=sha256"]
    by_sha256 = subprocess.run(line, input=text, capture_output=True, check=True).stdout.decode()
    order = 2**252 + 27742317777372353535851937790883648493
    second = int.from_bytes(content[-32:], "little") + order
    verified = {
        "more text behind it": true + base64.b64encode(bytes(66)).decode() + "\n",
        "by another hash": by_sha256,
        "the same to the curve": armoured(content[:-32] + second.to_bytes(32, "little")),
    }
    for name, forged in verified.items():
        # That it verifies depends on the release of OpenSSH, and must not matter.
        with pytest.raises(RecordsError, match=r"as ssh-keygen makes it|is damaged"):
            salt_of(forged)
        assert forged != true, name
    for refused in (content[:-1], content + b"\0"):
        with pytest.raises(RecordsError):
            signer_of(text, armoured(refused), signers)
        with pytest.raises(RecordsError):
            salt_of(armoured(refused))
    # A signature for another purpose is nobody's.
    line = ["ssh-keygen", "-Y", "sign", "-f", "alice", "-n", "file"]
    of_file = subprocess.run(line, input=text, capture_output=True, check=True).stdout.decode()
    with pytest.raises(RecordsError, match="of nobody"):
        signer_of(text, of_file, signers)


def test_names_and_words_of_others_are_text(scene: Scene) -> None:
    """Forgeries 88 to 91: markup, a name that looks like another, a signature of another file."""
    markup = "<script>alert(1)</script>"
    for name in (markup, "m\u0435an"):  # the second has a Cyrillic letter
        with pytest.raises(ValueError, match="algorithm"):
            changed(scene.mean[0], algorithm=name)
    machine = {"cpu": markup, "cores": 1, "memory_mb": 1, "os": markup}
    stated = {"algorithm": "mean.", "provenance__machine": machine, "reason": markup}
    records = [with_parts(changed(one, **stated), adapter="1" * 64) for one in scene.mean]
    out = bundle_of(records, "named")
    folder = Path("of-named")
    write_bundle([folder], out, methods={}, title=markup)
    scene.registry.submit(out, n_jobs=1)
    assert main(["registry", "board", "registry", "--out", "site"]) == Exit.DONE
    for page in Path("site").glob("*.html"):
        assert markup not in page.read_text(encoding="utf-8"), page
    names = {name.partition(" @")[0] for name in scene.rows()}
    assert names == {"mean. [unknown folder 11111111]"}
    # The signature of one withdrawal next to another one.
    honest, other = scene.submit(scene.mean, "honest"), scene.submit(scene.other, "other")
    line = ["registry", "withdraw", other.name, "registry", "--reason", "x", "--sign", "alice"]
    assert main([*line, "--out", "true.json"]) == Exit.DONE
    (signature,) = Path("registry/withdrawals").glob("*.sig")
    text = Path("true.json").read_text(encoding="utf-8").replace(other.sha256, honest.sha256)
    name = hashlib.sha256(text.encode()).hexdigest()
    Path(f"registry/withdrawals/{name}.json").write_text(text, encoding="utf-8")
    shutil.copy(signature, f"registry/withdrawals/{name}.json.sig")
    assert scene.trusts("honest") == [Trust.RESCORED] * 3
    assert scene.trusts("other") == [Trust.CLAIMED] * 3


def test_verdicts_in_a_registry_are_nobodys_word(scene: Scene) -> None:
    """Forgery 44: whoever can write into a registry writes what was found, too."""
    submission = scene.submit(scene.mean, "honest")
    (own,) = (scene.workspace.home / "verdicts").glob("*.json")
    forged = own.read_text(encoding="utf-8").replace('"re-scored"', '"re-run"')
    Path("registry/verdicts").mkdir()
    Path(f"registry/verdicts/{submission.sha256}.json").write_text(forged, encoding="utf-8")
    assert scene.trusts("honest") == [Trust.RESCORED] * 3


def test_of_several_results_of_one_question_that_which_is_trusted_least_counts(
    scene: Scene,
) -> None:
    """Forgery 45: a true record for the auditor, and a stolen one with another limit."""
    forged = [
        with_parts(changed(stolen(one, scene.workspace), budget__memory_mb=9999), memory_mb="9999")
        for one in scene.mean
    ]
    scene.submit([*scene.mean, *forged], "both")
    (row,) = scene.rows().values()
    assert nmse(row) == nmse(scene.mean)  # in one class the worse result
    only_mean = scene.audit("both")
    scene.registry.add_audit(only_mean)
    assert scene.rows() == {} or all(
        record.measured.wall_s is not None for record in next(iter(scene.rows().values()))
    )


def test_a_withdrawal_is_signed_and_says_why(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forgery 46: somebody withdraws a competitor's bundle, or the audit of an own one."""
    submission = scene.submit(scene.mean, "honest")
    line = ["registry", "withdraw", submission.name, "registry", "--reason", "slow machine"]
    assert main([*line, "--sign", "mallory", "--out", "by-mallory.json"]) == Exit.DONE
    assert scene.trusts("honest") == [Trust.RESCORED] * 3
    assert len(scene.left_out()) == 1
    assert main([*line, "--sign", "alice"]) == Exit.DONE
    (reason,) = {judged.reason for judged in scene.judged()["honest"]}
    assert reason == "withdrawn by alice@lab: slow machine"
    assert scene.rows() == {}
    # What was withdrawn counts again where it was run again.
    scene.add_audit("honest", share=0.1)
    assert sorted(scene.trusts("honest")) == [Trust.CLAIMED, Trust.CLAIMED, Trust.RERUN]
    # An audit can be withdrawn, too.
    (audit,) = Path("registry/audits").glob("*.json")
    line[2] = audit.stem[:12]
    assert main([*line, "--sign", "alice", "--out", "second.json"]) == Exit.DONE
    assert scene.trusts("honest") == [Trust.CLAIMED] * 3
    capsys.readouterr()
    line[2] = "ffffffffffff"
    assert main([*line, "--sign", "alice"]) == Exit.ERROR
    assert "No bundle or audit begins" in capsys.readouterr().err


def test_equal_bundles_are_one_row_and_the_order_of_submission_decides_nothing(
    scene: Scene,
) -> None:
    """Forgery 47: the same results again and again, so that they weigh more."""
    for name in ("a", "b", "c"):
        scene.submit(scene.mean, name)
    scene.submit(scene.other, "d")
    names = sorted(
        one.name for one in scene.registry.read().submissions if one.about["title"] != "d"
    )
    board = scene.board()
    rows = scene.rows()
    assert [len(row) for row in rows.values()] == [3, 3]
    assert f"mean @{names[0]}+2" in rows
    files = {path.name: path.read_bytes() for path in Path("registry/bundles").iterdir()}
    shutil.rmtree("registry/bundles")
    Path("registry/bundles").mkdir()
    for name, content in sorted(files.items(), reverse=True):
        Path("registry/bundles", name).write_bytes(content)
    assert scene.board() == board


def test_two_editions_of_a_board_are_held_against_each_other(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    def board(out: str) -> None:
        assert main(["registry", "board", "registry", "--out", out]) == Exit.DONE

    def difference(before: str, after: str) -> list[str]:
        capsys.readouterr()
        status = main(["registry", "difference", before, after])
        lines = capsys.readouterr().out.splitlines()
        assert status == (Exit.DONE if lines == ["Nothing differs."] else Exit.NOT_AS_WISHED)
        return lines

    submission = scene.submit(scene.mean, "honest")
    board("one")
    board("same")
    assert difference("one", "same") == ["Nothing differs."]
    other = scene.submit(scene.other, "other")
    scene.add_audit("honest", share=0.1)
    board("two")
    lines = difference("one", "two")
    assert f"added {other.sha256}.zip" in lines
    assert "mean: 1 with another trust" in lines
    assert "other: 3 added" in lines
    assert not any(submission.sha256 in line for line in lines)
    assert f"removed {other.sha256}.zip" in difference("two", "one")
    # What a board was made of is named where it is another.
    edition = json.loads(Path("two/edition.json").read_text(encoding="utf-8"))
    edition["scorers"]["ode"] = "99"
    Path("two/edition.json").write_text(json.dumps(edition), encoding="utf-8")
    assert any(line.startswith("scorer of ode: 99 -> ") for line in difference("two", "one"))
    for content in ("", "{}", '{"schema": 1, "files": 3}'):
        Path("two/edition.json").write_text(content, encoding="utf-8")
        assert main(["registry", "difference", "one", "two"]) == Exit.ERROR
    assert main(["registry", "difference", "one", "nothing"]) == Exit.ERROR


def test_no_bundle_can_keep_auditors_out(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgeries 81 and 82: a runtime that nobody has, and a limit that ends every audit."""
    strange = [changed(one, runtime={"name": "mine"}) for one in scene.mean]
    scene.submit(strange, "strange")
    opened: list[str] = []

    def remember(name: str, *others: Any, **more: Any) -> Any:
        opened.append(name)
        return open_runtime(name, *others, **more)

    monkeypatch.setattr("mdbench.cli.results.open_runtime", remember)
    scene.add_audit("strange")
    assert opened == ["venv"]  # that of MDBENCH_RUNTIME
    assert scene.trusts("strange") == [Trust.RERUN] * 3
    short = [
        with_parts(changed(one, budget__timeout_s=0.01), timeout_s="0.01") for one in scene.other
    ]
    scene.submit(short, "short")
    scene.board()
    assert {record.algorithm for record in scene.pages["closed"]} == {"mean"}
    assert {record.algorithm for record in scene.pages["open"]} == {"other"}


def test_what_is_re_run_is_what_the_auditors_job_left(scene: Scene) -> None:
    """Forgery 92: better last digits, of a kernel and data on which an audit allows for others."""
    elsewhere = {"cpu": "another", "cores": 1, "memory_mb": 1, "os": "x"}
    near = []
    for record in scene.mean:
        answer = [repr(float(text) * (1 + 5e-4)) for text in record.equations or ()]
        moved = stolen(record, scene.workspace, answer)
        stated = {"measured__blas_kernel": "other", "measured__blas_threads": 1}
        moved = changed(moved, provenance__machine=elsewhere, **stated)
        near.append(with_parts(moved, dataset="3" * 64))
    scene.submit(near, "near")
    (row,) = scene.rows().values()
    assert nmse(row) == nmse(near)
    assert nmse(near) != pytest.approx(nmse(scene.mean), rel=1e-9)
    scene.add_audit("near")
    assert scene.trusts("near") == [Trust.RERUN] * 3
    (row,) = scene.rows().values()
    assert nmse(row) == nmse(scene.mean)
    by_system = {record.system: record.equations for record in scene.mean}
    assert {record.system: record.equations for record in row} == by_system


def test_a_remark_is_of_the_jobs_of_the_board(scene: Scene) -> None:
    """Forgery 93: a competitor's records, and a refuted one of a job that nobody has asked for."""
    first, *others = scene.mean
    forged = stolen(first, scene.workspace)
    scene.submit([forged], "refuted")
    scene.add_audit("refuted")
    honest = scene.submit(others, "honest").name
    scene.submit([*others, forged], "attack")
    assert scene.remarks()[honest].endswith("with which it has 2 equal results")
    assert scene.remarks(lambda record: record.dataset != first.dataset)[honest] == ""
    scene.add_audit("honest")
    assert scene.remarks()[honest] == ""


def test_who_asks_no_language_model_names_none(scene: Scene) -> None:
    """Forgeries 94 and 95: a model that no audit could ask, so that none would decide."""
    named = [changed(one, llm={"model": "m", "budget": {}}) for one in scene.mean]
    with pytest.raises(RecordsError, match="mean asks no language model"):
        scene.submit(named, "named")
    # A method's control has the budget of the method, and asks nobody: its audits decide.
    control = [stolen(changed(one, llm={"budget": {}}), scene.workspace) for one in scene.mean]
    scene.submit(control, "control")
    scene.add_audit("control")
    assert all(judged.refuted for judged in scene.judged()["control"])


ODD: dict[str, list[Any]] = {
    "options": [{"nonsense": 1}, {"variant": 5}, {"variant": [1]}, {"derivatives": "no"}, {"": ""}],
    "snr_db": [-1e300, 1e300, 0.0, -0.0],
    "seed": [10**30, -1],
    "dataset": ["../../etc/passwd", "x" * 5000, "", "=1+1", "rc-circuit+noise=9"],
    "equations": [["(" * 3000], ["1/0"], ["u0**u0**u0**u0"], ["\u0000"], ["__import__('os')"]],
    "view": ["nothing"],
    "targets": [["x"]],
    "truth": [["x"], ["1/0"]],
    "names": [{"u0": "u0_t"}, {"u0": ""}, {"": "u0"}],
    "budget": [{"timeout_s": None, "threads": 1}, {"timeout_s": 1e300, "threads": -1}],
    "data_type": ["nothing", "pde", "derivation"],
    "protocol": ["nothing", "published"],
    "hyperparameters": [{"x": [[[]]]}],
    "judged_by": [["x"] * 1000],
    "llm": [{"model": "x"}],
}


@pytest.mark.parametrize("key", ODD)
def test_no_record_ends_the_board(scene: Scene, key: str) -> None:
    """Forgeries 48 to 80: whoever can put a file into the folder must not stop the others."""
    first = scene.mean[0]
    for number, value in enumerate(ODD[key]):
        data = first.model_dump(mode="json", by_alias=True) | {key: value}
        data |= {"measured": data["measured"] | {"anytime": [], "smaller_budgets": []}}
        parts = dict(data["key_parts"])
        if key == "options":
            parts |= {name: str(part) for name, part in value.items()}
        names = {"dataset": "name"}
        if names.get(key, key) in parts:
            parts[names.get(key, key)] = str(value)
        data |= {"key_parts": parts, "key": key_of(parts)}
        path = bundle_of([Record.model_validate(data)], f"odd-{number}")
        target = Path("registry/bundles", f"{sha256_of(path)}.zip")
        target.parent.mkdir(exist_ok=True)
        shutil.copy(path, target)
    content = scene.registry.read()
    assert len(content.submissions) + len(content.left_out) == len(ODD[key])
    scene.submit(scene.mean, "honest")
    files = scene.board()
    assert "honest" in files["index.html"]
    cells = [cell for line in files["records.csv"].splitlines() for cell in line.split(",")]
    assert not any(cell.startswith("=") for cell in cells)
