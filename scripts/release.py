"""Makes a release from a clean clone: see scripts/release and docs/releasing.md.

Nothing is changed before all that can fail has been tried.  The distributions are built twice from
an export of the commit with the new version in it, and compared byte by byte.  They are installed
in bare machines, where the lines of the README are typed and two repositories of users run.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from newcomer import HOME, Bare, missing_programs, packaged_steps, run_step
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).resolve().parent.parent
PROJECTS: Final = (".", "eqverdict")
"""The folders of the distributions."""
EXAMPLES: Final = {"author": "check", "lab": "run"}
"""Repositories of users below ``examples``, and what each has to run."""
VERSIONS: Final = {
    "pyproject.toml": r'^version = "([^"]+)"',
    "eqverdict/pyproject.toml": r'^version = "([^"]+)"',
    "mdbench/__init__.py": r'^__version__ = "([^"]+)"',
    "CITATION.cff": r"^version: (\S+)",
    ".zenodo.json": r'^  "version": "([^"]+)"',
}
"""Where the version stands, as the first match in each file."""
UNRELEASED: Final = "## Unreleased"
_SHOWN: Final = 10
"""Changed files that are named."""


class ReleaseError(Exception):
    """What stands in the way of a release, in words."""


def written(folder: Path, version: str, today: str) -> None:
    """Write a version into the files of a folder, and its heading into the changelog.

    Raises
    ------
    ReleaseError
        If a file has no version, or the changelog nothing that is not released.
    """
    for name, pattern in VERSIONS.items():
        path = folder / name
        text = path.read_text(encoding="utf-8")
        match = re.search(pattern, text, re.MULTILINE)
        if match is None:
            raise ReleaseError(f"{name} has no version.")
        path.write_text(text[: match.start(1)] + version + text[match.end(1) :], encoding="utf-8")
    path = folder / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8")
    _, heading, after = text.partition(f"{UNRELEASED}\n")
    if not heading or not after.partition("\n## ")[0].strip():
        raise ReleaseError(f"CHANGELOG.md has nothing below '{UNRELEASED}'.")
    released = f"{UNRELEASED}\n\n## {version} ({today})\n"
    path.write_text(text.replace(f"{UNRELEASED}\n", released, 1), encoding="utf-8")


def refuse_a_dirty_tree(root: Path) -> None:
    """Raise a `ReleaseError` if files differ from the commit, or are in no commit."""
    changed = _git(root, "status", "--porcelain").splitlines()
    if changed:
        shown = "\n".join(f"  {line}" for line in changed[:_SHOWN])
        more = f"\n  and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        raise ReleaseError(
            f"The folder has changes:\n{shown}{more}\nCommit them, or release from a new clone."
        )


def refuse_a_version(root: Path, version: str) -> None:
    """Raise a `ReleaseError` for what is no version, is not newer, or has a tag."""
    try:
        wanted = Version(version)
    except InvalidVersion as error:
        raise ReleaseError(f"'{version}' is no version; one is 1.0.0, or 1.0.0rc1.") from error
    if str(wanted) != version:
        raise ReleaseError(f"Write {version} as {wanted}.")
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    match = re.search(VERSIONS["pyproject.toml"], text, re.MULTILINE)
    if match is not None and wanted <= Version(match[1]):
        raise ReleaseError(f"{version} is not newer than {match[1]}, which pyproject.toml has.")
    if _git(root, "tag", "--list", f"v{version}").strip():
        raise ReleaseError(f"There is a tag v{version}.")


def refuse_a_tag(root: Path, version: str) -> None:
    """Raise a `ReleaseError` if git cannot make the tag: it has no name, or a key does not sign."""
    _tag(root, version, "a try")
    _git(root, "tag", "--delete", f"v{version}")


def commit(root: Path, version: str, today: str, sums: str) -> None:
    """Commit a version and tag it; where git refuses, all is as it was.

    Parameters
    ----------
    sums
        The message of the tag, below its title.
    """
    before = _git(root, "rev-parse", "HEAD").strip()
    try:
        written(root, version, today)
        _git(root, "commit", "--quiet", "--all", "--message", f"Version {version}")
        _tag(root, version, f"mdbench {version}\n\n{sums}")
    except ReleaseError:
        _git(root, "reset", "--quiet", "--hard", before)  # nothing was changed before
        raise


def key_of(root: Path) -> str:
    """Return the key that git signs with; empty without any."""
    return _git(root, "config", "--default", "", "user.signingkey").strip()


def _tag(root: Path, version: str, message: str) -> None:
    name, key = f"v{version}", key_of(root)
    _git(root, "tag", "--sign" if key else "--annotate", name, "--message", message)
    # Git makes a tag without a signature, and calls it a success, where it cannot read an SSH key.
    if key and "-----BEGIN " not in _git(root, "cat-file", "tag", name):
        _git(root, "tag", "--delete", name)
        raise ReleaseError(f"git did not sign the tag {name}: is user.signingkey = {key} a key?")


def export(root: Path, folder: Path) -> None:
    """Write the files of the last commit into a folder."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "-C", root, "archive", "HEAD"], check=True, stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)


def build(tree: Path, folder: Path, epoch: str) -> list[Path]:
    """Build wheels and source distributions of both projects; return the files, sorted.

    Parameters
    ----------
    epoch
        Seconds since 1970 that all files in them have as their time.
    """
    for project in PROJECTS:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
            cwd=tree / project,
            env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return sorted(folder.iterdir())


