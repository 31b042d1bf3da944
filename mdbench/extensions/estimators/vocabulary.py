"""One vocabulary for what a search may use, and how each method's own settings say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mdbench.method_spec import MethodSpec

__all__ = ["OPTIONS", "Wishes", "has_setting", "settings_for"]

_SIGNS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "^": "pow", "**": "pow"}
_ALL = (
    *(
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "neg",
        "inv",
        "square",
        "cube",
        "sqrt",
        "abs",
        "exp",
        "log",
    ),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
)
"""The operators and functions of the vocabulary."""
_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def _same(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


@dataclass(frozen=True)
class Operators:
    """How a method names the operators and functions of its search.

    Attributes
    ----------
    key
        The hyperparameter that lists them.
    names
        The package's name of each, by that of the vocabulary.
    always
        What the list has besides, whatever is asked for.
    joined
        Whether the hyperparameter is one text, with commas.
    unary
        The hyperparameter of functions with one argument, where they have one of their own.
    implied
        What the method can always do, and does not list.
    """

    key: str
    names: Mapping[str, str]
    always: tuple[str, ...] = ()
    joined: bool = False
    unary: str = ""
    implied: tuple[str, ...] = ()

    def settings(self, wanted: Sequence[str], now: Mapping[str, Any]) -> dict[str, Any]:
        """Return the hyperparameters for operators, of which the method has all."""
        listed = [name for name in wanted if name not in self.implied]
        names = [self.names[name] for name in listed]
        if not self.unary:
            values = [*names, *self.always]
            return {self.key: ",".join(values) if self.joined else values}
        signs = [name for name in names if name in (*_BINARY.values(), "^")]
        functions = [name for name in names if name not in signs]
        return {self.key: signs, self.unary: functions} | _without(now, {*signs, *functions})


class Weights(Operators):
    """Of a method whose hyperparameter is a table of operators and how often each is drawn."""

    def settings(self, wanted: Sequence[str], now: Mapping[str, Any]) -> dict[str, Any]:
        """Return the table: signs are drawn ten times as often as functions."""
        del now
        weights = {self.names[n]: 10.0 if n in _BINARY else 1.0 for n in wanted}
        return {self.key: weights | dict.fromkeys(self.always, 1.0)}


class Units(Operators):
    """Of a network, whose layers have units, and which divides at its end or not."""

    def settings(self, wanted: Sequence[str], now: Mapping[str, Any]) -> dict[str, Any]:
        """Return as many layers as there were, with these units, products twice."""
        names = [self.names[name] for name in wanted if name not in (*self.implied, "div")]
        layer = [*self.always, *names, *(name for name in names if name == "mul")]
        return {
            self.key: [[layer for _ in kind] for kind in now[self.key]],
            "division": [divides and "div" in wanted for divides in now["division"]],
        }


def _without(now: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return limits on nesting and size without those of operators that are no longer there."""
    changed: dict[str, Any] = {}
    for key in ("constraints", "nested_constraints"):
        if key in now:
            changed[key] = {
                name: {k: v for k, v in most.items() if k in names}
                if isinstance(most, dict)
                else most
                for name, most in now[key].items()
                if name in names
            }
    return changed


_TREES = _same("add sub mul div neg sin cos tan atan tanh exp log sqrt square cube")
_JULIA = {
    **_same("sin cos tan asin acos atan sinh cosh tanh exp log sqrt abs square cube inv neg"),
    **_BINARY,
    "pow": "^",
}
_OPERATORS: Mapping[str, Operators] = {
    **dict.fromkeys(
        ("afp", "afp_fe", "gp_gomea", "gplearn", "dsr", "udsr", "lasr", "lasr_nollm"),
        Operators("functions", _TREES),
    ),
    "stackgp": Operators(
        "functions", _same("add sub mul div exp log sqrt sin cos tan tanh inv neg square")
    ),
    "bingo": Operators(
        "operators", {**_same("sin cos tan sinh cosh tanh exp log sqrt square cube"), **_BINARY}
    ),
    "operon": Operators(
        "allowed_symbols",
        _same("add sub mul div pow sin cos tan asin acos atan sinh cosh tanh exp log sqrt abs")
        | {"square": "square"},
        always=("constant", "variable"),
        joined=True,
    ),
    **dict.fromkeys(
        ("eggp", "symregg"),
        Operators(
            "nonterminals",
            _same("add sub mul div sin cos tan sinh cosh tanh exp log sqrt abs square cube"),
            joined=True,
        ),
    ),
    "physo": Operators(
        "operations",
        {
            **_same("add sub mul div neg inv sin cos tan sinh cosh tanh exp log sqrt"),
            "square": "n2",
            "cube": "n3",
        },
    ),
    "psrn": Operators(
        "operators",
        {
            **{
                n: n.capitalize()
                for n in ["add", "sub", "mul", "div", "sin", "cos", "exp", "log", "sqrt", "tanh"]
            },
            "square": "Pow2",
            "cube": "Pow3",
        },
        always=("Identity",),
    ),
    "pykan": Operators(
        "library",
        _same("sqrt exp log sin cos tan tanh abs") | {"square": "x^2", "cube": "x^3", "inv": "1/x"},
        always=("x",),
        implied=("add", "sub", "mul"),
    ),
    "eql": Units(
        "units",
        _same("mul div sin cos tanh exp square cube"),
        always=("id",),
        implied=("add", "sub", "neg"),
    ),
    "hroch": Weights(
        "problem",
        _same("add sub mul div pow sin cos tan asin acos atan sinh cosh tanh exp log sqrt abs")
        | {"neg": "inv", "inv": "minv", "square": "sq2"},
        always=("nop",),
    ),
    "pysr": Operators("binary_operators", _JULIA, unary="unary_operators"),
    "symbolic_regression_rs": Operators(
        "binary_operators",
        {**_same("sin cos exp log sqrt"), **_BINARY},
        unary="unary_operators",
    ),
}
"""The methods that have such a list."""

