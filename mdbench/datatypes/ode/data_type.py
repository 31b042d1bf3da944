"""Ordinary differential equations: the 63 systems of ODEBench, and trajectories of the user's."""

from __future__ import annotations

from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mdbench.data.derivatives import time_derivative
from mdbench.data.smoothing import FEWEST_SAMPLES
from mdbench.data.trajectory import (
    MIN_SAMPLES,
    Trajectory,
    named_columns,
    split_as_published,
    state_names,
    write_npz,
)
from mdbench.datatypes.base import Plots, Source, Split
from mdbench.datatypes.equations.base import (
    AGREEMENT,
    COMPLEXITY,
    NMSE,
    PUBLISHED_NMSE,
    EquationTask,
    EquationType,
)
from mdbench.datatypes.equations.files import Suites, suffix
from mdbench.datatypes.equations.options import EXACT, HOLD, POOL
from mdbench.datatypes.equations.remarks import EXPLAINED, Course, explained
from mdbench.datatypes.equations.selection import Increments, nodes_between
from mdbench.datatypes.equations.terms import coefficient_distance, noise_allows, term_metrics
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode import FACTS, SWEEP
from mdbench.datatypes.ode.curve_cache import CurveCache
from mdbench.datatypes.ode.datasets import (
    NOTHING,
    TIMES,
    OdeDataset,
    OdeSystems,
    concatenated,
    rates,
)
from mdbench.datatypes.ode.following import AWAY, FOLLOWED, integrate_along, quality, time_with_data
from mdbench.datatypes.ode.simulation import (
    Ending,
    simulate,
    valid_time,
    warm,
)
from mdbench.datatypes.ode.sweeps import AXES, swept
from mdbench.datatypes.ode.systems import read_system
from mdbench.errors import UsageError
from mdbench.metrics.regression import PUBLISHED_CONSTANT, nmse
from mdbench.metrics.spec import MetricSpec, Value, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.data.smoothing import Smoothed
    from mdbench.datatypes.base import PlotBudget, PlottedAnswer
    from mdbench.datatypes.equations.base import EquationAnswer

    Array = NDArray[np.float64]

_MOST_EVALUATIONS = 2_000_000
"""The most evaluations of right-hand sides in one prediction."""
_STOPPED = {
    Ending.BLEW_UP: "a state grew without end, or a right-hand side has no value",
    Ending.STIFF: "the solver's steps became too small",
    Ending.LATE: "it took too long",
}

_TEST = flag(
    "follows",
    "R² test",
    "answers with R² above 0.9 when they are integrated, by the solver that made the data, through "
    "the test window from its first true state",
    places={"board", "brief"},
)
_UNSEEN = flag(
    "follows_unseen",
    "R² unseen",
    "the same over the whole time from the second initial condition, which no method is given",
    places={"board", "brief", "figure"},
)
_R2_TEST, _R2_UNSEEN = (
    MetricSpec(
        name=name,
        title=title,
        explanation=f"R² of the trajectory {where}; none where it does not come to its end",
        better="higher",
        on_failure=None,
        digits=3,
        places=frozenset({"answer"}),
    )
    for name, title, where in (
        ("r2_test", "R² test", "through the test window"),
        ("r2_unseen", "R² unseen", "from the second initial condition"),
    )
)
_STAYS = MetricSpec(
    name="solution_stays",
    title="solution stays",
    explanation="of data of your own, the share of the samples up to which the solution from the "
    "first sample stays with the data: the root of its mean squared error, each state over its "
    f"deviation, is at most {AWAY:g}",
    better="higher",
    on_failure=None,
    digits=3,
    places=frozenset({"answer"}),
)
_ENDED = MetricSpec(
    name="simulation_ended",
    title="simulation stopped",
    explanation="simulations that ended before the last time, by cause",
    kind="label",
    labels=(Ending.WHOLE, Ending.BLEW_UP, Ending.STIFF),
    better="neither",
    on_failure=None,
    aggregate="counts",
    places=frozenset({"board", "answer"}),
)


