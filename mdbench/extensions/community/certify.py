"""``mdbench registry certify`` and ``verify``: proofs of verdicts."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from eqverdict.verify import RefusedCertificate, is_proof, verify
from mdbench.cli.options import Exit
from mdbench.cli.report import read_results, records_of, write
from mdbench.errors import UsageError, counted
from mdbench.extensions.community.certificates import certificate_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.records import Record

_CLAIMS = {1.0: "identified", 0.0: "different"}
_MOST_SHOWN = 20
"""Refused certificates that are listed."""
_LONGEST = 2**20
"""Characters of a certificate."""


def certify_results(places: Sequence[Path], out: Path, console: Console) -> int:
    """Write the certificates of all records that have one, and print for how many there is none."""
    rows = [row for row in map(_plain, read_results(places)) if _claim(row)]
    if not rows:
        raise UsageError(
            "No record has a verdict on its equations.", "Records of known laws have one."
        )
    totals = Counter(map(_claim, rows))
    made: list[dict[str, Any]] = []
    lacking: Counter[tuple[str, str]] = Counter()
    for row in rows:
        try:
            made.append(certificate_of(row))
        except RefusedCertificate as reason:
            lacking[_claim(row), str(reason)] += 1
    write(out, "".join(f"{json.dumps(each, allow_nan=False)}\n" for each in made))
    for claim in filter(totals.get, _CLAIMS.values()):
        mine = [each for each in made if each["claim"] == claim]
        share = len(mine) / totals[claim]
        moved = sum(each["proofs"][0]["moved"] for each in mine) if claim == "different" else 0
        also = f", {moved} of them from all that is within 5 %" * (claim == "different")
        console.print(
            f"{claim}: {len(mine)} of {totals[claim]} have a proof ({share:.1%}){also}",
            soft_wrap=True,
        )
        for (of, why), number in lacking.most_common():
            if of == claim:
                console.print(f"  {number} without: {escape(why)}", soft_wrap=True)
    console.print(f"Certificates: {escape(str(out))}", soft_wrap=True)
    return Exit.DONE


def verify_certificates(file: Path, places: Sequence[Path], console: Console) -> int:
    """Check certificates, against the records of results where some are given."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is no text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise UsageError(
            f"{file} cannot be read as certificates: {reason}.",
            "Certificates come from: mdbench registry certify\n"
            "A bundle is for: mdbench registry submit",
        ) from None
    records: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records_of(places) if places else ():
        records[record.key].append(_plain(record))
    proved: Counter[str] = Counter()
    refused: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            proved[_verified(line, records if places else None)] += 1
        except RefusedCertificate as reason:
            refused.append(f"line {number}: {reason}")
    for text in refused[:_MOST_SHOWN]:
        console.print(f"refused: {escape(text)}", soft_wrap=True)
    if len(refused) > _MOST_SHOWN:
        console.print(f"  and {len(refused) - _MOST_SHOWN} more")
    shown = ", ".join(f"{number} {claim}" for claim, number in sorted(proved.items())) or "none"
    against = "the records" if places else "nothing but themselves: give results, too"
    console.print(
        f"{counted(len(lines), 'certificate')}, checked against {against}: proved {shown}; "
        f"refused {len(refused)}",
        soft_wrap=True,
    )
    return Exit.NOT_AS_WISHED if refused or not lines else Exit.DONE


def _verified(line: str, records: dict[str, list[dict[str, Any]]] | None) -> str:
    try:
        if len(line) > _LONGEST:
            raise RefusedCertificate("it is too long")
        certificate = json.loads(line)
        about = None if records is None else records.get(certificate["record"], [])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RefusedCertificate(f"it is no certificate: {type(error).__name__}") from None
    if about is None:
        return verify(certificate)
    if not about:
        raise RefusedCertificate("it is about a record that is not there")
    fitting = (record for record in about if is_proof(certificate, record))
    return verify(certificate, next(fitting, about[-1]))


def _plain(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json", by_alias=True)


def _claim(row: dict[str, Any]) -> str:
    return _CLAIMS.get(row["metrics"].get("identified"), "") if row["truth"] else ""
