"""Where the sets of systems come from.

A suite that is a folder says it in its own file ``datasets/TYPE/SUITE/suite.toml``; sets of the
repository stand in ``datasets/suites.toml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from mdbench.datatypes.facts import SUITE_FILE
from mdbench.errors import DataError
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_Model = TypeVar("_Model", bound=BaseModel)

FILE = "suites.toml"


class Suite(BaseModel):
    """A set of systems.

    Attributes
    ----------
    source
        The paper or the collection.
    licence
        Under what terms the source is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=1)
    licence: str = Field(min_length=1)


class _File(RootModel[dict[str, dict[str, Suite]]]):
    """Suites by data type and name."""


def read_suites(datasets: Path) -> Mapping[str, Mapping[str, Suite]]:
    """Return the sources of all suites by data type and name.

    Raises
    ------
    DataError
        If a file cannot be read; it names the file and the key.
    """
    path = datasets / FILE
    suites = dict(_read(path, _File).root) if path.exists() else {}
    for file in sorted(datasets.glob(f"*/*/{SUITE_FILE}")):
        kind, name = file.parts[-3:-1]
        suites[kind] = {**suites.get(kind, {}), name: _read(file, Suite)}
    return suites


def _read(path: Path, model: type[_Model]) -> _Model:
    try:
        return model.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{path}: key {key!r}: {first['msg']}", "A suite has a source and a licence."
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no readable TOML file: {error}") from error


def members(
    name: str, data_type: str, own: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """Return the systems of a suite.

    The suite with the name of its data type has the systems that a run takes without ``--dataset``.
    """
    return own if name == data_type else groups.get(name, ())
