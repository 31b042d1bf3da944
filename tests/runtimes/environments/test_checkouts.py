"""Checkouts of local repositories: no network."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from harness import METHOD, add_method, make_workspace

from mdbench import methods
from mdbench.errors import MdbenchError, MethodError, UnavailableError
from mdbench.runtimes.environments.checkouts import get_checkouts, sha256_of

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.methods import Method

_SAFE = ["-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"]


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *_SAFE, "-C", str(folder), *arguments]
    return subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with a module, a program, a link and bytes of every kind."""
    folder = tmp_path / "repository"
    (folder / "code").mkdir(parents=True)
    git(folder, "init", "--quiet")
    (folder / "code" / "law.py").write_bytes(b"G = 6.674e-11\r\n")
    (folder / "all").write_bytes(bytes(range(256)) * 3)
    (folder / "run").write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("code/law.py")
    (folder / ".gitattributes").write_text("*.py text eol=lf\nall export-ignore\n")
    commit(folder)
    return folder


def commit(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "a step")
    return git(folder, "rev-parse", "HEAD")


def whole(folder: Path) -> str:
    """Return the SHA-256 of what git has stored, computed from git's own words alone."""
    digest = hashlib.sha256()
    rows = git(folder, "ls-tree", "-r", "HEAD").splitlines()
    for row in sorted(rows, key=lambda row: row.partition("\t")[2]):
        facts, _, path = row.partition("\t")
        mode, _, blob = facts.split()
        command = ["git", "-C", str(folder), "cat-file", "blob", blob]
        data = subprocess.check_output(command)
        digest.update(f"{path}\0{mode}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def method_with(workspace_folder: Path, url: str, commit_: str, sha256: str) -> Method:
    workspace = make_workspace(workspace_folder)
    more = f'[checkouts.law]\nurl = "{url}"\ncommit = "{commit_}"\nsha256 = "{sha256}"'
    return methods.load(add_method(workspace, "guest", more=more))


def test_a_commit_is_fetched_as_it_is_stored_and_only_once(
    tmp_path: Path, repository: Path
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    method = method_with(tmp_path / "w", str(repository), head, whole(repository))
    lines: list[str] = []
    (folder,) = get_checkouts(method, tmp_path / "home", lines.append).values()
    assert len(lines) == 1
    for name in ("all", "run"):
        assert (folder / name).read_bytes() == (repository / name).read_bytes()
    assert b"G = 6.674e-11" in (folder / "code" / "law.py").read_bytes()
    assert str((folder / "link").readlink()) == "code/law.py"
    assert os.access(folder / "run", os.X_OK)
    repository.rename(tmp_path / "gone")
    assert get_checkouts(method, tmp_path / "home", lines.append) == {"law": folder}
    assert len(lines) == 1


@pytest.mark.parametrize("change", ["content", "mode", "more", "less", "link"])
def test_a_checkout_that_was_changed_is_fetched_again(
    tmp_path: Path, repository: Path, change: str
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    method = method_with(tmp_path / "w", str(repository), head, whole(repository))
    folder = get_checkouts(method, tmp_path / "home")["law"]
    if change == "content":
        (folder / "all").chmod(0o644)
        (folder / "all").write_bytes(b"other")
    elif change == "mode":
        (folder / "run").chmod(0o444)
    elif change == "more":
        (folder / "code" / "sitecustomize.py").touch()
    else:
        (folder / "link").unlink()
        if change == "link":
            (folder / "link").symlink_to("run")
    lines: list[str] = []
    assert get_checkouts(method, tmp_path / "home", lines.append)["law"] == folder
    assert len(lines) == 1
    assert (folder / "all").read_bytes() == (repository / "all").read_bytes()
    assert get_checkouts(method, tmp_path / "home", lines.append)["law"] == folder
    assert len(lines) == 1


@pytest.mark.parametrize("sha256", ["", "0" * 64])
def test_files_of_another_hash_are_refused_and_theirs_is_shown(
    tmp_path: Path, repository: Path, sha256: str
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    method = method_with(tmp_path / "w", str(repository), head, sha256)
    with pytest.raises(MethodError, match=whole(repository)):
        get_checkouts(method, tmp_path / "home")
    assert not list((tmp_path / "home").rglob("law.py"))


def test_any_commit_may_be_named_and_no_other_name(tmp_path: Path, repository: Path) -> None:
    """The commit is of no branch's or tag's tip, and later ones have other files."""
    first, content = git(repository, "rev-parse", "HEAD"), whole(repository)
    (repository / "all").write_bytes(b"later")
    commit(repository)
    method = method_with(tmp_path / "w", str(repository), first, content)
    folder = get_checkouts(method, tmp_path / "home")["law"]
    assert (folder / "all").stat().st_size == 768
    text = METHOD.format(name="guest", tuning="none", more="")
    for name in ("main", first[:12], "-q", ""):
        more = f'[checkouts.law]\nurl = "x"\ncommit = "{name}"\nsha256 = "{content}"'
        (method.folder / "method.toml").write_text(text + more, encoding="utf-8")
        with pytest.raises(MethodError, match="commit"):
            methods.load(method.folder)


def test_what_cannot_be_fetched_says_why(tmp_path: Path, repository: Path) -> None:
    for number, (url, name) in enumerate(
        [(str(tmp_path / "nowhere"), "0" * 40), (str(repository), "0" * 40)]
    ):
        method = method_with(tmp_path / f"w{number}", url, name, "0" * 64)
        with pytest.raises(UnavailableError, match=r"guest: checkouts\.law cannot be fetched"):
            get_checkouts(method, tmp_path / "home")


def test_a_password_in_an_address_is_not_shown(tmp_path: Path) -> None:
    url = "http://me:secret@127.0.0.1:9/x.git"  # nobody listens there
    method = method_with(tmp_path / "w", url, "0" * 40, "0" * 64)
    lines: list[str] = []
    with pytest.raises(UnavailableError) as caught:
        get_checkouts(method, tmp_path / "home", lines.append)
    assert "secret" not in f"{caught.value}{lines}"


def test_without_git_it_is_unavailable(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    method = method_with(tmp_path / "w", str(repository), head, whole(repository))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="needs git"):
        get_checkouts(method, tmp_path / "home")


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "code/../../x"])
def test_links_that_lead_out_are_refused(tmp_path: Path, repository: Path, target: str) -> None:
    (repository / "link").unlink()
    (repository / "link").symlink_to(target)
    head = commit(repository)
    method = method_with(tmp_path / "w", str(repository), head, whole(repository))
    with pytest.raises(MethodError, match="link is a link that leads out"):
        get_checkouts(method, tmp_path / "home")
    assert not list((tmp_path / "home" / "checkouts").iterdir())


def test_a_submodule_is_refused(tmp_path: Path, repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{head},inner")
    git(repository, "commit", "--quiet", "-m", "a submodule")
    head = git(repository, "rev-parse", "HEAD")
    method = method_with(tmp_path / "w", str(repository), head, "0" * 64)
    with pytest.raises(MdbenchError, match="inner is a submodule"):
        get_checkouts(method, tmp_path / "home")


def test_the_hash_tells_all_that_a_checkout_is_made_of() -> None:
    base = {("a", "100644"): b"1", ("b", "100644"): b"2"}
    others = [
        {("a", "100644"): b"1"},
        {("a", "100755"): b"1", ("b", "100644"): b"2"},
        {("a", "100644"): b"2", ("b", "100644"): b"1"},
        {("a", "120000"): b"1", ("b", "100644"): b"2"},
        {("ab", "100644"): b"1", ("b", "100644"): b"2"},
        {("a", "100644"): b"1b\x00100644\x001\x002"},
    ]
    assert len({sha256_of(each) for each in [base, *others]}) == len(others) + 1
    assert sha256_of(dict(reversed(base.items()))) == sha256_of(base)
