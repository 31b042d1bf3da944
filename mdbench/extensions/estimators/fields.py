"""Partial differential equations from fields: ``mdbench.Fields``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mdbench.data.columns import OwnNames
from mdbench.errors import UsageError
from mdbench.extensions.estimators.answers import Equations
from mdbench.extensions.estimators.base import Estimator, name_of
from mdbench.extensions.estimators.choices import choose_each
from mdbench.extensions.estimators.own_data import windows
from mdbench.extensions.estimators.refit import refit_field
from mdbench.extensions.estimators.shapes import read_shapes
from mdbench.extensions.estimators.structures import read_guess
from mdbench.runs.catalog import Catalog
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mdbench.extensions.estimators.choices import Choice
    from mdbench.extensions.estimators.experiments import Windows
    from mdbench.extensions.estimators.refit import Refit
    from mdbench.records import Record

    Array = NDArray[np.float64]

__all__ = ["Fields", "choose_field"]
_AXES = ("x", "y", "z")
_TIMES = ("t", "time")


class Fields(Estimator):
    """A method that finds the partial differential equations of a field on a grid.

    Parameters
    ----------
    method
        A method for fields: ``mdbench list --data-type pde`` shows them.
    work, timeout, seed, runtime, folder, progress, operators, library, degree
        As in `Regressor`.
    guess
        Equations that you think of: ``"du0/dt = a*u0_xx - u0*u0_x"``; letters are constants.  They
        are fitted in weak form and stand among the candidates.
    shape
        What is known of rates: ``"du0/dt increases with u0_xx"``.

    Attributes
    ----------
    equations_, front_, record_
        As in `Regressor`; an equation for each state, whose names are ``u0``, ``u1``, ... in the
        order of `states_`, and whose derivatives are ``u0_x``, ``u0_xx``, ...
    choice_ : tuple of Choice
        With a guess or a shape: for each equation what it was chosen from, by likelihood.
    states_ : tuple of str
        The names of the states in the data.

    Notes
    -----
    The last fifth of the times is held out: ``record_.metrics`` has the score there.

    Examples
    --------
    >>> import numpy as np, mdbench
    >>> x, t = np.arange(64) * 2 * np.pi / 64, np.linspace(0, 2, 60)
    >>> u = np.exp(-t) * np.sin(x)[:, None] + np.exp(-4 * t) * np.cos(2 * x)[:, None]
    >>> model = mdbench.Fields("weakform", work=20, progress=False)  # doctest: +SKIP
    >>> model = model.fit(u, t, x)  # doctest: +SKIP
    >>> model.equations_  # doctest: +SKIP
    du0/dt = u0_xx
    """

    data_type = "pde"
    choice_: tuple[Choice, ...]  # type: ignore[assignment] # one for each equation

    def __init__(
        self,
        method: str = "weakform",
        *,
        work: float | None = 60.0,
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
        self,
        u: ArrayLike | Any,
        t: ArrayLike | None = None,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        z: ArrayLike | None = None,
    ) -> Self:
        """Find the equations.

        Parameters
        ----------
        u
            The field, (nodes along x, ..., times) for one state and (nodes along x, ..., times,
            states) for several; or a `DataArray` or a `Dataset` of xarray with the coordinates x,
            y, z and t (or time), whose variables are the states.
        t, x, y, z
            Times and nodes, equidistant; not with xarray's objects.

        Raises
        ------
        UsageError
            If the arrays do not fit together.
        mdbench.errors.DataError
            If the grid cannot be used.
        FitError
            If the method gives no equations.
        """
        if hasattr(u, "dims"):
            if any(given is not None for given in (t, x, y, z)):
                raise UsageError("t or x is given with a labelled array.", "It has them itself.")
            states, arrays = _labelled(u)
        else:
            axes = dict(zip(_AXES, (x, y, z), strict=True))
            states, arrays = _plain(u, t, {k: v for k, v in axes.items() if v is not None})
        path = self._folder() / f"{name_of(*arrays.values())}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **arrays)  # type: ignore[arg-type] # arrays by name
        self.__dict__.pop("choice_", None)
        record = self._run(dataset_path=str(path))
        self.states_ = states
        if self.guess is not None or self.shape is not None:
            self.choice_ = self._choices()
            texts = tuple(choice.options[0].equations[0] for choice in self.choice_)
            answer = record.model_copy(update={"equations": texts})
            self.equations_ = Equations(answer, self.front_)
        return self

    def _choices(self) -> tuple[Choice, ...]:
        return choose_field(self._fitted(), self._windows(), self.guess, self.shape)

    def _windows(self) -> list[Windows]:
        record, catalog = self._fitted(), Catalog(Workspace.find())
        with self._known():
            return windows(record, catalog)

    @property
    def rivals_(self) -> tuple[Choice, ...]:  # type: ignore[override] # one for each equation
        """The candidates for each equation, fitted and in the order of their likelihood."""
        self._fitted()
        return getattr(self, "choice_", None) or self._choices()

    @property
    def uncertainty_(self) -> tuple[Refit, ...]:
        """The constants of each equation with standard errors, by least squares in weak form."""
        names = OwnNames(self._fitted().names)
        pairs = zip(self.equations_, self._windows(), strict=True)
        return tuple(refit_field(*pair, names) for pair in pairs)


def choose_field(
    record: Record,
    experiments: Sequence[Windows],
    guess: str | Mapping[str, str] | None,
    shape: str | Sequence[str] | None,
) -> tuple[Choice, ...]:
    """Choose the equation of each state of a field, by the likelihood of integrals over windows."""
    targets = [f"u{number}" for number in range(len(experiments))]
    names = list(experiments[0].runs[0].columns)
    return choose_each(
        record.model_copy(update={"targets": targets}),
        experiments,
        guess=None if guess is None else read_guess(guess, targets),
        shapes=() if shape is None else read_shapes(shape, targets, names),
    )


def _plain(
    u: ArrayLike, t: ArrayLike | None, axes: Mapping[str, ArrayLike]
) -> tuple[tuple[str, ...], dict[str, Array]]:
    if t is None or "x" not in axes:
        raise UsageError("t or x is missing.", "Give fit(u, t, x), with y and z where there are.")
    field = np.asarray(u, dtype=float)
    arrays = {name: np.asarray(nodes, dtype=float) for name, nodes in axes.items()}
    arrays["t"] = np.asarray(t, dtype=float)
    shape = tuple(len(arrays[name]) for name in (*axes, "t"))
    if field.shape == shape:
        field = field[..., None]
    if field.shape[:-1] != shape:
        raise UsageError(
            f"u has the shape {field.shape}, and the grid {shape} ({', '.join(axes)}, t).",
            "Give u as (nodes along x, ..., times) or (nodes along x, ..., times, states).",
        )
    names = tuple(f"u{number}" for number in range(field.shape[-1]))
    return names, {**arrays, "u": field}


def _labelled(data: Any) -> tuple[tuple[str, ...], dict[str, Array]]:
    """Read a `DataArray` or a `Dataset` of xarray, by what these have in common."""
    variables = data.data_vars if hasattr(data, "data_vars") else {data.name or "u0": data}
    axes = [name for name in _AXES if name in data.dims]
    time = next((name for name in _TIMES if name in data.dims), None)
    others = [name for name in data.dims if name not in (*axes, time)]
    if time is None or not axes or others:
        raise UsageError(
            f"The dimensions are {', '.join(map(str, data.dims))}.",
            "Name them x, y, z and t: data.rename(lon='x'), and choose one of others: "
            "data.isel(level=0).",
        )
    order = (*axes, time)
    states = [np.asarray(one.transpose(*order).values, dtype=float) for one in variables.values()]
    arrays = {name: np.asarray(data[name].values, dtype=float) for name in axes}
    arrays["t"] = np.asarray(data[time].values, dtype=float)
    names = tuple(str(name) for name in variables)
    return names, {**arrays, "u": np.stack(states, axis=-1)}
