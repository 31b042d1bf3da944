"""Digits for reading: an equation as it is printed is the equation that was found."""

from __future__ import annotations

import numpy as np
import pytest

from eqverdict import parse
from eqverdict.printers import names_in, rounded_to
from eqverdict.printers.digits import MOST_DIGITS, digits_needed

FAR = [10.0**k for k in range(-3, 10)]


SUM, CENTRED = "{c} - {a}*p", ("-{a}*(p - {m})", "q*{a}*(p - {m}) + {a}*q")


@pytest.mark.parametrize("offset", FAR)
@pytest.mark.parametrize(
    ("form", "scale"),
    # Of a sum nothing shows that its variable is tiny.
    [(SUM, 1.0), (SUM, 1e12), *((form, scale) for form in CENTRED for scale in (1e-9, 1.0, 1e12))],
)
def test_what_is_printed_has_the_values_of_what_was_found(
    offset: float, form: str, scale: float
) -> None:
    m, a = float(f"{offset * 1.01325:.6g}"), 9.123456789
    rng = np.random.default_rng(0)
    columns = {"p": m * scale + scale * rng.standard_normal(50), "q": rng.standard_normal(50)}
    text = form.format(a=a, m=f"{m * scale:.6g}", c=a * m * scale)
    exact = parse(text, columns).evaluate(columns)
    shown = rounded_to(text, digits_needed(text, names_in(text), 4))
    difference = parse(shown, columns).evaluate(columns) - exact
    assert np.sqrt(np.mean(difference**2)) < 2e-3 * np.std(exact)


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("2.5*u0 - 0.333333*u0*u1", 4),
        ("-10.000000001*u0 + 10.0*u1", 4),
        ("28.0*u0 - u1 - u0*u2", 4),
        ("sin(0.5*u0) + 0.1", 4),
        ("1e300 + u0", MOST_DIGITS),
        ("exp(-(u0 - 1234.5))", 8),
        ("1.5", 4),
        ("0", 4),
        ("u0/1e-5 + 100.0", 4),
    ],
)
def test_no_more_digits_than_it_takes(text: str, digits: int) -> None:
    assert digits_needed(text, names_in(text), 4) == digits
