"""What ``scripts/results`` writes into docs/settings.md: how each method is run, by whose word."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from findings import known, named, to_table
from reference_runs import STUDIES

from mdbench import datatypes
from mdbench.datatypes.facts import Protocol
from mdbench.drawing.numbers import duration
from mdbench.method_spec import PREDICTOR, REWRITTEN_HERE
from mdbench.records.schema import FEWEST_EVALUATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.methods import Method
    from mdbench.records import Record

BUDGETS: Final = (2.0, 10.0, 60.0)
"""Reference seconds of which evaluations are shown."""
ORIGINALS: Final = {
    **dict.fromkeys(("afp", "afp_fe", "afp_searched", "afp_fe_searched"), "ellyn is on no index"),
    **dict.fromkeys(
        ("deepmod", "deepmod_published"), "DeePyMoD 2.2.0 is on the index, and no method here yet"
    ),
    "dsr": "DSO is on no index; `dso` there is another project",
    "esindy": "pysindy, whose folder has no ensembles",
    "gp_gomea": "pyGPGOMEA is on no index; `pygpg` there is another project",
    "sindy": "pysindy, in the next row",
    "udsr": "DSO is on no index; `dso` there is another project",
    "weakident": "weakident is on no index",
    "weakident_ode": "weakident is on no index",
}
"""What there is of the authors' own package of a method that was rewritten here; looked for in
November 2026.  Others were not looked for."""
_BESIDE: Final = {"sindy": "pysindy"}
"""Methods that were rewritten here, and those that run the authors' package."""
_FUNCTIONS: Final = (
    *("functions", "allowed_symbols", "operators", "operations", "library"),
    *("binary_operators", "unary_operators"),
)
"""Hyperparameters that name functions."""
_NAMES: Final = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "^": "pow",
    "abs": "abs",
    "x^2": "square",
    "n2": "square",
    "x^3": "cube",
    "1/x": "inv",
    "1/x^2": "inv square",
}
"""Words of packages, and those of the field."""
_NO_FUNCTIONS: Final = {"constant", "variable", "identity", "x"}
_ROWS: Final = ("max_rows", "rows")
_WHOSE: Final = {"author": "the author’s", "upstream": "upstream’s", "ours": "ours"}
_BLOCK: Final = re.compile(r"(<!-- (settings|settings-finding) -->\n).*?(<!-- end -->)", re.DOTALL)
_NONE: Final = "–"
_NO_SETTINGS: Final = {"baseline", PREDICTOR}
_OF_TEXTS: Final = "derivation"


class Setting(NamedTuple):
    """How a method is run on a data type.

    Attributes
    ----------
    whose
        Whose hyperparameters they are, as ``method.toml`` says.
    source, differs
        Where they come from, and what differs from there and why.
    """

    method: Method
    data_type: str
    functions: str
    rows: str
    whose: str
    source: str
    differs: str

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """Those that are fixed under `strict`."""
        return self.method.spec.fixed(Protocol.STRICT, self.data_type)


def settings(methods: Iterable[Method]) -> list[Setting]:
    """Return the settings of each method on each of its data types, in the order of the page.

    Baselines and methods that only predict have none.
    """
    order = sorted(datatypes.names(), key=lambda kind: (kind == _OF_TEXTS, kind))
    found = [
        setting_of(method, kind)
        for method in methods
        for kind in method.spec.data_types
        if method.spec.family not in _NO_SETTINGS and kind in order
    ]
    return sorted(found, key=lambda one: (order.index(one.data_type), *_place(one.method)))


def _place(method: Method) -> tuple[str, int]:
    """Return where a method stands: that of an original package right behind the rewritten one."""
    before = {package: name for name, package in _BESIDE.items()}
    return before.get(method.name, method.name), method.name in before


def setting_of(method: Method, data_type: str) -> Setting:
    """Return how a method is run on a data type."""
    spec = method.spec
    own = spec.on(data_type)
    fixed = spec.fixed(Protocol.STRICT, data_type)
    return Setting(
        method,
        data_type,
        functions_of(fixed),
        rows_of(fixed, spec.most_rows(data_type)),
        spec.settings or "",
        (own.source if own else "") or spec.source,
        (own.differs if own else "") or spec.differs,
    )


def functions_of(hyperparameters: Mapping[str, Any]) -> str:
    """Write the functions that hyperparameters name, in the field's words; – where they do not.

    Examples
    --------
    >>> functions_of({"operators": ["+", "Sin"], "allowed_symbols": "add,aq,constant"})
    'add aq sin'
    """
    words: dict[str, None] = {}
    for name in _FUNCTIONS:
        value = hyperparameters.get(name, ())
        if isinstance(value, dict):
            return "searched"
        if isinstance(value, str):  # a single word is a set of the package's, or no functions
            value = value.split(",") if "," in value else ()
        for word in value:
            plain = str(word).strip().lower()
            if plain not in _NO_FUNCTIONS:
                words[_NAMES.get(plain, plain)] = None
    return " ".join(words) or _NONE


def rows_of(hyperparameters: Mapping[str, Any], most: int | None) -> str:
    """Write how many rows a fit has at most: by the bench or by the method, whichever is fewer."""
    limits = [hyperparameters.get(name) for name in _ROWS]
    numbers = [n for n in (*limits, most) if isinstance(n, int)]
    return f"{min(numbers):,}" if numbers else "all"


