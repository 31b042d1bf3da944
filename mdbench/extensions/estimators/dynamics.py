"""Equations of motion from trajectories: ``mdbench.Dynamics``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self
from warnings import catch_warnings, simplefilter, warn

import numpy as np
import pandas as pd

from mdbench import datatypes
from mdbench.data.columns import OwnNames
from mdbench.errors import UsageError
from mdbench.extensions.estimators.base import Estimator, name_of
from mdbench.extensions.estimators.pictures import Curve, picture
from mdbench.reports.systems import states_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

__all__ = ["Dynamics"]
_TIME = "t"
_DRAWN = 3
"""The most states that are drawn."""


class Dynamics(Estimator):
    """A method that finds the differential equations ``dx/dt = f(x, inputs)`` of trajectories.

    Parameters
    ----------
    method
        A method for systems in time: ``mdbench list --data-type ode`` shows them.
    work, timeout, seed, runtime, folder, progress
        As in `Regressor`.

    Attributes
    ----------
    equations_, front_, record_
        As in `Regressor`; an equation for each state.
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
    ) -> None:
        super().__init__(
            method,
            work=work,
            timeout=timeout,
            seed=seed,
            runtime=runtime,
            folder=folder,
            progress=progress,
        )

    def fit(
        self,
        t: Any,
        x: Any,
        inputs: Any = None,
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
        tables = [_table(*one) for one in runs]
        driven = tables[0][1]
        options: dict[str, Any] = {"inputs": ",".join(driven)} if driven else {}
        data = [table for table, _ in tables]
        record = self._run(
            data=data if several else data[0],
            name=name_of(*(table.to_numpy() for table in data)),
            holdout="none",
            time=_TIME,
            **options,
        )
        self.states_ = states_of(record).states
        self.inputs_ = tuple(driven)
        self._first = data[0]
        return self

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
    ) -> pd.DataFrame:
        """Integrate the equations from a start.

        Parameters
        ----------
        x0
            The states at the first time: in the order of `states_`, or by name.
        t
            The times to return, (times,), increasing.
        inputs
            Their values at these times, (times,) or (times, inputs), for equations with inputs.

        Returns
        -------
        pandas.DataFrame
            The states by name, with the times as its index; it ends where the equations cannot be
            integrated further, with a warning.

        Raises
        ------
        UsageError
            If a start or an input is missing.
        """
        record = self._fitted()
        times = np.asarray(t, dtype=float)
        start = self._start(x0)
        names = OwnNames(record.names)
        driven = self._inputs(inputs, len(times), names) if self.inputs_ else None
        own = {f"u{place}": state for place, state in enumerate(self.states_)}
        texts = OwnNames({**record.names, **own}).all_internal(self.equations_)
        states, why = datatypes.classes(["ode"])[0].integrate(
            texts, times, start, driven, record.options
        )
        if why:
            warn(f"the solution ended early: {why}", RuntimeWarning, stacklevel=2)
        index = pd.Index(times[: len(states)], name=_TIME)
        return pd.DataFrame(states, columns=list(self.states_), index=index)

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

    def _inputs(self, inputs: Any, count: int, names: OwnNames) -> Array:
        wanted = ", ".join(self.inputs_)
        if inputs is None:
            raise UsageError("inputs are missing.", f"Give {wanted} at each time.")
        if isinstance(inputs, pd.DataFrame):
            inputs = inputs[list(self.inputs_)]
        values = np.asarray(inputs, dtype=float).reshape(count, -1)
        if values.shape[1] != len(self.inputs_):
            raise UsageError(f"inputs has {values.shape[1]} columns.", f"Give {wanted}.")
        places = [int(names.internal(name)[1:]) for name in self.inputs_]
        ordered = np.zeros((count, 1 + max(places)))
        ordered[:, places] = values
        return ordered


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