_CHAOTIC = (
    MetricSpec(
        name="valid_time",
        title="valid time",
        explanation="for how many Lyapunov times the trajectory from the second initial condition "
        "is followed: until the root of its mean squared error, each state over its deviation, is "
        "above 0.4; at most the length of that trajectory",
        unit="Lyapunov times",
        better="higher",
        on_failure=0.0,
        digits=1,
        places=frozenset({"board", "answer"}),
    ),
    MetricSpec(
        name="coefficient_distance",
        title="E_coef",
        explanation="the norm of the errors of all coefficients, of true terms and of others, over "
        "that of the true coefficients (Kaptanoglu et al. 2023); 1 for the answer 0",
        scale="log",
        on_failure=None,
        places=frozenset({"board", "answer"}),
    ),
)
"""Metrics of systems with a Lyapunov exponent, and of no others."""


_WHOLE: WeakKeyDictionary[Trajectory, tuple[Sequence[Smoothed], Increments]] = WeakKeyDictionary()
"""All samples of a user's dataset, smoothed, and as what equations are compared with."""


class _Samples(NamedTuple):
    """Some samples of one trajectory, as methods are shown them: see `Split`."""

    t: Array
    u: Array
    du: Array
    measured: Array
    inputs: Array | None


class Ode(EquationType[OdeDataset]):
    """Systems ``du/dt = f(u)``, known by one sampled trajectory."""

    name = "ode"
    scorer_version = 5
    nmse_constant = PUBLISHED_CONSTANT
    from_files = True
    views = FACTS.views
    metrics = (
        NMSE,
        PUBLISHED_NMSE,
        *term_metrics(partial(noise_allows, "ode")),
        _TEST,
        _R2_TEST,
        _UNSEEN,
        _R2_UNSEEN,
        _ENDED,
        EXPLAINED,
        _STAYS,
        *_CHAOTIC,
        COMPLEXITY,
        AGREEMENT,
    )
    check_datasets = ("rc-circuit", "harmonic-oscillator")
    options = FACTS.options
    axes = AXES
    fresh_problems = 50
    has_plots = True

    @cached_property
    def _curves(self) -> CurveCache:
        return CurveCache(self.cache / "curves")

    def _smoothed(self, dataset: OdeDataset, pieces: Sequence[Trajectory]) -> list[Smoothed]:
        """Smooth trajectories of a dataset, or read what they are when they are smoothed."""
        return self._curves.get(
            [(one.t, one.u) for one in pieces],
            [nodes_between(one.t) for one in pieces],
            (dataset.scaled, [one.jumps for one in pieces]),
            lambda: dataset.curves(pieces),
        )

    def advice(self, dataset: OdeDataset) -> list[str]:
        """Describe the data before a method is tried on them."""
        from mdbench.datatypes.equations.data_checks import of_trajectory  # noqa: PLC0415 - few runs need it

        return of_trajectory(dataset)

    def source(self, path: Path | None = None) -> Source[OdeDataset]:
        """Open the 63 systems; or an NPZ or CSV file of the user's, or a folder of them."""
        if path is None:
            return OdeSystems(self.systems, self.cache)
        from mdbench.datatypes.ode.recordings import OdeFiles  # noqa: PLC0415 - few runs need it

        return OdeFiles(path)

    def expand_options(
        self, names: Sequence[str], options: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Make one dataset of all files where they are to be pooled, and several for a sweep."""
        if SWEEP.key in options:
            kept = {key: value for key, value in options.items() if key != SWEEP.key}
            return [(name, kept) for name in swept(names, options[SWEEP.key])]
        if POOL.key not in options:
            return super().expand_options(names, options)
        from mdbench.datatypes.ode.recordings import pool_name  # noqa: PLC0415 - likewise

        return [(pool_name(names), {**options, POOL.key: list(names)})]

    def task(self, dataset: OdeDataset, view: str, protocol: Protocol) -> EquationTask[OdeDataset]:
        """Cut a trajectory by time, or hold out some of several.

        Under `strict` a method is given all samples before the test, and the test has clean
        states; under `published` the whole noisy series is differentiated, and the states of the
        test are noisy.  The targets of the test are clean.
        """
        self.check_view(view)
        trajectory, variables = dataset.given, state_names(dataset.given)
        make = partial(
            EquationTask,
            dataset=dataset,
            view=view,
            protocol=protocol,
            variables=variables,
            targets=tuple(f"{variable}_t" for variable in variables[: dataset.dim]),
            any_order=view == "table",
            needs=_needs_of(dataset.parted(trajectory, protocol)[0]) if view != "table" else (),
            scaled=dataset.scaled,
            held=trajectory.held,
            levels=_levels(trajectory) if dataset.own else {},
        )
        if protocol is not Protocol.STRICT:
            return self._as_published(make, dataset, view)
        _, tests = dataset.parted(dataset.clean)
        test = _split_of(view, [_measured_samples(one, rates(one)) for one in tests])
        befores, _ = dataset.parted(trajectory)
        curves = self._smoothed(dataset, befores)
        shown = _split_of(view, _given_samples(dataset, curves, befores))
        return make(
            train=shown,
            validation=shown,
            refit=shown,
            test=test,
            evidence=Increments.of(curves, befores, centred=dataset.scaled),
            held_out=dataset.increments(tests) if dataset.clean.du is None else None,
            remarks=(
                *dict.fromkeys(
                    f"{variable}: {remark}"
                    for curve in curves
                    for variable, remark in zip(variables, curve.remarks, strict=False)
                    if remark
                ),
                *dataset.left_out,
                *(
                    f"start {number}: samples after t = {until:g} are the solver's, "
                    "not the equations'"
                    for number, until in enumerate(dataset.exact_until, 1)
                    if until < float(dataset.clean.t.max())
                    and (number == 1 or dataset.unseen is not None)
                ),
            ),
        )

    def _as_published(
        self, make: Callable[..., EquationTask[OdeDataset]], dataset: OdeDataset, view: str
    ) -> EquationTask[OdeDataset]:
        trajectory, clean = dataset.given, dataset.clean
        if needs := _needs_of(trajectory.pieces):
            # One trajectory is all that the published pipeline has.
            raise UsageError(
                f"The protocol published knows no {' and no '.join(needs)}.",
                "Leave out --protocol published.",
            )
        t, u = trajectory.t, trajectory.u
        cut = split_as_published(len(t))
        du = time_derivative(t, u)
        train, validation, refit = (
            _split_of(view, [_Samples(t[rows], u[rows], du[rows], u[rows], None)])
            for rows in (cut.train, cut.validation, cut.refit)
        )
        true = rates(clean.rows(cut.test))
        test = _split_of(view, [_measured_samples(trajectory.rows(cut.test), true)])
        return make(train=train, validation=validation, refit=refit, test=test)

    @classmethod
    def integrate(
        cls,
        equations: Sequence[str],
        t: Array,
        start: Array,
        inputs: Array | None,
        options: Mapping[str, Any],
    ) -> tuple[Array, str]:
        """Return the states that equations reach, and why no further."""
        done = simulate(
            equations,
            t,
            np.tile(start, (len(t), 1)),
            _MOST_EVALUATIONS,
            inputs=inputs,
            held=options.get(HOLD.key) == "zero",
        )
        return done.states, _STOPPED.get(done.ended, "")

    def fresh(self, seed: str, count: int, grammar: int) -> Iterator[tuple[str, str]]:
        """Draw problems: see the module ``fresh``."""
        from mdbench.datatypes.ode.fresh import fresh_systems  # noqa: PLC0415 - few need it

        known = Suites(self.systems, read_system, FACTS.order).known()
        return fresh_systems(seed, count, known, grammar)

    def preload(self) -> None:
        """Load the solver while the first worker starts."""
        super().preload()
        warm()

    def metric_names(self, task: EquationTask[OdeDataset]) -> tuple[str, ...]:
        """Return a task's metrics; those of the second trajectory only where there is one."""
        left_out = set() if task.dataset.unseen else {_UNSEEN.name, _R2_UNSEEN.name}
        if task.dataset.lyapunov is None or task.dataset.unseen is None:
            left_out |= {spec.name for spec in _CHAOTIC}
        if not task.dataset.own:
            left_out.add(_STAYS.name)
        return tuple(name for name in super().metric_names(task) if name not in left_out)

    def course(self, task: EquationTask[OdeDataset]) -> Course:
        """Return how the clean trajectories go on to the test."""
        befores, _ = task.dataset.parted(task.dataset.clean)
        _, tests = task.dataset.parted(task.dataset.clean, task.protocol)
        return Course(
            np.concatenate([rates(one) for one in befores]),
            [one.u for one in befores],
            [one.u for one in tests],
        )

    def own_scores(
        self,
        task: EquationTask[OdeDataset],
        answer: EquationAnswer,
        known_scores: Mapping[str, Value],  # noqa: ARG002 - the trajectories are looked at by themselves
    ) -> dict[str, Value]:
        """Integrate an answer through the test window, and from an initial condition of its own.

        Both are compared with the clean truth, whatever noise the method saw; of several
        trajectories the one counts that is followed worst.  The score of the published pipeline
        is given, too.
        """
        dataset = task.dataset
        _, given = dataset.parted(dataset.given, task.protocol)
        noisy = concatenated([named_columns(one) for one in given])
        values = np.stack([one.evaluate(noisy) for one in answer.parsed], axis=-1)
        _, tests = dataset.parted(dataset.clean, task.protocol)
        ways = [
            (
                integrate_along(
                    trajectory, answer.equations, scaled=dataset.scaled, solver=dataset.solver
                ),
                _TEST,
                _R2_TEST,
            )
            for trajectory in tests
        ]
        scores: dict[str, Value] = {}
        if dataset.unseen is not None:
            other = dataset.unseen()
            way = simulate(answer.equations, other.t, other.u, solver=dataset.solver)
            ways.append((way, _UNSEEN, _R2_UNSEEN))
            if dataset.lyapunov is not None:
                lasted = valid_time(way.states, other.t, other.u, dataset.lyapunov)
                scores["valid_time"] = None if way.ended is Ending.LATE else lasted
                scores["coefficient_distance"] = coefficient_distance(
                    dataset.truth or (), answer.equations, task.variables
                )
        if np.isfinite(values).all():
            targets = task.test.targets
            scores[PUBLISHED_NMSE.name] = nmse(values, targets)
        for follows, r2 in dict.fromkeys((follows, r2) for _, follows, r2 in ways):
            same = [way for way, name, _ in ways if name is follows]
            worst = min(same, key=quality)
            late = worst.ended is Ending.LATE
            followed = worst.r2 is not None and worst.r2 > FOLLOWED
            scores[follows.name] = None if late else float(followed)
            if worst.r2 is not None or late:
                scores[r2.name] = worst.r2
        # The first of the two that did not reach its end decides.
        ends = [way.ended for way, *_ in ways if way.ended is not Ending.WHOLE]
        ended = ends[0] if ends else Ending.WHOLE
        return scores | {_ENDED.name: None if ended is Ending.LATE else ended.value}

    def on_all_samples(
        self, task: EquationTask[OdeDataset], answer: EquationAnswer
    ) -> tuple[dict[str, Value], dict[str, list[str]]]:
        """Compare an answer with the changes of all samples, and its solution with the states."""
        dataset = task.dataset
        if not dataset.scaled and min(len(one.t) for one in dataset.given.pieces) < FEWEST_SAMPLES:
            return {}, {}
        if dataset.given not in _WHOLE:
            whole = self._smoothed(dataset, dataset.given.pieces)
            known = Increments.of(whole, dataset.given.pieces, centred=dataset.scaled)
            _WHOLE[dataset.given] = whole, known
        curves, evidence = _WHOLE[dataset.given]
        with np.errstate(all="ignore"):
            losses = [
                evidence.loss(one.evaluate(evidence.columns), place)
                for place, one in enumerate(answer.parsed)
            ]
        metrics, notes = explained(task, np.array(losses), evidence.floors)
        share, word, text = time_with_data(dataset, curves, answer.equations)
        if text:
            notes[word].append(text)
        return metrics | {_STAYS.name: share}, notes

    def plots(
        self, dataset: OdeDataset, answers: Sequence[PlottedAnswer], budget: PlotBudget
    ) -> Plots:
        """Draw the trajectories, and over them those of answers."""
        from mdbench.datatypes.ode.plots import AnswerTrajectories, follow, trajectory_pictures  # noqa: PLC0415
        from mdbench.drawing.numbers import rounded  # noqa: PLC0415 - only reports need it

        every, unseen = dataset.clean.pieces, dataset.unseen() if dataset.unseen else None
        whole = dataset.holdout != TIMES
        seen = dataset.parted(dataset.clean)[1][0] if whole else every[0]
        curves = []
        for answer in answers:
            ways, used = follow(
                *(answer.equations, seen, unseen, budget.evaluations),
                holdout=dataset.holdout,
                scaled=dataset.scaled,
            )
            budget.evaluations -= used
            known = (answer.metrics.get(name) for name in ("r2_test", "r2_unseen"))
            r2 = [rounded(value, 3) for value in known if isinstance(value, int | float)]
            if any(states is not None for states in ways):
                caption = f"R² {' and '.join(r2)}" if r2 else ""
                curves.append(AnswerTrajectories(answer.method, answer.number, caption, ways))
        which = "held out, one" if whole and dataset.holdout != NOTHING else "the first"
        of = f" ({which} of {len(every)} trajectories)" if len(every) > 1 else ""
        measured = dataset.target_source != "equations"
        drawn = trajectory_pictures(
            *(f"{dataset.name}{of}", seen, unseen, curves),
            titles=dataset.titles,
            measured=measured,
            first=None if not whole else 0,
        )
        return Plots(drawn)

    def files(self, dataset: OdeDataset) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return the NPZ file of a system in MDBench's layout, ``NAME/NAME_snr_40.npz``."""
        series = Trajectory(dataset.given.t, dataset.given.u, dataset.clean.du)
        path = f"{dataset.name}/{dataset.name}{suffix(dataset.snr_db)}.npz"
        yield path, partial(write_npz, trajectory=series)


def _levels(trajectory: Trajectory) -> dict[str, tuple[float, ...]]:
    """Return the values of the inputs that have few."""
    if trajectory.inputs is None:
        return {}
    from mdbench.datatypes.equations.alike import levels_of  # noqa: PLC0415 - few need it

    names = state_names(trajectory)[trajectory.u.shape[1] :]
    return levels_of(dict(zip(names, trajectory.inputs.T, strict=True)))


def _needs_of(pieces: Sequence[Trajectory]) -> tuple[str, ...]:
    """Return what a method has to handle in samples besides times and states."""
    several = ("trajectories",) if len(pieces) > 1 else ()
    return several + (("inputs",) if pieces[0].inputs is not None else ())


def _given_samples(
    dataset: OdeDataset, curves: Sequence[Smoothed], befores: Sequence[Trajectory]
) -> list[_Samples]:
    """Return noisy samples of each trajectory for a method, with derivatives.

    A smoothed curve is known least at its ends, and the first and the last sample are left out.
    """
    if dataset.derivatives == EXACT:
        true, _ = dataset.parted(dataset.clean)
        return [_measured_samples(one, rates(at)) for one, at in zip(befores, true, strict=True)]
    if dataset.derivatives == "fd":
        return [_measured_samples(one, time_derivative(one.t, one.u)) for one in befores]
    samples = []
    for curve, measured in zip(curves, befores, strict=True):
        # Of a few samples none can be spared.
        kept = slice(1, -1) if len(measured.t) >= MIN_SAMPLES - 3 else slice(None)
        inner = measured.rows(kept)
        samples.append(_Samples(inner.t, curve.u[kept], curve.du[kept], inner.u, inner.inputs))
    return samples


def _measured_samples(series: Trajectory, du: Array) -> _Samples:
    """Return samples as they were measured."""
    return _Samples(series.t, series.u, du, series.u, series.inputs)


def _split_of(view: str, pieces: Sequence[_Samples]) -> Split:
    """Return samples of one trajectory, or of several one after the other, in a view."""
    t, u, du, measured = (
        np.ascontiguousarray(np.concatenate([one[place] for one in pieces])) for place in range(4)
    )
    inputs = None
    if pieces[0].inputs is not None:
        inputs = np.concatenate([one.inputs for one in pieces if one.inputs is not None])
    columns = named_columns(Trajectory(t, u, inputs=inputs))
    if view == "table":
        x = u if inputs is None else np.concatenate([u, inputs], axis=1)
        return Split({"X": np.ascontiguousarray(x)}, "Y", du, columns)
    arrays = {"t": t, "u": u, "measured": measured}
    if inputs is not None:
        arrays["inputs"] = np.ascontiguousarray(inputs)
    if len(pieces) > 1:
        lengths = [len(one.t) for one in pieces]
        arrays["trajectory"] = np.repeat(np.arange(float(len(pieces))), lengths)
    return Split(arrays, "du", du, columns)


DATA_TYPE = Ode
