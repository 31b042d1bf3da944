"""TOML files of the user's that describe their data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mdbench.data.readers import description_of
from mdbench.errors import DataError
from mdbench.installation import page
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from pathlib import Path

OWN_PAGE = f"{page('datasets')} lists all keys and the values allowed."
_M = TypeVar("_M", bound=BaseModel)


def read_description(path: Path, kind: type[_M], hint: str) -> _M:
    """Read a TOML file.

    Parameters
    ----------
    kind
        What its keys are.
    hint
        Where all keys and the values allowed are listed.

    Raises
    ------
    DataError
        If it cannot be read, is no TOML, or has a key or a value that is not allowed.
    """
    refuse_other_files(path)
    try:
        return kind.model_validate(read_toml(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        given = "" if first["type"] == "missing" else f" is {first['input']!r}"
        raise DataError(f"{path}: key {key!r}{given}: {first['msg']}", hint) from None
    except ValueError as error:
        raise DataError(f"{path} is no valid TOML: {error}") from None


def refuse_other_files(path: Path) -> None:
    """Refuse a file that is no TOML file by its name, such as a table of text.

    Raises
    ------
    DataError
        With where tables are read.
    """
    if path.is_file() and path.suffix.lower() != ".toml":
        raise DataError(
            f"{path} is not a TOML file, and data of this type are described by one.",
            f"For a table with a target: --data-type real ({page('real')}).  For values over "
            f"time: --data-type ode ({page('datasets')}).",
        )


class FieldDescription(BaseModel):
    """The TOML file of a field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Literal[1] = Field(alias="schema")
    title: str = ""
    source: str = ""
    truth: dict[str, str] | None = None


def read_field_description(path: Path) -> FieldDescription:
    """Read the TOML file that has the name of a field; empty where there is none.

    Raises
    ------
    DataError
        If it has a key or a value that is not allowed; it names both.
    """
    file = description_of(path)
    return (
        read_description(file, FieldDescription, OWN_PAGE)
        if file.exists()
        else FieldDescription(schema=1)
    )
