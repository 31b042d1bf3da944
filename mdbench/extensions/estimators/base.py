"""What all estimators do: a method runs in its own environment, and its record is what was fitted.

They are scikit-learn's estimators where that is installed, and have the same interface without it.
"""

from __future__ import annotations

import hashlib
import inspect
import shutil
import sys
import tempfile
import weakref
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from warnings import warn

import numpy as np

from mdbench.api import run
from mdbench.errors import MdbenchError, UsageError, did_you_mean
from mdbench.extensions.estimators.adapted import ADAPTED, adapt
from mdbench.extensions.estimators.answers import Equations, Front
from mdbench.extensions.estimators.choices import choose
from mdbench.extensions.estimators.shapes import read_shapes
from mdbench.extensions.estimators.structures import read_guess
from mdbench.extensions.estimators.vocabulary import Wishes
from mdbench.methods import Method, discover, find, more_folders
from mdbench.records import Status, results_files
from mdbench.records.files import read_records
from mdbench.runtimes.environments.venvs import installed_mb
from mdbench.workspace import Workspace

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """The part of scikit-learn's interface that does without it."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
            """Return the arguments it was made with."""
            names = inspect.signature(type(self).__init__).parameters
            return {name: getattr(self, name) for name in names if name != "self"}

        def set_params(self, **params: Any) -> Self:
            """Change some of them."""
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"There is no parameter {name!r}. {did_you_mean(name, known)}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            """Write the call that makes it."""
            values = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
            return f"{type(self).__name__}({values})"

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """It was not fitted before it was used."""


if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from mdbench.extensions.estimators.choices import Choice
    from mdbench.extensions.estimators.experiments import Experiment
    from mdbench.records import FrontEntry, Record

__all__ = ["Estimator", "FitError", "name_of"]


class FitError(MdbenchError, ValueError):
    """The method gave no equation for these data."""


class Estimator(BaseEstimator):  # type: ignore[misc] # of no types where it is scikit-learn's
    """A method of the benchmark as an estimator: see the classes that are made of it.

    Attributes
    ----------
    record_
        The record of the job, as a run leaves it.
    equations_, front_
        The answer, and the candidates that it was chosen from.
    """

    data_type: str
    """The kind of problem that the method is given."""

    def __init__(
        self,
        method: str,
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
        self.method = method
        self.work = work
        self.timeout = timeout
        self.seed = seed
        self.runtime = runtime
        self.folder = folder
        self.progress = progress
        self.operators = operators
        self.library = library
        self.degree = degree
        self.guess = guess
        self.shape = shape

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called, as scikit-learn asks for it."""
        return hasattr(self, "record_")

    @property
    def licence(self) -> str:
        """The licence of the method."""
        return self._method().spec.licence

    @property
    def paper(self) -> str:
        """The paper of the method, or its page."""
        return self._method().spec.paper

    def _method(self) -> Method:
        algorithms = Workspace.find().algorithms
        try:
            method = find(self.method, algorithms)
        except UsageError as error:  # only now all methods' files are read
            names = sorted(
                name
                for name, other in discover(algorithms).items()
                if isinstance(other, Method) and self.data_type in other.spec.data_types
            )
            raise UsageError(
                f"method is {self.method!r}.", did_you_mean(str(self.method), names)
            ) from error
        if self.data_type not in method.spec.data_types or not method.spec.equations:
            kinds = ", ".join(method.spec.data_types)
            raise UsageError(
                f"{self.method} is no method of equations for {self.data_type}: it is for {kinds}.",
                f"To see those that are: mdbench list --data-type {self.data_type}",
            )
        return method

    def _folder(self) -> Path:
        """Return where records stay; if nobody named a folder, one that goes with the estimator."""
        if self.folder is not None:
            return Path(self.folder)
        if not hasattr(self, "_own_folder"):
            self._own_folder = tempfile.mkdtemp(prefix="mdbench-fit-")
            weakref.finalize(self, shutil.rmtree, self._own_folder, ignore_errors=True)
        return Path(self._own_folder)

    def _run(self, **options: Any) -> Record:
        """Run the method, and keep the record.

        Parameters
        ----------
        **options
            As `mdbench.run` takes them: the data among them.

        Raises
        ------
        FitError
            If the method gives no equation.
        """
        method = self._adapted(self._method())
        self._say_what_is_installed(method)
        folder = self._folder()
        asked = {"work": self.work, "timeout": self.timeout, "runtime": self.runtime}
        limits: dict[str, Any] = asked
        with self._known():
            results = run(
                method.name,
                self.data_type,
                say=None if self.progress else _nothing,
                result_dir=str(folder),
                seeds=self.seed,
                n_jobs=1,
                save_pareto=True,
                **{name: value for name, value in limits.items() if value is not None},
                **options,
            )
        if not len(results):
            raise KeyboardInterrupt  # before the job began
        [key] = results["key"]
        every = [record for file in results_files(folder) for record in read_records(file)]
        record = [record for record in every if record.key == key][-1]  # the newest
        if record.status == Status.INTERRUPTED:
            record = _best_so_far(record)
        if not record.equations:
            raise FitError(
                f"{self.method} has no equation for these data ({record.status}): {record.reason}",
                "Give it more work, such as work=60, or take another method.",
            )
        self._keep(record)
        return record

    def _keep(self, record: Record) -> None:
        self.record_ = record
        self.front_ = Front.of(record)
        self.equations_ = Equations(record, self.front_)

    def _adapted(self, method: Method) -> Method:
        wishes = Wishes.of(self.operators, self.library, self.degree)
        if not wishes.options:
            return method
        return adapt(method, self.data_type, wishes, Workspace.find().home / ADAPTED)

    def _known(self) -> AbstractContextManager[None]:
        """Let the bench find the method with the settings that are asked for."""
        method = self._method()
        adapted = self._adapted(method)
        return more_folders([] if adapted is method else [str(adapted.folder.parent)])

    def _choose(
        self,
        records: Sequence[Record],
        experiment: Experiment,
        targets: Sequence[str],
        names: Sequence[str],
        *,
        always: bool = False,
        by_run: bool = False,
    ) -> None:
        """Choose by likelihood where a guess, a shape, or what `always` says asks for it."""
        self.__dict__.pop("choice_", None)
        self._chosen = partial(
            choose,
            records,
            targets,
            experiment,
            names=names,
            guess=None if self.guess is None else read_guess(self.guess, targets),
            shapes=() if self.shape is None else read_shapes(self.shape, targets, names),
            by_run=by_run,
        )
        if self.guess is None and self.shape is None and not always:
            return
        self.choice_ = self._chosen()
        self.record_ = self.record_.model_copy(update={"weighted": self.choice_.weighted})
        answer = self.record_.model_copy(update={"equations": self.choice_.options[0].equations})
        self.equations_ = Equations(answer, self.front_)

    @property
    def rivals_(self) -> Choice:
        """All candidates of the method, fitted and in the order of their likelihood."""
        self._fitted()
        if not hasattr(self, "_chosen"):
            raise UsageError("Candidates for fields have no likelihood.", "See front_.")
        return getattr(self, "choice_", None) or self._chosen()

    def _say_what_is_installed(self, method: Method) -> None:
        spec = method.spec
        size = installed_mb(
            *(method.name, method.lock, spec.python, Workspace.find().home),
            build=spec.build,
            fetch=method.fetch,
            sources=method.sources,
        )
        if size is None and self.progress and self.runtime != "docker":
            print(
                f"{method.name} ({spec.licence}; {spec.paper or 'no paper'}) is used for the first "
                f"time: its packages, by {method.lock.name}, are installed into an environment of "
                "its own.",
                file=sys.stderr,
            )

    def _fitted(self) -> Record:
        if not hasattr(self, "record_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first."
            )
        return self.record_

    def _repr_html_(self) -> str:
        if not hasattr(self, "record_"):
            return f"<code>{escape(repr(self))}</code>"
        return self.equations_._repr_html_() + self._picture()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return what a notebook shows; scikit-learn's own is a diagram of the parameters."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _picture(self) -> str:
        """Draw data and answer, as SVG; empty where there is nothing to draw."""
        return ""


def _best_so_far(record: Record) -> Record:
    """Return the record of a job that the user has stopped, with its best candidates as the answer.

    Raises
    ------
    KeyboardInterrupt
        If a target has none yet.
    """
    best: dict[int | None, FrontEntry] = {}
    for entry in record.front or ():
        if entry.target not in best or (entry.fitness or 0) > (best[entry.target].fitness or 0):
            best[entry.target] = entry
    entries = [best[None]] if None in best else [best[target] for target in sorted(best)]  # type: ignore[type-var]
    equations = tuple(text for entry in entries for text in entry.equations)
    if len(equations) != len(record.targets) or not equations:
        raise KeyboardInterrupt
    warn("the fit was stopped: this is the best so far", RuntimeWarning, stacklevel=4)
    return record.model_copy(update={"equations": equations})


def _nothing(_: str) -> None: ...


def name_of(*arrays: NDArray[np.float64]) -> str:
    """Return a name for data, the same for the same: a job with a record is not run again."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return f"data-{digest.hexdigest()[:12]}"
