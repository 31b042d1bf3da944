"""Surfaces as datasets: their names, their rows, and where they come from."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.data.formats.points import read_points
from mdbench.data.noise import generator_of
from mdbench.data.readers import ending_of, endings, stem_of
from mdbench.datatypes.base import NO_OPTIONS, Dataset, Source
from mdbench.datatypes.equations.files import Suites, SystemFiles
from mdbench.datatypes.surface import FACTS, VARIANTS, percent
from mdbench.datatypes.surface.clouds import Shape, floor_of, function_of, true_points
from mdbench.datatypes.surface.curvature import draw_curved_rows
from mdbench.datatypes.surface.level_sets import gradient
from mdbench.datatypes.surface.problem import (
    SurfaceRows,
    TrueSurface,
    draw_rows,
    group_of,
    read_surface,
    whole_rows,
)
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.installation import page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.facts import Protocol

    Array = NDArray[np.float64]

TRAINING, TEST = 5_000, 500
"""Rows: a tenth of the first are for validation; as many as of the test are out of the domain."""
VALIDATION_SHARE = 10
TEST_SHARE = 5
"""One in so many points of a user's cloud is for the test."""
BEYOND = 2.0
"""Out of the domain every input is between one and two times its end, of either sign."""
WIDE = 5.0
"""The ends of the parameters' domain with ``--variant wide``."""
HELD_OUT = 25
"""The number of points of an integer grid that are for the test."""
_SHOWN = 10_000
"""Points of a user's cloud that shapes are compared with."""
_MARGIN = 0.05
"""The margin of the box around a user's cloud, as a share of its longest side."""

_SUFFIX = re.compile(
    r"(?P<surface>.*?)(\+(?P<variant>wide|cloud))?(?P<normals>\+normals)?"
    r"(?P<curved>\+curved)?"
    r"(\+noise=(?P<noise>[^+]+))?"
)


@dataclass(frozen=True)
class SurfaceName:
    """A surface with its options, and the name of that dataset: ``HDIS1+cloud+normals+noise=5``.

    Attributes
    ----------
    surface
        The id of the surface.
    variant
        ``wide``, ``cloud`` or empty.
    normals
        Whether the normals of a cloud's points are given, too.
    noise
        Percent of each target's standard deviation.
    curved
        Whether training rows are denser where the surface is more curved.
    """

    surface: str
    variant: str = ""
    normals: bool = False
    noise: float = 0.0
    curved: bool = False

    def __str__(self) -> str:
        variant = f"+{self.variant}" if self.variant else ""
        noise = f"+noise={self.noise:g}" if self.noise else ""
        flags = "+normals" * self.normals + "+curved" * self.curved
        return f"{self.surface}{variant}{flags}{noise}"

    @classmethod
    def read(cls, name: str) -> SurfaceName:
        """Parse a name.

        Raises
        ------
        UsageError
            If the name ends in what is no noise level.
        """
        match = _SUFFIX.fullmatch(name)
        if match is None:
            raise UsageError(f"There is no dataset {name!r}.")
        noise = percent(match["noise"]) if match["noise"] else 0.0
        flags = bool(match["normals"]), noise, bool(match["curved"])
        return cls(match["surface"], match["variant"] or "", *flags)


@dataclass(frozen=True, eq=False)
class SurfaceDataset(Dataset):
    """Samples of a surface.

    Attributes
    ----------
    shape
        The true shape, for the geometry of answers.
    training, test, beyond
        The rows of the splits; those of the training are noisy, `beyond` are out of the domain
        and None of a cloud.
    validation
        How many of the training rows are for the validation: the last ones.
    cloud
        Whether rows are points on the surface, at which the equation is zero.
    normals
        The unit normals at the points of training and test, where they are given.
    """

    shape: Shape = field(repr=False)
    training: SurfaceRows = field(repr=False)
    test: SurfaceRows = field(repr=False)
    beyond: SurfaceRows | None = field(repr=False)
    validation: int
    cloud: bool = False
    normals: tuple[Array, Array] | None = field(default=None, repr=False)


def _refuse_description(path: Path) -> None:
    """Refuse a description of a cloud, as nothing in it would be used."""
    described = path.with_suffix(".toml")
    if described != path and described.exists():
        raise DataError(
            f"{described} has the name of {path.name}, and files of points are used without a "
            "description.",
            "If the equation is known, write a surface file with it "
            f"({page('surface')}).  Else rename one of the two.",
        )


