"""Laws of tables: ``mdbench.Regressor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from eqverdict import parse
from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.data.columns import equation_names
from mdbench.extensions.estimators.base import Estimator, name_of
from mdbench.extensions.estimators.experiments import Run, Table, errors_of
from mdbench.extensions.estimators.pictures import Curve, picture
from mdbench.extensions.estimators.proposals import alike, propose, settings_in
from mdbench.extensions.estimators.refit import refit
from mdbench.extensions.estimators.structures import Structure

try:
    from sklearn.base import RegressorMixin
    from sklearn.utils.validation import validate_data
except ImportError:
    RegressorMixin = object
    validate_data = None

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mdbench.extensions.estimators.choices import Choice
    from mdbench.extensions.estimators.experiments import Fitted
    from mdbench.extensions.estimators.proposals import Proposal, Setting
    from mdbench.extensions.estimators.refit import Refit

    Array = NDArray[np.float64]

__all__ = ["Regressor"]
_TARGET = "y"
_FEWEST = 2
"""Rows below which there is nothing to fit."""


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc] # of no types: scikit-learn's
    """A method that finds a law ``y = f(x)`` in a table, as an estimator of scikit-learn.

    Parameters
    ----------
    method
        A method for tables: ``mdbench list --data-type real`` shows them.
    work
        The budget in reference seconds; None for no limit.
    timeout
        The limit of wall time in seconds; None for the method's own.
    seed
        Of the method.
    runtime
        ``"auto"``, ``"venv"``, ``"docker"``, ...: what isolates the method; None for what
        ``$MDBENCH_RUNTIME`` names, or auto.
    folder
        Where records and logs stay; None for a folder that is removed with the estimator.
    progress
        Whether a bar is shown, and what is installed at first use.
    operators, library, degree
        What the search may use: ``"+,*,sin"``; functions next to polynomials, and their degree, in
        methods of sparse regression.  A method that has no such setting is refused.
    guess
        What you think the law is: ``"y = a*x0 + b"``, where a and b are to be found.  It is chosen
        where it is the most likely one.
    shape
        What the law has to have: ``"y >= 0; y increases with x0"``.

    Attributes
    ----------
    equations_ : Equations
        The law: ``equations_[0]`` is the text; it has ``sympy()``, ``latex()`` and ``python()``.
    front_ : Front
        The candidates by size and error.
    choice_ : Choice
        With a guess, a shape or standard errors: what was chosen from, by likelihood.
    uncertainty_ : Refit
        The constants of the law, with standard errors by least squares.
    record_
        The record of the job.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    All rows are fitted, and the bench chooses among the method's candidates by the rows and the
    size of the equations.  Scores of rows held out are what ``cross_val_score`` and ``mdbench run``
    are for.

    Examples
    --------
    >>> import numpy as np, mdbench
    >>> x = np.linspace(1, 3, 40).reshape(-1, 1)
    >>> law = mdbench.Regressor("linear", work=2, progress=False)  # doctest: +SKIP
    >>> law = law.fit(x, 2 * x[:, 0] + 1)  # doctest: +SKIP
    >>> law.equations_  # doctest: +SKIP
    y = 1 + 2*x0
    >>> law.predict([[10.0]]).round(6)  # doctest: +SKIP
    array([21.])
    """

    data_type = "real"

    def __init__(
        self,
        method: str = "operon",
        *,
        work: float | None = 10.0,
        timeout: float | None = None,
        seed: int = 0,
        runtime: str | None = None,
        folder: str | None = None,
        progress: bool = True,
        operators: str | Sequence[str] | None = None,
        library: str | Sequence[str] | None = None,
        degree: int | None = None,
        guess: str | Mapping[str, str] | None = None,
        shape: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            method,
            work=work,
            timeout=timeout,
            seed=seed,
            runtime=runtime,
            folder=folder,
            progress=progress,
            operators=operators,
            library=library,
            degree=degree,
            guess=guess,
            shape=shape,
        )

    def fit(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike, *, sigma: ArrayLike | None = None
    ) -> Self:
        """Find a law.

        Parameters
        ----------
        X
            (rows, columns) of finite numbers; a `DataFrame` gives the columns their names.
        y
            (rows,) of finite numbers.
        sigma
            Standard errors of y, one or (rows,).  The method is given rows as often as their
            weights say, and candidates are chosen by them.

        Raises
        ------
        ValueError
            If the data are no such numbers.
        FitError
            If the method gives no equation.
        """
        if validate_data is not None:
            X, y = validate_data(
                self, X, y, dtype=float, y_numeric=True, ensure_min_samples=_FEWEST
            )
        else:
            X, y = self._own_check(X, y)
        given = getattr(self, "feature_names_in_", None)
        labels = _numbered(np.shape(X)[1]) if given is None else [str(name) for name in given]
        self._names = list(equation_names(labels, {*FUNCTIONS, *CONSTANTS}))
        table = pd.DataFrame(np.asarray(X), columns=self._names)
        target = _free(_TARGET, self._names)
        table[target] = np.asarray(y, dtype=float)
        self._columns = dict(zip(self._names, table[self._names].to_numpy().T, strict=True))
        self._y = table[target].to_numpy()
        self._sigma = errors_of(sigma, (len(table), 1))
        shown = (
            table
            if self._sigma is None
            else table.iloc[_by_weight(self._sigma)].reset_index(drop=True)
        )
        record = self._run(data=shown, name=name_of(shown.to_numpy()), fold="none")
        run = Run(self._columns, self._y[:, None], self._sigma)
        self._choose(
            *([record], Table((run,)), [target], self._names), always=self._sigma is not None
        )
        return self

    def predict(self, X: ArrayLike | pd.DataFrame, *, return_std: bool = False) -> Any:
        """Evaluate the law.

        Parameters
        ----------
        X
            (rows, columns), the columns as in `fit`.
        return_std
            Whether standard deviations are returned, too: those of the law's values by the
            standard errors of its constants.  The noise of a measurement comes on top.

        Returns
        -------
        NDArray
            (rows,); or two of them.
        """
        self._fitted()
        if validate_data is not None:
            X = validate_data(self, X, dtype=float, reset=False)
        columns = dict(zip(self._names, np.asarray(X, dtype=float).T, strict=True))
        values = _values(self.equations_[0], columns)
        if not return_std:
            return values
        structure = Structure.of([self.equations_[0]], self._names)
        run = Run(self._columns, self._y[:, None], self._sigma)
        fitted = Table((run,)).fit(structure)
        return values, fitted.band(lambda constants: structure.values(columns, constants)[:, 0])

    @property
    def uncertainty_(self) -> Refit:
        """The constants of the law with their standard errors, by least squares on the rows."""
        self._fitted()
        sigma = None if self._sigma is None else self._sigma[:, 0]
        return refit(self.equations_[0], self._columns, self._y, sigma=sigma)

    def next_experiment(
        self,
        box: Mapping[str, tuple[float, float] | float],
        *,
        rivals: Choice | None = None,
    ) -> Proposal:
        """Propose the row for which laws that fit alike differ most.

        Parameters
        ----------
        box
            The lowest and the highest value of each variable, or its only one.
        rivals
            A `Choice` of more laws; None for `rivals_`.

        Returns
        -------
        Proposal

        Raises
        ------
        UsageError
            If there is nothing to tell apart, or a name is missing.
        """
        self._fitted()
        options = (self.rivals_ if rivals is None else rivals).options
        fits = alike([one.fitted for one in options if one.fitted is not None and not one.refused])

        def predict(fitted: Fitted, setting: Setting, constants: Array) -> Array:
            columns = {name: np.array([value]) for name, value in setting.point.items()}
            return fitted.structure.values(columns, constants)

        settings = settings_in(box, self._names)
        noise, names = fits[0].noise, self.equations_.targets
        return propose(fits, settings, predict, noise, names=names)

    def _picture(self) -> str:
        predicted = _values(self.equations_[0], self._columns)
        if len(self._names) > 1:
            ends = np.array([self._y.min(), self._y.max()])
            curve = Curve("predicted", self._y, predicted, ends, ends)
            return picture("predicted against measured", "measured", [curve])
        [(name, x)] = self._columns.items()
        at = np.linspace(x.min(), x.max(), 200)
        values = _values(self.equations_[0], {name: at})
        curve = Curve(self.equations_.targets[0], x, self._y, at, values)
        return picture("data and law", name, [curve])

    def _own_check(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Check data where scikit-learn is not installed."""
        if isinstance(X, pd.DataFrame):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        table, target = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        if table.ndim != 2 or target.shape != table.shape[:1]:  # noqa: PLR2004 - rows and columns
            raise ValueError(
                f"X has the shape {table.shape} and y {target.shape}; give (rows, columns) and "
                "(rows,)"
            )
        if not (np.isfinite(table).all() and np.isfinite(target).all()):
            raise ValueError("X or y has values that are not finite; leave these rows out")
        self.n_features_in_ = table.shape[1]
        return table, target


def _by_weight(sigma: Array) -> NDArray[np.intp]:
    """Return as many rows as there are, each as often as its weight says, evenly drawn."""
    weights = np.cumsum(1 / sigma[:, 0] ** 2)
    steps = (np.arange(len(sigma)) + 0.5) / len(sigma) * weights[-1]
    return np.asarray(np.searchsorted(weights, steps), dtype=np.intp)


def _numbered(count: int) -> list[str]:
    return [f"x{number}" for number in range(count)]


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _values(equation: str, columns: dict[str, Array]) -> Array:
    known = {name: np.ascontiguousarray(values) for name, values in columns.items()}
    with np.errstate(all="ignore"):
        values = parse(equation, known).evaluate(known)
    return np.array(np.broadcast_to(values, len(next(iter(known.values())))), dtype=float)
