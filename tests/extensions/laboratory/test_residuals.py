"""A term that a true equation lacks is named with its coefficient; chance and noise are no term."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT
from scipy.optimize import least_squares

from eqverdict import parse
from mdbench.cli import main
from mdbench.extensions.laboratory.residuals import FEWEST, Gain, Samples, best_gain, library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.workspace import Workspace

    Array = NDArray[np.float64]

TRUTH = "0.3*u0_xx - u0*u0_x + 1.5*u1"


def columns(n: int = 400, seed: int = 0) -> dict[str, Array]:
    """Return states between 0.5 and 3, and derivatives of either sign."""
    generator = np.random.default_rng(seed)
    names = ("u0", "u1", "u0_x", "u0_xx")
    return {
        name: generator.normal(size=n) if "_" in name else generator.uniform(0.5, 3, n)
        for name in names
    }


def gain_of(
    truth: str,
    law: str,
    *,
    noise: float = 0.0,
    seed: int = 0,
    any_order: bool = False,
    n: int = 400,
) -> Gain | None:
    """Search a truth whose data follow another law, with noise of this share of the targets."""
    known = columns(n, seed)
    values, targets = (parse(text, tuple(known)).evaluate(known)[:, None] for text in (truth, law))
    generator = np.random.default_rng(seed + 1)
    targets = targets + noise * np.std(targets) * generator.normal(size=targets.shape)
    return best_gain(["u0_t"], [truth], Samples(known, targets, values, any_order))


@pytest.mark.parametrize("any_order", [False, True])
@pytest.mark.parametrize(
    ("law", "term", "coefficient"),
    [
        (f"{TRUTH} - 0.02*u0**2*u1", "u0**2*u1", -0.02),
        (f"{TRUTH} + 0.01*u0*u0_x**2", "u0*u0_x**2", 0.01),
        (f"{TRUTH} + 0.05*sin(u1)", "sin(u1)", 0.05),
        (f"{TRUTH} - 0.01/u0**2", "1/u0**2", -0.01),
        (f"{TRUTH} + 0.004*log(u0)", "log(abs(u0))", 0.004),
        (f"{TRUTH} - 0.03*(u0 - 1.7)", "u0, with a constant", -0.03),
        (f"{TRUTH} + 0.002", "1", 0.002),
    ],
)
def test_a_missing_term_is_named(
    law: str, term: str, coefficient: float, *, any_order: bool
) -> None:
    gain = gain_of(TRUTH, law, any_order=any_order)
    assert gain is not None
    assert gain.beats
    assert gain.text in {term, f"{term}, with a constant"}
    assert gain.coefficient == pytest.approx(coefficient, rel=0.01)
    assert gain.after < 1e-4 * gain.before
    assert gain.target == "u0_t"


def test_a_missing_term_is_found_in_noise_that_is_smaller() -> None:
    gain = gain_of(TRUTH, f"{TRUTH} - 0.3*u0**2", noise=0.03, n=2_000)
    assert gain is not None
    assert gain.beats
    assert gain.text.startswith("u0**2")
    assert gain.coefficient == pytest.approx(-0.3, rel=0.01)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [FEWEST, 400])
def test_noise_alone_beats_no_truth(seed: int, n: int) -> None:
    gain = gain_of(TRUTH, TRUTH, noise=0.1, seed=seed, n=n)
    assert gain is not None
    assert not gain.beats
    assert gain_of(TRUTH, TRUTH, noise=0.1, seed=seed, n=FEWEST - 1) is None


def test_rounding_is_searched_for_nothing() -> None:
    assert gain_of(TRUTH, TRUTH) is None
    assert gain_of(TRUTH, f"({TRUTH})*(1 + 1e-13)") is None
    # Derivatives of data are no more exact than this: what explains it does not count.
    gain = gain_of(TRUTH, f"{TRUTH} + 1e-5*u0")
    assert gain is not None
    assert gain.explained > 0.99
    assert not gain.beats


def test_constants_that_fit_better_are_named() -> None:
    # No term of the library is the difference of two waves.
    gain = gain_of("1.2*sin(4*u0)*u1", "1.2*sin(4.02*u0)*u1")
    assert gain is not None
    assert gain.beats
    assert gain.text.startswith("its constants: ")
    moved = dict(
        each.split(" -> ") for each in gain.text.removeprefix("its constants: ").split(", ")
    )
    assert float(moved["4"]) == pytest.approx(4.02, rel=1e-3)
    assert float(moved["1.2"]) == pytest.approx(1.2, rel=1e-2)
    assert gain.coefficient == pytest.approx(0.005, rel=0.1)


def test_fitted_constants_do_not_hide_a_missing_term() -> None:
    known = columns(60)
    y = (2 * known["u0"] + known["u1"] + 0.3 * known["u0"] * known["u1"])[:, None]
    parts = np.stack([known["u0"], known["u1"]], axis=-1)
    p, q = np.linalg.lstsq(parts, y[:, 0], rcond=None)[0]
    truth = f"{p!r}*u0 + {q!r}*u1".replace("np.float64(", "").replace(")", "")
    values = (parts @ np.array([p, q]))[:, None]
    free, fixed = (
        best_gain(["y"], [truth], Samples(known, y, values, any_order=True, fitted=fitted))
        for fitted in (True, False)
    )
    assert free is not None
    assert free.beats
    assert free.text == "u0*u1"
    assert free.coefficient == pytest.approx(0.3, rel=1e-6)
    assert fixed is not None
    assert fixed.after > 1e3 * free.after
    # Constants that were fitted may be others, which is nothing that the truth lacks.
    moved = Samples(known, values, 1.01 * values, any_order=True, fitted=True)
    gain = best_gain(["y"], [truth], moved)
    assert gain is None or not gain.beats


def test_each_equation_is_searched() -> None:
    known = columns()
    truth = ("u0", "u1", "u0*u1")
    values = np.stack([parse(text, tuple(known)).evaluate(known) for text in truth], axis=-1)
    targets = values + 0.01 * np.stack([0 * known["u0"], known["u1"] ** 3, 0 * known["u0"]], -1)
    gain = best_gain(["a", "b", "c"], truth, Samples(known, targets, values, any_order=True))
    assert gain is not None
    assert (gain.target, gain.beats) == ("b", True)
    assert gain.text in {"u1**3", "u1**3, with a constant"}
    # Targets that are zero have no size, such as those of points on a surface.
    nothing = Samples(known, 0 * targets, values, any_order=True)
    assert best_gain(["a", "b", "c"], truth, nothing) is None


def test_what_is_not_finite_is_no_term() -> None:
    known = {"u0": np.linspace(-1, 1, 401), "u1": np.full(401, 1e200)}
    targets = 1 + 0.1 * known["u0"][:, None] ** 3
    samples = Samples(known, targets, np.ones((401, 1)), any_order=True)
    gain = best_gain(["y"], ["1"], samples)  # 1/u0 is infinite in the middle, u1**2 too large
    assert gain is not None
    assert gain.beats
    assert gain.text.startswith("u0**3")


def test_the_library_has_no_term_twice_and_all_can_be_read() -> None:
    names = ("u0", "u1", "u0_x", "u1_xx", "t")
    texts = [text for text, _ in library(names)]
    assert len(texts) == len(set(texts))
    for text in texts:
        parse(text, names)
    assert "u0**2*u1_xx" in texts
    assert "u0_x**2" in texts
    assert "u0_x**3" not in texts
    # Constant; 3 + 6 + 10 products of states; 2, 6, 12 with a derivative; 3 and 9 with two.
    assert len(texts) == 1 + 19 + 20 + 12 + 3 * 9


def heat(path: Path, law: str) -> None:
    """Write a field that cools by 0.1 (u0 - 1) while it diffuses, and what is said of it."""
    x, t = np.linspace(0, 2 * np.pi, 64, endpoint=False), np.linspace(0, 2, 40)
    waves = [np.exp(-(0.5 * k**2 + 0.1) * t) * np.sin(k * x[:, None] + k) / k for k in (1, 2, 3)]
    u = 1 + sum(waves)
    u = u + 0.5 * np.exp(-0.1 * t)
    rates = [-(0.5 * k**2 + 0.1) * wave for k, wave in zip((1, 2, 3), waves, strict=True)]
    du = sum(rates) - 0.05 * np.exp(-0.1 * t)
    np.savez(path, t=t, x=x, u=u[..., None], du=du[..., None], x_period=2 * np.pi)
    path.with_suffix(".toml").write_text(f'schema = 1\n[truth]\nu0 = "{law}"\n', encoding="utf-8")


def test_the_command_names_what_the_truth_of_a_field_lacks(
    command_line: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command_line.root.is_dir()
    monkeypatch.setenv("COLUMNS", "160")
    line = ["lab", "truths", "--data-type", "pde", "--snr", "clean", "--dataset-path"]
    heat(Path("right.npz"), "0.5*u0_xx - 0.1*(u0 - 1)")
    assert main([*line, "right.npz"]) == 0
    assert " none" in capsys.readouterr().out
    heat(Path("wrong.npz"), "0.5*u0_xx")
    assert main([*line, "wrong.npz"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "u0_t lacks u0, with a constant: with -0.1 it leaves " in printed
    assert "100% of " in printed
    assert main([*line, "wrong.npz", "--markdown"]) == 1
    assert "u0_t lacks u0" in capsys.readouterr().out


def test_measurements_are_searched_for_terms_alone(
    command_line: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command_line.root.is_dir()
    monkeypatch.setenv("COLUMNS", "160")
    line = "lab truths --data-type real --dataset chwirut1 kepler --each"
    assert main(line.split()) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "perfect and unbeaten in 2 of 2 cases" in printed
    assert "real chwirut1, clean: no term beats it; best extra term " in printed
    assert "1 of them have fewer than 30 samples" in printed
    assert "real kepler, clean: not searched: fewer than 30 samples" in printed


def test_a_law_that_people_took_may_have_a_better_one(
    command_line: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Least squares of all constants: the rest falls from 3.905 to 0.169, as it does there."""
    assert command_line.root.is_dir()
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["lab", "truths", "--data-type", "real", "--dataset", "kirby2", "--each"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "real kirby2, clean: a better law is there; best extra term sqrt(abs(x))" in printed
    table = np.loadtxt(ROOT / "datasets" / "real" / "kirby2.csv", delimiter=",", skiprows=1)
    x, y = table.T
    start = [1.675, -0.1393, 2.596e-3, -1.724e-3, 2.166e-5]

    def missed(constants: Sequence[float]) -> Array:
        a, b, c, d, e, more = constants
        return np.asarray((a + b * x + c * x**2) / (1 + d * x + e * x**2) + more * np.sqrt(x) - y)

    scale = [*np.abs(start), 1.0]
    found = least_squares(missed, [*start, 0.0], x_scale=scale, xtol=1e-12, ftol=1e-12)
    known = least_squares(lambda own: missed([*own, 0.0]), start, x_scale=scale[:5], xtol=1e-12)
    assert 2 * known.cost == pytest.approx(3.9050739624, rel=1e-6)
    assert 2 * found.cost < 0.06 * 2 * known.cost


def test_columns_may_be_many_and_have_underscores() -> None:
    many = [f"x_{i}" for i in range(300)]
    texts = [text for text, _ in library(many)]
    assert "x_0*x_1" not in texts  # there would be 45,150
    assert len(texts) == 1 + 300 * (1 + 9)
    few = [text for text, _ in library(many[:60])]
    assert "x_0*x_1" in few
    assert "x_0*x_1*x_2" not in few
    # Names of one's own are no derivatives.
    assert {"a_x", "sin(a_x)", "a_x**3"} <= {text for text, _ in library(["a_x"])}


def test_the_library_begins_with_what_is_simple() -> None:
    assert [text for text, _ in islice(library(["u0"]), 4)] == ["1", "u0", "u0**2", "u0**3"]
