"""The lock of a method, made from its ``requirements.in``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.errors import MdbenchError
from mdbench.methods import find
from mdbench.runtimes.environments.locks import read_lock
from mdbench.runtimes.environments.requirements import (
    cuda_note,
    lock_requirements,
    refuse_direct,
    refuse_unhashed,
)
from mdbench.runtimes.environments.venvs import BUILD_LOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


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
