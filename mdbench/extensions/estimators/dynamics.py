"""Equations of motion from trajectories: ``mdbench.Dynamics``."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from warnings import catch_warnings, simplefilter, warn

import numpy as np
import pandas as pd

from mdbench.data.columns import OwnNames
from mdbench.data.smoothing import smooth
from mdbench.errors import UsageError, counted, did_you_mean
from mdbench.extensions.estimators.base import Estimator, FitError, name_of
from mdbench.extensions.estimators.experiments import Motion, Run, errors_of
from mdbench.extensions.estimators.pictures import Curve, picture
from mdbench.extensions.estimators.proposals import alike, propose, settings_in
from mdbench.extensions.estimators.refit import refit_dynamics
from mdbench.extensions.estimators.solutions import Solver
from mdbench.extensions.estimators.structures import Structure
from mdbench.reports.systems import states_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mdbench.extensions.estimators.choices import Choice
    from mdbench.extensions.estimators.experiments import Fitted
    from mdbench.extensions.estimators.proposals import Proposal, Setting
    from mdbench.extensions.estimators.refit import Refit
    from mdbench.records import Record

    Array = NDArray[np.float64]

__all__ = ["Dynamics"]
_TIME = "t"
COMMON, BY_RUN = "common", "by run"
"""Whether runs have constants for themselves."""
_ALONE = 3
"""Runs that a method is given by themselves, too, where runs may have constants of their own."""
_DRAWN = 3
"""The most states that are drawn."""


class Dynamics(Estimator):
    """A method that finds the differential equations ``dx/dt = f(x, inputs)`` of trajectories.

    Parameters
    ----------
    method
        A method for systems in time: ``mdbench list --data-type ode`` shows them.
    work, timeout, seed, runtime, folder, progress, operators, library, degree, guess, shape
        As in `Regressor`.
    constants
        ``"common"``: the same in all runs.  ``"by run"``: likelihood chooses which ones each run
        has for itself, and the method is given the first runs by themselves, too.

    Attributes
    ----------
    equations_, front_, choice_, record_
        As in `Regressor`; an equation for each state, with the constants of the first run.
    constants_ : pandas.DataFrame
        The constants of each run, with standard errors.
    uncertainty_ : Refit
        The constants with standard errors.
    states_ : tuple of str
        The names of the states.

    Notes
    -----
    All samples are fitted.  For scores on samples that no method has seen use ``mdbench run``.

    Examples
    --------
    >>> import numpy as np, mdbench
    >>> t = np.linspace(0, 4, 80)
    >>> model = mdbench.Dynamics("sindy", work=2, progress=False)  # doctest: +SKIP
    >>> model = model.fit(t, 3 * np.exp(-0.5 * t))  # doctest: +SKIP
    >>> model.simulate([1.0], [0.0, 2.0])["x0"].round(3).tolist()  # doctest: +SKIP
    [1.0, 0.368]
    """

    data_type = "ode"

    def __init__(
        self,
        method: str = "shooting",
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
        constants: str = COMMON,
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
        self.constants = constants

    def fit(
        self,
        t: Any,
        x: Any,
        inputs: Any = None,
        *,
        sigma: Any = None,
    ) -> Self:
        """Find the equations.

        Parameters
        ----------
        t
            Times, (samples,), increasing.  A list of such arrays are runs of one experiment.
        x
            States, (samples,) or (samples, states); a `DataFrame` gives them names.  A list for
            runs.
        inputs
            What acts on the states from outside, in the same form.
        sigma
            Standard errors of the states: one, one for each state, or one for each value; a list
            for runs.  They do not reach the method; candidates are chosen by them.

        Raises
        ------
        UsageError
            If the arrays do not fit together.
        FitError
            If the method gives no equations.
        """
        several = isinstance(t, list | tuple) and bool(t) and np.ndim(t[0]) > 0
        if several and len(t) != len(x):
            raise UsageError(f"There are {len(t)} runs of t, and {len(x)} of x.", "Give as many.")
        runs = (
            [(t, x, inputs)]
            if not several
            else list(zip(t, x, [None] * len(x) if inputs is None else inputs, strict=True))
        )
        tables = [_table(*run) for run in runs]
        driven = tables[0][1]
        options: dict[str, Any] = {"inputs": ",".join(driven)} if driven else {}
        data = [table for table, _ in tables]
        self._check_constants()
        record = self._find(data, options)
        records = [record]
        if self.constants == BY_RUN and several:
            records += self._find_alone(data[:_ALONE], options)
            self._keep(record)
        self.states_ = states_of(record).states
        self.inputs_ = tuple(driven)
        self._first = data[0]
        self._solver = Solver(record, self.states_, self.inputs_)
        errors = list(sigma) if several and isinstance(sigma, list | tuple) else [sigma] * len(data)
        if len(errors) != len(data):
            raise UsageError(f"sigma is a list of {len(errors)} for {len(data)} runs.", "One each.")
        self._runs = [self._run_of(table, error) for table, error in zip(data, errors, strict=True)]
        self._choose(
            *(records, Motion(tuple(self._runs), self._solver), self.states_),
            [*self.states_, *self.inputs_],
            always=sigma is not None or self.constants == BY_RUN,
            by_run=self.constants == BY_RUN,
        )
        return self

    def _check_constants(self) -> None:
        if self.constants not in (COMMON, BY_RUN):
            raise UsageError(
                f"constants is {self.constants!r}.", did_you_mean(self.constants, [COMMON, BY_RUN])
            )

    def _find(self, data: list[pd.DataFrame], options: Mapping[str, Any]) -> Record:
        return self._run(
            data=data if len(data) > 1 else data[0],
            name=name_of(*(table.to_numpy() for table in data)),
            holdout="none",
            time=_TIME,
            **options,
        )

    def _find_alone(
        self, data: Sequence[pd.DataFrame], options: Mapping[str, Any]
    ) -> Iterator[Record]:
        """Yield the records of single runs, where the method has an answer."""
        for table in data:
            with suppress(FitError):
                yield self._find([table], options)

    def _run_of(self, table: pd.DataFrame, sigma: Any) -> Run:
        states = table[list(self.states_)].to_numpy()
        return Run(
            {name: table[name].to_numpy() for name in (*self.states_, *self.inputs_)},
            states,
            errors_of(sigma, states.shape),
            table[_TIME].to_numpy(),
            table[list(self.inputs_)].to_numpy() if self.inputs_ else None,
        )

    @property
    def constants_(self) -> pd.DataFrame:
        """The constants of each run, and their standard errors, as columns of a table."""
        self._fitted()
        if not hasattr(self, "choice_"):
            return self._constants_of(self._refitted())
        return self._constants_of(self.choice_.fitted)

    def _refitted(self) -> Fitted:
        names = [*self.states_, *self.inputs_]
        structure = Structure.of(list(self.equations_), names)
        return Motion(tuple(self._runs), self._solver).suited(structure).fit(structure)

    def _constants_of(self, fitted: Fitted) -> pd.DataFrame:
        columns: dict[str, Array] = {}
        for k, label in enumerate(fitted.structure.letters):
            name = label if label not in columns else f"{label} ({k})"
            columns[name] = fitted.constants[:, k]
            columns[f"± {name}"] = fitted.errors[:, k]
        index = pd.RangeIndex(len(fitted.constants), name="run")
        return pd.DataFrame(columns, index=index)

    @property
    def uncertainty_(self) -> Refit:
        """The constants with standard errors, by maximum likelihood of the samples."""
        self._fitted()
        names = [*self.states_, *self.inputs_]
        return refit_dynamics(list(self.equations_), names, self._runs, self._solver)

    def _picture(self) -> str:
        table = self._first
        times = table[_TIME].to_numpy()
        driven = table[list(self.inputs_)] if self.inputs_ else None
        start = table[list(self.states_)].iloc[0].to_numpy()
        with catch_warnings():
            simplefilter("ignore", RuntimeWarning)  # a solution that ends early is drawn as far
            ahead = self.simulate(start, times, driven)
        at = ahead.index.to_numpy()
        curves = [
            Curve(name, times, table[name].to_numpy(), at, ahead[name].to_numpy())
            for name in self.states_[:_DRAWN]
        ]
        return picture("data, and the solution from the first sample", _TIME, curves)

    def simulate(
        self,
        x0: ArrayLike | Mapping[str, float],
        t: ArrayLike,
        inputs: ArrayLike | pd.DataFrame | None = None,
        *,
        run: int = 0,
        return_std: bool = False,
    ) -> Any:
        """Integrate the equations from a start.

        Parameters
        ----------
        x0
            The states at the first time: in the order of `states_`, or by name.
        t
            The times to return, (times,), increasing.
        inputs
            Their values at these times, (times,) or (times, inputs), for equations with inputs.
        run
            The run whose constants are used, where runs have constants for themselves.
        return_std
            Whether standard deviations are returned, too, by the standard errors of the constants.

        Returns
        -------
        pandas.DataFrame
            The states by name, with the times as its index; it ends where the equations cannot be
            integrated further, with a warning.  Or two of them.

        Raises
        ------
        UsageError
            If a start or an input is missing.
        """
        self._fitted()
        times = np.asarray(t, dtype=float)
        start = self._start(x0)
        driven = self._inputs(inputs, len(times)) if self.inputs_ else None
        texts = list(self.equations_)
        if run:
            texts = self._run_texts(run)
        states, why = self._solver.solve(texts, times, start, driven)
        if why:
            warn(f"the solution ended early: {why}", RuntimeWarning, stacklevel=2)
        index = pd.Index(times[: len(states)], name=_TIME)
        table = pd.DataFrame(states, columns=list(self.states_), index=index)
        if not return_std:
            return table
        fitted = self.choice_.fitted if hasattr(self, "choice_") else self._refitted()

        def reached(constants: Array) -> Array:
            ahead = np.full(states.shape, np.nan)
            got = self._solver(fitted.structure.texts(constants), times, start, driven)
            ahead[: len(got)] = got[: len(states)]
            return ahead

        return table, pd.DataFrame(fitted.band(reached, run), columns=table.columns, index=index)

    def find_rivals(self, seconds: float = 30.0) -> Choice:
        """Fit systems that differ from the answer in one term, besides the method's candidates.

        Parameters
        ----------
        seconds
            For the search.

        Returns
        -------
        Choice
            All of them, in the order of their likelihood.

        Raises
        ------
        UsageError
            If there are inputs.
        mdbench.errors.AnswerError
            If the answer's solutions leave the samples at once.
        """
        self._fitted()
        if self.inputs_:
            raise UsageError("There are inputs.", "Rivals are searched for systems without any.")
        from mdbench.datatypes.ode.rivals import certainty_of  # noqa: PLC0415 - takes a while

        internal = OwnNames({f"u{place}": state for place, state in enumerate(self.states_)})
        curves = [smooth(_run_times(run), run.targets) for run in self._runs]
        certainty = certainty_of(
            internal.all_internal(self.equations_),
            tuple(f"u{place}" for place in range(len(self.states_))),
            [(one.t, run.targets, one.u) for run, one in zip(self._runs, curves, strict=True)],
            np.mean([curve.variances for curve in curves], axis=0),
            seconds,
        )
        answer = list(self.equations_)
        others = [
            [*answer[: one.equation], internal.own(one.text), *answer[one.equation + 1 :]]
            for one in certainty.rivals
        ]
        return self._chosen(others=others)

    def next_experiment(
        self,
        box: Mapping[str, tuple[float, float] | float],
        t: ArrayLike,
        inputs: Sequence[ArrayLike] | None = None,
        *,
        rivals: Choice | None = None,
    ) -> Proposal:
        """Propose the start, and the inputs, for which laws that fit alike differ most.

        Parameters
        ----------
        box
            The lowest and the highest start of each state, or its only one.
        t
            The times at which states are measured then, (times,).
        inputs
            The inputs that are allowed, each (times,) or (times, inputs).
        rivals
            What `find_rivals` gives; None for `rivals_`.

        Returns
        -------
        Proposal
            In a notebook it has a picture.

        Raises
        ------
        UsageError
            If there is nothing to tell apart, or a name is missing.
        """
        self._fitted()
        times = np.asarray(t, dtype=float)
        driven = [self._inputs(each, len(times)) for each in inputs or ()]
        if self.inputs_ and not driven:
            raise UsageError("inputs are missing.", "Give those that are allowed: a list of them.")
        options = (self.rivals_ if rivals is None else rivals).options
        fits = alike([one.fitted for one in options if one.fitted is not None and not one.refused])

        def predict(fitted: Fitted, setting: Setting, constants: Array) -> Array:
            start = np.array([setting.point[name] for name in self.states_])
            given = None if setting.inputs is None else driven[setting.inputs]
            values = np.full((len(times), len(self.states_)), np.nan)
            reached = self._solver(fitted.structure.texts(constants), times, start, given)
            values[: len(reached)] = reached
            return values

        settings = settings_in(box, self.states_, len(driven))
        noise = fits[0].noise
        return propose(fits, settings, predict, noise, names=self.states_, at=times)

    def _run_texts(self, run: int) -> list[str]:
        fitted = self.choice_.fitted if hasattr(self, "choice_") else None
        count = 1 if fitted is None else len(fitted.constants)
        if fitted is None or not 0 <= run < count:
            raise UsageError(
                f"run is {run}.", f"There {'is' if count == 1 else 'are'} {counted(count, 'run')}."
            )
        return fitted.texts(run)

    def _start(self, x0: ArrayLike | Mapping[str, float]) -> Array:
        if isinstance(x0, dict):
            if set(x0) != set(self.states_):
                raise UsageError(
                    f"x0 has {', '.join(map(str, x0))}.", f"Give {', '.join(self.states_)}."
                )
            x0 = [x0[name] for name in self.states_]
        start = np.atleast_1d(np.asarray(x0, dtype=float))
        if start.shape != (len(self.states_),):
            raise UsageError(
                f"x0 has the shape {start.shape}.", f"Give a value for {', '.join(self.states_)}."
            )
        return start

    def _inputs(self, inputs: Any, count: int) -> Array:
        wanted = ", ".join(self.inputs_)
        if inputs is None:
            raise UsageError("inputs are missing.", f"Give {wanted} at each time.")
        if isinstance(inputs, pd.DataFrame):
            inputs = inputs[list(self.inputs_)]
        values = np.asarray(inputs, dtype=float).reshape(count, -1)
        if values.shape[1] != len(self.inputs_):
            raise UsageError(f"inputs has {values.shape[1]} columns.", f"Give {wanted}.")
        return values


def _run_times(run: Run) -> Array:
    assert run.times is not None  # noqa: S101 - a trajectory has times
    return run.times


def _table(t: Any, x: Any, inputs: Any) -> tuple[pd.DataFrame, list[str]]:
    """Put a run into one table, and return it with the names of the inputs."""
    times = np.asarray(t, dtype=float)
    states, driven = _named(x, "x", times), _named(inputs, "v", times)
    if twice := ({_TIME} & {*states, *driven}) | (set(states) & set(driven)):
        raise UsageError(
            f"The name {min(twice)!r} is there twice.", "Rename the column; t is the time."
        )
    return pd.DataFrame({_TIME: times, **states, **driven}), list(driven)


def _named(values: Any, letter: str, times: Array) -> dict[str, Array]:
    if values is None:
        return {}
    table = np.asarray(values, dtype=float)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or len(table) != len(times) or times.ndim != 1:  # noqa: PLR2004
        raise UsageError(
            f"t has the shape {times.shape}, and {letter} {np.shape(values)}.",
            "Give (samples,) and (samples, states).",
        )
    if isinstance(values, pd.DataFrame):
        names = [str(name) for name in values.columns]
    else:
        names = [f"{letter}{number}" for number in range(table.shape[1])]
    return dict(zip(names, table.T, strict=True))
