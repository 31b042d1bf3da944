"""Surfaces: 183 of SurfaceBench, explicit, implicit and parametric, and clouds of users."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse, srbench
from mdbench.data.noise import generator_of
from mdbench.datatypes.base import Plots, Split
from mdbench.datatypes.equations.base import (
    AGREEMENT,
    COMPLEXITY,
    EquationAnswer,
    EquationTask,
    EquationType,
)
from mdbench.datatypes.equations.selection import Evidence
from mdbench.datatypes.equations.splits import table_split
from mdbench.datatypes.equations.terms import TERM_METRICS
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.surface import FACTS, scoring
from mdbench.datatypes.surface.datasets import (
    SurfaceDataset,
    SurfaceName,
    Surfaces,
    check_variant,
)
from mdbench.datatypes.surface.metrics import (
    COVERAGE,
    DISTANCES,
    FORMS,
    SHAPES,
    SYMBOLIC,
    TABLE,
    failure,
)
from mdbench.datatypes.surface.problem import OUTPUTS, SurfaceRows
from mdbench.errors import AnswerError, EquationError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Answer, PlotBudget, PlottedAnswer, Scores, Source
    from mdbench.metrics.spec import Value

    Array = NDArray[np.float64]

SYMBOLIC_SECONDS = 10
"""CPU time that SymPy has for one step in comparing an answer with the truth."""
_ONE_DRAW = 0.1
"""Distances of two drawings that differ by a larger share are marked."""
_WHOLE = 1e-9
"""Values that differ by less, over the largest, are equal at whole numbers."""

EXACT = 1e-24
"""The squared rounding error of an exact surface in double precision, over the variance."""


@dataclass(frozen=True, eq=False)
class Variances(Evidence):
    """Targets that are measured themselves: errors over their variance."""

    targets: Array = field(repr=False)

    def loss(self, values: Array, target: int) -> float:
        """Return the squared error over the variance."""
        return pooled_nmse(values[:, None], self.targets[:, target : target + 1])


@dataclass(frozen=True, eq=False)
class FirstSteps(Evidence):
    """Points at which an equation is to be zero.

    Newton's first step from each point is about as long as the distance to the nearest zero.  An
    equation's own size is of no account, and one that is the same everywhere has no steps.

    Attributes
    ----------
    step
        What values are differenced over; the columns hold the points, and then, for each axis, the
        points moved to and fro along it.
    size
        The root mean square of the points' distances from their centre.
    """

    step: float
    size: float

    @classmethod
    def of(cls, points: Array, names: Sequence[str]) -> FirstSteps:
        """Make it of points, (n, 3)."""
        size = float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1)))) or 1.0
        step = 1e-5 * size
        moved = [points]
        for axis in np.eye(3):
            moved += [points + step * axis, points - step * axis]
        whole = np.concatenate(moved)
        columns = {name: np.ascontiguousarray(whole[:, i]) for i, name in enumerate(names)}
        return cls(columns, np.array([EXACT]), step, size)

    def loss(self, values: Array, target: int) -> float:
        """Return the mean squared step, over the square of the cloud's size, at most 1."""
        del target
        centre, *moved = values.reshape(7, -1)
        slope = np.stack([a - b for a, b in zip(moved[::2], moved[1::2], strict=True)])
        squares = np.sum((slope / (2 * self.step)) ** 2, axis=0)
        if not squares.any():
            return math.nan  # constant: it has no zeros, or is zero everywhere
        steps = centre**2 / np.where(squares > 0, squares, np.nan) / self.size**2
        return float(np.mean(np.where(np.isfinite(steps), np.minimum(steps, 1.0), 1.0)))


WORST = 1e12
"""An NMSE that is larger, or not a number, is recorded as this."""
_APART = 1e-2
"""Differences and ratios that vary by more are not constant."""


def pooled_nmse(values: Array, targets: Array) -> float:
    r"""Return the squared error over the variance of the targets, both summed over the outputs.

    .. math:: \frac{\sum (\hat y - y)^2}{\sum (y - \bar y)^2}

    Parameters
    ----------
    values, targets
        (n, outputs).

    Returns
    -------
    float
        At most `WORST`; where all targets of an output are equal, 0 if all values are right.

    References
    ----------
    Kabra et al., "SurfaceBench", section 4; there it is a share of the variance, and not, as
    elsewhere, of the sum of squares.
    """
    scale = float(np.max(np.abs(targets))) or 1.0
    with np.errstate(all="ignore"):
        error = float(np.sum(((values - targets) / scale) ** 2))
        power = float(np.sum(((targets - targets.mean(axis=0)) / scale) ** 2))
    if error == 0:
        return 0.0
    # What is left of equal targets when their mean is taken off is rounding.
    if not np.isfinite(error) or power <= targets.size * np.finfo(np.float64).eps ** 2:
        return WORST
    return min(error / power, WORST)


