from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import calls
from hypothesis import given
from hypothesis import strategies as st

from eqverdict import grammar, parse
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from eqverdict.tree import Node

NAMES = ["u0", "u1"]

NOT_IN_THE_GRAMMAR = [
    "",
    " ",
    "no equation at all",
    "u0 u1",
    "u0 +",
    "* u0",
    "(u0",
    "u0)",
    "()",
    "sin()",
    "sin(u0",
    "sin(u0,)",
    "sin u0",
    "sin",
    "u0(u1)",
    "u0, u1",
    "u0 = u1",
    "u0 == u1",
    "u0 < u1",
    "u0 // u1",
    "u0 % u1",
    "u0 @ u1",
    "~u0",
    "u0 if u1 else u0",
    "not u0",
    "u0 and u1",
    "0x10",
    "1_000",
    "1j",
    "1.2.3",
    "1e",
    "2E",
    "nan",
    "inf",
    "None",
    "sin(u0, u1)",
    "min(u0)",
    "square(u0, u1)",
    "#",
    "u0 # comment",
    "u0\\\n+ 1",
    "u0; u1",
    "\x00",
    "u0\x00",
    "u0\x0c+ 1",
]

ATTACKS = [
    "__import__('os').system('...')",
    '__import__("os").system("...")',
    "eval('1')",
    "exec('1')",
    "open('f')",
    "().__class__",
    "u0.__class__",
    "u0.__class__.__mro__[1].__subclasses__()",
    "(lambda: 1)()",
    "lambda: u0",
    "f'{u0}'",
    "'u0'",
    "b'u0'",
    "(u0 := 1)",
    "[u0 for u0 in (1,)]",
    "{u0: 1}",
    "u0[0]",
    "*u0",
    "**u0",
    "sin(x=u0)",
    "sin(*u0)",
    "Symbol('u0')",
    "yield u0",
    "await u0",
    "...",
    "`u0`",
    "$u0",
    "u0?",
    "u0!",
]

TOO_LARGE = {
    "9**9**9**9": "exponent",
    "2**10**9": "exponent",
    "9^9^9^9": "exponent",
    "(u0+1)**100000": "exponent",
    "(u0+1)**-100000": "exponent",
    "u0**(1e9)": "exponent",
    "u0**(10*10*10*10)": "exponent",
    "1e400": "too large for a number",
    "u0 + 1.0e999999999": "too large for a number",
    "9" * 101: "101 characters",
    "0." + "0" * 9_000 + "1": "9,003 characters",
    "1000.5**1000": "no finite real value",
    "exp(exp(exp(9)))*u0": "no finite real value",
    "u0 + 1/0": "no finite real value",
    "log(-1)": "no finite real value",
    "(-8)**(1/3)": "no finite real value",
    "0**-1*u0": "no finite real value",
    "cot(0)": "no finite real value",
    "(" * 10_000: "nested too deep",
    "sin(" * 10_000: "nested too deep",
    "-" * 10_000 + "u0": "nested too deep",
    "(" * 65 + "u0" + ")" * 65: "nested too deep",
    "**".join(["u0"] * 66): "nested too deep",
    "sin(" * 100_000 + "u0" + ")" * 100_000: "500,002 characters",
    "u0+" * 350_000 + "u0": "1,050,002 characters",
    "+".join(["u0"] * 15_000): "20,000 nodes",
    "*".join(["u0"] * 15_000): "20,000 nodes",
}


def strict(text: str, names: list[str]) -> Node:
    """Read the one notation of the grammar, without the others that `parse` knows."""
    grammar.check(text)
    return grammar.read(text, names)


LOOK_ALIKES = ["ｕ0", "u０", "u0 − u1", "u0 × u1", "ſin(u0)", "𝐬in(u0)", "u0\u200b", "\ud800", "１"]


@pytest.mark.parametrize("text", NOT_IN_THE_GRAMMAR + ATTACKS)
def test_refuses_what_is_no_equation(text: str) -> None:
    with pytest.raises(EquationError):
        strict(text, NAMES)


