"""Withdrawals: a named person's word that a bundle or an audit of a registry counts no more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mdbench.errors import RecordsError, first_fault

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Final = 1
_LONGEST_REASON: Final = 500


class Withdrawal(BaseModel):
    """The file of a withdrawal.

    Attributes
    ----------
    of
        The SHA-256 of the bundle or the audit.
    reason
        Why, in one line.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    withdrawal: int = FORMAT
    of: str = Field(pattern="^[0-9a-f]{64}$")
    reason: str = Field(min_length=1, max_length=_LONGEST_REASON, pattern=r"^[^\x00-\x1f\x7f]+$")


def read_withdrawal(path: Path) -> Withdrawal:
    """Read the file of a withdrawal.

    Raises
    ------
    RecordsError
        If it is none.
    """
    hint = "Withdrawals come from: mdbench registry withdraw SHA256 REGISTRY --reason TEXT"
    try:
        return Withdrawal.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RecordsError(f"{path} is no withdrawal: {first_fault(error, 'it')}", hint) from None
    except OSError as error:
        raise RecordsError(f"{path} cannot be read: {error.strerror}", hint) from None


def is_withdrawal(path: Path) -> bool:
    """Return whether a file may be a withdrawal, and is no audit."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and "withdrawal" in content
