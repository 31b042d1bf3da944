"""Conditions under which a system is sampled, one axis of a sweep each.

They are part of a dataset's name: ``lorenz-equations-chaotic+samples=50+noise=0.01``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.data.noise import generator_of
from mdbench.data.trajectory import MIN_SAMPLES, Trajectory, load_or_make
from mdbench.datatypes.ode.systems import integrate
from mdbench.errors import DataError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.ode.systems import OdeSystem

    Array = NDArray[np.float64]

KINDS = ("additive", "multiplicative", "outliers")
"""Noise that has the same deviation everywhere; that is a share of the value; and that of a few
samples, which are off by ten times as much."""
END, SECOND_START = "end", "second-start"
TESTS = (END, SECOND_START)
"""What the test is: the last fifth of each trajectory, or all of the one from the second start."""
SETS = {
    "second-start": f"test={SECOND_START}",
    **{f"{n}-starts": f"trajectories={n}+test={SECOND_START}" for n in (2, 4, 8)},
}
"""Sets that are made of others, by the ends of their names: the condition of their datasets."""
_OUTLIERS, _FAR = 0.05, 10.0
_MOST_TRAJECTORIES, _MOST_DIMENSION, _MOST_SAMPLES = 64, 16, 100_000
_TRIES = 20
"""Starts that are drawn in the place of one from which a system cannot be integrated."""


@dataclass(frozen=True)
class Conditions:
    """How a system is sampled; None, and 0 or 1, for as usual.

    Attributes
    ----------
    samples
        The number of equidistant samples over the time span.
    dt
        The step between samples, in place of their number.
    noise
        The deviation of the noise over that of each state.
    noise_kind
        One of `KINDS`.
    uneven
        The largest shift of a sample's time, in steps: below 0.5, so that times increase.
    missing
        The share of samples that is left out.
    trajectories
        The number of starts; the first is the system's own.
    dimension
        The number of states that are added, which decay by themselves and act on nothing.
    test
        One of `TESTS`.
    moved
        The number of a draw of other constants, starts and order of states; 0 for the system's own.
    """

    samples: int | None = field(
        default=None, metadata={"least": MIN_SAMPLES, "most": _MOST_SAMPLES}
    )
    dt: float | None = field(default=None, metadata={"above": 0.0})
    noise: float = field(default=0.0, metadata={"least": 0.0})
    noise_kind: str = field(default=KINDS[0], metadata={"choices": KINDS})
    uneven: float = field(default=0.0, metadata={"least": 0.0, "below": 0.5})
    missing: float = field(default=0.0, metadata={"least": 0.0, "below": 0.9})
    trajectories: int = field(default=1, metadata={"least": 1, "most": _MOST_TRAJECTORIES})
    dimension: int = field(default=0, metadata={"least": 0, "most": _MOST_DIMENSION})
    test: str = field(default=END, metadata={"choices": TESTS})
    moved: int = field(default=0, metadata={"least": 0, "most": 1000})

    def __str__(self) -> str:
        """Write what is not as usual, as it stands behind a dataset's name."""
        return "".join(
            f"+{one.name.replace('_', '-')}={_text(getattr(self, one.name))}"
            for one in fields(self)
            if getattr(self, one.name) != one.default
        )

    @property
    def usual(self) -> bool:
        """Whether all is as usual."""
        return self == Conditions()

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Conditions:
        """Read conditions by their names; a `UsageError` for what cannot be."""
        if "samples" in texts and "dt" in texts:
            raise UsageError("samples and dt were both given.", "Give one: it makes the other.")
        return cls(**{name.replace("-", "_"): _value(name, text) for name, text in texts.items()})

    @classmethod
    def read(cls, name: str) -> tuple[str, Conditions]:
        """Return a system's name, and the conditions behind it."""
        system, *parts = name.split("+")
        conditions = cls.of(dict([part.partition("=")[::2] for part in parts]))
        if conditions.noise_kind != KINDS[0] and not conditions.noise:
            raise UsageError(
                f"{name} has noise-kind={conditions.noise_kind} and no noise.",
                f"Give its size, too: --sweep noise=0.01;noise-kind={conditions.noise_kind}",
            )
        return system, conditions

    def sampled(self, system: OdeSystem, cache: Path) -> Trajectory:
        """Return the clean trajectories, one after the other, without one that is the test.

        Parameters
        ----------
        cache
            The folder where each is kept: noise and the number of others change nothing in it.

        Raises
        ------
        DataError
            If the step is too long for the time span, or if no other start can be integrated.
        """
        whole, times = self.system(system), self._times(system)

        def one(number: int) -> Trajectory:
            def make() -> tuple[Array, Array, Array]:
                return times, *self._from_start(whole, number, times)

            return self._kept(system, cache, f"start-{number}", make)

        return Trajectory.joined([one(number) for number in range(self.trajectories)])

    def second(self, system: OdeSystem, cache: Path) -> Trajectory:
        """Return the clean trajectory from the second start; see `sampled`.

        Raises
        ------
        DataError
            If the system has one start only.
        """
        if len(system.initial_conditions) < 2:  # noqa: PLR2004
            raise DataError(
                f"{system.name} has one start.", f"Leave out test={SECOND_START}: it needs two."
            )
        whole, times = self.system(system), self._times(system)
        start = whole.initial_conditions[1]
        return self._kept(system, cache, "second-start", lambda: integrate(whole, start, times))

    def _kept(
        self,
        system: OdeSystem,
        cache: Path,
        which: str,
        make: Callable[[], tuple[Array, Array, Array]],
    ) -> Trajectory:
        """Read a trajectory from the cache, or make it."""
        sampling = Conditions(
            *(self.samples, self.dt),
            uneven=self.uneven,
            missing=self.missing,
            dimension=self.dimension,
            moved=self.moved,
        )
        path = cache / f"{system.name}{sampling}-{system.recipe[:16]}-{which}.npz"
        return load_or_make(path, lambda: Trajectory(*make()))

    def _times(self, system: OdeSystem) -> Array:
        count = self.samples or system.samples
        if self.dt is not None:
            count = math.floor(system.end / self.dt * (1 + 1e-12)) + 1
            if not MIN_SAMPLES <= count <= _MOST_SAMPLES:
                raise DataError(
                    f"{system.name}: dt={self.dt:g} gives {count} samples to t = {system.end:g}",
                    f"There are {MIN_SAMPLES} to {_MOST_SAMPLES:,}.",
                )
            times = np.minimum(self.dt * np.arange(count, dtype=np.float64), system.end)
        else:
            times = np.linspace(0.0, system.end, count)
        # The times are the same at every level of noise and number of trajectories.
        key = self.samples, self.dt, self.uneven, self.missing
        generator = generator_of("sampling times", system.name, repr(key))
        if self.uneven:
            shifts = generator.uniform(-self.uneven, self.uneven, count) * (times[1] - times[0])
            shifts[0], shifts[-1] = 0.0, min(shifts[-1], 0.0)
            times = times + shifts
        if self.missing:
            keep = max(MIN_SAMPLES, round(count * (1 - self.missing)))
            kept = generator.choice(np.arange(1, count), min(keep, count) - 1, replace=False)
            times = times[np.concatenate([[0], np.sort(kept)])]
        return times

    def system(self, system: OdeSystem) -> OdeSystem:
        """Return a system with what is moved, and with the states that are added."""
        if self.moved:
            system = _moved_system(system, self.moved)
        if not self.dimension:
            return system
        generator = generator_of("irrelevant states", system.name)
        rates = np.round(generator.uniform(0.1, 0.4, self.dimension), 3).tolist()
        begin = np.round(generator.uniform(0.5, 2.0, (2, self.dimension)), 2).tolist()
        names = [f"u{system.dim + i}" for i in range(self.dimension)]
        return replace(
            system,
            variables=dict(system.variables) | dict.fromkeys(names, "a state that acts on nothing"),
            equations=(
                *system.equations,
                *(f"-{r} * {n}" for r, n in zip(rates, names, strict=True)),
            ),
            initial_conditions=tuple(
                (*start, *begin[min(i, 1)]) for i, start in enumerate(system.initial_conditions)
            ),
        )

    def _from_start(self, system: OdeSystem, number: int, times: Array) -> tuple[Array, Array]:
        """Integrate from the system's own start, or from one between its starts, state by state."""
        if number == 0:
            return integrate(system, times=times)[1:]
        first, other = (np.array(system.initial_conditions[i]) for i in (0, -1))
        if len(system.initial_conditions) == 1:
            other = 1.5 * first
        generator = generator_of("another start", system.name, number)
        for _ in range(_TRIES):
            start = first + generator.uniform(0.1, 0.9, system.dim) * (other - first)
            try:
                return integrate(system, start.tolist(), times=times)[1:]
            except DataError:
                continue
        raise DataError(f"{system.name}: from {_TRIES} other starts it cannot be integrated")

    def noisy(self, u: Array, name: str, seed: int) -> Array:
        """Return states with noise, drawn by the dataset's name and the seed."""
        generator = generator_of("sweep noise", name, repr(self.noise), self.noise_kind, seed)
        xi = self.noise * generator.standard_normal(u.shape)
        if self.noise_kind == "multiplicative":
            return np.asarray(u * (1 + xi))
        if self.noise_kind == "outliers":
            xi *= _FAR * (generator.random(u.shape) < _OUTLIERS)
        return np.asarray(u + xi * np.std(u, axis=0))


