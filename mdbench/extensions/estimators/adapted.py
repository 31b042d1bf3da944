"""A method with other settings: a folder of its own, which is another method by its name."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.errors import UsageError
from mdbench.extensions.estimators.vocabulary import has_setting, settings_for
from mdbench.methods import SHARED, Method, discover, files_of, load
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from mdbench.extensions.estimators.vocabulary import Wishes

__all__ = ["ADAPTED", "adapt"]
ADAPTED = "adapted"
"""The folder of copies in the home of a workspace."""
_LONGEST = 31
"""Characters of a method's name that the name of the folder begins with."""


def adapt(method: Method, data_type: str, wishes: Wishes, home: Path) -> Method:
    """Copy a method with the settings that are asked for.

    It has the same adapter and the same environment, as that follows from the lock.  Its name ends
    with a hash of all its files: no record can be taken for one of the method itself.

    Parameters
    ----------
    home
        The folder of copies; one that is there already is taken as it is.

    Returns
    -------
    Method
        Its folder is alone in a folder that ``--methods`` may name.

    Raises
    ------
    UsageError
        If the method has no such setting; names methods that have it.
    """
    _refuse_without_setting(method.name, data_type, wishes)
    settings = settings_for(method.spec, data_type, wishes)
    spec = method.spec
    fixed, grid = spec.fixed("strict", data_type), dict(spec.grid)
    if (own := spec.on(data_type)) is not None:
        grid |= own.grid
    for key, value in settings.items():
        (grid if key in grid else fixed)[key] = value
    digest = hashlib.sha256(method.fingerprint().encode() + method.lock_sha256().encode())
    digest.update(json.dumps([data_type, fixed, grid], sort_keys=True).encode())
    name = f"{method.name[:_LONGEST]}-{digest.hexdigest()[:8]}"
    content = tomllib.loads((method.folder / "method.toml").read_text(encoding="utf-8"))
    for key in ("by_data_type", "protocols", "check", "knows"):
        content.pop(key, None)
    content |= {"name": name, "title": f"{spec.title}, with other settings"}
    content |= {"data_types": [data_type], "hyperparameters": fixed}
    content |= {"grid": grid} if grid else {}
    if (rows := spec.most_rows(data_type)) is not None:
        content["max_rows"] = rows
    folder = home / name / name
    if not folder.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".", dir=home))
        _copy(method, made / name, made / SHARED)
        text = "".join(f"{_text(key)} = {_toml(value)}\n" for key, value in content.items())
        (made / name / "method.toml").write_text(text, encoding="utf-8")
        try:
            made.rename(home / name)
        except OSError:  # another process was first
            shutil.rmtree(made)
    return load(folder, method.folder.parent)


def _refuse_without_setting(name: str, data_type: str, wishes: Wishes) -> None:
    for option in wishes.options:
        if not has_setting(name, option):
            others = discover(Workspace.find().algorithms).items()
            names = [
                other
                for other, method in others
                if isinstance(method, Method)
                and data_type in method.spec.data_types
                and has_setting(other, option)
            ]
            raise UsageError(
                f"{name} has no setting for {option}.",
                f"For {data_type} these have one: {', '.join(names)}."
                if names
                else f"No method for {data_type} has one; leave it out.",
            )


def _copy(method: Method, folder: Path, shared: Path) -> None:
    """Copy the files of a method, and of the folders that it uses."""
    folders = {method.folder: folder, **{used: shared / used.name for used in method.used}}
    for source, target in folders.items():
        for file in files_of(source):
            relative = file.relative_to(source)
            if source != method.folder and relative.as_posix() == "method.toml":
                continue  # of another method, whose modules it imports
            copied = target / relative
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copied)


def _text(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _toml(value: Any) -> str:
    """Write a value that JSON can hold as TOML, tables within one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
