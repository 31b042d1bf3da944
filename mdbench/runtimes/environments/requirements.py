"""Requirements of a method, made into a lock by ``scripts/lock``, and what is refused in them."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.version import Version
from uv import find_uv_bin

from eqverdict.limited_process import PARSER_LOCK
from mdbench.errors import MdbenchError, MethodError, UnavailableError
from mdbench.installation import command, page
from mdbench.methods import find
from mdbench.runtimes import bubblewrap
from mdbench.runtimes.environments.locks import (
    find_strange_line,
    read_lock,
    split_requirements,
    uv_file,
)
from mdbench.runtimes.environments.uv import run_uv
from mdbench.runtimes.environments.venvs import (
    BUILD_LOCK,
    build_sandbox,
    running_python,
    user_settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mdbench.runtimes.environments.venvs import Wrap

_LOCKING = f"{bubblewrap.INSIDE}/lock"
"""The folder of a sandbox in which a lock is written."""
_DIRECT = re.compile(
    r"""^\s*(?:-e\b|--editable\b)        # editable
    |^\s*(?:git|hg|svn|bzr)\+            # a repository
    |^\s*[\w.-]+\s*(?:\[[^\]]*\])?\s*@   # name @ place
    |^\s*(?:https?|file|ftp):            # an address
    |^\s*(?:\.{1,2})?/                   # a path
    |^\s*~/
    |\.(?:whl|tar\.gz|zip)\s*(?:;|\#|$)""",
    re.VERBOSE | re.IGNORECASE,
)


_WAYS = (
    "Ways that work: (1) a release of the package on an index, NAME==VERSION; (2) [checkouts.NAME] "
    "in method.toml, one commit of a repository and its hash, or a program in the method's folder, "
    'fetch = "fetch.py", that gets it; (3) a folder or a wheel of the user\'s, paths = '
    f'["checkout"] in method.toml ({page("adding-a-method")}).'
)


def refuse_direct(requirements_in: Path) -> None:
    """Refuse requirements that are no packages of an index: a lock has hashes and names no host.

    Raises
    ------
    MethodError
        If a line names a repository, an address or a path; with the ways that work.
    """
    if not requirements_in.is_file():
        return
    for number, line in enumerate(requirements_in.read_text(encoding="utf-8").splitlines(), 1):
        if _DIRECT.search(line):
            raise MethodError(
                f"{requirements_in}, line {number}: {line.strip()!r} is a repository, an address "
                "or a path, and no index has a hash of it.",
                _WAYS,
            )


def refuse_unhashed(lock: Path) -> None:
    """Refuse a new lock with packages that have no hash, which came from a repository or a path.

    A file that the requirements include (``-r``) may name one, or another option.

    Raises
    ------
    MethodError
        If there is one; with the ways that work.
    """
    text = lock.read_bytes().decode("utf-8", "replace")
    if strange := find_strange_line(text):
        bare = [strange[1]]
    else:
        pins = split_requirements(text).values()
        bare = [lines.partition("\n")[0] for lines in pins if "--hash=" not in lines]
    if bare:
        raise MethodError(
            f"{lock.with_suffix('.in')}: no index has a hash of {', '.join(bare)}, which is a "
            "repository, an address or a path.",
            _WAYS,
        )


def cuda_note(lock: Path) -> str:
    """Return a remark on packages of CUDA that this machine would install; empty if none."""
    count = 0
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line.startswith("nvidia-"):
            with PARSER_LOCK:
                marker = Requirement(line.rstrip(" \\")).marker
                count += marker is None or marker.evaluate()
    if not count:
        return ""
    return (
        f"{count} packages of CUDA came in (nvidia-...), some 3 GB for each environment.  Without "
        "a GPU take PyTorch's build without CUDA: mdbench new --torch has the lines for it"
    )


