"""The suites dysts and llm-ode: marked repeats, spans, exponents, valid times; bad files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sweeps import sampled

from eqverdict.structure import structure
from mdbench.datatypes.base import Answer
from mdbench.datatypes.equations.terms import coefficient_distance
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.ode.simulation import valid_time
from mdbench.datatypes.ode.systems import OdeSystem, integrate, read_system
from mdbench.errors import DataError, EquationError

FOLDER = Path(__file__).parents[3] / "datasets" / "ode"
SUITES = {
    name: {path.stem: read_system(path) for path in sorted((FOLDER / name).glob("*.toml"))}
    for name in ("dysts", "llm-ode")
}
EVERY = [system for suite in SUITES.values() for system in suite.values()]


def shape(system: OdeSystem) -> str | None:
    try:
        return structure(system.truth, list(system.variables), states=True)
    except EquationError:
        return None


def test_sizes_and_groups(tmp_path: Path) -> None:
    assert {name: len(suite) for name, suite in SUITES.items()} == {"dysts": 128, "llm-ode": 28}
    groups = Ode(FOLDER, tmp_path).source().groups()
    for name, suite in SUITES.items():
        new = [each for each in groups[name] if not suite[each].repeats]
        assert groups[f"{name}-new"] == new


def test_what_repeats_another_system_is_marked() -> None:
    others = [read_system(path) for path in (*FOLDER.glob("*.toml"), *FOLDER.glob("dev/*.toml"))]
    known: dict[str | None, set[str]] = {}
    for system in others:
        known.setdefault(shape(system), set()).add(system.name)
    before: dict[str, list[OdeSystem]] = {}
    for system in EVERY:
        found = shape(system)
        if found is None:
            continue
        assert known.get(found, set()) <= set(system.repeats), system.name
        for other in before.setdefault(found, []):
            assert other.name in system.repeats or system.name in other.repeats
        before[found].append(system)
    names = {one.name for one in (*others, *EVERY)}
    assert all(set(one.repeats) <= names - {one.name} for one in EVERY)
    assert "lorenz-equations-chaotic" in SUITES["dysts"]["dysts-lorenz"].repeats


def test_the_span_is_of_ten_lyapunov_times_at_most() -> None:
    for system in EVERY:
        assert len(system.initial_conditions) == 2
        if system.lyapunov is not None:
            assert system.lyapunov * system.end < 10.1


@pytest.mark.parametrize(
    ("name", "exponent"),
    [
        ("dysts-lorenz", 0.906),  # Sprott, Chaos and Time-Series Analysis, 2003
        ("dysts-rossler", 0.0714),
        ("dysts-sprott-b", 0.210),  # Sprott, Physical Review E 50, R647, 1994
        ("dysts-sprott-m", 0.044),
        ("dysts-sprott-o", 0.049),
        ("dysts-sprott-g", 0.034),
    ],
)
def test_exponents_are_those_of_the_literature(name: str, exponent: float) -> None:
    assert SUITES["dysts"][name].lyapunov == pytest.approx(exponent, rel=0.25)


@pytest.mark.parametrize("system", sampled(EVERY), ids=lambda one: one.name)
def test_a_system_is_integrated_as_another_solver_does(system: OdeSystem) -> None:
    """Until chaos has made the tolerances' difference visible."""
    t, u, du = integrate(system)
    assert np.isfinite(u).all()
    assert np.isfinite(du).all()
    few = slice(None, 20)
    found = solve_ivp(
        system.right_hand_side, (0, t[few][-1]), u[0], "Radau", t[few], rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(found.y.T, u[few], atol=1e-4 * (1 + np.abs(u).max()))


@pytest.mark.extension("laboratory")
@pytest.mark.parametrize("system", sampled(EVERY, share=0.05), ids=lambda one: one.name)
def test_the_truth_of_a_system_is_perfect(system: OdeSystem, tmp_path: Path) -> None:
    from mdbench.extensions.laboratory.truths import check_truths  # noqa: PLC0415 - it may be taken away

    kind = Ode(FOLDER, tmp_path)
    (found,) = check_truths(kind, kind.source(), [system.name], [None], {})
    assert found.wins, found


def test_valid_time_and_coefficients_of_answers(tmp_path: Path) -> None:
    kind = Ode(FOLDER, tmp_path)
    dataset = kind.source().load(
        "dysts-lorenz", snr_db=None, seed=0, protocol=Protocol.STRICT, options={}
    )
    task = kind.task(dataset, "table", Protocol.STRICT)
    truth = dataset.truth or ()
    beta = SUITES["dysts"]["dysts-lorenz"].constants["beta"]
    lasted: list[float] = []
    for off in (0.0, 1e-6, 1e-3, 1e-1):
        equations = (*truth[:2], f"(1 + {off!r})*({truth[2]})")
        found = kind.score(task, kind.read_answer(task, Answer(equations))).metrics
        lasted.append(float(found["valid_time"] or 0.0))
        wanted = off * np.linalg.norm([1, beta]) / np.linalg.norm([10, 10, 28, 1, 1, 1, beta])
        assert found["coefficient_distance"] == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    assert lasted == sorted(lasted, reverse=True)
    assert lasted[0] == pytest.approx(9.998, abs=0.01)
    assert 0 < lasted[-1] < 3
    zero = kind.score(task, kind.read_answer(task, Answer(("0", "0", "0")))).metrics
    assert zero["coefficient_distance"] == 1.0
    assert float(zero["valid_time"] or 0.0) < 1.0
    usual = kind.source().load(
        "lorenz-equations-chaotic", snr_db=None, seed=0, protocol=Protocol.STRICT, options={}
    )
    names = kind.metric_names(kind.task(usual, "table", Protocol.STRICT))
    assert not {"valid_time", "coefficient_distance"} & set(names)


@pytest.mark.parametrize("seed", range(5))
def test_an_error_that_grows_is_valid_until_it_is_too_large(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rate, lyapunov = generator.uniform(0.5, 2), generator.uniform(0.1, 2)
    t = np.linspace(3, 13, 2001)
    true = np.stack([np.sin(9 * t), 50 + 7 * np.cos(11 * t)], axis=-1)
    size = 1e-3 * np.exp(rate * (t - t[0]))
    off = true + size[:, None] * np.std(true, axis=0)
    reached = np.log(0.4 / 1e-3) / rate
    assert valid_time(off, t, true, lyapunov) == pytest.approx(
        lyapunov * min(reached, 10), abs=lyapunov * 0.006
    )
    assert valid_time(off[:10], t, true, lyapunov) == pytest.approx(lyapunov * 9 * 0.005)
    assert valid_time(np.full_like(true, np.nan), t, true, lyapunov) == 0.0


def test_no_distance_where_there_is_no_truth_to_measure_it_by() -> None:
    assert coefficient_distance(["0"], ["u0"], ("u0",)) is None
    assert coefficient_distance(["u0"], ["1/0"], ("u0",)) is None


GOOD = (FOLDER / "dysts" / "dysts-lorenz.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("end = ", "end = -", "end = -"),
        ("end = ", "ende = ", "'end'"),
        ("end = ", "end = 'long' # ", "end = 'long'"),
        ("samples = ", "samples = 3 # ", "samples = 3"),
        ("samples = ", "samples = 1.5 # ", "whole number"),
        ("samples = ", "samples = true # ", "whole number"),
        ("lyapunov = ", "lyapunov = -", "above 0"),
        ("repeats = ", "repeats = 3 # ", "list of names"),
        ("u1_t = ", 'u1_t = "max(u0)" # ', "two arguments"),
        ("u1_t = ", 'u1_t = "sin(u0, u1)" # ', "two arguments"),
    ],
)
def test_a_bad_file_is_refused_by_name_key_and_value(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    path: Any = tmp_path / "flow.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=r"flow\.toml") as caught:
        read_system(path)
    assert words in str(caught.value)


def test_a_solution_that_becomes_infinite_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "flow.toml"
    text = GOOD.replace('u0_t = "', 'u0_t = "u0**3 + ').replace("end = ", "end = 9.0 # ")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="cannot be integrated"):
        integrate(read_system(path), evaluations=20_000)
