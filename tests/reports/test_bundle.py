"""Bundles: what goes in comes out, the same bytes each time, and nothing that was tampered with."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from reporting import data

from mdbench.errors import RecordsError, UsageError
from mdbench.methods import find
from mdbench.records import read_folder
from mdbench.reports import bundle
from mdbench.reports.bundle import is_bundle, opened, write_bundle
from mdbench.reports.citation import citation
from mdbench.reports.joining import read_places
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mdbench.methods import Method

TOLD = {
    "title": 'A: "b" # c', "mdbench": "1.0", "last": "2026-11-22", "methods": ["sindy"],
    "data_types": ["ode"], "results": 3, "jobs_left": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def zero() -> Method:
    return find("zero", Workspace.find().algorithms)


def made_with(method: Method, **more: Any) -> dict[str, Any]:
    parts = {"adapter": method.fingerprint(), "environment": method.lock_sha256()}
    return data("zero", key_parts=parts, **more)


def write(folder: Path, rows: list[dict[str, Any]], name: str = "zero-ode.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / name).write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def results(tmp_path: Path, zero: Method) -> Path:
    folder = write(tmp_path / "results", [made_with(zero), made_with(zero, dataset="rössler")])
    return write(folder / "more", [data("operon")], "operon-ode.jsonl").parent


def rewritten(path: Path, change: Callable[[dict[str, bytes]], Any]) -> Path:
    """Rewrite an archive with changed entries, and its listing as it was."""
    with zipfile.ZipFile(path) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    change(entries)
    changed = path.with_name("changed.zip")
    with zipfile.ZipFile(changed, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return changed


def relisted(entries: dict[str, bytes]) -> None:
    """Make a listing that fits the entries: what a forger would do, too."""
    listing = json.loads(entries["bundle.json"])
    listing["files"] = {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in entries.items()
        if name != "bundle.json"
    }
    entries["bundle.json"] = json.dumps(listing).encode()


def test_records_come_out_as_they_went_in(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.zip"
    write_bundle([results], out, methods={})
    assert is_bundle(out)
    with opened(out) as place:
        for file in results.rglob("*.jsonl"):
            assert (place / file.relative_to(results)).read_bytes() == file.read_bytes()
        assert [row for _, row in read_folder(place)] == [row for _, row in read_folder(results)]
    assert not place.exists()
    with opened(results) as same:
        assert same == results


def test_the_same_results_are_the_same_bytes(results: Path, tmp_path: Path, zero: Method) -> None:
    one, two = (
        write_bundle([results], tmp_path / name, methods={"zero": zero}, page="<p>")
        for name in ("one.zip", "two.zip")
    )
    assert one.sha256 == two.sha256
    assert hashlib.sha256(one.path.read_bytes()).hexdigest() == one.sha256
    assert one.size == one.path.stat().st_size


def test_methods_go_along_where_they_are_what_was_run(
    results: Path, tmp_path: Path, zero: Method
) -> None:
    made = write_bundle([results], tmp_path / "out.zip", methods={"zero": zero})
    assert made.methods == ("zero",)
    assert made.changed == ("operon",)
    with zipfile.ZipFile(made.path) as archive:
        names = archive.namelist()
        assert archive.read("methods/zero/adapter.py") == (zero.folder / "adapter.py").read_bytes()
        assert all(stat.S_ISREG(info.external_attr >> 16) for info in archive.infolist())
    assert names[0] == "bundle.json"
    assert not any("__pycache__" in name for name in names)
    write(results, [made_with(zero), data("zero", "other")])
    assert "zero" in write_bundle([results], tmp_path / "out.zip", methods={"zero": zero}).changed


def test_a_study_goes_along_if_it_is_theirs(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text("schema = 1\n", encoding="utf-8")
    sha256 = hashlib.sha256(study.read_bytes()).hexdigest()
    mine = [data(study=sha256), data("operon", study=sha256)]
    others = [data(dataset="rc-circuit", study="ab" * 32), data("zero")]
    folder = write(tmp_path / "results", [*mine, *others])
    made = write_bundle([folder], tmp_path / "out.zip", methods={}, studies_asked=[str(study)])
    with zipfile.ZipFile(made.path) as archive:
        assert archive.read("studies/study.toml") == study.read_bytes()
        about = json.loads(archive.read("bundle.json"))
        files = [archive.read(name) for name in archive.namelist() if name.endswith(".jsonl")]
    assert about["studies"] == [sha256]
    assert (made.records, about["methods"]) == (2, ["operon", "sindy"])
    keys = [json.loads(line)["key"] for content in files for line in content.splitlines()]
    assert sorted(keys) == sorted(one["key"] for one in mine)
    by_sum = write_bundle([folder], tmp_path / "b.zip", methods={}, studies_asked=["abab" * 3])
    assert by_sum.records == 1
    study.write_text("schema = 1\n# changed\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"No record in .* was asked for by"):
        write_bundle([folder], tmp_path / "out.zip", methods={}, studies_asked=[str(study)])


def test_a_failed_bundle_leaves_the_one_before(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.zip"
    write_bundle([results], out, methods={})
    before = out.read_bytes()
    with pytest.raises(UsageError, match="is no name"):
        write_bundle([results], out, methods={}, authors=["Doe,"])
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.zip", "results"]


@pytest.mark.parametrize("where", ["missing", "empty"])
def test_without_results_there_is_no_bundle(tmp_path: Path, where: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError):
        write_bundle([tmp_path / where], tmp_path / "out.zip", methods={})


def test_a_bundle_is_not_written_over_its_own_records(results: Path) -> None:
    with pytest.raises(UsageError, match="is a results file"):
        write_bundle([results], results / "zero-ode.jsonl", methods={})


def _other_record(entries: dict[str, bytes]) -> None:
    entries["records/zero-ode.jsonl"] = entries["records/zero-ode.jsonl"].replace(b"ok", b"ko")


def _one_more(entries: dict[str, bytes]) -> None:
    entries["records/more.jsonl"] = b"{}\n"


def _one_less(entries: dict[str, bytes]) -> None:
    del entries["CITATION.cff"]


def _no_listing(entries: dict[str, bytes]) -> None:
    del entries["bundle.json"]


def _no_json(entries: dict[str, bytes]) -> None:
    entries["bundle.json"] = b"[1, 2"


def _newer(entries: dict[str, bytes]) -> None:
    entries["bundle.json"] = entries["bundle.json"].replace(b'"bundle": 1', b'"bundle": 9')


def _no_records(entries: dict[str, bytes]) -> None:
    for name in [name for name in entries if name.startswith("records/")]:
        del entries[name]
    relisted(entries)


def _leaves(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(entries: dict[str, bytes]) -> None:
        entries[name] = b"{}\n"
        relisted(entries)

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_other_record, "not what the bundle lists"),
        (_one_more, "does not hold what it lists: 'records/more.jsonl'"),
        (_one_less, "does not hold what it lists: 'CITATION.cff'"),
        (_no_listing, r"has no bundle\.json"),
        (_no_json, "no bundle of mdbench"),
        (_newer, "format 9"),
        (_no_records, "has no records"),
        (_leaves("records/../../evil.jsonl"), "no name of a file"),
        (_leaves("/tmp/evil.jsonl"), "no name of a file"),
        (_leaves("records/a\\b.jsonl"), "no name of a file"),
        (_leaves("C:/evil.jsonl"), "no name of a file"),
    ],
)
def test_what_was_tampered_with_is_refused(
    results: Path, tmp_path: Path, change: Callable[[dict[str, bytes]], Any], says: str
) -> None:
    write_bundle([results], tmp_path / "out.zip", methods={})
    bad = rewritten(tmp_path / "out.zip", change)
    with pytest.raises(RecordsError, match=says), opened(bad):
        pass
    assert not list(tmp_path.rglob("evil*"))


def _broken(line: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(entries: dict[str, bytes]) -> None:
        entries["records/more/operon-ode.jsonl"] = line
        relisted(entries)

    return change


@pytest.mark.parametrize(
    ("line", "says", "then"),
    [
        (b"{\n", "damaged", "Get the bundle again"),
        (b'{"schema": 999}\n', "schema 999", "Update mdbench"),
        (b'{"schema": 1, "seed": "x"}\n', "damaged", "Get the bundle again"),
    ],
)
def test_an_error_in_a_record_names_the_bundle_and_its_file(
    results: Path, tmp_path: Path, line: bytes, says: str, then: str
) -> None:
    write_bundle([results], tmp_path / "out.zip", methods={})
    bad = rewritten(tmp_path / "out.zip", _broken(line))
    others = tmp_path / "others.zip"
    write_bundle([results], others, methods={})
    for places in ([bad], [bad, others], [others, bad]):
        with pytest.raises(RecordsError) as error:
            read_places(places)
        assert str(error.value).startswith(f"{bad}: records/more/operon-ode.jsonl, line 1")
        assert error.value.args == (error.value.message,)
        assert says in error.value.message
        assert then in error.value.hint
        assert "scratch" not in str(error.value)


def test_a_cut_archive_is_no_bundle_or_refused(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.zip"
    write_bundle([results], out, methods={})
    whole = bytearray(out.read_bytes())
    out.write_bytes(whole[: len(whole) // 2])
    assert not is_bundle(out)
    random = Random(0)
    refused = 0
    for _ in range(80):
        damaged = bytearray(whole)
        for byte in random.sample(range(len(whole)), random.choice((1, 1, 8))):
            damaged[byte] ^= 1 << random.randrange(8)
        out.write_bytes(damaged)
        try:
            with opened(out) as place:
                # What is damaged may be a date or a comment: the records are as they were.
                if place != out:
                    read = [row for _, row in read_folder(place)]
                    assert read == [row for _, row in read_folder(results)]
        except RecordsError:
            refused += 1
    assert refused > 40


@pytest.mark.parametrize(
    ("authors", "found"),
    [
        ([], [{"name": "The users of mdbench"}]),
        (["Noether, Emmy"], [{"family-names": "Noether", "given-names": "Emmy"}]),
        (['The "A: b" group'], [{"name": 'The "A: b" group'}]),
    ],
)
def test_a_citation_states_who_and_what(authors: list[str], found: list[dict[str, str]]) -> None:
    lines = citation(TOLD, authors).splitlines()
    top = dict(line.split(": ", 1) for line in lines if line[0] not in " -" and ": " in line)
    assert top["cff-version"] == "1.2.0"
    assert json.loads(top["title"]) == TOLD["title"]
    assert json.loads(top["abstract"]) == "3 results on ode of sindy"
    assert top["date-released"] == "2026-11-22"
    start = lines.index("authors:") + 1
    people: list[dict[str, str]] = []
    for line in lines[start:]:
        if not line.startswith(("  - ", "    ")):
            break
        name, value = line[4:].split(": ", 1)
        if line.startswith("  - "):
            people.append({})
        people[-1][name] = json.loads(value)
    assert people == found


@pytest.mark.parametrize("author", ["", " ", ",", "Doe,", ", Jane"])
def test_an_author_without_a_name_is_refused(author: str) -> None:
    with pytest.raises(UsageError, match="is no name"):
        citation(TOLD, [author])


def _packed(path: Path, files: dict[str, bytes]) -> Path:
    listed = {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bundle.json", json.dumps({"bundle": 1, "files": listed}))
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({f"records/{number}.jsonl": b"" for number in range(30)}, "more than 20 files"),
        ({"records/a.jsonl": b"\n" * 3_000_000}, "more than 2 MiB of records"),
        ({"records/a.jsonl": b"", "logs/a.log": bytes(2**23)}, "more than 0 GiB"),
    ],
)
def test_what_is_too_much_for_a_bundle_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes], message: str
) -> None:
    monkeypatch.setattr(bundle, "_MOST_FILES", 20)
    monkeypatch.setattr(bundle, "_MOST_OF_RECORDS", 2**21)
    monkeypatch.setattr(bundle, "_MOST_BYTES", 2**22)
    with (
        pytest.raises(RecordsError, match=message),
        bundle.opened(_packed(tmp_path / "large.zip", files)),
    ):
        pass


def test_an_index_is_not_read_where_it_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _packed(tmp_path / "many.zip", {f"records/{n}.jsonl": b"" for n in range(70_000)})
    monkeypatch.setattr(zipfile, "ZipFile", None)
    monkeypatch.setattr(bundle, "is_bundle", lambda _: True)
    with pytest.raises(RecordsError, match="too many files"), bundle.opened(path):
        pass


def test_an_empty_archive_is_no_folder_without_records(tmp_path: Path) -> None:
    path = tmp_path / "empty.zip"
    path.touch()
    with pytest.raises(RecordsError, match="no archive"), bundle.opened(path):
        pass