def lock_requirements(
    requirements_in: Path,
    output: Path,
    requires_python: str,
    *,
    options: Sequence[str] = (),
    build: str = "",
) -> None:
    """Pin requirements and all that they need, with hashes, for every platform.

    What `output` pins already stays where it can.  Only the default index is asked at first:
    an extra one that has a few files of a package would hide the hashes of all its others.

    Parameters
    ----------
    requirements_in
        The requirements, or a ``pyproject.toml``.
    output
        The lock to write; it names no host.
    requires_python
        The Pythons that it is to hold for; must have a lower bound.
    options
        More options of ``uv pip compile``.
    build
        The method whose packages may be built to learn what they need: in a sandbox.

    Raises
    ------
    MethodError
        If there are no requirements, or if `requires_python` has no lower bound.
    UnavailableError
        If no set of packages fits, or the index cannot be reached.
    """
    if not requirements_in.is_file():
        raise MethodError(
            f"{requirements_in} is missing.", "Write a package a line into it; numpy is needed."
        )
    folder = requirements_in.absolute().parent
    arguments = ["pip", "compile", "--quiet", "--universal", "--generate-hashes"]
    arguments += ["--python-version", _lowest_python(requires_python, requirements_in)]
    arguments += ["--python", str(running_python())]
    if (config := uv_file(requirements_in)) is not None:
        arguments += ["--config-file", str(config)]
    arguments += ["--output-file", os.path.relpath(output.absolute(), folder)]
    arguments += [*options, requirements_in.name]
    settings = user_settings()

    def compile_lock(wrap: Wrap | None = None, **indexes: str) -> None:
        origin = {"UV_CUSTOM_COMPILE_COMMAND": command("scripts/lock")}
        environment = {**settings.environment, **origin, **indexes}
        run_uv(
            find_uv_bin(),
            arguments,
            settings=replace(settings, environment=environment),
            cwd=folder,
            failure=f"{requirements_in} cannot be locked",
            wrap=wrap,
        )

    with _locking_sandbox(build, output, folder) if build else nullcontext() as wrap:
        if wrap is not None:
            arguments[arguments.index("--output-file") + 1] = f"{_LOCKING}/{output.name}"
        try:
            compile_lock(wrap, UV_INDEX="", UV_FIND_LINKS="")
        except UnavailableError:
            compile_lock(wrap)


@contextmanager
def _locking_sandbox(method_name: str, output: Path, folder: Path) -> Iterator[Wrap]:
    """Yield a wrapper for a sandbox that reads a method's folder and writes a lock elsewhere."""
    python, uv_bin = running_python(), Path(find_uv_bin())
    with TemporaryDirectory() as scratch:
        new = Path(scratch, output.name)
        if output.is_file():
            new.write_bytes(output.read_bytes())  # its pins stay where they can
        with build_sandbox(
            method_name,
            [python.parent.parent, uv_bin],
            [folder],
            writable={_LOCKING: Path(scratch)},
            read_only={},
            report=lambda _line: None,
        ) as wrap:

            def in_folder(command: list[str], environment: dict[str, str]) -> list[str]:
                change = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(folder)]
                return wrap([*change, *command], environment)

            yield in_folder
        if new.is_symlink() or not new.is_file():
            raise UnavailableError(f"{output} cannot be made: its packages have removed it.")
        output.write_bytes(new.read_bytes())


def _lowest_python(requires_python: str, where: Path) -> str:
    bounds = re.findall(r"(?:>=|==|~=)\s*(\d+\.\d+)", requires_python)
    if not bounds:
        raise MethodError(
            f"{where} cannot be locked: {requires_python!r} has no lowest Python.",
            "Give the range a lower bound, like '>=3.11'.",
        )
    return str(max(map(Version, bounds)))


def lock_method(
    name: str, algorithms: Path, report: Callable[[str], None], options: Sequence[str] = ()
) -> None:
    """Write the hashed requirements of one method; what cannot be used leaves the lock as it was.

    Parameters
    ----------
    algorithms
        The project's own folder of methods.
    report
        Called with what is worth knowing of the lock.
    options
        Of ``uv pip compile``, such as ``--upgrade``.

    Raises
    ------
    UsageError, MethodError
        If there is no such method, or its requirements may not be locked.
    UnavailableError
        If they cannot be had.
    """
    method = find(name, algorithms)
    source = method.lock.with_suffix(".in")
    refuse_direct(source)
    before = method.lock.read_bytes() if method.lock.is_file() else None
    wheels = ["--no-build", *options]  # only these are installed, and nothing is run for a lock
    if method.spec.build:
        lock_requirements(
            source, method.lock, method.spec.python, options=list(options), build=name
        )
    else:
        lock_requirements(source, method.lock, method.spec.python, options=wheels)
    try:
        refuse_unhashed(method.lock)
        read_lock(name, method.lock)
    except MdbenchError:
        if before is None:
            method.lock.unlink()
        else:
            method.lock.write_bytes(before)
        raise
    if note := cuda_note(method.lock):
        report(f"{name}: {note}")
    builds = method.lock.with_name("build.in")
    if builds.is_file():
        lock_requirements(builds, builds.with_name(BUILD_LOCK), method.spec.python, options=wheels)
