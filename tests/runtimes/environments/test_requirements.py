"""What is refused in requirements, and what is remarked on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench.errors import MethodError
from mdbench.runtimes.environments.requirements import cuda_note, refuse_direct, refuse_unhashed

if TYPE_CHECKING:
    from pathlib import Path

DIRECT = [
    "git+https://forge.example/team/package.git@1234567",
    "package @ git+ssh://git@forge.example/team/package",
    "package[extra] @ https://forge.example/package-1.0.tar.gz",
    "package@file:///home/me/package",
    "https://forge.example/package-1.0-py3-none-any.whl",
    "-e .",
    "--editable ../package",
    "./package",
    "../package",
    "/home/me/package",
    "~/package",
    "wheels/package-1.0-py3-none-any.whl",
    "package-1.0.tar.gz  # mine",
    "  hg+https://forge.example/package",
]
USUAL = [
    "numpy",
    "numpy>=2  # not git+https",
    "torch==2.13.0+cpu ; sys_platform == 'linux'",
    "scikit-learn[alldeps]~=1.5",
    "# package @ git+https://forge.example",
    "",
    "zipp",
    "git-python==1.0",
]


@pytest.mark.parametrize("line", DIRECT)
def test_what_is_on_no_index_is_refused_with_the_ways_that_work(line: str, tmp_path: Path) -> None:
    file = tmp_path / "requirements.in"
    file.write_text(f"numpy\n{line}\n", encoding="utf-8")
    with pytest.raises(MethodError, match="line 2") as caught:
        refuse_direct(file)
    assert "fetch" in caught.value.hint
    assert "paths" in caught.value.hint


@pytest.mark.parametrize("line", USUAL)
def test_packages_of_an_index_pass(line: str, tmp_path: Path) -> None:
    file = tmp_path / "requirements.in"
    file.write_text(f"{line}\n", encoding="utf-8")
    refuse_direct(file)


@pytest.mark.parametrize(
    "line", ["./package", "package @ git+https://forge.example/package@1234567", "some/package"]
)
def test_a_lock_with_a_package_that_has_no_hash_is_refused(line: str, tmp_path: Path) -> None:
    """Such as a repository in a file that the requirements include."""
    lock = tmp_path / "requirements.lock"
    whole = "# by uv\nnumpy==2.4.6 \\\n    --hash=sha256:0\n    # via -r requirements.in\n"
    lock.write_text(whole, encoding="utf-8")
    refuse_unhashed(lock)
    lock.write_text(f"{whole}{line}\n    # via -r other.in\n", encoding="utf-8")
    with pytest.raises(MethodError, match="no index has a hash of") as caught:
        refuse_unhashed(lock)
    assert line in caught.value.message
    assert "checkouts" in caught.value.hint


def test_cuda_is_remarked_on(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    here = "numpy==2.4.6 \\\n    --hash=sha256:0\nnvidia-cublas==13.1.1.3 \\\n    --hash=sha256:0\n"
    lock.write_text(here, encoding="utf-8")
    assert cuda_note(lock).startswith("1 packages of CUDA")
    lock.write_text(
        here.replace("13.1.1.3", "13.1.1.3 ; sys_platform == 'win32'"), encoding="utf-8"
    )
    assert cuda_note(lock) == ""


def test_no_method_here_has_a_direct_requirement() -> None:
    for file in ROOT.glob("algorithms/*/requirements.in"):
        refuse_direct(file)
