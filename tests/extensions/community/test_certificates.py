"""Certificates: what is proved, what is not, and that no change of a certificate is accepted."""

from __future__ import annotations

import copy
import json
import math
import random
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from eqverdict.equation import parse
from eqverdict.verify import RefusedCertificate, Ring, is_proof, verify
from mdbench.cli import main
from mdbench.errors import EquationError
from mdbench.extensions.community.certificates import certificate_of
from mdbench.records import RecordStore

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = ROOT / "eqverdict" / "verify.py"


def record(
    truth: list[str], equations: list[str], identified: float, *domain: str, key: str = "ab" * 32
) -> dict[str, Any]:
    """Return what certificates need of a record."""
    return {
        "key": key,
        "truth": truth,
        "equations": equations,
        "metrics": {"identified": identified},
        "notes": {"domain": list(domain)},
    }


SAME = [
    ("1.84*u0 - 1.45*u0*u1", "u0*(1.8 - 1.5*u1)"),
    ("0.79 * u0 * (1 - u0 / 74.3)", "0.7898813711199382*u0 - 0.010630721368988747*u0**2"),
    ("u0/(0.5 + u0)", "1.04*u0/(0.48 + u0)"),
    ("u0/(0.5 + u0)", "1 - 0.5/(0.5 + u0)"),
    ("100 + u0/(1 + u0)", "101 - 1/(1 + u0)"),
    ("sin(2*u0)", "sin(2.06*u0)"),
    ("u0**2.1", "1.01*u0**2.12"),
    ("3*exp(-2*sin(0.5*u0)) + u1", "u1 + 2.95*exp(-2.02*sin(0.51*u0))"),
    ("sin(u0) + 2*sin(3*u0)", "2.01*sin(3.1*u0) + 1.02*sin(0.99*u0)"),
    ("u0*sqrt(u1)/pi", "u0*u1**0.5/pi"),
    ("0", "u0 - u0"),
    ("0.33*sin(u0 - u1) - sin(u0)", "-1.01*sin(u0) - 0.33*sin(u1 - u0)"),
    ("1/(1 + exp(0.5 - u0/0.96))", "1.01 - 1.01/(1 + exp(1.04*u0 - 0.502))"),
    ("cos(u0 - 1) + abs(-u1)", "abs(u1) + cos(1.02 - 1.01*u0)"),
]
"""A law and an answer that is the law by the rule."""

OTHER = [
    ("1.84*u0 - 1.45*u0*u1", "u0*(2 - 1.45*u1)"),
    ("1.84*u0 - 1.45*u0*u1", "1.84*u0"),
    ("1.84*u0", "1.84*u0 + 1e-9*u1"),
    ("u0**2.1", "u0**2"),
    ("u0**2", "u0**2.01"),
    ("sin(2*u0)", "sin(2.2*u0)"),
    ("sin(2*u0)", "cos(2*u0)"),
    ("u0/(0.5 + u0)", "(0.02 + 1.04*u0)/(0.5 + u0)"),
    ("u0", "u0*log(u1)/log(u1)"),  # which has no values where u1 is negative
    ("sin(u0) + 2*sin(3*u0)", "2*sin(1.02*u0) + 1.02*sin(3*u0)"),
    ("exp(u0)", "1.06*exp(u0)"),
    ("u0/(0.5 + u0)", "1.1*u0/(0.525 + u0)"),
    ("2", "-2"),
]
"""A law and an answer that is not."""


@pytest.mark.parametrize("pair", SAME)
def test_what_is_the_law_has_a_proof(pair: tuple[str, str]) -> None:
    about = record([pair[0]], [pair[1]], 1)
    assert verify(json.loads(json.dumps(certificate_of(about))), about) == "identified"


@pytest.mark.parametrize("pair", OTHER)
def test_what_is_not_the_law_has_no_proof_that_it_is(pair: tuple[str, str]) -> None:
    with pytest.raises(RefusedCertificate):
        certificate_of(record([pair[0]], [pair[1]], 1))


