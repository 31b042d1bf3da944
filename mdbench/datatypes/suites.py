"""Where the sets of systems come from: ``datasets/suites.toml``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from mdbench.errors import DataError
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

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
    """Return all suites by data type and name; none where a folder of datasets has no such file.

    Raises
    ------
    DataError
        If the file cannot be read; it names the key.
    """
    path = datasets / FILE
    if not path.exists():
        return {}
    try:
        return _File.model_validate(read_toml(path)).root
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
    """Return the systems of a suite: of a data type's own name, all that is run without others."""
    return own if name == data_type else groups.get(name, ())
