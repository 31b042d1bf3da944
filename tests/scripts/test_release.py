"""What stands in the way of a release, and that what is built twice is equal."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from typing import TYPE_CHECKING

import pytest
import release
import yaml  # type: ignore[import-untyped]  # it has no types of its own
from harness import ROOT

import mdbench

if TYPE_CHECKING:
    from pathlib import Path


DEPOSIT_KEYS = {
    *("upload_type", "title", "creators", "description", "access_right", "license", "keywords"),
    *("related_identifiers", "references", "version", "language", "notes", "contributors"),
}


def git(folder: Path, *words: str) -> str:
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.devnull}
    identity |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        env={**os.environ, **identity},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Make a repository with the files that have the version."""
    folder = tmp_path / "clone"
    for name in (*release.VERSIONS, "CHANGELOG.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    git(tmp_path, "init", "-q", "clone")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def test_all_files_have_one_version() -> None:
    versions = {
        re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)[0]
        for name, pattern in release.VERSIONS.items()
        if name != "eqverdict/pyproject.toml"
    }
    assert versions == {mdbench.__version__}


def test_the_archives_record_says_what_the_citation_says() -> None:
    record = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert record["title"] == citation["title"]
    assert record["description"] == f"<p>{citation['abstract']}</p>"
    assert record["creators"] == citation["authors"]
    assert record["license"] == citation["license"]
    assert record["keywords"] == citation["keywords"]
    # The keys and values of a deposit, by the archive's own documentation.
    assert set(record) <= DEPOSIT_KEYS
    assert (record["upload_type"], record["access_right"]) == ("software", "open")
    for related in record["related_identifiers"]:
        assert re.fullmatch(r"arXiv:\d{4}\.\d{5}", related["identifier"])
        assert (related["relation"], related["scheme"]) == ("references", "arxiv")


def test_a_clean_folder_is_not_refused(clone: Path) -> None:
    release.refuse_a_dirty_tree(clone)
    release.refuse_a_version(clone, "99.0.0rc1")


@pytest.mark.parametrize("change", ["edited", "new", "staged"])
def test_a_folder_with_changes_is_refused(clone: Path, change: str) -> None:
    name = "new.py" if change == "new" else "CHANGELOG.md"
    (clone / name).write_text("something", encoding="utf-8")
    if change == "staged":
        git(clone, "add", "-A")
    with pytest.raises(release.ReleaseError, match=re.escape(name)):
        release.refuse_a_dirty_tree(clone)


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("one", "'one' is no version; one is 1.0.0"),
        ("v99.0", "Write v99.0 as 99.0"),
        ("99.0-rc1", "Write 99.0-rc1 as 99.0rc1"),
        ("0.0.1", "is not newer than"),
        (mdbench.__version__, "is not newer than"),
        ("99.1", "There is a tag v99.1"),
    ],
)
def test_a_version_that_cannot_be_is_refused(clone: Path, version: str, why: str) -> None:
    git(clone, "tag", "v99.1")
    with pytest.raises(release.ReleaseError, match=re.escape(why)):
        release.refuse_a_version(clone, version)


def test_the_version_is_written_once_into_each_file(clone: Path) -> None:
    before = {name: (clone / name).read_text(encoding="utf-8") for name in release.VERSIONS}
    changes = (clone / "CHANGELOG.md").read_text(encoding="utf-8")
    release.written(clone, "99.0.0rc1", "2031-02-03")
    for name, text in before.items():
        now = (clone / name).read_text(encoding="utf-8")
        lines = list(zip(text.splitlines(), now.splitlines(), strict=True))
        (changed,) = [pair for pair in lines if pair[0] != pair[1]]
        assert "99.0.0rc1" in changed[1]
    heading = "## Unreleased\n\n## 99.0.0rc1 (2031-02-03)\n"
    expected = changes.replace("## Unreleased\n", heading, 1)
    assert (clone / "CHANGELOG.md").read_text(encoding="utf-8") == expected
    with pytest.raises(release.ReleaseError, match="nothing below '## Unreleased'"):
        release.written(clone, "99.0.1", "2031-02-04")


def with_a_key(clone: Path, key: Path) -> None:
    """Let git sign with an SSH key, and trust it."""
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a@b", "-f", key], check=True
    )
    public = key.with_suffix(".pub").read_text(encoding="utf-8")
    trusted = key.with_name("trusted")
    trusted.write_text(f"a@b {public}", encoding="utf-8")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingkey": str(key),
        "gpg.ssh.allowedSignersFile": str(trusted),
        "user.name": "a",
        "user.email": "a@b",
    }.items():
        git(clone, "config", name, value)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")
def test_a_release_is_a_commit_and_a_signed_tag(clone: Path, tmp_path: Path) -> None:
    with_a_key(clone, tmp_path / "key")
    release.refuse_a_tag(clone, "99.0.0rc1")
    assert git(clone, "tag", "--list") == ""
    release.commit(clone, "99.0.0rc1", "2031-02-03", "abc  wheel\n")
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "log", "--format=%s") == "Version 99.0.0rc1\none\n"
    assert git(clone, "rev-list", "-1", "v99.0.0rc1") == git(clone, "rev-parse", "HEAD")
    git(clone, "verify-tag", "v99.0.0rc1")
    assert "abc  wheel" in git(clone, "tag", "--list", "--format=%(contents)", "v99.0.0rc1")


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")
def test_what_git_refuses_leaves_all_as_it_was(clone: Path, tmp_path: Path) -> None:
    with_a_key(clone, tmp_path / "key")
    (tmp_path / "key").unlink()
    (tmp_path / "key.pub").unlink()
    before = git(clone, "rev-parse", "HEAD")
    with pytest.raises(release.ReleaseError, match=r"git (tag --sign|did not sign)"):
        release.refuse_a_tag(clone, "99.0.0rc1")
    with pytest.raises(release.ReleaseError, match=r"git (tag --sign|did not sign)"):
        release.commit(clone, "99.0.0rc1", "2031-02-03", "")
    assert git(clone, "rev-parse", "HEAD") == before
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "tag", "--list") == ""


@pytest.mark.slow
@pytest.mark.build
def test_what_is_built_twice_is_equal(tmp_path: Path) -> None:
    tree, dist = tmp_path / "tree", tmp_path / "dist"
    release.export(ROOT, tree)
    release.written(tree, "99.0.0rc1", "2031-02-03")
    dist.mkdir()
    os.utime(tree / "README.md", (time.time() - 1e6,) * 2)  # the time of a file is of no account
    files = release.build_twice(tree, dist, "1900000000")
    assert [re.sub(r"-py3.*|\.tar.*", "", path.name) for path in files] == [
        *("eqverdict-99.0.0rc1",) * 2,
        *("mdbench_eqd-99.0.0rc1",) * 2,
    ]
    assert {path.suffix for path in files} == {".whl", ".gz"}
    (wheel,) = [path for path in files if path.name.startswith("mdbench") and path.suffix == ".whl"]
    (source,) = [path for path in files if path.name.startswith("mdbench") and path.suffix == ".gz"]
    with zipfile.ZipFile(wheel) as opened:
        assert "mdbench/bundled/algorithms/sindy/adapter.py" in opened.namelist()
    # The wheel can be made from the source distribution, too, and is the same.
    with tarfile.open(source) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()
    again = tmp_path / "from_source"
    again.mkdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(again)],
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1900000000"},
        check=True,
        capture_output=True,
    )
    assert release.digest(next(again.iterdir())) == release.digest(wheel)
