"""Makes certificates of records: the search, whose result `eqverdict.verify` checks."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, permutations
from typing import TYPE_CHECKING, Any, TypeAlias

from eqverdict.verify import (
    DIGITS,
    RefusedCertificate,
    Ring,
    alike,
    balls_at,
    domain_of,
    list_terms,
    paired_terms,
    verify,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Certificate: TypeAlias = dict[str, Any]
_MOST_PAIRINGS = 720
"""Ways to pair functions that are tried."""
_POINTS = 48
"""Points at which two equations are compared."""
_ANYWHERE = (Fraction(-3), Fraction(3))
"""The domain of a variable where none is known."""
_GOLDEN = (
    *(0.6180339887, 0.4142135624, 0.7320508076, 0.2360679775, 0.6457513111, 0.3166247904),
    *(0.6055512755, 0.1231056256, 0.3588989435, 0.7958315233),
)
"""Irrational steps, one a variable, by which points are spread evenly."""
_CLAIMS = {1.0: "identified", 0.0: "different"}


def certificate_of(record: Mapping[str, Any]) -> Certificate:
    """Make the certificate of a record, and check it.

    Parameters
    ----------
    record
        As in a results file, with ``key``, ``truth``, ``equations``, ``metrics`` and ``notes``.

    Raises
    ------
    Refused
        If there is nothing to prove, or no proof of these kinds; with the reason.
    """
    claim = _CLAIMS.get(record["metrics"].get("identified"))
    if claim is None or not record["truth"] or not record["equations"]:
        raise RefusedCertificate("it has no verdict")
    truth, equations = list(record["truth"]), list(record["equations"])
    made = {
        "schema": 1,
        "record": record["key"],
        "claim": claim,
        "truth": truth,
        "equations": equations,
        "proofs": [_form(*pair) for pair in zip(truth, equations, strict=True)]
        if claim == "identified"
        else [_apart(record, truth, equations)],
    }
    verify(made, dict(record))
    return made


def _form(truth: str, answer: str) -> dict[str, Any]:
    """Find the pairs of functions with which two equations are the same but for constants."""
    ring = Ring()
    t, a = ring.read(truth), ring.read(answer)
    true, answered = ring.within(t), ring.within(a)
    theirs = [i for i in sorted(answered - true) if ring.atoms[i].arguments]
    ours = [i for i in sorted(true - answered) if ring.atoms[i].arguments]
    for chosen in islice(permutations(ours, len(theirs)), _MOST_PAIRINGS):
        pairs = dict(zip(theirs, chosen, strict=True))
        if alike(ring, t, a, pairs):
            terms = paired_terms(t, a, pairs) or []
            return {"pairs": {str(k): str(v) for k, v in pairs.items()}, "terms": list_terms(terms)}
    raise RefusedCertificate("not the same products with all constants within 5 %")


def _apart(record: Mapping[str, Any], truth: list[str], equations: list[str]) -> dict[str, Any]:
    """Find a point at which one equation differs: at best from all that is within 5 %."""
    domain = domain_of(dict(record))
    for moved in (True, False):
        for number, (true, answer) in enumerate(zip(truth, equations, strict=True)):
            for point in _points(true, answer, domain):
                try:
                    balls = balls_at(true, answer, point, moved=moved)
                except RefusedCertificate:
                    break
                if all(each.is_finite() for each in balls) and not balls[0].overlaps(balls[1]):
                    shown = {name: str(value) for name, value in point.items()}
                    proof = {"equation": number, "point": shown, "moved": moved}
                    return proof | dict(
                        zip(("true", "answered"), (b.str(DIGITS) for b in balls), strict=True)
                    )
    raise RefusedCertificate("no point was found at which they have different values")


def _points(
    truth: str, answer: str, domain: Mapping[str, tuple[Fraction, Fraction]]
) -> Iterator[dict[str, Fraction]]:
    """Yield points of the domain, spread evenly, with few digits."""
    ring = Ring()
    names = sorted(
        {
            ring.atoms[index].head
            for text in (truth, answer)
            for index in (ring.read(text), ring.met)[1]
            if not ring.atoms[index].arguments
        }
        - {"pi", "E"}
    )
    if len(names) > len(_GOLDEN):
        return
    for number in range(1, _POINTS + 1):
        point = {}
        for name, step in zip(names, _GOLDEN, strict=False):
            low, high = domain.get(name, _ANYWHERE)
            share = Fraction(round(1000 * ((number * step) % 1.0)), 1000)
            point[name] = low + share * (high - low)
        yield point