@cache
def fingerprint(method: str) -> str:
    """Return the SHA-256 of a method's files."""
    return next(one for one in known() if one.name == method).fingerprint()


def is_of_others(method: Method) -> bool:
    """Return whether a method is somebody else's: a package, or our own code after a paper.

    Controls, baselines, methods that only predict and those that were designed here are none, and
    neither is a general classifier that labels derivations.
    """
    spec = method.spec
    if spec.designed_here or spec.control_of or spec.family in _NO_SETTINGS:
        return False
    package = spec.implementation == "package" and set(spec.data_types) != {_OF_TEXTS}
    return bool(spec.paper) or package


def of_today(record: Record, setting: Setting) -> bool:
    """Return whether a record was made with the hyperparameters that a folder has now.

    Its method's files are the same, or the answer's hyperparameters have all that are fixed now.
    """
    if record.key_parts.get("adapter") == fingerprint(setting.method.name):
        return True
    fixed, had = setting.hyperparameters, record.hyperparameters or {}
    return bool(fixed) and all(name in had and had[name] == fixed[name] for name in fixed)


def evaluations_of(setting: Setting, records: Iterable[Record], work_s: float) -> str:
    """Write the median of a job's evaluations with so much work; – where no record has any."""
    counts = [
        one.measured.evaluations
        for one in records
        if one.budget.work_s == work_s
        and one.attempted
        and one.measured.evaluations is not None
        and of_today(one, setting)
    ]
    return f"{median(counts):,.0f}" if counts else _NONE


def import_of(setting: Setting, records: Iterable[Record]) -> str:
    """Write the median CPU time that the import took; – where no record of these files has it."""
    adapter = fingerprint(setting.method.name)
    times = [
        one.measured.import_s
        for one in records
        if one.measured.import_s is not None and one.key_parts.get("adapter") == adapter
    ]
    return duration(median(times)) if times else _NONE


HEAD: Final = (
    *("method", "functions", "rows", *(f"{work_s:.0f}\xa0s" for work_s in BUDGETS), "import"),
    *("whose", "source", "what differs", "the authors’ package"),
)


def table(records: Mapping[tuple[str, str], Sequence[Record]]) -> str:
    """Return a table of settings for each data type.

    Parameters
    ----------
    records
        By method and data type.
    """
    parts = []
    found = settings(known())
    for kind in dict.fromkeys(one.data_type for one in found):
        lines = [
            row(one, records.get((one.method.name, kind), ()))
            for one in found
            if one.data_type == kind
        ]
        texts = {0, 1, *range(7, len(HEAD))}
        parts.append(f"### {kind}\n\n{to_table(HEAD, lines, texts)}")
    return "\n\n".join(parts)


def row(setting: Setting, records: Sequence[Record]) -> list[str]:
    """Return the cells of a method on a data type."""
    name = setting.method.name
    package = "not looked for" if setting.method.spec.mark == REWRITTEN_HERE else ""
    cells = [
        f"`{name}`{named(name).removeprefix(name)}",
        setting.functions,
        setting.rows,
        *(evaluations_of(setting, records, work_s) for work_s in BUDGETS),
        import_of(setting, records),
        _WHOSE.get(setting.whose, _NONE),
        setting.source or _NONE,
        setting.differs or _NONE,
        (ORIGINALS.get(name, package) if package else "") or _NONE,
    ]
    return [cell.replace("|", "\\|") for cell in cells]


def finding(records: Mapping[tuple[str, str], Sequence[Record]]) -> str:
    """Say how many settings have a source, whose they are, and how much is evaluated in 2 s."""
    found = settings(known())
    others = [one for one in found if is_of_others(one.method)]
    methods = {one.method.name for one in others}
    whose = Counter(one.whose for one in others)
    counts = {
        (one.method.name, one.data_type): int(text.replace(",", ""))
        for one in others
        if (text := evaluations_of(one, records.get((one.method.name, one.data_type), ()), 2.0))
        != _NONE
    }
    few = sum(count < FEWEST_EVALUATIONS for count in counts.values())
    text = (
        f"**{len(methods)} methods of other people have settings on {len(others)} pairs of a "
        f"method and a data type: {sum(bool(one.source) for one in others)} name "
        f"their source, {whose['author']} are the authors’, {whose['upstream']} those of a "
        f"published benchmark, and {whose['ours']} ours.**"
    )
    if counts:
        text += (
            f" Of {len(counts)} pairs with a count of evaluations in two reference seconds, {few} "
            "have a median below 10,000."
        )
    return text


def by_method(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Gather records by method and data type."""
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for one in records:
        found[one.algorithm, one.data_type].append(one)
    return found


def filled(text: str, read: Callable[[str], Iterable[Record]]) -> str:
    """Return the page with its finding and tables.

    Parameters
    ----------
    read
        Returns the records of a bundle, by its name.
    """
    bundles = sorted({bundle for run in STUDIES.values() for bundle in run.bundles})
    records = by_method(one for bundle in bundles for one in read(bundle))
    made = {"settings": table(records), "settings-finding": finding(records)}
    return _BLOCK.sub(lambda match: f"{match[1]}\n{made[match[2]]}\n\n{match[3]}", text)


PAGE: Final = Path("docs") / "settings.md"