def _moved_system(system: OdeSystem, number: int) -> OdeSystem:
    """Return a moved system, drawn once a process."""
    key = system.name, system.recipe, number
    if key not in _DRAWN:
        from mdbench.datatypes.ode.moved import moved_system  # noqa: PLC0415 - rare

        _DRAWN[key] = moved_system(system, number)
    return _DRAWN[key]


_DRAWN: dict[tuple[str, str, int], OdeSystem] = {}

AXES: dict[str, str] = {
    one.name.replace("_", "-"): "" if one.default is None else str(one.default).removesuffix(".0")
    for one in fields(Conditions)
}
"""All axes, with their usual values; empty for those that depend on the system."""


def parse_sweep(text: str) -> list[dict[str, str]]:
    """Read axes and their values, ``samples=20,50;noise=0,0.01``; return all combinations.

    Raises
    ------
    UsageError
        If an axis or a value cannot be.
    """
    axes: dict[str, list[str]] = {}
    for part in text.replace(" ", ";").split(";"):
        if not part:
            continue
        name, equals, values = part.partition("=")
        if not equals or name in axes:
            raise UsageError(
                f"--sweep has {part!r}.", "Give each axis once: --sweep samples=20,50;noise=0,0.01"
            )
        axes[name] = list(dict.fromkeys(values.split(",")))
        for value in axes[name]:
            _value(name, value)
    if not axes:
        raise UsageError(f"--sweep is {text!r}.", "Give an axis: --sweep samples=20,50,100")
    conditions = [dict(zip(axes, each, strict=True)) for each in itertools.product(*axes.values())]
    for each in conditions:
        Conditions.of(each)
    return conditions