@pytest.mark.parametrize("text", TOO_LARGE, ids=lambda text: text[:20])
def test_limits_are_named_at_once(text: str) -> None:
    with calls() as made, pytest.raises(EquationError, match=TOO_LARGE[text]) as caught:
        strict(text, NAMES)
    assert made[0] < 1_000_000
    assert caught.value.hint
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", LOOK_ALIKES, ids=ascii)
def test_refuses_letters_that_python_would_normalise(text: str) -> None:
    with pytest.raises(EquationError, match="not ASCII") as caught:
        strict(text, NAMES)
    assert str(caught.value).isascii()


@pytest.mark.parametrize("thing", [None, 1.0, b"u0", ["u0"]])
def test_refuses_what_is_no_text(thing: object) -> None:
    with pytest.raises(EquationError, match=type(thing).__name__):
        parse(thing, NAMES)  # type: ignore[arg-type]


@given(st.text(max_size=30) | st.text("u01 .eE+-*/^(),sincolgx", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        equation = parse(text, NAMES)
    except EquationError:
        return
    assert equation.evaluate({"u0": np.ones(3), "u1": np.ones(3)}).shape == (3,)


def test_refusing_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr("builtins.eval", lambda *_: ran.append("eval"))
    monkeypatch.setattr("builtins.compile", lambda *_: ran.append("compile"))
    for text in ATTACKS:
        with pytest.raises(EquationError):
            parse(text, NAMES)
    assert not ran


def test_states_which_name_was_meant() -> None:
    with pytest.raises(EquationError, match="u3") as caught:
        strict("u3 + 1", NAMES)
    assert "u0" in caught.value.hint
    with pytest.raises(EquationError, match="sine") as caught:
        strict("sine(u0)", NAMES)
    assert "sin" in caught.value.hint


def test_another_variable_is_not_suggested() -> None:
    for name in ("u7", "u0_xx", "T", "u"):
        with pytest.raises(EquationError) as caught:
            parse(f"{name} + 1", ["u0", "u0_x", "t"])
        assert caught.value.hint == "The names are: u0, u0_x, t, pi, E."
    with pytest.raises(EquationError, match="unknown name 'Prey' at position 1") as caught:
        parse("Prey + 1", ["prey"])
    assert caught.value.hint == "Did you mean prey?"


def test_eulers_number_is_named_where_a_small_e_is_no_column() -> None:
    with pytest.raises(EquationError, match="Euler's number is E"):
        parse("2*e*x", ["x"])
    assert float(parse("2*e*x", ["e", "x"]).evaluate({"e": np.array(3.0), "x": np.array(1.0)})) == 6
    with pytest.raises(EquationError) as refused:
        parse("2*f*x", ["x"])
    assert "Euler" not in refused.value.hint


def test_states_where_it_stopped() -> None:
    with pytest.raises(EquationError, match="found '\\$ u1' at position 6"):
        parse("u0 + $ u1", NAMES)
    with pytest.raises(EquationError, match="found the end"):
        parse("u0 +", NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "9" * grammar.MAX_DIGITS,
        "(" * 63 + "u0" + ")" * 63,
        f"u0**{grammar.MAX_EXPONENT}",
        f"u0**-{grammar.MAX_EXPONENT}",
        "+".join(["u0"] * 10_000),
        "u0" + " " * (grammar.MAX_LENGTH - 2),
    ],
    ids=lambda text: text[:20],
)
def test_reads_up_to_the_limits(text: str) -> None:
    assert parse(text, NAMES).evaluate({"u0": np.ones(2), "u1": np.ones(2)}).shape == (2,)


def test_reading_leaves_space_on_the_stack() -> None:
    # The deepest legal text must be readable from deep inside other code.
    text = "-sin(" * 31 + "u0*2+1" + ")" * 31

    def deeper(frames: int) -> int:
        return deeper(frames - 1) if frames else len(parse(text, NAMES).text)

    assert sys.getrecursionlimit() >= 1000
    assert deeper(300) == len(text)
