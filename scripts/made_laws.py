"""Makes three suites of laws, of the kinds that benchmarks of language models ask for.

``solved-laws``: laws of SRBench's Feynman set, solved for another variable.  ``added-terms``: known
terms of four sciences, and terms that are added by a grammar of ours.  ``altered-laws``: laws of
twelve fields of physics with one, two or three changes.  All is drawn by the names of the laws::

    .venv-dev/bin/python scripts/made_laws.py solved-laws added-terms altered-laws
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import sympy

from eqverdict import parse
from eqverdict.structure import structure, structures
from mdbench.data.noise import generator_of
from mdbench.datatypes.equations.files import fresh_number
from mdbench.datatypes.srsd.datasets import Problems
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.srsd.laws import FormulaProblem

    Array = NDArray[np.float64]
    Ranges = Mapping[str, tuple[float, float]]

ROOT = Path(__file__).resolve().parent.parent
LAWS = ROOT / "datasets" / "srsd"
SOLVED, ADDED, ALTERED = "solved-laws", "added-terms", "altered-laws"
_SOLVED_COUNT, _ADDED_COUNT = 100, 25
"""Laws that are solved; and for each of the four sciences."""
_ROWS = 2_000
_MOST_NODES = 45
_AGREES = 1e-9
_RARE, _VARIES, _MATTERS = 15.0, 0.05, 1e-3
"""A target's largest distance from its mean, in deviations; its least variation; and the least
share of the variance that is lost without a variable."""
_MOST_TRIES = 500
_NAMES = re.compile(r"\bx(\d+)\b")


class Law(NamedTuple):
    """A law that is written as a file of a suite."""

    name: str
    title: str
    source: str
    formula: str
    ranges: Ranges
    meanings: Mapping[str, str]
    symbols: Mapping[str, str]


def acceptable(formula: str, ranges: Ranges, generator: np.random.Generator) -> bool:
    """Whether a law is real everywhere, has no pole near by, and depends on all its variables."""
    columns = {name: generator.uniform(*ends, _ROWS) for name, ends in ranges.items()}
    law = parse(formula, columns)
    y = law.evaluate(columns)
    if not np.isfinite(y).all():
        return False
    deviation = float(np.std(y))
    if np.abs(y - np.mean(y)).max() > _RARE * deviation:
        return False
    if deviation < _VARIES * float(np.mean(np.abs(y))):
        return False
    for name in ranges:
        off = law.evaluate(columns | {name: generator.permutation(columns[name])})
        if not np.isfinite(off).all() or np.mean((off - y) ** 2) < _MATTERS * deviation**2:
            return False
    return True


# Laws solved for another variable


def solved_laws(problems: Sequence[FormulaProblem]) -> Iterator[Law]:
    """Yield laws solved for another variable: one of each, then a second of some."""
    solutions = {}
    for problem in problems:
        found = sorted(_solutions(problem), key=lambda law: -_nodes(law))
        if found:
            solutions[problem.name] = found
    count, used = 0, set()
    for _ in range(max(map(len, solutions.values()), default=0)):
        for laws in solutions.values():
            law = next((law for law in laws if _shape(law) not in used), None)
            if law is None or count == _SOLVED_COUNT:
                continue
            laws.remove(law)
            used.add(_shape(law))
            count += 1
            yield law


def _nodes(law: Law) -> int:
    return parse(law.formula, list(law.ranges)).complexity


def _shape(law: Law) -> str:
    try:
        return structure([law.formula], list(law.ranges))
    except EquationError:
        return law.formula


def _solutions(problem: FormulaProblem) -> Iterator[Law]:
    """Yield a law solved for each of its variables for which it has one real solution."""
    for column in problem.spreads:
        if law := _solved(problem, column):
            yield law


def _solved(problem: FormulaProblem, column: str) -> Law | None:
    columns = list(problem.spreads)
    symbols = {name: sympy.Symbol(name, real=True) for name in (*columns, "y")}
    for name, spread in problem.spreads.items():
        if spread.low > 0:
            symbols[name] = sympy.Symbol(name, positive=True)
    law = sympy.sympify(problem.law, locals=symbols)
    generator = generator_of("solved law", problem.name, column)
    rows = {name: spread.draw(_ROWS, generator) for name, spread in problem.spreads.items()}
    y = parse(problem.law, columns).evaluate(rows)
    if not np.isfinite(y).all():
        return None
    answers = list(_isolated(law, symbols[column], symbols["y"]))
    low, high = _ends(y)
    for answer in answers:
        text = str(answer)
        if "I" in {str(atom) for atom in answer.atoms()} or "Piecewise" in text:
            continue
        try:
            solution = parse(text, [*(name for name in columns if name != column), "y"])
            values = solution.evaluate({**rows, "y": y})
        except EquationError:
            continue
        if not _close(values, rows[column]) or solution.complexity > _MOST_NODES:
            continue
        old = ["y", *(name for name in columns if name != column)]
        ends = {"y": (low, high)} | {
            name: (problem.spreads[name].low, problem.spreads[name].high) for name in old[1:]
        }
        new = {name: f"x{i}" for i, name in enumerate(old)}
        formula = _renamed(text, new)
        ranges = {new[name]: ends[name] for name in old}
        if not acceptable(formula, ranges, generator_of("rows of a solved law", problem.name)):
            continue
        names = {name: meaning.partition(":")[0] for name, meaning in problem.meanings.items()}
        return Law(
            f"solved-{problem.name.replace('_', '-')}-{names[column].strip().replace('_', '-')}",
            f"{problem.title}, solved for {names[column]}",
            f"{problem.source}; scripts/made_laws.py",
            formula,
            ranges,
            {new["y"]: "the law's own value"},
            {new[name]: names.get(name, "y") for name in old},
        )
    return None


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b(y|x\d+)\b", lambda match: names[match[0]], text)


_INVERSES = {
    sympy.sin: (sympy.asin, lambda y: sympy.pi - sympy.asin(y)),
    sympy.cos: (sympy.acos, lambda y: -sympy.acos(y)),
    sympy.tan: (sympy.atan,),
    sympy.tanh: (sympy.atanh,),
    sympy.exp: (sympy.log,),
    sympy.log: (sympy.exp,),
    sympy.asin: (sympy.sin,),
    sympy.acos: (sympy.cos,),
}
_MOST_DEGREE = 2


def _isolated(law: sympy.Expr, wanted: sympy.Symbol, y: sympy.Expr) -> Iterator[sympy.Expr]:
    """Yield what a variable may be where a law is y: by its inverses, step by step.

    Where the variable stands in several terms, the numerator of law minus y has to be a polynomial
    of the second degree in it at the most.
    """
    if law == wanted:
        yield y
        return
    inside = [part for part in law.args if part.has(wanted)]
    if len(inside) > 1:
        yield from _roots(law - y, wanted)
        return
    [part] = inside
    rest = [other for other in law.args if other is not part]
    if law.is_Add:
        yield from _isolated(part, wanted, y - sympy.Add(*rest))
    elif law.is_Mul:
        yield from _isolated(part, wanted, y / sympy.Mul(*rest))
    elif law.is_Pow and part == law.base:
        value = y ** (1 / law.exp)
        for sign in (1, -1):
            yield from _isolated(part, wanted, sign * value)
    elif law.is_Pow:
        yield from _isolated(part, wanted, sympy.log(y) / sympy.log(law.base))
    else:
        for inverse in _INVERSES.get(law.func, ()):
            yield from _isolated(part, wanted, inverse(y))


def _roots(difference: sympy.Expr, wanted: sympy.Symbol) -> Iterator[sympy.Expr]:
    """Yield the roots of a numerator of the second degree at the most."""
    numerator = sympy.numer(sympy.together(difference))
    if not numerator.is_polynomial(wanted):
        return
    *higher, last = sympy.Poly(numerator, wanted).all_coeffs()
    if len(higher) == 1:
        yield sympy.simplify(-last / higher[0])
    elif len(higher) == _MOST_DEGREE:
        root = sympy.sqrt(sympy.factor(higher[1] ** 2 - 4 * higher[0] * last))
        yield from ((sign * root - higher[1]) / (2 * higher[0]) for sign in (1, -1))


def _ends(y: Array) -> tuple[float, float]:
    """Return the middle half of a law's own values, to three digits."""
    low, high = (float(f"{value:.3g}") for value in np.quantile(y, [0.25, 0.75]))
    return low, high


