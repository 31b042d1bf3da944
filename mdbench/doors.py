"""The doors of the core: how an extension, or another package, adds something by its name.

An extension is a folder in ``mdbench/extensions`` with a file ``entry_points.txt``.  Installed
packages have a file of the same name and form::

    [mdbench.runtimes]
    podman = mdbench.extensions.engines.podman:PodmanRuntime

Folders of extensions that ``$MDBENCH_EXTENSIONS`` names (separated as in ``$PATH``) are looked at,
too, and so are all packages that are installed.  A name of the core is never replaced.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.errors import UnavailableError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTENSIONS = Path(__file__).resolve().parent / "extensions"
"""The folder of the extensions that come with the core."""
VARIABLE = "MDBENCH_EXTENSIONS"
"""The environment variable that names more folders of extensions."""
FILE = "entry_points.txt"


class Door:
    """A kind of addition, such as runtimes: names, and what is imported for each.

    Parameters
    ----------
    group
        The name of the door, such as ``mdbench.runtimes``.
    kind
        What comes in by it, for messages: ``runtime``.
    core
        The core's own members: references ``module:attribute`` by their names.
    """

    def __init__(self, group: str, kind: str, core: Mapping[str, str]) -> None:
        self.group = group
        self.kind = kind
        self.core = core

    def names(self) -> list[str]:
        """Return all names: the core's, those of extensions, those of installed packages."""
        others = {**extensions(self.group), **dict(sorted(packages(self.group).items()))}
        return list({**self.core, **others})

    def __contains__(self, name: str) -> bool:
        return self.reference(name) is not None

    def reference(self, name: str) -> str | None:
        """Return where a member is, ``module:attribute``; None where nobody has added it.

        Installed packages are asked last, as that takes longest.
        """
        if name in self.core:
            return self.core[name]
        return extensions(self.group).get(name) or packages(self.group).get(name)

    def refuse_unknown(self, option: str, name: str, *also: str) -> None:
        """Refuse a value of an option that names no member, and is none of `also`.

        Raises
        ------
        UsageError
            Shows near names, and all.
        """
        if name not in also and name not in self:
            names = [*also, *self.names()]
            raise UsageError(
                f"{option} is {name!r}.", f"{did_you_mean(name, names)} All: {', '.join(names)}"
            )

    def load(self, name: str) -> Any:
        """Import a member.

        Raises
        ------
        UsageError
            If there is none of that name; shows near names.
        UnavailableError
            If what another package has added cannot be imported.
        """
        reference = self.reference(name)
        if reference is None:
            raise UsageError(f"There is no {self.kind} {name!r}.", did_you_mean(name, self.names()))
        module, _, attribute = reference.partition(":")
        try:
            member = import_module(module)
            for part in attribute.split("."):
                member = getattr(member, part)
        except Exception as error:
            if name in self.core:
                raise
            raise UnavailableError(
                f"The {self.kind} {name} ({reference}) cannot be loaded: {error}.",
                "Install what it needs, or remove the package that adds it.",
            ) from error
        return member


def extensions(group: str) -> Mapping[str, str]:
    """Return what folders of extensions add by a door: references by their names."""
    return _added(os.environ.get(VARIABLE, "")).get(group, {})


@cache
def _added(more: str) -> Mapping[str, Mapping[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    others = list(filter(None, more.split(os.pathsep)))
    sys.path += [folder for folder in dict.fromkeys(others) if folder not in sys.path]
    for folder in (EXTENSIONS, *map(Path, others)):
        for file in sorted(folder.glob(f"*/{FILE}")):
            for group, members in _read(file.read_text(encoding="utf-8")).items():
                for name, reference in members.items():
                    groups.setdefault(group, {}).setdefault(name, reference)
    return groups


def _read(text: str) -> dict[str, dict[str, str]]:
    """Read the format of ``entry_points.txt``: heads of groups, and lines ``name = reference``."""
    groups: dict[str, dict[str, str]] = {}
    members: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            members = groups.setdefault(line.strip("[]"), {})
        elif line and line[0] not in "#;":
            name, _, reference = line.partition("=")
            members[name.strip()] = reference.strip()
    return groups


@cache
def packages(group: str) -> Mapping[str, str]:
    """Return what installed packages add by a door: references by their names."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - reads all packages' files

    return {point.name: point.value for point in entry_points(group=group)}


RUNTIMES = Door(
    "mdbench.runtimes",
    "runtime",
    {
        "venv": "mdbench.runtimes.venv:VenvRuntime",
        "docker": "mdbench.runtimes.docker:DockerRuntime",
    },
)
"""Ways to isolate methods: classes of `mdbench.runtimes.base.Runtime`."""
BACKENDS = Door("mdbench.backends", "backend", {"local": "mdbench.backends.local:LocalBackend"})
"""Places where jobs run: classes of `mdbench.runs.execute.Backend`."""
PYTHON = Door("mdbench.python", "name of the Python interface", {})
"""What is to be had as ``mdbench.NAME`` besides the core's own names."""
SERVICES = Door("mdbench.services", "service", {})
"""What methods may ask while they run: classes of `mdbench.runs.services.Service`."""