@pytest.mark.parametrize("pair", [pair for pair in OTHER if "log" not in pair[1]])
def test_what_differs_has_a_point(pair: tuple[str, str]) -> None:
    about = record([pair[0]], [pair[1]], 0, "u0: 0.5 to 3", "u1: 0.1 to 2")
    (proof,) = certificate_of(about)["proofs"]
    point = {name: float(Fraction(text)) for name, text in proof["point"].items()}
    columns = {name: np.array([point.get(name, 1.0)]) for name in ("u0", "u1")}
    true, answered = (
        float(np.ravel(parse(text, ["u0", "u1"]).evaluate(columns))[0]) for text in pair
    )
    assert true != answered
    assert float(proof["answered"].strip("[").split()[0]) == pytest.approx(answered, rel=1e-12)
    assert all(0.1 <= value <= 3 for value in point.values())


def test_moved_means_that_no_constants_within_five_percent_fit() -> None:
    """A law with its constants 4 % off is apart from itself, and not from all that is near."""
    near = record(["1.84*u0 + 0.5*u0**2"], ["1.9136*u0 + 0.5*u0**2"], 0, "u0: 0.5 to 3")
    far = record(["1.84*u0 + 0.5*u0**2"], ["3*u0 + 0.5*u0**2"], 0, "u0: 0.5 to 3")
    assert certificate_of(near)["proofs"][0]["moved"] is False
    assert certificate_of(far)["proofs"][0]["moved"] is True
    forged = copy.deepcopy(certificate_of(near))
    forged["proofs"][0]["moved"] = True
    assert not is_proof(forged, near)


_TERMS = ("u0", "u1", "u0*u1", "u0**2", "sin(0.7*u1)", "exp(-u0)", "1", "u1**1.5")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_law_with_constants_moved_is_proved_up_to_five_percent_and_not_beyond(data: Any) -> None:
    """Its own rule, by how the pair was made: no scorer and no verifier says which is which."""
    chosen = data.draw(st.lists(st.sampled_from(_TERMS), min_size=1, max_size=4, unique=True))
    constants = [data.draw(st.integers(1, 999)) / 100 for _ in chosen]
    shares = [data.draw(st.sampled_from([-0.049, -0.02, 0.0, 0.01, 0.049])) for _ in chosen]
    worst = data.draw(st.sampled_from([None, 0.051, -0.051, 0.3]))
    if worst is not None:
        shares[data.draw(st.integers(0, len(chosen) - 1))] = worst
    truth = " + ".join(f"{c}*{term}" for c, term in zip(constants, chosen, strict=True))
    moved = [
        str(Fraction(str(c)) * (1 + Fraction(str(share))))
        for c, share in zip(constants, shares, strict=True)
    ]
    pairs = zip(moved, chosen, strict=True)
    answer = " + ".join(f"({c})*{term}" for c, term in data.draw(st.permutations(list(pairs))))
    about = record([truth], [answer], 1)
    if worst is None:
        assert verify(certificate_of(about), about) == "identified"
    else:
        with pytest.raises(RefusedCertificate):
            certificate_of(about)