def build_twice(tree: Path, folder: Path, epoch: str) -> list[Path]:
    """Build from two copies of a tree; raise a `ReleaseError` where a byte differs."""
    again = tree.with_name("again")
    shutil.copytree(tree, again, symlinks=True)
    files = build(tree, folder, epoch)
    with tempfile.TemporaryDirectory() as other:
        others = build(again, Path(other), epoch)
        differ = [a.name for a, b in zip(files, others, strict=True) if digest(a) != digest(b)]
    if differ:
        raise ReleaseError(f"Built twice these are not equal: {', '.join(differ)}.")
    return files


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def try_bare(suite: str, folder: Path, dist: Path) -> None:
    """Install the wheels on a bare Debian, type the lines of the README, and run the examples.

    Lines that need an engine of containers are left out.

    Raises
    ------
    ReleaseError
        With what was typed and printed, where a line fails.
    """
    home = folder / f"{suite}-home"
    home.mkdir()
    bare = Bare(folder / suite, home, dist)
    bare.make(suite)
    wheels = " ".join(f"/source/{path.name}" for path in sorted(dist.glob("*.whl")))
    data = ROOT / "docs" / "data"
    shutil.copytree(data, home / "work" / "docs" / "data")
    for name in EXAMPLES:
        shutil.copytree(ROOT / "examples" / name, home / "work" / name)
    alone = " ".join(f"/source/{path.name}" for path in sorted(dist.glob("eqverdict*.whl")))
    setup = (
        "cat /etc/debian_version; python3 -V",
        f"python3 -m venv {HOME}/scorer && {HOME}/scorer/bin/pip install -q {alone}",
        f"""{HOME}/scorer/bin/python -c '
from eqverdict.fidelity.compare import compare
print(compare(["x + sin(2*x)"], ["2*sin(x)*cos(x) + x"], ("x",), domain=None).verdict)'""",
        f"python3 -m venv {HOME}/venv && {HOME}/venv/bin/pip install -q {wheels}",
        f"{HOME}/venv/bin/mdbench --version",
    )
    path = f"PATH={HOME}/venv/bin:$PATH; "
    lines = [(command, HOME) for command in setup]
    for step in packaged_steps((ROOT / "README.md").read_text(encoding="utf-8")):
        if step.name:
            (home / "work" / step.name).write_text(step.text, encoding="utf-8")
        elif not step.needs_engine:
            lines.append((f"{path}{step.text}", f"{HOME}/work"))
    lines += [(f"{path}./{command}", f"{HOME}/work/{name}") for name, command in EXAMPLES.items()]
    for command, where in lines:
        problem = run_step(bare, command, where)
        if problem is not None:
            raise ReleaseError(f"On bare {suite}: {command}\n{problem}")


def release(version: str, suites: Sequence[str], folder: Path, *, dry: bool) -> None:
    """Build, try, and unless it is a dry run commit and tag a version.

    Raises
    ------
    ReleaseError
        With what stands in the way; nothing has been changed then.
    """
    refuse_a_dirty_tree(ROOT)
    refuse_a_version(ROOT, version)
    if not dry:
        refuse_a_tag(ROOT, version)
    epoch = _git(ROOT, "log", "-1", "--format=%ct").strip()
    today = f"{datetime.fromtimestamp(int(epoch), UTC):%Y-%m-%d}"
    dist = folder / "dist"
    dist.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work) / "tree"
        export(ROOT, tree)
        written(tree, version, today)
        print(f"building {version} twice", flush=True)
        files = build_twice(tree, dist, epoch)
        sums = "".join(f"{digest(path)}  {path.name}\n" for path in files)
        (dist / "SHA256SUMS").write_text(sums, encoding="utf-8")
        print(sums, end="", flush=True)
        for suite in suites:
            print(f"trying it on bare {suite}", flush=True)
            try_bare(suite, Path(work), dist)
    if dry:
        print(f"Nothing was changed. The files are in {dist}.")
        return
    commit(ROOT, version, today, sums)
    if not key_of(ROOT):
        print("The tag is not signed: git has no user.signingkey (git help tag).")
    print(
        f"Tagged v{version}. What is left needs accounts, and is done by hand:\n"
        f"  git push origin HEAD v{version}\n"
        f"  twine upload {dist}/*.whl {dist}/*.tar.gz"
    )


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise ReleaseError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    """Make a release; 1 where something stands in its way."""
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__.split("\n")[0])
    parser.add_argument("version", help="as in 1.0.0 or 1.0.0rc1")
    parser.add_argument("--dry-run", action="store_true", help="change nothing")
    parser.add_argument(
        "--bare",
        nargs="*",
        default=["bookworm", "trixie"],
        metavar="SUITE",
        help="releases of Debian on which it is tried",
    )
    parser.add_argument("--to", type=Path, help="folder of the files; it must not exist")
    asked = parser.parse_args()
    if asked.bare and (missing := missing_programs()):
        print(missing)
        return 2
    folder = asked.to or Path(tempfile.mkdtemp(prefix="mdbench-release-"))
    if asked.to is not None and asked.to.exists():
        print(f"{asked.to} exists; name another folder.")
        return 2
    try:
        release(asked.version, asked.bare, folder.absolute(), dry=asked.dry_run)
    except ReleaseError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