class Surfaces(Source[SurfaceDataset]):
    """Surfaces in a folder or a file; the user's may be clouds of points."""

    def __init__(self, path: Path, *, own: bool) -> None:
        self.path = path
        self.own = own

    @cached_property
    def _files(self) -> list[Path]:
        known = (".toml",) if self.own else (".toml", *endings("points"))
        files = [self.path] if self.path.is_file() else sorted(self.path.glob("*"))
        usable = [file for file in files if ending_of(file) in known and file.is_file()]
        if not self.path.exists():
            raise DataError(f"There is nothing at {self.path}.")
        if not usable:
            raise DataError(
                f"{self.path} has no surfaces: no file ends in {', '.join(known)}",
                f"Give points or a surface file, or a folder of them: see {page('surface')}.",
            )
        if self.path.is_file():
            _refuse_description(self.path)
        stems = [stem_of(file) for file in usable]
        if twice := {stem for stem in stems if stems.count(stem) > 1}:
            raise DataError(f"{self.path}: several files are called {min(twice)}", "Rename them.")
        if unclear := [stem for stem in stems if "+" in stem]:
            raise DataError(f"{unclear[0]}: a surface's name has no '+'", "Rename its file.")
        return usable

    @cached_property
    def surfaces(self) -> SystemFiles[TrueSurface]:
        """Those with a truth, by name; in the order of their representations and numbers."""
        files = [file for file in self._files if file.suffix.lower() == ".toml"]
        return SystemFiles(files, read_surface, FACTS.order)

    @cached_property
    def suites(self) -> Mapping[str, SystemFiles[TrueSurface]]:
        """Those of the folders in a folder of the project's own."""
        return Suites(self.path, read_surface, FACTS.order).suites if self.own else {}

    @cached_property
    def clouds(self) -> Mapping[str, Path]:
        """The files of points."""
        return {stem_of(file): file for file in self._files if file.suffix.lower() != ".toml"}

    def names(self) -> list[str]:
        """Return those with a truth, and then clouds."""
        return [*self.surfaces, *self.clouds]

    def groups(self) -> dict[str, list[str]]:
        """Group by representation, and by category."""
        by_category = self.surfaces.groups("category").items()
        return (
            self.surfaces.groups("representation")
            | {group_of(category): names for category, names in by_category}
            | {suite: list(surfaces) for suite, surfaces in self.suites.items()}
        )

    def title(self, name: str) -> str:
        """Return category and equations."""
        ask = SurfaceName.read(name)
        if ask.surface in self.clouds:
            return "a cloud of points"
        surface = self._surface(ask)
        return f"{surface.category}: {', '.join(surface.printed)}"

    def laws(self, name: str) -> tuple[str, ...]:
        """Return the equations; those of points are not known."""
        ask = SurfaceName.read(name)
        return () if ask.surface in self.clouds else self._surface(ask).truth

    def notes(self, name: str) -> Sequence[str]:
        """Return how what is printed was read."""
        ask = SurfaceName.read(name)
        if ask.surface in self.clouds:
            return ()
        surface = self._surface(ask)
        readings = [surface.reading, surface.other_reading and f"or: {surface.other_reading}"]
        return [text for text in readings if text]

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,  # noqa: ARG002 - the samples are the same
        options: Mapping[str, Any] = NO_OPTIONS,  # noqa: ARG002 - all is in the name
    ) -> SurfaceDataset:
        """Draw, or read, what a name asks for."""
        if snr_db is not None:
            raise UsageError("surface has no noise levels in dB.", "It has --noise-percent 5.")
        ask = SurfaceName.read(name)
        if ask.surface in self.clouds:
            return self._cloud_of_the_users(name, ask, seed)
        surface = self._surface(ask)
        check_variant(ask, surface.representation)
        if ask.variant == "wide":
            surface = replace(surface, domain=((-WIDE, WIDE),) * len(surface.domain))
        shape = _shape(surface)
        normals = None
        validation = 0
        beyond: SurfaceRows | None = None
        if ask.variant == "cloud":
            training, test, normals = _on_the_surface(shape, surface)
        else:
            training, test, beyond = _rows(surface, curved=ask.curved)
        validation = max(1, len(training.x) // VALIDATION_SHARE)
        training = _noisy(training, ask, seed)
        fingerprint = _fingerprint(surface.truth, training, test, beyond)
        return SurfaceDataset(
            name=name,
            dim=len(surface.truth),
            snr_db=None,
            truth=surface.truth,
            target_source="equations",
            fingerprint=fingerprint,
            floor=floor_of(shape),
            shape=shape,
            training=training,
            test=test,
            beyond=beyond,
            validation=validation,
            cloud=ask.variant == "cloud",
            normals=normals if ask.normals else None,
        )

    def _surface(self, ask: SurfaceName) -> TrueSurface:
        for surfaces in (self.surfaces, *self.suites.values()):
            if ask.surface in surfaces:
                return surfaces[ask.surface]
        raise UsageError(
            f"There is no dataset {ask.surface!r}.", did_you_mean(ask.surface, self.names())
        )

    def _cloud_of_the_users(self, name: str, ask: SurfaceName, seed: int) -> SurfaceDataset:
        points, normals = read_points(self.clouds[ask.surface])
        if ask.variant == "wide":
            raise UsageError(f"--variant wide is of parametric surfaces; {name} is a cloud.")
        if ask.curved:
            raise UsageError(f"--curvature is of surfaces with equations; {name} is a cloud.")
        if ask.normals and normals is None:
            raise UsageError(f"--normals: {self.clouds[ask.surface]} has no normals.")
        order = generator_of("surface", "split", len(points)).permutation(len(points))
        border = len(points) - max(1, len(points) // TEST_SHARE)
        zeros = np.zeros((len(points), 1))
        parts = [order[:border], order[border:]]
        training, test = (SurfaceRows(points[rows], zeros[rows], 0.0) for rows in parts)
        margin = _MARGIN * np.ptp(points, axis=0).max()
        domain = tuple(
            (float(column.min() - margin), float(column.max() + margin)) for column in points.T
        )
        shown = points[generator_of("surface", "shown").permutation(len(points))[:_SHOWN]]
        shape = Shape("implicit", ("x", "y", "z"), (), domain, points=tuple(map(tuple, shown)))
        training = _noisy(training, replace(ask, variant="cloud"), seed)
        return SurfaceDataset(
            name=name,
            dim=1,
            snr_db=None,
            truth=None,
            target_source="file",
            fingerprint=_fingerprint(("points",), training, test, None),
            floor=floor_of(shape),
            shape=shape,
            training=training,
            test=test,
            beyond=None,
            validation=max(1, border // VALIDATION_SHARE),
            cloud=True,
            normals=(normals[parts[0]], normals[parts[1]])
            if ask.normals and normals is not None
            else None,
        )


def _shape(surface: TrueSurface) -> Shape:
    return Shape(
        surface.representation, surface.inputs, surface.truth, surface.domain, surface.integers
    )


def _rows(
    surface: TrueSurface, *, curved: bool = False
) -> tuple[SurfaceRows, SurfaceRows, SurfaceRows]:
    """Draw training, test, and what is out of the domain."""
    inside = [[ends] for ends in surface.domain]
    outside = []
    for low, high in surface.domain:
        middle, half = (low + high) / 2, (high - low) / 2
        far = BEYOND * half
        outside.append([(middle - far, middle - half), (middle + half, middle + far)])
    if surface.integers:
        whole = whole_rows(surface, inside)
        order = generator_of("surface", surface.name, "split").permutation(len(whole.x))
        parts = (order[HELD_OUT:], order[:HELD_OUT])
        training, test = (SurfaceRows(whole.x[rows], whole.y[rows], 0.0) for rows in parts)
        return training, test, whole_rows(surface, outside)

    def generator(split: str) -> np.random.Generator:
        return generator_of("surface", surface.name, surface.domain, split)

    draw = draw_curved_rows if curved else draw_rows
    return (
        draw(surface, inside, TRAINING, generator("training")),
        draw_rows(surface, inside, TEST, generator("test")),
        draw_rows(surface, outside, TEST, generator("beyond")),
    )


def _on_the_surface(
    shape: Shape, surface: TrueSurface
) -> tuple[SurfaceRows, SurfaceRows, tuple[Array, Array]]:
    """Draw points by area, and the normals there; other ones than those that score."""
    points = true_points(shape, f"{surface.name} rows").cloud[: TRAINING + TEST]
    slopes = gradient(function_of(surface.truth[0], surface.inputs), points, 1e-6)
    lengths = np.linalg.norm(slopes, axis=-1, keepdims=True)
    normals = np.where(lengths > 0, slopes / np.where(lengths > 0, lengths, 1.0), 0.0)
    zeros = np.zeros((len(points), 1))
    cut = (slice(TRAINING), slice(TRAINING, None))
    training, test = (SurfaceRows(points[rows], zeros[rows], 0.0) for rows in cut)
    return training, test, (normals[cut[0]], normals[cut[1]])


def _noisy(rows: SurfaceRows, ask: SurfaceName, seed: int) -> SurfaceRows:
    """Add normal noise to the targets, or to the points of a cloud: a share of each's spread."""
    if not ask.noise:
        return rows
    generator = generator_of("surface", "noise", ask.surface, ask.variant, repr(ask.noise), seed)
    clean = rows.x if ask.variant == "cloud" else rows.y
    deviation = ask.noise / 100 * clean.std(axis=0)
    noisy = clean + deviation * generator.standard_normal(clean.shape)
    return replace(rows, x=noisy) if ask.variant == "cloud" else replace(rows, y=noisy)


def _fingerprint(truth: Sequence[str], *parts: SurfaceRows | None) -> str:
    sha256 = hashlib.sha256("\n".join(truth).encode())
    for rows in parts:
        for array in (rows.x, rows.y) if rows else ():
            sha256.update(f"\n{array.shape}\n".encode())
            sha256.update(np.ascontiguousarray(array).tobytes())
    return sha256.hexdigest()


def check_variant(ask: SurfaceName, representation: str) -> None:
    """Refuse what a surface of a representation does not have.

    Raises
    ------
    UsageError
        If it has no such variant, or no normals.
    """
    wanted = VARIANTS.get(ask.variant, representation)
    if wanted != representation:
        raise UsageError(
            f"--variant {ask.variant} is of {wanted} surfaces; {ask.surface} is {representation}.",
            f"Give --dataset {wanted}, or one of them.",
        )
    if ask.curved and representation == "implicit":
        raise UsageError(
            f"--curvature is of explicit and parametric surfaces; {ask.surface} is implicit.",
            "Give --dataset explicit or parametric, or some of them.",
        )
    if ask.normals and ask.variant != "cloud":
        raise UsageError("--normals goes with --variant cloud.", "Give both, or leave it out.")