def _close(values: Array, true: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(values - true) <= _AGREES * (1e-3 + np.abs(true)) * 1e3))


# Known terms and terms that are added

_KNOWN: dict[str, tuple[str, dict[str, tuple[float, float, str]], tuple[str, ...]]] = {
    "chemistry": (
        "the rate of a concentration",
        {"x0": (0.1, 3.0, "concentration"), "x1": (0.0, 10.0, "time")},
        ("-{c}*x0", "-{c}*x0**2", "{c} - {d}*x0", "-{c}*x0/({d} + x0)", "-{c}*x0*exp(-{d}*x1)"),
    ),
    "biology": (
        "the rate of a population",
        {"x0": (0.2, 6.0, "population"), "x1": (0.0, 10.0, "time")},
        ("{c}*x0*(1 - x0/{d})", "{c}*x0", "{c}*x0*(1 - x0/{d})*(x0/{e} - 1)", "{c}*x0*log({d}/x0)"),
    ),
    "physics": (
        "the acceleration of an oscillator",
        {"x0": (-2.0, 2.0, "place"), "x1": (-2.0, 2.0, "velocity"), "x2": (0.0, 10.0, "time")},
        ("-{c}*x0 - {d}*x1", "-{c}*x0 - {d}*x0**3", "-{c}*sin(x0) - {d}*x1", "-{c}*x0 - {d}*x1**3"),
    ),
    "materials": (
        "the stress in a material",
        {"x0": (0.01, 1.0, "strain"), "x1": (0.5, 2.0, "temperature over that of a reference")},
        ("{c}*x0", "{c}*x0**0.5", "{c}*x0*(1 - {d}*(x1 - 1))", "{c}*(1 - exp(-{d}*x0))"),
    ),
}
"""What the target is, the variables with their ranges, and the known terms of each science."""
_TERMS = {
    "chemistry": ("{s}{c}*x0**0.5", "{s}{c}*sin({d}*x1)", "{s}{c}*log(1 + {d}*x1)",
                  "{s}{c}*x0/({d} + x0**2)", "{s}{c}*cos(log({d} + x0))", "{s}{c}*x0**1.5"),
    "biology": ("{s}{c}*x0**0.33", "{s}{c}*sin({d}*x1)", "{s}{c}*x0*exp(-{d}*x1)",
                "{s}{c}*x0**2/({d} + x0**2)", "{s}{c}*x0*cos({d}*x1)", "{s}{c}*log(1 + x0)"),
    "physics": ("{s}{c}*sin({d}*x2)", "{s}{c}*x0*x1", "{s}{c}*x0*exp(-x0**2)", "{s}{c}*x1*abs(x1)",
                "{s}{c}*x0**2*x1", "{s}{c}*tanh({d}*x1)", "{s}{c}*x0*cos({d}*x2)"),
    "materials": ("{s}{c}*x1**2", "{s}{c}*x0*log(x1)", "{s}{c}*x0**2*x1", "{s}{c}*exp(-{d}*x0)*x1",
                  "{s}{c}*x0*exp(-{d}*(x1 - 1)**2)", "{s}{c}*x0**1.5"),
}  # fmt: skip
"""The terms that are added, a sign and numbers left open."""
_LEAST_SHARE = 0.02
"""Of the variance, what the added terms are at the least."""