def may_be_solution(values: Array, targets: Array) -> bool:
    """Whether one output's values are near a constant term or factor of the targets.

    What is not is no solution, and need not be looked at symbolically.
    """
    with np.errstate(all="ignore"):
        spread = float(np.std(targets)) or 1.0
        near = bool(np.std(values - targets) <= _APART * spread)
        factor = float(values @ targets) / (float(targets @ targets) or 1.0)
        size = float(np.sqrt(np.mean(values**2)))
        left = float(np.sqrt(np.mean((values - factor * targets) ** 2)))
        return near or bool(left <= _APART * size)


class SurfaceType(EquationType[SurfaceDataset]):
    """Surfaces in space, known by a table of samples or by points."""

    name = "surface"
    scorer_version = 6
    from_files = True
    views = FACTS.views
    fresh_problems = 40
    check_datasets = ("EBS4", "PMOS17")
    metrics = (
        SHAPES[0],
        *TABLE,
        *SHAPES[1:],
        *COVERAGE,
        *SYMBOLIC,
        *TERM_METRICS,
        COMPLEXITY,
        AGREEMENT,
    )
    of_predictions = ()  # methods are ranked by shapes, which only equations have
    options = FACTS.options
    snr_levels = False
    of_equations = True
    has_plots = True

    def source(self, path: Path | None = None) -> Source[SurfaceDataset]:
        """Open the 183 surfaces; or the user's: surface files, or clouds of points."""
        return Surfaces(self.systems if path is None else path, own=path is None)

    def expand_options(
        self, names: Sequence[str], options: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the names of the datasets with variant, normals and noise, which are in the names.

        Raises
        ------
        UsageError
            If a surface has no such variant.
        """
        variant, normals = options.get("variant", ""), "normals" in options
        curved = "curvature" in options
        own = Surfaces(self.systems, own=True).surfaces if variant or curved else {}
        for name in names:
            if name in own:
                asked = SurfaceName(name, variant, curved=curved)
                check_variant(asked, own[name].representation)
        # An integer grid has all its points already: it is the same dataset.
        whole = {name for name in names if name in own and own[name].integers}
        return [
            (str(SurfaceName(name, variant, normals, level, curved and name not in whole)), {})
            for level in dict.fromkeys(options.get("noise_percent", [0.0]))
            for name in names
        ]

    def fresh(self, seed: str, count: int, grammar: int) -> Iterator[tuple[str, str]]:
        """Draw surfaces: see the module ``fresh``."""
        from mdbench.datatypes.surface.fresh import fresh_surfaces  # noqa: PLC0415 - few need it

        if grammar == 1:
            raise UsageError("Surfaces are not drawn by grammar 1.", "Leave out --grammar 1.")
        return fresh_surfaces(seed, count, Surfaces(self.systems, own=True).surfaces.values())

    def task(
        self, dataset: SurfaceDataset, view: str, protocol: Protocol
    ) -> EquationTask[SurfaceDataset]:
        """Cut a surface: a tenth of the training rows are for the validation."""
        self.check_view(view)
        names = dataset.shape.inputs
        border = len(dataset.training.x) - dataset.validation
        training = dataset.training
        normals = dataset.normals or (None, None)

        def part(rows: SurfaceRows, normal: Array | None, cut: slice = slice(None)) -> Split:
            more = None if normal is None else {"normals": normal[cut]}
            return table_split(rows.x[cut], rows.y[cut], names, more)

        validation = part(training, normals[0], slice(border, None))
        evidence: Evidence
        if dataset.cloud:
            evidence = FirstSteps.of(validation.inputs["X"], names)
        else:
            floors = np.full(len(OUTPUTS[dataset.shape.representation]), EXACT)
            evidence = Variances(validation.columns, floors, validation.targets)
        return EquationTask(
            dataset=dataset,
            view=view,
            protocol=protocol,
            variables=names,
            targets=OUTPUTS[dataset.shape.representation],
            train=part(training, normals[0], slice(border)),
            validation=validation,
            refit=part(training, normals[0]),
            test=part(dataset.test, normals[1]),
            any_order=True,
            evidence=None if protocol is Protocol.PUBLISHED else evidence,
        )

    def fit_and_validation(
        self, task: EquationTask[SurfaceDataset], tuning: str
    ) -> tuple[Split, Split]:
        """Return the data of the first fit, and those that candidates are compared on.

        A front, too, is fitted on the training rows and compared on those of the validation.
        """
        return (task.refit, task.refit) if tuning == "none" else (task.train, task.validation)

    def loss(self, values: Array, targets: Array) -> float:
        """Compare values with targets, over the variance."""
        return pooled_nmse(values, targets)

    def errors(self, values: Array, targets: Array) -> dict[str, float]:
        """Score values on the test rows by numbers alone."""
        return {"nmse": pooled_nmse(values, targets)}

    def read_answer(self, task: EquationTask[SurfaceDataset], answer: Answer) -> EquationAnswer:
        """Read the equations; of a cloud, an equation without zeros in the box is no answer.

        Raises
        ------
        AnswerError
            If there is nothing to be scored; the message has the reason.
        """
        read = super().read_answer(task, answer)
        if task.dataset.cloud:
            measured = scoring.geometry(task.dataset.shape, read.equations)
            if measured.get("vanishes"):
                raise AnswerError("it is zero everywhere, which is no surface")
            if measured.get("points") == 0:
                raise AnswerError("it is zero nowhere in the box, which is no surface")
        return read

    def score(self, task: EquationTask[SurfaceDataset], answer: Answer) -> Scores:
        """Score an answer by its shape, its values, and next to the truth.

        The equation of a cloud is first multiplied by the constant that makes it most like the
        truth, as its size has no meaning.
        """
        assert isinstance(answer, EquationAnswer)  # noqa: S101 - of `read_answer`
        compared_answer = answer
        if task.dataset.cloud and task.dataset.truth is not None:
            compared_answer = replace(
                compared_answer, compared=_of_the_truths_size(task, compared_answer.equations)
            )
        scores = super().score(task, compared_answer)
        notes = dict(scores.notes)
        if len(task.targets) > 1:
            values, targets = compared_answer.values, task.test.targets
            notes["states"] = [
                f"{name}: {pooled_nmse(values[:, i : i + 1], targets[:, i : i + 1]):.2g}"
                for i, name in enumerate(task.targets)
            ]
        found = scoring.geometry(task.dataset.shape, compared_answer.equations)
        notes |= _shape_notes(found)
        return replace(scores, notes=notes)

    def own_scores(
        self,
        task: EquationTask[SurfaceDataset],
        answer: EquationAnswer,
        known_scores: Mapping[str, Value],
    ) -> dict[str, Value]:
        """Return the distances of shapes, and whether the answer is a solution."""
        dataset = task.dataset
        shapes = scoring.geometry(dataset.shape, answer.equations)
        scores: dict[str, Value] = {}
        for form, (prefix, _, _) in FORMS.items():
            for distance in DISTANCES:
                scores[f"{prefix}{distance}"] = shapes.get(form, {}).get(distance)
        scores["coverage_shape"] = shapes.get("coverage")
        if dataset.beyond is not None:
            columns = _columns(dataset.beyond.x, task.variables)
            values = np.stack([each.evaluate(columns) for each in answer.parsed], axis=-1)
            scores["nmse_ood"] = pooled_nmse(values, dataset.beyond.y)
            scores["coverage_ood"] = float(np.isfinite(values).all(axis=-1).mean())
        if dataset.truth is not None:
            scores |= self._compared_with_truth(
                task, dataset.truth, answer, known_scores.get("identified"), shapes
            )
        return scores

    def _compared_with_truth(
        self,
        task: EquationTask[SurfaceDataset],
        truth: Sequence[str],
        answer: EquationAnswer,
        identified: Value,
        shapes: Mapping[str, Any],
    ) -> dict[str, Value]:
        """Return how an answer fails, and whether it is a solution."""
        if task.dataset.shape.integers and _is_right_at_whole_numbers(task.dataset, answer):
            flags = dict.fromkeys(("identified", "skeleton", "solution"), 1.0)
            return {**flags, "one_term_off": 0.0, "failure_kind": "none"}
        known = None if identified is None else identified == 1
        solution = 1.0 if known else _solution(task, truth, answer, shapes.get("same"))
        kind = failure(truth, answer.compared, task.variables, identified=known)
        return {"failure_kind": kind, "solution": solution}

    def metric_names(self, task: EquationTask[SurfaceDataset]) -> tuple[str, ...]:
        """Return the names of a task's metrics.

        Points of a cloud have no targets to differ from, and without a truth there is nothing to
        be like.
        """
        left_out: set[str] = set()
        if task.dataset.truth is None:
            left_out |= {spec.name for spec in SYMBOLIC}
        if task.dataset.cloud:
            left_out |= {"nmse", "nmse_ood", "coverage_ood"}
        return tuple(name for name in super().metric_names(task) if name not in left_out)

    def preload(self) -> None:
        """Start the processes that work out shapes, and in which SymPy works."""
        super().preload()
        scoring.start()
        srbench.start()

    def plots(
        self,
        dataset: SurfaceDataset,
        answers: Sequence[PlottedAnswer],
        budget: PlotBudget,
    ) -> Plots:
        """Draw the truth and answers from two sides, coloured by the distance from the truth."""
        from mdbench.datatypes.surface.plots import EVALUATIONS, surface_pictures  # noqa: PLC0415

        answered = []
        budget.evaluations -= EVALUATIONS
        for answer in answers:
            budget.evaluations -= EVALUATIONS
            if budget.evaluations > 0:
                chamfer = answer.metrics.get("chamfer")
                number = chamfer if isinstance(chamfer, int | float) else None
                answered.append((answer.method, number, answer.equations))
        if budget.evaluations <= 0 and not answered:
            return Plots(note="No picture, as there are many on this page.")
        return Plots(surface_pictures(dataset.shape, dataset.floor, answered))


DATA_TYPE = SurfaceType


def _solution(
    task: EquationTask[SurfaceDataset],
    truth: Sequence[str],
    answer: EquationAnswer,
    same: bool | None,
) -> Value:
    """Whether the answer is a solution, equation by equation; None where it is not known."""
    shape = task.dataset.shape
    if shape.representation == "implicit":
        return None if same is None else float(same)
    domain = {
        name: {"distribution": "uniform", "low": low, "high": high, "sign": "range"}
        for name, (low, high) in zip(shape.inputs, shape.domain, strict=True)
    }
    columns = _columns(task.dataset.test.x, task.variables)
    values = [each.evaluate(columns) for each in answer.parsed]
    if not all(map(may_be_solution, values, task.dataset.test.y.T)):
        return 0.0
    undecided = False
    for true, text in zip(truth, answer.compared, strict=True):
        try:
            solved = srbench.symbolic_solution(true, text, domain, seconds=SYMBOLIC_SECONDS).solved
        except EquationError:
            solved = None
        if solved is False:
            return 0.0
        undecided = undecided or solved is None
    return None if undecided else 1.0


def _is_right_at_whole_numbers(dataset: SurfaceDataset, answer: EquationAnswer) -> bool:
    """Whether an answer is the truth wherever the truth is known: on its grid, and beyond.

    Between whole numbers there is no truth, only the way in which it happens to be written.  More
    than half of the points are out of the domain, where they cannot be fitted.
    """
    if dataset.beyond is None:
        return False
    x = np.concatenate([dataset.training.x, dataset.test.x, dataset.beyond.x])
    columns = _columns(x, dataset.shape.inputs)
    true = [parse(text, dataset.shape.inputs).evaluate(columns) for text in dataset.truth or ()]
    values = [each.evaluate(columns) for each in answer.parsed]
    with np.errstate(all="ignore"):
        apart = np.max(np.abs(np.array(values) - np.array(true)))
    return bool(apart <= _WHOLE * np.max(np.abs(true)))


def _of_the_truths_size(
    task: EquationTask[SurfaceDataset], texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Multiply an implicit equation by the constant that makes it most like the truth."""
    [truth], [text] = task.dataset.truth or ("",), texts
    low, high = task.dataset.shape.corners
    points = generator_of("surface", "sizes").uniform(low, high, (1_000, len(low)))
    columns = _columns(points, task.variables)
    with np.errstate(all="ignore"):
        ratios = parse(truth, task.variables).evaluate(columns)
        ratios = ratios / parse(text, task.variables).evaluate(columns)
    ratios = ratios[np.isfinite(ratios)]
    factor = float(np.median(ratios)) if len(ratios) else 0.0
    if factor == 0 or not math.isfinite(factor) or abs(factor - 1) < 1e-12:  # noqa: PLR2004
        return texts
    # An answer that is as long as may be read is left as it is.
    scaled = f"({factor!r})*({text})"
    try:
        parse(scaled, task.variables)
    except EquationError:
        return texts
    return (scaled,)


def _shape_notes(measured: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return notes on the shape of an answer."""
    notes = []
    if "error" in measured:
        notes.append(f"its shape is not known: {measured['error']}")
    if measured.get("vanishes"):
        notes.append("it is zero everywhere")
    elif measured.get("points") == 0:
        notes.append("it has no points in the box")
    again, chamfer = measured.get("chamfer_drawn_again"), measured.get("scaled", {}).get("chamfer")
    if again is not None and abs(again - chamfer) > _ONE_DRAW * max(again, chamfer):
        notes.append(
            f"its distances are those of one drawing of points: Chamfer {chamfer:.2g} of the "
            f"diagonal, and {again:.2g} with others, as near a pole"
        )
    if measured.get("poles"):
        notes.append(f"{measured['poles']} edges of the grid change sign at a pole or a jump")
    if measured.get("touching"):
        notes.append(f"{measured['touching']} zeros of the grid's lines without a change of sign")
    return {"shape": notes} if notes else {}


def _columns(x: Array, names: Sequence[str]) -> dict[str, Array]:
    return {name: np.ascontiguousarray(x[:, i]) for i, name in enumerate(names)}
