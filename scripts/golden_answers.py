"""The answers of the golden files: some of those that landed, and edge cases made of the truths."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from bundles import read_bundle

from mdbench.datatypes.facts import Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mdbench.datatypes.base import DataType
    from mdbench.records import Record
    from mdbench.workspace import Workspace

__all__ = ["DATASETS", "chosen"]

_LANDED: Final = 110
_SEED: Final = 7
TOO_LONG: Final = "too long"
DATASETS: Final[dict[str, tuple[str, ...]]] = {
    "ode": (
        "lotka-volterra-simple",
        "autocatalysis",
        "frictionless-bead",
        "llm-ode-henon-heiles",
    ),
    "pde": ("heat_soil_uniform_1d_p1", "nls"),
    "srsd": ("feynman-i.12.1", "feynman-i.6.20a", "feynman-i.30.5", "srbench-strogatz-lv1"),
    "real": ("kepler", "hubble", "time-dilation"),
    "surface": ("CMRS1", "PDS1"),
    "derivation": ("structured-2-tiny", "differentiate-tiny"),
}
"""The datasets of the edge cases, by data type."""
_BUNDLE: Final = "edition-1"
"""The records that landed answers are of."""
_CHEAP_FIELDS: tuple[str, ...] = (
    *DATASETS["pde"],
    "burgers",
    "advection_diffusion_2d",
    "advection1d",
    "kdv",
    "kuramoto_sivishinky",
    "heat_laser",
)
_CHEAP_FIELDS += ("reaction_diffusion_2d",)
"""The fields that are made in seconds."""
_SENSITIVE = frozenset(
    {
        "chen-lee-attractor",
        "lorenz-equations-chaotic",
        "lorenz-equations-complex-periodic",
        "lorenz-equations-periodic",
        "rotational-dynamics",
        "rössler-attractor-chaotic",
        "aizawa-attractor",
        "HDIS1",
        # Answers that are decided, or not, at the limit of time.
        *("feynman-i.27.6", "feynman-i.47.23", "feynman-ii.10.9"),
        # Measurements: where the constants of the truth, or the answers, are fitted on a flat loss.
        *(
            "bennett5",
            "bode",
            "boxbod",
            "chwirut1",
            "chwirut2",
            "danwood",
            "enso",
            "gauss1",
            "gauss2",
            "gauss3",
            "hahn1",
            "lanczos1",
            "lanczos2",
            "lanczos3",
            "mgh10",
            "mgh17",
            "misra1",
            "nelson",
            "planck",
            "rat42",
            "rat43",
            "roszman1",
            "supernova-zr",
            "thurber",
        ),
    }
)
"""Datasets whose data or fits amplify how a processor rounds: they differ between machines."""
_KINDS: tuple[str, ...] = (
    "identified",
    "one_term_off",
    "skeleton",
    "numerical",
    "symbolic",
    "structural",
)
_KINDS += ("simulation_ended", "failure_kind", "recovered", "same_law", "solution")
"""Metrics by which landed answers are sorted, so that there are some of each kind."""

_FLOAT = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.])")
Entry = dict[str, Any]


def chosen(data_type: str, workspace: Workspace, kind: DataType[Any, Any]) -> list[Entry]:
    """Choose answers of a data type, always the same ones."""
    if data_type == "derivation":
        return list(_labels())
    edges = [entry for name in DATASETS[data_type] for entry in _edges(name, kind)]
    usable = (each for each in _landed(data_type, workspace) if each["dataset"] not in _SENSITIVE)
    return [*islice(usable, _LANDED), *edges]


def _landed(data_type: str, workspace: Workspace) -> Iterator[Entry]:
    """Take answers of edition 1, in turn of each kind that there is."""
    kinds: dict[str, list[Entry]] = defaultdict(list)
    for one in read_bundle(workspace.root / "docs" / "results", _BUNDLE):
        usable = one.data_type == data_type and one.equations and one.protocol == Protocol.STRICT
        if usable and (data_type != "pde" or one.dataset in _CHEAP_FIELDS):
            undecided = sorted(name for name, value in one.metrics.items() if value is None)
            kind = repr(([one.metrics.get(name) for name in _KINDS], undecided))
            kinds[kind].append(_entry_of(one))
    generator = random.Random(_SEED)
    groups = [kinds[name] for name in sorted(kinds)]
    for group in groups:
        generator.shuffle(group)
    while any(groups):
        for group in filter(None, groups):
            yield group.pop()


def _entry_of(one: Record) -> Entry:
    return {
        "case": f"{_BUNDLE}, {one.algorithm}",
        "dataset": one.dataset,
        "snr_db": one.snr_db,
        "seed": one.seed,
        "protocol": one.protocol,
        "view": one.view,
        "options": dict(one.options),
        "equations": list(one.equations or ()),
    }


def _edges(name: str, kind: DataType[Any, Any]) -> Iterator[Entry]:
    """Make answers of a truth, or of nothing where there is none."""
    source = kind.source(None)
    [(dataset, options), *_] = kind.expand_options([name], {})
    loaded = source.load(dataset, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options)
    view = "table"
    task = kind.task(loaded, view, Protocol.STRICT)
    variable = task.variables[0]
    truth = loaded.truth or tuple(f"2.5*{variable}" for _ in task.targets)
    for case, equations in _answers(list(truth), task.variables, len(task.targets)):
        yield {
            "case": case,
            "dataset": dataset,
            "snr_db": None,
            "seed": 0,
            "protocol": Protocol.STRICT.value,
            "view": view,
            "options": dict(options),
            "equations": [_own(text, loaded.names) for text in equations],
            **({"times": 20_000} if case == TOO_LONG else {}),
        }


def _own(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)


def _answers(  # noqa: PLR0915 - a list
    truth: list[str], variables: Sequence[str], count: int
) -> Iterator[tuple[str, list[str]]]:
    v, w = variables[0], variables[-1]
    first, *rest = truth

    def scaled(share: float) -> list[str]:
        return [_FLOAT.sub(lambda found: f"{float(found[0]) * share!r}", t) for t in truth]

    def with_first(text: str) -> list[str]:
        return [text, *rest]

    yield "truth", truth
    yield "constants off by 1e-6", scaled(1 + 1e-6)
    yield "constants off by 1 %", scaled(1.01)
    yield "constants off by 6 %", scaled(1.06)
    yield "constants off by 100 %", scaled(2.0)
    yield "a factor of 1.03", [f"1.03*({t})" for t in truth]
    yield "negated twice", [f"-(-({t}))" for t in truth]
    yield "by a square and its root", [f"sqrt(({t})**2)*sign({t})" for t in truth]
    yield "by an exponential", [f"log(exp({t}))" for t in truth]
    yield "multiplied and divided", [f"7.0*({t})*{v}/(7.0*{v})" for t in truth]
    yield "without signs", [f"abs({t})" for t in truth]
    yield "the larger of it and zero", [f"Max({t}, 0)" for t in truth]
    yield "the smaller of it and itself", [f"Min({t}, {t})" for t in truth]
    yield "max, in small letters", [f"max({t}, 0)" for t in truth]
    yield "of the other sign", [f"-({t})" for t in truth]
    yield "a term more", with_first(f"{first} + 0.5*{w}")
    yield "two terms more", with_first(f"{first} + 0.5*{w} + 0.25*{v}**4")
    yield "a term more that is negligible", with_first(f"{first} + 1e-12*{w}")
    yield "a small term more", with_first(f"{first} + 1e-4*{v}")
    yield "a constant more", with_first(f"{first} + 0.3")
    cut = re.split(r" [+-] ", first)
    if len(cut) > 1:
        yield "without its last term", with_first(first[: first.rfind(cut[-1]) - 3])
    yield "zero", ["0"] * count
    yield "zero, as a difference", [f"{v} - {v}"] * count
    yield "one", ["1"] * count
    yield "the first variable", [v] * count
    yield "a sine", [f"sin({v})"] * count
    yield "a large constant", [f"1e200*{v}"] * count
    yield "a product that no float holds", [f"1e200*1e200*{v}"] * count
    yield "a constant that no float holds", ["1e999"] * count
    yield "a quotient by zero", [f"1/({v} - {v})"] * count
    yield "a logarithm of what is negative", [f"log(-1 - {v}**2)"] * count
    yield "an overflow", [f"exp(exp(exp({v}**2 + 9)))"] * count
    yield "no text", [""] * count
    yield "half a text", [f"{v} +"] * count
    yield "a name that is unknown", ["no_such_name"] * count
    yield "a function that is unknown", [f"gamma_of({v})"] * count
    yield "code", ["__import__('os').getcwd()"] * count
    yield "nan", ["nan"] * count
    yield "too few equations", truth[:-1]
    yield "too many equations", [*truth, "0"]
    yield "many terms", ["+".join(f"0.{i + 1}*{v}**{i % 5}" for i in range(60))] * count
    yield TOO_LONG, [f"+1.5*{v}"] * count
    yield "deep", ["sin(" * 40 + v + ")" * 40] * count
    yield "too deep", ["(" * 900 + v + ")" * 900] * count
    if count > 1:
        yield "in another order", truth[::-1]
        yield "one right, one zero", [first, *["0"] * (count - 1)]


def _labels() -> Iterable[Entry]:
    recipes: list[tuple[str, dict[str, Any]]] = [
        (f"{100 * share:g} % wrong", {"seed": seed, "wrong": share})
        for share in (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.95, 1.0)
        for seed in range(8)
    ]
    recipes += [(f"all {v}", {"value": v}) for v in (0.0, 0.25, 0.499999, 0.5, 0.75, 1.0, 1.5, -1)]
    recipes += [
        (f"the first is {text}", {"seed": 0, "wrong": 0.1, "broken": text})
        for text in ("nan", "inf", "-inf", "1.0000001", "-1e-9", "0.5", "0.4999")
    ]
    for name in DATASETS["derivation"]:
        for view in ("sequence",):
            for case, recipe in recipes:
                yield {
                    "case": case,
                    "dataset": name,
                    "snr_db": None,
                    "seed": 0,
                    "protocol": Protocol.STRICT.value,
                    "view": view,
                    "options": {},
                    "labels": recipe,
                }