def added_laws(known: Sequence[FormulaProblem]) -> Iterator[Law]:
    """Yield laws of a known part and one or two added terms, of four sciences."""
    used = structures(([law.law], list(law.spreads)) for law in known)
    for science, (target, variables, parts) in _KNOWN.items():
        for number in range(1, _ADDED_COUNT + 1):
            for attempt in range(_MOST_TRIES):
                generator = generator_of("added terms", science, number, attempt)
                part = _filled(str(generator.choice(parts)), generator)
                chosen = generator.choice(_TERMS[science], 1 + number % 2, replace=False)
                more = "".join(_filled(str(term), generator) for term in chosen)
                formula = part + more
                ranges = {
                    name: (low, high)
                    for name, (low, high, _) in variables.items()
                    if name in formula
                }
                if list(ranges) != list(variables)[: len(ranges)]:
                    continue
                shape = structure([formula], list(ranges))
                if (
                    shape not in used
                    and acceptable(formula, ranges, generator)
                    and _share(part, formula, ranges, generator) >= _LEAST_SHARE
                ):
                    break
            else:
                raise SystemExit(f"No law of {science} could be drawn as {number}.")
            used.add(shape)
            meanings = {name: variables[name][2] for name in ranges}
            yield Law(
                f"added-{science}-{number:02}",
                f"{target[0].upper()}{target[1:]}, with "
                f"{len(chosen)} added term{'s' * (number % 2)}",
                f"scripts/made_laws.py; the known part is {part}",
                formula,
                ranges,
                meanings,
                {},
            )