def swept(names: Sequence[str], sweep: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the names of the datasets of a sweep, each once."""
    return list(dict.fromkeys(_with_conditions(name, each) for each in sweep for name in names))


def _with_conditions(name: str, texts: Mapping[str, str]) -> str:
    """Write conditions behind a name, in the place of those of the same axes that it has."""
    system, *parts = name.split("+")
    merged = {**dict(part.partition("=")[::2] for part in parts), **texts}
    if "noise" in merged and not float(merged["noise"]):
        merged.pop("noise-kind", None)  # noise=0,0.01 has the clean data, too
    swept_name = f"{system}{Conditions.of(merged)}"
    Conditions.read(swept_name)
    return swept_name


def _value(name: str, text: str) -> Any:
    known = {one.name.replace("_", "-"): one for one in fields(Conditions)}
    if name not in known:
        raise UsageError(
            f"There is no axis {name!r} of --sweep.",
            f"{did_you_mean(name, known)} There are: {', '.join(known)}.",
        )
    limits = known[name].metadata
    if choices := limits.get("choices"):
        if text not in choices:
            raise UsageError(f"{name} is {text!r}.", did_you_mean(text, choices))
        return text
    whole = "most" in limits
    read: Callable[[str], float] = int if whole else float
    try:
        value = read(text)
    except ValueError:
        value = math.nan
    least, above = limits.get("least", -math.inf), limits.get("above", -math.inf)
    most, below = limits.get("most", math.inf), limits.get("below", math.inf)
    if not (least <= value <= most and above < value < below):
        bounds = [
            *(f"from {least:g}" for _ in range("least" in limits)),
            *(f"above {above:g}" for _ in range("above" in limits)),
            *(f"to {most:g}" for _ in range("most" in limits)),
            *(f"below {below:g}" for _ in range("below" in limits)),
        ]
        raise UsageError(
            f"{name} is {text!r}.",
            f"It is a {'whole ' * whole}number {' '.join(bounds) or 'that is finite'}.",
        )
    return value


def _text(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)
