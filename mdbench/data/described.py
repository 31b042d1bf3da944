"""TOML files that describe data: read whole, and refused with the key and the value."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_description"]

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
    try:
        return kind.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no valid TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        given = "" if first["type"] == "missing" else f" is {first['input']!r}"
        raise DataError(f"{path}: key {key!r}{given}: {first['msg']}", hint) from None
