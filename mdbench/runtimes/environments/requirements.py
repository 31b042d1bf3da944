"""What ``scripts/lock`` refuses or remarks on in the requirements of a method."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from eqverdict.limited_process import PARSER_LOCK
from mdbench.errors import MethodError
from mdbench.installation import page
from mdbench.runtimes.environments.locks import find_strange_line, split_requirements

if TYPE_CHECKING:
    from pathlib import Path

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
    found = 0
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line.startswith("nvidia-"):
            with PARSER_LOCK:
                marker = Requirement(line.rstrip(" \\")).marker
                found += marker is None or marker.evaluate()
    if not found:
        return ""
    return (
        f"{found} packages of CUDA came in (nvidia-...), some 3 GB for each environment.  Without "
        "a GPU take PyTorch's build without CUDA: mdbench new --torch has the lines for it"
    )
