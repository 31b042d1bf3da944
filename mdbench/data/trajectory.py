"""A sampled trajectory, its splits, and its NPZ files in the layout of MDBench's own datasets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Self
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812 - zlib calls it just "error"

import numpy as np

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.array_files import open_npz
from mdbench.errors import DataError, counted
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


LARGEST_VALUE = 1e150
"""The largest value that data may have: its square is finite."""
SMALLEST_VALUE = 1e-150
"""The smallest size that is not taken for zero: its square is not zero."""
ROUNDED = 0.01
"""Share of a step that may be lost by rounding."""
MIN_SAMPLES = 15
"""The shortest series whose every fifth part has the 3 samples of a second-order stencil."""
FEWEST_EACH, FEWEST_PIECES = 3, 2
"""The shortest trajectory, and the fewest of them, where whole ones are held out."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The states of a system over time, of one trajectory or of several, one after the other.

    Attributes
    ----------
    t
        Increasing times, (n,); they begin again with each trajectory.
    u
        States, (n, d).
    du
        Time derivatives of the states, (n, d), or None where they are not known.
    inputs
        What acts on the system and is known, (n, k), or None where there is nothing.
    starts
        The rows at which trajectories begin; the first is 0.
    held
        Whether inputs keep their values until the next sample; else they change evenly.
    """

    t: Array
    u: Array
    du: Array | None = None
    inputs: Array | None = field(default=None, kw_only=True)
    starts: tuple[int, ...] = field(default=(0,), kw_only=True)
    held: bool = field(default=False, kw_only=True)

    @property
    def pieces(self) -> list[Self]:
        """Return each trajectory by itself."""
        if len(self.starts) == 1:
            return [self]
        ends = (*self.starts[1:], len(self.t))
        return [self.rows(slice(*place)) for place in zip(self.starts, ends, strict=True)]

    def rows(self, rows: slice) -> Self:
        """Return some samples of one trajectory."""
        du, inputs = (None if one is None else one[rows] for one in (self.du, self.inputs))
        return type(self)(self.t[rows], self.u[rows], du, inputs=inputs, held=self.held)

    @property
    def jumps(self) -> list[int]:
        """The rows of one trajectory at which inputs that are held change."""
        if self.inputs is None or not self.held:
            return []
        changed = (np.diff(self.inputs, axis=0) != 0).any(axis=1)
        return [int(row) + 1 for row in np.flatnonzero(changed)]

    def inputs_at(self, times: Array) -> Array:
        """Return the inputs of one trajectory at some times (m,), (m, k)."""
        assert self.inputs is not None  # noqa: S101 - only those with inputs are asked
        if self.held:
            before = np.searchsorted(self.t, times, side="right") - 1
            return np.asarray(self.inputs[np.clip(before, 0, len(self.t) - 1)])
        return np.stack([np.interp(times, self.t, one) for one in self.inputs.T], axis=1)

    @classmethod
    def joined(cls, several: Sequence[Trajectory]) -> Self:
        """Put trajectories of the same columns one after the other."""
        starts, rows = [], 0
        for one in several:
            starts += [rows + start for start in one.starts]
            rows += len(one.t)

        def every(name: str) -> Array | None:
            arrays = [getattr(one, name) for one in several]
            return None if any(each is None for each in arrays) else np.concatenate(arrays)

        t, u = every("t"), every("u")
        assert t is not None  # noqa: S101 - all trajectories have these
        assert u is not None  # noqa: S101
        held = several[0].held
        return cls(t, u, every("du"), inputs=every("inputs"), starts=tuple(starts), held=held)

    def check(self, path: Path, fewest: int = MIN_SAMPLES) -> None:
        """Refuse arrays that no dataset can be made of; `path` is where they come from.

        Parameters
        ----------
        fewest
            Samples that each trajectory has to have.

        Raises
        ------
        DataError
            If shapes do not fit, a value is not finite, times do not increase, or there are fewer
            samples than the splits need; it names the array, the place in it and the value.
        """
        if self.t.ndim != 1:
            raise DataError(
                f"{path}: t has shape {self.t.shape}", "It has to be a row of times, (n,)."
            )
        n = len(self.t)
        arrays = {"t": self.t, "u": self.u, "du": self.du, "inputs": self.inputs}
        for key, array in arrays.items():
            if array is None:
                continue
            if key != "t" and (array.ndim != 2 or len(array) != n or array.shape[1] == 0):  # noqa: PLR2004
                raise DataError(
                    f"{path}: {key} has shape {array.shape}",
                    f"It has to be ({n}, d): a row for each time in t, a column for each state"
                    f"{_reshaped(key, array.shape, n)}.",
                )
            _refuse_values(path, key, array)
        if self.du is not None and self.du.shape != self.u.shape:
            raise DataError(
                f"{path}: u has shape {self.u.shape}, du {self.du.shape}", "They have to be equal."
            )
        for first, piece in zip(self.starts, self.pieces, strict=True):
            if len(piece.t) < fewest:
                of = f" from row {first} on" if len(self.starts) > 1 else ""
                least = fewest if len(self.starts) > 1 else MIN_SAMPLES
                why = ", to have 3 in every split" if least == MIN_SAMPLES else ""
                raise DataError(
                    f"{path}: t has {counted(len(piece.t), 'time point')}{of}",
                    f"At least {least} are needed{why}."
                    + f" Of {FEWEST_PIECES} trajectories and more, whole ones can be held out, "
                    f"and {FEWEST_EACH} are enough: --holdout trajectories" * bool(why),
                )
            refuse_rounded(path, "t", piece.t)
            if not (np.diff(piece.t) > 0).all():
                i = first + int(np.argmin(np.diff(piece.t) > 0)) + 1
                raise DataError(
                    f"{path}: t[{i}] is {self.t[i]}, after t[{i - 1}] = {self.t[i - 1]}",
                    "Times have to increase.",
                )


def _reshaped(key: str, shape: tuple[int, ...], n: int) -> str:
    """Return how to make (n, d) of a shape, where it is plain."""
    if shape == (n,):
        return f": {key}[:, None]"
    return f": {key}.T" if len(shape) == 2 and shape[1] == n else ""  # noqa: PLR2004


def state_names(series: Trajectory) -> tuple[str, ...]:
    """Return the names that equations have for the states, ``u0`` and so on, and the inputs."""
    inputs = 0 if series.inputs is None else series.inputs.shape[1]
    return (*(f"u{i}" for i in range(series.u.shape[1])), *(f"v{i}" for i in range(inputs)))


def named_columns(series: Trajectory) -> dict[str, Array]:
    """Return what equations are evaluated on: the states and the inputs by their names."""
    columns = [*series.u.T, *(() if series.inputs is None else series.inputs.T)]
    return dict(zip(state_names(series), map(np.ascontiguousarray, columns), strict=True))


@dataclass(frozen=True)
class Splits:
    """Ranges of samples along time.

    `refit` is what the last fit is given: all that comes before the test.
    """

    train: slice
    validation: slice
    refit: slice
    test: slice


def split_chronologically(n: int) -> Splits:
    """Split n samples 60/20/20 in their order; what does not divide goes to training.

    Examples
    --------
    >>> splits = split_chronologically(150)
    >>> splits.train, splits.validation, splits.test
    (slice(0, 90, None), slice(90, 120, None), slice(120, 150, None))
    """
    fifth = n // 5
    test = n - fifth
    validation = test - fifth
    return Splits(
        train=slice(0, validation),
        validation=slice(validation, test),
        refit=slice(0, test),
        test=slice(test, n),
    )


def split_as_published(n: int) -> Splits:
    """Split n samples as the code behind MDBench's tables does.

    Validation takes the last rows of the *training* rows, so that it holds nothing out.  Where
    n is no multiple of 5, a sample between `refit` and `test` belongs to neither.

    Examples
    --------
    >>> splits = split_as_published(150)
    >>> splits.train, splits.validation, splits.refit
    (slice(0, 96, None), slice(72, 96, None), slice(0, 120, None))
    """
    n_refit = int(0.8 * n)
    n_validation = int(0.2 * n_refit)
    n_train = n_refit - n_validation
    return Splits(
        train=slice(0, n_train),
        validation=slice(n_train - n_validation, n_train),
        refit=slice(0, n_refit),
        test=slice(n - int(0.2 * n), n),
    )


_KEYS = ("t", "u", "du")
UNREADABLE = (OSError, ValueError, EOFError, BadZipFile, ZlibError, MemoryError)
_EXPECTED = "An NPZ file with the arrays t (n,), u (n, d) and du (n, d) is expected."
_REMEDIES = {
    "c": "give both parts of u as states: numpy.stack([u.real, u.imag], axis=-1)",
    "b": "numpy.asarray({key}, float) makes them of truth values",
    "U": "numpy.asarray({key}, float) makes them of texts that hold some",
    "S": "numpy.asarray({key}, float) makes them of texts that hold some",
    "M": "({key} - {key}[0]) / numpy.timedelta64(1, 's') makes seconds of dates",
    "O": "one array of them, not a list or cell of arrays; in MATLAB cell2mat({key}) makes it",
    "V": "give each field of a structured array an array of its own",
}
"""Hints for arrays of other than real numbers, by NumPy's letter for their kind."""


