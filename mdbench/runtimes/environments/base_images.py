"""The base image of the methods' images, its Python, and the wheels for it.

Wheels are fetched here, by the pip of mdbench and with its settings (index, proxy, certificate,
find-links), so that an image is built without any of these.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from eqverdict.limited_process import PARSER_LOCK
from mdbench.errors import MethodError, UnavailableError
from mdbench.installation import command, resource
from mdbench.runtimes.environments import docker_cli
from mdbench.runtimes.environments.docker_cli import follow
from mdbench.runtimes.environments.locks import split_requirements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mdbench.runtimes.environments.docker_cli import Program


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


def lock_for_python(lock: str, target: Target) -> str:
    r"""Return the part of a lock that one Python needs: sorted, without markers and comments.

    Raises
    ------
    MethodError
        If a line cannot be read.

    Examples
    --------
    >>> here = Target("3.11.2", "cp", "cp311", (), {"python_full_version": "3.11.2"})
    >>> print(lock_for_python("b==1 \\\n    --hash=sha256:12\n    # via a\n"
    ...              "c==2 ; python_full_version < '3.11' --hash=sha256:34\n", here), end="")
    b==1 --hash=sha256:12
    """
    packages = []
    for lines in split_requirements(lock).values():
        for line in lines.replace("\\\n", " ").splitlines():
            text, *hashes = line.split("--hash=")
            requirement = _parse(text.strip())
            marker, requirement.marker = requirement.marker, None
            if marker is None or marker.evaluate({**target.markers, "extra": ""}):
                packages.append(" --hash=".join([str(requirement), *map(str.strip, hashes)]))
    return "".join(f"{line}\n" for line in sorted(packages))


def pins(lock: str) -> dict[str, str]:
    """Return the versions that a lock without markers pins, by name."""
    versions: dict[str, str] = {}
    for line in lock.splitlines():
        requirement = _parse(line.partition(" --hash=")[0])
        versions[canonicalize_name(requirement.name)] = str(requirement.specifier).lstrip("=")
    return versions


def pip_arguments(lock: Path, folder: Path, target: Target) -> list[str]:
    """Return the arguments by which pip fetches the wheels of `lock` into `folder`."""
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
        If one is missing or cannot be fetched; holds pip's output.
    """
    follow(
        [sys.executable, "-P", "-m", "pip", *pip_arguments(lock, folder, target)],
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
        with PARSER_LOCK:
            return Requirement(text)
    except InvalidRequirement:
        raise MethodError(
            f"{text!r} in a lock is no requirement.",
            f"A lock is not written by hand; to make it again: {command('scripts/lock METHOD')}",
        ) from None


_DOCKERFILES = resource("docker")
_OWN_BASE = "mdbench-base"
_PULL_SECONDS = 1800.0
_BASE_HINT = (
    f"To make a base image from Debian packages: {command('scripts/base-image')}. "
    "To name one that is here: MDBENCH_BASE_IMAGE=NAME"
)
_QUESTION = """
import glob, json, os, platform, sys, sysconfig
try:
    import pip
except ImportError:
    bundled = os.path.join(sysconfig.get_path("stdlib"), "ensurepip", "_bundled")
    for folder in (bundled, "/usr/share/python-wheels"):
        sys.path += sorted(glob.glob(os.path.join(folder, "pip-*.whl")))
from pip._vendor.packaging import markers, tags
found = list(tags.sys_tags())
print(json.dumps({
    "python": platform.python_version(),
    "implementation": found[0].interpreter[:2],
    "abi": found[0].abi,
    "platforms": list(dict.fromkeys(t.platform for t in found if t.platform != "any")),
    "markers": markers.default_environment(),
}))
"""
"""Code that a container's Python runs to describe itself."""


@dataclass(frozen=True)
class Base:
    """The image that methods' images start from.

    Attributes
    ----------
    reference
        Its name.
    id
        Its id.
    content
        SHA-256 of its layers and settings: unlike the id, which covers the time of its making,
        it is the same when the same base is made again.
    target
        Its Python.
    layers
        The digests of its layers.
    """

    reference: str
    id: str
    content: str
    target: Target
    layers: tuple[str, ...] = field(repr=False)

    @property
    def python(self) -> str:
        """The version of its Python."""
        return self.target.python

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that it takes wheels for, the best first."""
        return self.target.platforms

    @property
    def markers(self) -> Mapping[str, str]:
        """Its marker environment (PEP 508)."""
        return self.target.markers


def find(folder: Path, report: Callable[[str], None], program: Program = "docker") -> Base:
    """Return the base image: MDBENCH_BASE_IMAGE, else mdbench-base, else the official one.

    Parameters
    ----------
    folder
        Where is kept what the Pythons of base images have answered.
    report
        Called with a message that an image is being fetched.
    program
        The engine's command line.

    Raises
    ------
    UnavailableError
        If there is none and none can be had, or if it has no Python that can be used.
    """
    reference = find_local(program) or _pull(_names()[-1], report, program)
    image = docker_cli.image(reference, program=program)
    if image is None:
        raise UnavailableError(f"The base image {reference} has gone.", _BASE_HINT)
    layers = tuple(image["RootFS"].get("Layers") or ())
    settings = {name: image["Config"].get(name) for name in ("Env", "User", "Shell", "OnBuild")}
    return Base(
        reference=reference,
        id=image["Id"],
        content=sha256(*layers, json.dumps(settings, sort_keys=True)),
        target=_ask(reference, image["Id"], folder, program),
        layers=layers,
    )


def find_local(program: Program = "docker") -> str | None:
    """Return the name of the base image that is here, or None where a registry would be needed.

    Raises
    ------
    UnavailableError
        If no engine answers.
    """
    here = (name for name in _names() if docker_cli.image(name, program=program) is not None)
    return next(here, None)


def dockerfile(name: str) -> str:
    """Return the text of a file in ``docker/``.

    Raises
    ------
    UnavailableError
        If there is none.
    """
    file = _DOCKERFILES / f"{name}.Dockerfile"
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UnavailableError(
            f"{file} cannot be read: {error.strerror}.",
            "It belongs to mdbench: get it again from the repository, or install mdbench again.",
        ) from None


def sha256(*parts: str) -> str:
    """Return the SHA-256 of several texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _names() -> list[str]:
    """Return the names that a base image may have, the first choice first."""
    if named := os.environ.get("MDBENCH_BASE_IMAGE"):
        return [named]
    found = re.search(r"^ARG BASE_IMAGE=(\S+)", dockerfile("environment"), re.MULTILINE)
    return [_OWN_BASE, found[1]] if found else [_OWN_BASE]


def _pull(reference: str, report: Callable[[str], None], program: Program) -> str:
    report(f"fetching the base image {reference}")
    try:
        docker_cli.docker(
            ["pull", "--quiet", reference],
            f"The base image {reference} cannot be fetched",
            timeout=_PULL_SECONDS,
            program=program,
        )
    except UnavailableError as error:
        if docker_cli.why_no_engine(program):
            raise
        raise UnavailableError(
            f"No image registry was reached, and there is no base image here. {error.message}",
            _BASE_HINT,
        ) from None
    return reference


def _ask(reference: str, image_id: str, folder: Path, program: Program) -> Target:
    """Ask the Python of a base image what it is, once for each image."""
    file = folder / f"{image_id.rpartition(':')[2]}.json"
    try:
        return _target(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    # By its id: an engine never asks a registry for that.
    answer = docker_cli.docker(
        [
            *("run", "--rm", "--label=mdbench=1", "--network=none", "--entrypoint=python3"),
            *(image_id, "-I", "-c", _QUESTION),
        ],
        f"The base image {reference} has no Python 3 with pip's wheel in it",
        program=program,
    )
    try:
        target = _target(answer)
    except (ValueError, KeyError, TypeError):
        raise UnavailableError(
            f"The Python of the base image {reference} answers {answer[:200]!r}."
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(answer, encoding="utf-8")
    except OSError as error:
        raise UnavailableError(f"{file} cannot be written: {error}.") from None
    return target


def _target(answer: str) -> Target:
    content = json.loads(answer)
    return Target(
        python=str(content["python"]),
        implementation=str(content["implementation"]),
        abi=str(content["abi"]),
        platforms=tuple(map(str, content["platforms"])),
        markers={str(name): str(value) for name, value in content["markers"].items()},
    )