def _filled(text: str, generator: np.random.Generator) -> str:
    """Put a sign and numbers into what is left open."""
    sign = str(generator.choice([" + ", " - "]))
    numbers = {name: fresh_number(generator, *(0.2, 3.0)) for name in "cde"}
    return text.format(s=sign, **numbers)


def _share(part: str, formula: str, ranges: Ranges, generator: np.random.Generator) -> float:
    columns = {name: generator.uniform(*ends, _ROWS) for name, ends in ranges.items()}
    whole, known = (parse(text, columns).evaluate(columns) for text in (formula, part))
    return float(np.var(whole - known) / np.var(whole))


# Laws with changes

_PHYSICS: dict[str, tuple[str, str, Ranges]] = {
    "gravitation": ("Force between two masses", "{k}*x0{}*x1{}/x2**2{}", {}),
    "electrostatics": ("Force between two charges", "{k}*x0{}*x1{}/x2**2{}", {}),
    "magnetism": ("Force between two currents", "{k}*x0{}*x1{}/x2{}", {}),
    "conduction": ("Flow of heat through a wall", "{k}*x0{}*x1{}/x2{}", {}),
    "refraction": (
        "Angle behind a surface",
        "asin(x0{}/x1{}*sin(x2{}))",
        {"x0": (1.0, 1.3), "x1": (1.4, 2.0), "x2": (0.1, 1.0)},
    ),
    "decay": ("Nuclei that are left", "x0{}*exp(-{k}*x1{}*x2{})", {"x1": (0.1, 1.0)}),
    "oscillation": ("A damped oscillation", "x0{}*exp(-{k}*x1{})*cos(x2{}*x1{})", {}),
    "polarization": ("Light behind a polarizer", "{k}*x0{}*cos(x1{})**2{}", {"x1": (0.1, 1.4)}),
    "sound": ("Speed of sound in a gas", "sqrt({k}*x0{}*x1{}/x2{})", {}),
    "elasticity": ("Energy of a spring", "{k}*x0{}*x1**2{}", {}),
    "statistics": ("Mean number of bosons", "1/(exp({k}*x0{}/x1{}) - 1)", {"x0": (1.0, 3.0)}),
    "heat": (
        "Heat that is taken up",
        "{k}*x0{}*x1{}*(x2{} - x3{})",
        {"x2": (3.0, 5.0), "x3": (1.0, 2.0)},
    ),
}  # fmt: skip
"""Laws of textbooks; ``{}`` is where an exponent may be changed, ``{k}`` a constant."""
_EXPONENTS = ("**0.5", "**1.5", "**2", "**2.5", "**3")
_LEVELS = (1, 2, 3)


