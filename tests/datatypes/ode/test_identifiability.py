"""Whether noise lets anybody identify a system: the rule, the file, the verb and the report."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from harness import add_method
from hypothesis import given
from hypothesis import strategies as st

from eqverdict import parse
from eqverdict.expand import expand
from mdbench.cli import main
from mdbench.datatypes.equations.identifiability import (
    Finding,
    Findings,
    Limits,
    all_findings,
    identifiability,
    read_findings,
    write_findings,
)
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.ode.information import Information
from mdbench.datatypes.ode.systems import read_system
from mdbench.errors import DataError
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    Output = pytest.CaptureFixture[str]

SEVERAL = "+trajectories=4"
LEVELS = (60.0, 50.0, 40.0, 30.0, 20.0, 10.0, 0.0)
SYSTEMS = sorted(path.stem for path in (Workspace.find().root / "datasets" / "ode").glob("*.toml"))


def finding(error: float, misfit: float) -> Finding:
    return Finding(0, "u0", -0.5, error, misfit, "0.3 - 0.1*u0**2")


def findings(half: float, *misfits: float) -> Findings:
    terms = tuple(finding(0.1, misfit) for misfit in misfits)
    return Findings(terms, Limits(half - 5, half, half + 5))


def test_rivals_need_a_misfit_of_ten_and_constants_a_noise_level() -> None:
    """At 20 dB misfits are a hundred times those at 0 dB."""
    assert identifiability(findings(19.9, 3.0, 0.1001), 20.0).is_possible
    found = identifiability(findings(20.1, 3.0, 0.1001), 20.0)
    assert (found.hidden, found.vague) == (None, finding(0.1, 3.0))
    found = identifiability(findings(19.9, 3.0, 0.0999), 20.0)
    assert (found.hidden, found.vague) == (finding(0.1, 0.0999), None)
    assert identifiability(findings(99.0, 1e-9), None).is_possible  # clean data hide nothing


@given(
    st.lists(st.floats(1e-16, 1e6), min_size=1),
    st.floats(-20, 80),
    st.floats(-20, 80),
    st.floats(0, 40),
)
def test_less_noise_never_hides_more(
    misfits: list[float], half: float, snr_db: float, better: float
) -> None:
    known = findings(half, *misfits)
    if identifiability(known, snr_db).is_possible:
        assert identifiability(known, snr_db + better).is_possible


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = {"b": findings(12.25, math.inf, 0.5), "ä": findings(-3.5, 1.76e-16)}
    write_findings(tmp_path, written)
    assert read_findings(tmp_path) == written
    path = tmp_path / "information.json"
    whole = path.read_text(encoding="utf-8")
    for broken in (whole[:-9], whole.replace("half", "most"), "[]", whole.replace("error", "e")):
        path.write_text(broken, encoding="utf-8")
        with pytest.raises(DataError, match=r"information\.json"):
            read_findings(tmp_path)


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_system_has_a_finding_for_each_of_its_terms(name: str) -> None:
    system = read_system(Workspace.find().root / "datasets" / "ode" / f"{name}.toml")
    known = all_findings("ode")[name].terms
    variables = tuple(system.variables)
    for i, text in enumerate(system.truth):
        assert sum(each.equation == i for each in known) == len(expand(text, variables))
    for each in known:
        assert each.error > 0
        assert each.misfit >= 0
        if each.rival:
            parse(each.rival, variables)


@pytest.mark.parametrize("name", ["rc-circuit", "sir-infection", "rc-circuit+trajectories=4"])
def test_the_file_has_what_is_computed(name: str, tmp_path: Path) -> None:
    source = Ode(Workspace.find().root / "datasets" / "ode", tmp_path).source()
    dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
    information, known = Information.of_dataset(dataset), all_findings("ode")[name]
    assert information.limits() == pytest.approx(known.limits, abs=0.02)
    for made, kept in zip(information.terms(), known.terms, strict=True):
        assert made.term == kept.term
        assert made.error == pytest.approx(kept.error, rel=0.02)
        assert made.misfit == pytest.approx(kept.misfit, rel=0.05)


def possible(ending: str) -> list[int]:
    known = all_findings("ode")
    kept = [known[f"{name}{ending}"] for name in SYSTEMS]
    return [sum(identifiability(each, level).is_possible for each in kept) for level in LEVELS]


def test_fewer_systems_are_identifiable_the_more_noise_there_is() -> None:
    one, four = possible(""), possible(SEVERAL)
    for counts in (one, four):
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > counts[-1]
    assert all(more > fewer for more, fewer in zip(four, one, strict=True))


@pytest.mark.parametrize("name", SYSTEMS)
def test_three_more_trajectories_say_more_of_each_constant(name: str) -> None:
    known = all_findings("ode")
    fewer, more = known[name], known[f"{name}{SEVERAL}"]
    assert max(more.limits.half - fewer.limits.half, 0.0) <= 0.1  # drawn by 20,000
    for one, four in zip(fewer.terms, more.terms, strict=True):
        assert (one.equation, one.term) == (four.equation, four.term)
        assert four.error <= one.error * 1.01


@pytest.mark.extension("laboratory")
def test_the_verb_names_the_rival(capsys: Output) -> None:
    assert main(["lab", "identifiable", "rc-circuit", "--snr", "10"]) == 0
    shown = capsys.readouterr().out
    assert "rc-circuit cannot be identified at 10 dB." in shown
    assert "is about as likely: misfit 4.3, and 10 are needed." in shown
    assert "Without the term 1 of u0', u0' = " in shown
    assert "in the term 1 of u0'." in shown
    assert main(["lab", "identifiable", "rc-circuit", "--snr", "60"]) == 0
    assert "rc-circuit can be identified at 60 dB." in capsys.readouterr().out


@pytest.mark.extension("laboratory")
def test_the_verb_has_json(capsys: Output) -> None:
    assert main(["lab", "identifiable", "rc-*", "--snr", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["dataset"] for each in found] == ["rc-circuit", "rc-circuit-non-linear-resistor"]
    assert main(["lab", "identifiable", "rc-circuit+*", "--snr", "20", "--json"]) == 0
    (several,) = json.loads(capsys.readouterr().out)
    assert several["dataset"] == "rc-circuit+trajectories=4"
    assert several["limits"]["half"] < found[0]["limits"]["half"] - 5
    term = found[0]["terms"][0]
    assert term["misfit"] == pytest.approx(43.5, rel=0.02)
    assert term["error"] == pytest.approx(0.153, rel=0.02)


@pytest.mark.extension("laboratory")
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["rc-circit"], "rc-circuit"),
        (["heat_laser"], "ODEBench"),
        (["rc-circuit", "--snr", "nan"], "--snr"),
        (["rc-circuit", "--snr", "1e9"], "--snr"),
    ],
)
def test_the_verb_refuses_what_it_does_not_know(
    capsys: Output, arguments: list[str], wanted: str
) -> None:
    assert main(["lab", "identifiable", *arguments]) == 2
    assert wanted in capsys.readouterr().err


def test_the_page_has_the_counts_of_the_file() -> None:
    page = (Workspace.find().root / "docs" / "scoring.md").read_text(encoding="utf-8")
    known = all_findings("ode")
    for level in (40, 30, 20, 10):
        cells = []
        for ending in ("", SEVERAL):
            found = [identifiability(known[f"{name}{ending}"], float(level)) for name in SYSTEMS]
            cells += [
                sum(each.is_possible for each in found),
                sum(each.hidden is None for each in found),
                sum(each.vague is None for each in found),
            ]
        assert f"| {level} dB | {' | '.join(map(str, cells))} |" in page


def test_a_leaderboard_says_what_the_noise_allows() -> None:
    spec = next(each for each in Ode.metrics if each.name == "identified")
    assert spec.attainable is not None
    assert spec.attainable("sir-infection", 20.0) is True
    assert spec.attainable("rc-circuit", 20.0) is False
    assert spec.attainable("rc-circuit", None) is True
    assert spec.attainable("of-somebody-s-own", 20.0) is None
    assert "attainable" not in spec.as_json()


def test_the_report_marks_what_noise_hides(command_line: Workspace, tmp_path: Path) -> None:
    asked = ["--data-type", "ode", "--dataset", "rc-circuit,sir-infection", "--snr", "20"]
    folder = tmp_path / "results"
    for name in ("zero", "truth"):  # a table of methods and systems has two of each
        add_method(command_line, name)
        assert main(["run", "--algorithm", name, *asked, "--result-dir", str(folder)]) == 0
    page = tmp_path / "report.html"
    assert main(["report", str(folder), "--out", str(page)]) == 0
    shown = page.read_text(encoding="utf-8")
    assert "can be identified under noise: 1 of 2 at 20 dB" in shown
    assert "rc-circuit †" in shown
    assert "sir-infection †" not in shown
    assert "†</span> hidden by noise" in shown
