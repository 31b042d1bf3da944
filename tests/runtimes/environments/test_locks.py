"""A lock is packages with version, marker and hashes; each other line ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench.errors import MethodError
from mdbench.runtimes.environments.base_images import Target, lock_for_python
from mdbench.runtimes.environments.locks import (
    find_strange_line,
    read_lock,
    split_requirements,
    uv_file,
)
from mdbench.runtimes.environments.requirements import refuse_unhashed

if TYPE_CHECKING:
    from pathlib import Path

HASH = f"--hash=sha256:{'0' * 64}"
NUMPY = f"numpy==2.0 {HASH}\n"
STRANGE = [
    # options, alone and behind a package, with a hash in a comment or as their value
    f"--extra-index-url https://elsewhere.invalid # {HASH}",
    f"--extra-index-url https://elsewhere.invalid#{HASH}",
    f"--index-url=https://elsewhere.invalid {HASH}",
    "-i https://elsewhere.invalid",
    f"--find-links /tmp {HASH}",
    "-f file:///tmp",
    f"-r other.txt # {HASH}",
    "--requirement other.txt",
    "-c other.txt",
    "-e .",
    f"  --editable . {HASH}",
    "--no-binary :all:",
    "--no-index",
    "--pre",
    "--trusted-host elsewhere.invalid",
    f"scipy==1.0 --config-settings=a=b {HASH}",
    f"scipy==1.0 --global-option=x {HASH}",
    f"scipy==1.0 {HASH} --find-links /tmp",
    f"scipy==1.0 ; python_version > '3' --find-links /tmp {HASH}",
    f"scipy==1.0 ; python_version > '3' -f /tmp {HASH}",
    # addresses and paths
    f"scipy @ https://elsewhere.invalid/scipy-1.0-py3-none-any.whl {HASH}",
    f"scipy@file:///tmp/scipy {HASH}",
    f"git+https://elsewhere.invalid/scipy {HASH}",
    f"file:///tmp/scipy-1.0-py3-none-any.whl {HASH}",
    f"./scipy-1.0-py3-none-any.whl {HASH}",
    f"/tmp/scipy {HASH}",
    f"${{HOME}}/scipy {HASH}",
    # no version, or no one version
    f"scipy {HASH}",
    f"scipy>=1.0 {HASH}",
    f"scipy==1.* {HASH}",
    f"scipy===1.0 {HASH}",
    f"scipy==1.0,<2 {HASH}",
    # hashes that are none
    f"scipy==1.0 # {HASH}",
    f"scipy==1.0 {HASH} # via numpy",
    f"scipy==1.0 #{HASH}",
    f"scipy==1.0 ; '{HASH}' == ''",
    "scipy==1.0 --hash=md5:00",
    "scipy==1.0 --hash=sha256:xyz",
    HASH,
    # lines that go on where they should not, or where another reader would not
    f"scipy==1.0 \\\n--find-links /tmp {HASH}",
    f"scipy==1.0 \\\n# a comment\n    {HASH}",
    f"scipy==1.0 \\\n\n    {HASH}",
    f"scipy==1.0 \\\nother==1.0 {HASH}",
    f"scipy==1.0 {HASH} \\",
    f"scipy==1.0 {HASH}\\\n    {HASH}",
    # line ends of other readers
    f"# a comment\r--find-links /tmp {HASH}",
    f"scipy==1.0 {HASH}\x0b--find-links=/tmp",
    f"scipy==1.0 {HASH}\x0c-f /tmp",
    f"# a comment\u2028--find-links /tmp {HASH}",
    f"# a comment\x85--find-links /tmp {HASH}",
    f"scipy==1.0 {HASH}\r",
    f"\ufeffscipy==1.0 {HASH}",
    f"scipy==1.0\t{HASH}",
    f"scipy==1.0\x00 {HASH}",
    # names that are none
    f"../scipy==1.0 {HASH}",
    f"-scipy==1.0 {HASH}",
    f"scïpy==1.0 {HASH}",
    f"scipy[../x]==1.0 {HASH}",
]


@pytest.mark.parametrize("line", STRANGE)
def test_a_line_that_is_no_pinned_package_is_refused(line: str, tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    for text in (f"{line}\n{NUMPY}", f"{NUMPY}{line}\n", f"{NUMPY}# a comment\n{line}"):
        lock.write_bytes(text.encode())
        with pytest.raises(MethodError, match=r"line [1-9]") as caught:
            read_lock("m", lock)
        assert str(lock) in str(caught.value)
        assert "scripts/lock" in caught.value.hint
        with pytest.raises(MethodError, match="no index has a hash"):
            refuse_unhashed(lock)
        with pytest.raises(MethodError, match=r"line [1-9]"):
            lock_for_python(text, Target("3.11.2", "cp", "cp311", (), {}))


def test_what_scripts_lock_writes_is_read() -> None:
    locks = [*ROOT.glob("requirements*.lock"), *ROOT.glob("algorithms/*/*.lock")]
    assert len(locks) > 50
    for lock in locks:
        text = lock.read_text(encoding="utf-8")
        assert find_strange_line(text) is None, lock
        assert sum(map(len, split_requirements(text).values())) > len(text) / 3, lock


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n# a comment\n    # via numpy\n",
        f"Scipy==1.0rc1.post2+cpu {HASH} {HASH}\n",
        f"scipy[fast,more]==1!1.0 ; extra == 'x' and (python_version < '3.12') \\\n    {HASH}\n",
        f"scipy==1.0 ;python_version > '3' \\\n    {HASH} \\\n    {HASH}",
        "scipy==1.0 --hash=sha384:00 --hash=sha512:00\n",
    ],
)
def test_what_may_be_in_a_lock(text: str) -> None:
    assert find_strange_line(text) is None
    assert split_requirements(text).keys() <= {"scipy"}


@pytest.mark.parametrize(
    "text",
    [
        'override-dependencies = ["scipy @ https://elsewhere.invalid/scipy.whl"]',
        'override-dependencies = ["file:///tmp/scipy"]',
        'override-dependencies = ["./scipy"]',
        '[extra-build-dependencies]\nscipy = ["other @ git+https://elsewhere.invalid/other"]',
        '[extra-build-dependencies]\nscipy = [{requirement = "x@/tmp/x", match-runtime = true}]',
        '[[dependency-metadata]]\nname = "scipy"\nrequires-dist = ["x @ file:///tmp/x"]',
        '[[dependency-metadata]]\nname = "../scipy"',
        'override-dependencies = ["scipy-1.0-py3-none-any.whl"]',
    ],
)
def test_settings_for_uv_name_packages_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "uv.toml").write_text(text, encoding="utf-8")
    with pytest.raises(MethodError, match="is an address or a path") as caught:
        uv_file(tmp_path / "requirements.lock")
    assert "uv.toml" in str(caught.value)


def test_settings_for_uv_of_the_methods_here_are_read() -> None:
    files = list(ROOT.glob("algorithms/*/uv.toml"))
    assert files
    for file in files:
        assert uv_file(file.with_name("requirements.lock")) == file


@pytest.mark.parametrize("text", ['[tool.uv]\nindex-url = "https://elsewhere.invalid"', "[["])
def test_settings_for_uv_are_in_no_other_file(text: str, tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text("[project]\nname = 'mine'\n", encoding="utf-8")
    assert uv_file(tmp_path / "requirements.lock") is None
    project.write_text(text, encoding="utf-8")
    with pytest.raises(MethodError, match=r"pyproject\.toml has settings for uv"):
        uv_file(tmp_path / "requirements.lock")