def altered_laws(known: Sequence[FormulaProblem]) -> Iterator[Law]:
    """Yield laws with one, two and three changes of exponents, or a term more."""
    used = structures(([law.law], list(law.spreads)) for law in known)
    for field, (title, pattern, limits) in _PHYSICS.items():
        columns = sorted({f"x{digits}" for digits in _NAMES.findall(pattern)})
        ranges = {name: limits.get(name, (0.5, 2.0)) for name in columns}
        for level in _LEVELS:
            for attempt in range(_MOST_TRIES):
                generator = generator_of("altered law", field, level, attempt)
                formula = _altered(pattern, level, generator)
                if formula is None:
                    continue
                shape = structure([formula], list(ranges))
                if shape not in used and acceptable(formula, ranges, generator):
                    break
            else:
                raise SystemExit(f"No law of {field} could be drawn with {level} changes.")
            used.add(shape)
            yield Law(
                f"altered-{field}-{level}",
                f"{title}, with {level} change{'s' * (level > 1)}",
                f"scripts/made_laws.py; the law of {field} in textbooks",
                formula,
                ranges,
                {},
                {},
            )


def _altered(pattern: str, level: int, generator: np.random.Generator) -> str | None:
    """Change some exponents; with three changes one of them may be a term that is added."""
    places = pattern.count("{}")
    more = ""
    if level > 1 and generator.random() < 0.5:  # noqa: PLR2004 - even odds
        column = generator.choice(sorted({f"x{digits}" for digits in _NAMES.findall(pattern)}))
        more = f" + {fresh_number(generator, 0.2, 3.0)}*{column}"
    count = level - bool(more)
    if count > places:
        return None
    changed = set(generator.choice(places, count, replace=False).tolist())
    exponents = [str(generator.choice(_EXPONENTS)) if i in changed else "" for i in range(places)]
    text = pattern.format(*exponents, k=fresh_number(generator, 0.3, 3.0))
    if re.search(r"\*\*2\*\*2(?!\.)", text):  # a square that stays as it is
        return None
    return re.sub(r"\*\*2(\*\*[\d.]+)", r"\1", text) + more


def write_suite(name: str, source: str, laws: Sequence[Law], folder: Path) -> None:
    """Write a suite as a folder of its own."""
    suite = folder / name
    shutil.rmtree(suite, ignore_errors=True)
    suite.mkdir(parents=True)
    (suite / "suite.toml").write_text(f'source = "{source}"\nlicence = "MIT"\n', encoding="utf-8")
    for number, law in enumerate(laws, 1):
        lines = [
            f'id = "{name[0].upper()}{number}"',
            f'set = "{name}"',
            f'title = "{law.title}"',
            f'source = "{law.source}"',
            f'formula = "{law.formula}"',
            *("", "[variables]"),
            *(_variable(column, law) for column in law.ranges),
        ]
        (suite / f"{law.name}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _variable(column: str, law: Law) -> str:
    low, high = law.ranges[column]
    entry = {
        "distribution": '"uniform"',
        "low": repr(low),
        "high": repr(high),
        "sign": '"range"' if low < 0 else '"positive"',
    }
    for key, texts in (("meaning", law.meanings), ("symbol", law.symbols)):
        if column in texts:
            entry = {key: f'"{texts[column]}"'} | entry
    return f"{column} = {{ {', '.join(f'{key} = {value}' for key, value in entry.items())} }}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the suites that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="+", choices=[SOLVED, ADDED, ALTERED])
    parser.add_argument("--out", type=Path, default=LAWS)
    options = parser.parse_args(arguments)
    laws = Problems(LAWS).problems
    made = {SOLVED, ADDED, ALTERED}
    known = [laws[name] for name in laws.own]
    feynman = [
        law
        for title, suite in laws.suites.items()
        if title not in made
        for law in (suite[name] for name in suite)
        if law.recurrence is None
    ]
    for suite in options.suites:
        if suite == SOLVED:
            source = "laws of the Feynman Symbolic Regression Database, solved for another variable"
            write_suite(suite, source, list(solved_laws(feynman)), options.out)
        elif suite == ADDED:
            source = "drawn here: known terms of four sciences and terms that are added"
            write_suite(suite, source, list(added_laws([*known, *feynman])), options.out)
        else:
            source = "drawn here: laws of textbooks with one, two or three changes"
            write_suite(suite, source, list(altered_laws([*known, *feynman])), options.out)


if __name__ == "__main__":
    main()
