"""The wheels of a method's lock for another Python: a container's.

They are fetched here, by the pip that runs the bench and with its settings (index, proxy,
certificate, find-links), so that an image is built without any of these.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from mdbench.errors import MethodError
from mdbench.one_reader import READING
from mdbench.runtimes.environments.docker_cli import follow
from mdbench.runtimes.environments.uv import split_requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["Target", "download", "pins", "pip_arguments", "wanted"]


@dataclass(frozen=True)
class Target:
    """A Python that wheels are wanted for.

    Attributes
    ----------
    python
        Its version, such as ``3.11.2``.
    implementation, abi
        The first parts of its best tag, such as ``cp`` and ``cp311``.
    platforms
        The platforms that it takes wheels for, the best first.
    markers
        Its marker environment (PEP 508).
    """

    python: str
    implementation: str
    abi: str
    platforms: tuple[str, ...] = field(repr=False)
    markers: Mapping[str, str] = field(repr=False)


def wanted(lock: str, target: Target) -> str:
    r"""Give the part of a lock that one Python needs: sorted, without markers and comments.

    Raises
    ------
    MethodError
        If a line cannot be read.

    Examples
    --------
    >>> here = Target("3.11.2", "cp", "cp311", (), {"python_full_version": "3.11.2"})
    >>> print(wanted("b==1 \\\n    --hash=sha256:12\n    # via a\n"
    ...              "c==2 ; python_full_version < '3.11' --hash=sha256:34\n", here), end="")
    b==1 --hash=sha256:12
    """
    found = []
    for lines in split_requirements(lock).values():
        for line in lines.replace("\\\n", " ").splitlines():
            text, *hashes = line.split("--hash=")
            requirement = _parse(text.strip())
            marker, requirement.marker = requirement.marker, None
            if marker is None or marker.evaluate({**target.markers, "extra": ""}):
                found.append(" --hash=".join([str(requirement), *map(str.strip, hashes)]))
    return "".join(f"{line}\n" for line in sorted(found))


def pins(lock: str) -> dict[str, str]:
    """Give the versions that a lock without markers pins, by name."""
    found: dict[str, str] = {}
    for line in lock.splitlines():
        requirement = _parse(line.partition(" --hash=")[0])
        found[canonicalize_name(requirement.name)] = str(requirement.specifier).lstrip("=")
    return found


def pip_arguments(lock: Path, folder: Path, target: Target) -> list[str]:
    """Give the arguments by which pip fetches the wheels of `lock` into `folder`."""
    arguments = ["download", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    arguments += ["--requirement", str(lock), "--dest", str(folder), "--progress-bar", "off"]
    arguments += ["--python-version", target.python]
    arguments += ["--implementation", target.implementation, "--abi", target.abi]
    for platform in target.platforms:
        arguments += ["--platform", platform]
    return arguments


def download(
    method_name: str, lock: Path, folder: Path, target: Target, on_line: Callable[[str], None]
) -> None:
    """Fetch the wheels of a lock without markers.

    Raises
    ------
    UnavailableError
        If one is missing or cannot be fetched; holds what pip said.
    """
    follow(
        [sys.executable, "-m", "pip", *pip_arguments(lock, folder, target)],
        environment={"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_REQUIRE_VIRTUALENV": "0"},
        failure=f"The wheels of {method_name} for Python {target.python} on "
        f"{target.platforms[0]} cannot be had",
        hint="A package without a wheel for this platform cannot go into an image: pin another "
        "version in requirements.in. Else check the network and pip's settings "
        "(python3 -m pip config list).",
        on_line=lambda line: on_line(line) if "Downloading " in line else None,
    )


def _parse(text: str) -> Requirement:
    try:
        with READING:
            return Requirement(text)
    except InvalidRequirement:
        raise MethodError(
            f"{text!r} in a lock is no requirement.",
            "A lock is not written by hand; to make it anew: scripts/lock",
        ) from None