@settings(max_examples=60, deadline=None)
@given(st.recursive(
    st.sampled_from(["u0", "u1", "2", "0.5", "3.25"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(st.sampled_from(["sin", "exp", "tanh", "abs"]), inner).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
        inner.map(lambda text: f"{text}**2"),
    ),
    max_leaves=8,
))  # fmt: skip
def test_the_form_of_a_text_has_its_values(text: str) -> None:
    """The polynomials over atoms, evaluated by NumPy, against mdbench's own reading."""
    ring = Ring()
    try:
        ratio = ring.read(text)
    except RefusedCertificate:
        return
    point = {"u0": 0.73, "u1": 1.31}

    def value(of: Any) -> float:
        parts = [
            sum(
                float(Fraction(str(c)))
                * math.prod(atom(i) ** int(p) for i, p in enumerate(powers) if p)
                for powers, c in polynomial.to_dict().items()
            )
            for polynomial in of
        ]
        return float(parts[0] / parts[1]) if parts[1] else math.nan

    def atom(index: int) -> float:
        head, arguments = ring.atoms[index]
        if not arguments:
            return point[head]
        return float(getattr(np, head)(*map(value, arguments)))

    columns = {name: np.array([number]) for name, number in point.items()}
    try:
        expected = float(np.ravel(parse(text, ["u0", "u1"]).evaluate(columns))[0])
    except EquationError:  # too large for a float
        return
    with np.errstate(all="ignore"):
        found = value(ratio)
    if math.isfinite(expected) and math.isfinite(found) and abs(expected) < 1e12:
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def subjects() -> list[dict[str, Any]]:
    """Return records of all kinds that have certificates."""
    domain = ("u0: 0.5 to 3", "u1: 0.1 to 2")
    alone = [record([t], [a], 1, *domain, key=f"{i:064x}") for i, (t, a) in enumerate(SAME)]
    apart = [
        record([t], [a], 0, *domain, key=f"{100 + i:064x}")
        for i, (t, a) in enumerate(OTHER)
        if "log" not in a
    ]
    system = record([t for t, _ in SAME[:4]], [a for _, a in SAME[:4]], 1, *domain, key="c" * 64)
    return [*alone, *apart, system]


def leaves(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of all values in a JSON document, and of its lists and objects."""
    found = [place] if place else []
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            found += leaves(inner, (*place, key))
    return found


def mutated(certificate: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Change one thing of a certificate."""
    changed = copy.deepcopy(certificate)
    place = draw.choice(leaves(changed))
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    key, old = place[-1], parent[place[-1]]
    if draw.random() < 0.1:
        del parent[key]
    elif isinstance(old, bool):
        parent[key] = not old
    elif isinstance(old, int):
        parent[key] = old + draw.choice([-1, 1, 2])
    elif isinstance(old, str):
        parent[key] = changed_text(old, draw)
    elif isinstance(old, list) and len(old) > 1 and old[0] != old[-1]:
        parent[key] = old[1:] if draw.random() < 0.5 else [*old[::-1]]
    elif isinstance(old, dict) and old and draw.random() < 0.5:
        inner = draw.choice(list(old))
        parent[key] = {("7" if k == inner else k): v for k, v in old.items()}
    else:
        parent[key] = draw.choice([None, {}, [[]], "u0", 7])
    return changed


def changed_text(text: str, draw: random.Random) -> str:
    """Change a digit, a sign, a name or an operator of a text."""
    changes = [
        lambda: re.sub(r"\d", lambda m: str((int(m[0]) + 1) % 10), text, count=1),
        lambda: text.replace("+", "-", 1),
        lambda: text.replace("*", "+", 1),
        lambda: text.replace("u0", "u1", 1),
        lambda: text.replace("sin", "cos", 1),
        lambda: f"-({text})",
        lambda: f"{text}1",
        lambda: text[:-1],
        lambda: {"identified": "different", "different": "identified"}.get(text, f"{text} + 0"),
    ]
    return draw.choice(changes)()


def test_of_1000_changed_certificates_none_is_accepted() -> None:
    draw = random.Random(0)
    pairs = [(certificate_of(about), about) for about in subjects()]
    tried = 0
    while tried < 1000:
        certificate, about = draw.choice(pairs)
        assert verify(certificate, about)
        changed = mutated(certificate, draw)
        if json.dumps(changed) != json.dumps(certificate):
            tried += 1
            assert not is_proof(changed, about), (changed, certificate)


def test_of_1000_changed_proofs_none_is_accepted_without_the_record() -> None:
    """Of a certificate that stands alone what is proved is fixed by its two texts: no part may go
    or be another."""
    draw = random.Random(1)
    made = [certificate_of(about) for about in subjects()]
    tried = 0
    while tried < 1000:
        certificate = draw.choice(made)
        changed = copy.deepcopy(certificate)
        changed["proofs"] = mutated({"proofs": certificate["proofs"]}, draw).get("proofs")
        if json.dumps(changed) != json.dumps(certificate):
            tried += 1
            assert not is_proof(changed, None), (changed, certificate)


HOSTILE: list[Any] = [
    None, [], "x", 7, {}, {"schema": 1}, float("nan"),
    "(" * 5000, "u0" + "+u0" * 6000, "9" * 5000, "1e999999999", "u0**u0**u0**u0", "2**10000000",
    "u0**1000000", "(u0+u1+1)**60", "((u0+1)**60)**60", "__import__('os')", "u0 if u0 else u1",
    "[u0]", "lambda: 0", "u0.real", "'text'", "1j", "True", "0x10", "1_000", "sin", "sin()",
    "sin(u0, u1)", "f(u0)", "1/0", "1/(u0-u0)", "log(0)", "u0\n+u1", "", " ", "\0",
    "+".join(f"sin({i}*u0)" for i in range(50)),
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_refused_or_read_and_nothing_else(text: Any) -> None:
    certificate = certificate_of(record(["u0"], ["u0"], 1))
    assert verify(certificate) == "identified"
    assert not is_proof(text, None)
    for key in ("truth", "equations"):
        assert not is_proof(certificate | {key: [text]}, None)
        assert not is_proof(certificate | {key: text}, None)
    assert not is_proof(certificate | {"proofs": text}, None)
    assert not is_proof(certificate | {"proofs": [text]}, None)


def test_a_proof_is_of_its_record_alone() -> None:
    about = record(["u0"], ["1.01*u0"], 1)
    certificate = certificate_of(about)
    for other in (
        about | {"key": "cd" * 32},
        about | {"truth": ["u0 + 0"]},
        about | {"equations": ["1.02*u0"]},
        about | {"metrics": {"identified": 0}},
        about | {"metrics": {"identified": None}},
    ):
        assert not is_proof(certificate, other)
    apart = record(["u0"], ["2*u0"], 0, "u0: 1 to 2")
    assert is_proof(certificate_of(apart), apart)
    assert not is_proof(certificate_of(apart), apart | {"notes": {"domain": ["u0: 3 to 4"]}})


def test_the_program_needs_nothing_of_mdbench(tmp_path: Path) -> None:
    """It is run in a folder of its own, isolated, with a guard against SymPy and mdbench."""
    abouts = subjects()
    lines = [json.dumps(certificate_of(about)) for about in abouts]
    (tmp_path / "c.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, abouts)), encoding="utf-8")
    shutil.copy(PROGRAM, tmp_path / "verify.py")
    guard = (
        "import sys, runpy; sys.modules['sympy'] = sys.modules['mdbench'] = None;"
        "sys.modules['numpy'] = None; sys.argv = sys.argv[1:];"
        "runpy.run_path('verify.py', run_name='__main__')"
    )
    command = [sys.executable, "-c", guard, "verify.py", "c.jsonl"]
    done = subprocess.run(
        [*command, "r.jsonl"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    wanted = f"{len(lines)} of {len(lines)} certificates are proofs\n"
    assert (done.returncode, done.stdout) == (0, wanted), done.stderr
    (tmp_path / "c.jsonl").write_text(lines[0].replace("u1", "u0"), encoding="utf-8")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "0 of 1 certificates are proofs" in done.stdout


@pytest.mark.usefixtures("command_line")
def test_certificates_of_results_are_written_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ROOT / "docs" / "results" / "fresh-ranks.jsonl.xz"
    results = tmp_path / "results"
    results.mkdir()
    whole = [
        each for each in RecordStore(source).read() if each.metrics.get("identified") in {0, 1}
    ]
    kept = [each.model_dump_json(by_alias=True) for each in whole[::40]]
    (results / "some.jsonl").write_text("\n".join(kept) + "\n", encoding="utf-8")
    out = tmp_path / "c.jsonl"
    assert main(["registry", "certify", str(results), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"identified: \d+ of \d+ have a proof", said)
    number = len(out.read_text(encoding="utf-8").splitlines())
    assert main(["registry", "verify", str(out), str(results)]) == 0
    assert f"{number} certificates, checked against the records" in capsys.readouterr().out
    text = out.read_text(encoding="utf-8")
    out.write_text(text.replace('"schema": 1', '"schema": 2', 1) + "no JSON\n", encoding="utf-8")
    assert main(["registry", "verify", str(out), str(results)]) == 1
    said = capsys.readouterr().out
    assert "refused: line 1: its keys are not those" in said
    assert f"refused: line {number + 1}: it is no certificate" in said
    assert main(["registry", "verify", str(tmp_path / "none")]) == 2
    (tmp_path / "results.zip").write_bytes(b"PK\x03\x04\x8b")
    capsys.readouterr()
    assert main(["registry", "verify", str(tmp_path / "results.zip")]) == 2
    assert "it is no text" in capsys.readouterr().err.replace("\n", " ")