_BASES = ("sin", "cos")
_GRIDS = ("sindy", "esindy", "rk4sindy", "wsindy", "ewsindy", "pdefind")
"""Methods of sparse regression whose libraries are functions and degrees of a grid."""
_LISTS = ("pysindy", "sindy_pi")
"""Those whose libraries are lists."""


def _bases(wanted: Sequence[str]) -> list[str]:
    functions = [name for name in _BASES if name in wanted]
    return list(dict.fromkeys(["polynomial", "+".join(["polynomial", *functions])]))


_LIBRARY: Mapping[str, Callable[[Sequence[str]], dict[str, Any]]] = {
    **dict.fromkeys(_GRIDS, lambda wanted: {"basis": _bases(wanted)}),
    **dict.fromkeys(_LISTS, lambda wanted: {"bases": _bases(wanted)}),
}


def _degrees(most: int) -> list[int]:
    return list(range(1, most + 1))


_DEGREE: Mapping[str, Callable[[int], dict[str, Any]]] = {
    **dict.fromkeys(
        (*_GRIDS, "bayesian", "deepmod", "deepmod_published"), lambda n: {"order": _degrees(n)}
    ),
    **dict.fromkeys(_LISTS, lambda n: {"orders": _degrees(n)}),
    **dict.fromkeys(("weakident", "weakident_ode"), lambda n: {"order": n}),
    "udsr": lambda n: {"degree": n},
    "aifeynman": lambda n: {"polynomial_degree": n},
}
_MOST_DEGREE = 10

_ABLE: Mapping[str, Mapping[str, Any]] = {
    "operators": _OPERATORS,
    "library": _LIBRARY,
    "degree": _DEGREE,
}
OPTIONS = tuple(_ABLE)
"""The options of the vocabulary."""


@dataclass(frozen=True)
class Wishes:
    """What a search may use; None for the settings that the method has.

    Attributes
    ----------
    operators
        Such as ``("add", "mul", "sin")``; signs are names, too.
    library
        Functions next to polynomials, in methods of sparse regression: ``("sin", "cos")``.
    degree
        The highest degree of polynomials there.
    """

    operators: tuple[str, ...] | None = None
    library: tuple[str, ...] | None = None
    degree: int | None = None

    @property
    def options(self) -> list[str]:
        """The names of what is asked for."""
        return [name for name in OPTIONS if getattr(self, name) is not None]

    @classmethod
    def of(
        cls,
        operators: str | Sequence[str] | None = None,
        library: str | Sequence[str] | None = None,
        degree: int | None = None,
    ) -> Wishes:
        """Read them as they are typed: texts with commas, or lists.

        Raises
        ------
        UsageError
            If a name is not in the vocabulary.
        """
        asked = None if operators is None else [_SIGNS.get(w, w) for w in _words(operators)]
        functions = None if library is None else [w for w in _words(library) if w != "polynomial"]
        _refuse_unknown("operators", asked, _ALL)
        _refuse_unknown("library", functions, _BASES)
        whole = isinstance(degree, int) and not isinstance(degree, bool)
        if degree is not None and not (whole and 1 <= degree <= _MOST_DEGREE):
            raise UsageError(
                f"degree is {degree!r}.", f"Give a whole number from 1 to {_MOST_DEGREE}."
            )
        return cls(
            None if asked is None else tuple(dict.fromkeys(asked)),
            None if functions is None else tuple(dict.fromkeys(functions)),
            degree,
        )


def _words(text: str | Sequence[str]) -> list[str]:
    words = text.replace(",", " ").split() if isinstance(text, str) else list(text)
    return [word.strip().lower() for word in words]


def _refuse_unknown(option: str, words: Sequence[str] | None, known: Sequence[str]) -> None:
    if words is not None and not words and option == "operators":
        raise UsageError("operators is empty.", "Name some, such as +,*,sin, or leave it out.")
    for word in words or ():
        if word not in known:
            raise UsageError(
                f"{option} has {word!r}.", f"{did_you_mean(word, known)} All: {', '.join(known)}."
            )


def has_setting(name: str, option: str) -> bool:
    """Return whether a method has a setting for an option."""
    return name in _ABLE[option]


def settings_for(spec: MethodSpec, data_type: str, wishes: Wishes) -> dict[str, Any]:
    """Return the method's own settings for what is asked for, by their names.

    Raises
    ------
    UsageError
        If it has not one of the operators; names those that it has.
    """
    now = spec.fixed("strict", data_type)
    settings: dict[str, Any] = {}
    if wishes.operators is not None:
        way = _OPERATORS[spec.name]
        known = [name for name in _ALL if name in way.names or name in way.implied]
        for name in wishes.operators:
            if name not in known:
                raise UsageError(
                    f"{spec.name} has no {name}.", f"It has {', '.join(known)}; leave {name} out."
                )
        settings |= way.settings(wishes.operators, now)
    if wishes.library is not None:
        settings |= _LIBRARY[spec.name](wishes.library)
    if wishes.degree is not None:
        settings |= _DEGREE[spec.name](wishes.degree)
    return settings