def read_npz(path: Path, *, known_rates: bool = True) -> Trajectory:
    """Read and check a trajectory.

    Parameters
    ----------
    known_rates
        Whether derivatives have to be there; else they may be missing.

    Raises
    ------
    DataError
        If the file is missing, damaged, holds pickled objects, lacks a key, or its arrays cannot
        be used; it names the file, the key and the value.
    """
    try:
        # Opened here, because np.load leaves a damaged file open.
        with path.open("rb") as file, PARSER_LOCK:
            archive = open_npz(file, path, _EXPECTED)
            if further := [key for key in archive.files if key not in _KEYS]:
                raise DataError(
                    f"{path}: key {further[0]!r} is none of {', '.join(_KEYS)}",
                    "Leave it out of the file. Names and units of states go into a TOML file of "
                    "the same name; inputs and several trajectories are read from CSV files.",
                )
            needed = _KEYS if known_rates or "du" in archive.files else _KEYS[:-1]
            arrays = {key: npz_array(archive, path, key) for key in needed}
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {reason_of(error)}", _EXPECTED) from error
    trajectory = Trajectory(arrays["t"], arrays["u"], arrays.get("du"))
    trajectory.check(path)
    return trajectory


def write_npz(file: IO[bytes] | Path, trajectory: Trajectory) -> None:
    """Write a trajectory, not compressed; `trajectory.du` has to be there."""
    if trajectory.du is None:
        raise ValueError("this layout has derivatives")
    np.savez(file, t=trajectory.t, u=trajectory.u, du=trajectory.du)


