"""Public wishes of other packages' users that docs/estimators.md answers, tried."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sympy
import xarray
from harness import ROOT

from mdbench.extensions.estimators.dynamics import Dynamics
from mdbench.extensions.estimators.fields import Fields
from mdbench.extensions.estimators.refit import refit
from mdbench.extensions.estimators.regressor import Regressor

pytestmark = [pytest.mark.extension("estimators"), pytest.mark.usefixtures("methods")]


def test_the_page_names_ten() -> None:
    page = Path(ROOT, "docs", "estimators.md").read_text(encoding="utf-8")
    section = page.partition("## Ten public wishes")[2].partition("\n## ")[0]
    named = [line for line in section.splitlines() if re.match(r"\| .*[A-Za-z.]+ \d+.*\| ", line)]
    assert len(named) == 10


def test_the_constants_of_an_equation_that_is_known() -> None:
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.uniform(1, 3, (200, 3)), columns=["x1", "x2", "x3"])
    y = (1 - 0.35) * X["x1"] / (X["x2"] + 1) + X["x3"] / (1.8 + 1)
    y += 0.001 * generator.standard_normal(200)
    law = Regressor("lines", work=2, progress=False, guess="(1 - C1)*x1/(x2 + 1) + x3/(C2 + 1)")
    law.fit(X, y)
    structure = law.choice_.fitted.structure
    known = dict(zip(structure.letters, law.choice_.fitted.constants[0], strict=True))
    assert known["C1"] == pytest.approx(0.35, abs=0.01)
    assert known["C2"] == pytest.approx(1.8, abs=0.02)
    assert isinstance(law.equations_.sympy()[0], sympy.Expr)


def test_constants_are_at_their_optimum() -> None:
    generator = np.random.default_rng(130801)
    X = np.abs(generator.standard_normal((1000, 3))) + 1.0
    y = 13.0801 * X[:, 1] ** 1.5617 * X[:, 2] / X[:, 0] ** 1.7554
    y *= 1 + 0.001 * generator.standard_normal(1000)
    columns = dict(zip(("x0", "x2", "x3"), X.T, strict=True))
    fitted = refit("10.0*x2**1.3*x3/x0**1.5", columns, y)
    assert sorted(fitted.constants) == pytest.approx([1.5617, 1.7554, 13.0801], rel=1e-3)


def test_trajectories_with_other_times_and_lengths() -> None:
    times = [np.linspace(0, 4, 80), np.linspace(1, 3, 55)]
    runs = [a * np.exp(-0.7 * t) for t, a in zip(times, (1.0, 3.0), strict=True)]
    model = Dynamics("lines", work=3, progress=False, guess="x0' = -k*x0").fit(times, runs)
    assert model.constants_["k"].to_numpy() == pytest.approx([0.7, 0.7], rel=1e-3)


def test_labelled_fields_of_xarray() -> None:
    x, t = np.arange(32) * 2 * np.pi / 32, np.linspace(0, 2, 60)
    values = np.exp(-0.3 * t)[:, None] * (2 + np.sin(x))
    field = xarray.DataArray(values, coords={"time": t, "x": x}, dims=("time", "x"), name="heat")
    plain = Fields("lines", work=5, progress=False).fit(values.T, t, x)
    for labelled in (field, field.T, field.to_dataset()):
        model = Fields("lines", work=5, progress=False).fit(labelled)
        assert model.states_ == ("heat",)
        assert model.equations_ == plain.equations_