def load_or_make(path: Path, make: Callable[[], Trajectory]) -> Trajectory:
    """Read the arrays at `path`; make and keep them if there are none, or if they are damaged.

    Several processes may do so at once: the last one to end wins, and all have the same arrays.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    try:
        with path.open("rb") as file, PARSER_LOCK:
            arrays = np.load(file)
            return Trajectory(*(arrays[key] for key in _KEYS))
    except (*UNREADABLE, LookupError):
        trajectory = make()
    write_whole(path, partial(write_npz, trajectory=trajectory))
    return trajectory


def npz_array(
    archive: np.lib.npyio.NpzFile, path: Path, key: str, expected: str = _EXPECTED
) -> Array:
    """Return an array of real numbers from an NPZ file.

    Raises
    ------
    DataError
        If it is missing, damaged or of another type; `expected` is the hint.
    """
    if key not in archive.files:
        raise DataError(
            f"{path}: key {key!r} is missing; it has {', '.join(archive.files) or 'none'}",
            expected,
        )
    try:
        array = np.asarray(archive[key])
    except UNREADABLE as error:
        raise DataError(f"{path}: {key} cannot be read: {reason_of(error)}", expected) from error
    array = without_imaginary(array)
    refuse_unreal(path, key, array.dtype)
    return array.astype(np.float64, copy=False)


def without_imaginary(array: NDArray[Any]) -> NDArray[Any]:
    """Return the real parts of complex numbers whose imaginary parts are all zero."""
    if array.dtype.names == ("real", "imag") and not array["imag"].any():
        return np.asarray(array["real"])
    if array.dtype.kind == "c" and not np.imag(array).any():
        return np.real(array)
    return array


def reason_of(error: BaseException) -> str:
    """Return in words why a file cannot be read."""
    if "allow_pickle" in str(error):
        return (
            "it holds pickled objects, which are refused since they can run code "
            "(numpy.asarray(u, float) makes numbers of them), or is no NPZ file"
        )
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def refuse_unreal(path: Path, key: str, dtype: np.dtype[Any]) -> None:
    """Refuse arrays of anything but real numbers.

    Raises
    ------
    DataError
        With the type, and what to do about it.
    """
    if dtype.kind in "fiu":
        return
    # HDF5 knows no complex numbers, and MATLAB keeps their parts under these names.
    kind = "c" if dtype.names == ("real", "imag") else dtype.kind
    remedy = _REMEDIES.get(kind, "").format(key=key)
    raise DataError(
        f"{path}: {key} is of type {dtype}",
        f"Real numbers are expected{': ' if remedy else ''}{remedy}.",
    )


def refuse_rounded(path: Path, key: str, nodes: Array) -> None:
    """Refuse times or places (n,) whose steps are spoilt by rounding, as those since 1970 may be.

    Raises
    ------
    DataError
        If steps are uneven, and the numbers' precision is above `ROUNDED` times their median.
    """
    steps = np.abs(np.diff(nodes))
    if not steps.any() or (steps == steps[0]).all():
        return
    step = float(np.median(steps[steps > 0]))
    largest = np.abs(nodes).max()
    with np.errstate(over="ignore"):
        for kind in (np.float64, np.float32, np.float16):
            exact = kind is not np.float64 and not (nodes % 1).any()
            if exact or not np.array_equal(nodes.astype(kind), nodes):
                continue
            precision = float(np.spacing(kind(largest)))
            # Where no last digit is in use, nothing has been rounded.
            if precision > ROUNDED * step and (nodes % (2 * precision)).any():
                raise DataError(
                    f"{path}: {key} is rounded, so its digits do not show its steps: near "
                    f"{largest:.7g} its numbers are {precision:.2g} apart, and its steps are "
                    f"{step:.2g}",
                    f"Write {key} - {key}[0] to the file, made from the numbers with all digits "
                    "(integers or float64).",
                )


def _refuse_values(path: Path, key: str, array: Array) -> None:
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise DataError(
            f"{path}: {key}[{', '.join(map(str, place))}] is {array[place]}",
            "Every value has to be a finite number.",
        )
    refuse_sizes(path, key, array)


def refuse_sizes(path: Path, key: str, array: Array, name: str = "") -> None:
    """Refuse numbers whose squares are infinite, and states whose squares are all zero.

    Parameters
    ----------
    name
        What the user calls the array; default: its key.

    Raises
    ------
    DataError
        With the largest of them.
    """
    name = name or key
    largest = np.abs(array).max(axis=tuple(range(array.ndim - 1)), initial=0)
    for size in np.atleast_1d(largest) if key == "u" else ():
        if 0 < size < SMALLEST_VALUE:
            raise DataError(
                f"{path}: the largest value of {name} is {size:.2g}; {SMALLEST_VALUE:.0g} is "
                "needed",
                "Give it in a smaller unit: squares of smaller numbers are zero.",
            )
    if (most := float(np.max(largest, initial=0))) > LARGEST_VALUE:
        raise DataError(
            f"{path}: the largest value of {name} is {most:.2g}; {LARGEST_VALUE:.0g} is allowed",
            "Give it in a larger unit: squares of larger numbers are infinite.",
        )
