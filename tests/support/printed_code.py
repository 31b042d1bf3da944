"""Readers of equations as code, each by the grammar of its language."""

from __future__ import annotations

import ast
import ctypes
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
from printed import EVERY, FUNCTIONS, OPERATORS, PI, Columns, E, Misread, doubles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

# ---------------------------------------------------------------- code


def of_python(text: str, columns: Columns) -> Any:
    """Run Python's code for NumPy."""
    with np.errstate(all="ignore"):
        return eval(text, {"np": np, "__builtins__": {}}, dict(doubles(columns)))


def of_sympy_syntax(text: str, columns: Columns) -> Any:
    """Run Python's code for SymPy, with functions of numbers in place of SymPy's."""
    named = FUNCTIONS | {"Abs": np.abs, "Max": np.maximum, "Min": np.minimum}
    names = {name: _of_floats(function) for name, function in named.items()}
    with np.errstate(all="ignore"):
        scope = {**names, "pi": float(PI), "E": float(E), **doubles(columns)}
        return eval(text, {"__builtins__": {}}, scope)


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that has no whole numbers of 64 bits: SymPy has none."""
    return lambda *arguments: function(*(np.asarray(each, np.float64) for each in arguments))


def of_plain(text: str, columns: Columns) -> Any:
    """Read the bench's own writing by Python's grammar, with ``^`` as ``**``."""
    scope = {**EVERY, "square": np.square, "cube": lambda x: x**3}
    tree = ast.parse(text.replace("^", "**").strip(), mode="eval")
    with np.errstate(all="ignore"):
        code = compile(ast.fix_missing_locations(_Floats().visit(tree)), "<plain>", "eval")
        return eval(
            code,
            {"__builtins__": {}, "pi": PI, "E": E, "__number": np.longdouble} | scope,
            dict(columns),
        )


class _Floats(ast.NodeTransformer):
    """Makes every number one of extended precision."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        text = ast.Constant(repr(node.value))
        return ast.Call(ast.Name("__number", ast.Load()), [text], [])


# ---------------------------------------------------------------- C

COMPILER = shutil.which("cc") or shutil.which("gcc")


class Compiled:
    """Formulas in C, compiled as one file with warnings as errors."""

    def __init__(self, texts: Sequence[str], names: Sequence[Sequence[str]], folder: Path) -> None:
        assert COMPILER is not None
        lines = ["#include <math.h>"]
        for place, (text, variables) in enumerate(zip(texts, names, strict=True)):
            given = "".join(
                f" double {name} = rows_[{number}]; (void){name};"
                for number, name in enumerate(variables)
            )
            head = f"double f{place}(const double *rows_); double f{place}(const double *rows_)"
            lines.append(f"{head} {{ (void)rows_;{given} return {text}; }}")
        source, library = folder / "formulas.c", folder / "formulas.so"
        source.write_text("\n".join(lines), encoding="utf-8")
        options = ["-O0", "-std=c99", "-Wall", "-Werror", "-Wno-parentheses", "-shared", "-fPIC"]
        subprocess.run([COMPILER, *options, "-o", library, source, "-lm"], check=True)
        self._library = ctypes.CDLL(str(library))

    def of(self, place: int, names: Sequence[str], columns: Columns) -> Any:
        """Work one out, row by row."""
        function = self._library[f"f{place}"]
        function.restype = ctypes.c_double
        rows = np.stack([doubles(columns)[name] for name in names], axis=-1) if names else [[0.0]]
        return np.array([function((ctypes.c_double * len(row))(*row)) for row in rows])


# ---------------------------------------------------------------- Julia

_JULIA = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>[-+*/^(),]))"
)


def of_julia(text: str, columns: Columns) -> Any:
    """Read Julia's code by the precedence in its manual ("Mathematical Operations").

    From weak to strong: ``+ -``, ``* /``, unary minus, a number before a name or a bracket, and
    ``^``, which is right-associative, takes a minus on its right, and binds what a minus on its
    left is before.  Whole numbers are Int64: they wrap, and have no negative powers but those of
    literals.  ``2.`` before an operator is an error, and ``--`` is no operator.
    """
    with np.errstate(all="ignore"):
        reader = _Julia(text, columns)
        found = reader.sum()
    if reader.kind != "end":
        raise Misread(f"{reader.text} in Julia")
    return found


class _Julia:
    def __init__(self, text: str, columns: Columns) -> None:
        if "--" in text or "++" in text:
            raise Misread("two signs are no operator of Julia")
        if re.search(r"(?<![\w.])\d+\.(?=\s*[-+*/^])(?!\d)", text):
            raise Misread("a number that ends with a point before an operator")
        self.columns = doubles(columns)
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            match = _JULIA.match(text, at)
            if match is None:
                raise Misread(f"{text[at : at + 10]} in Julia")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        self.tokens.append(("end", ""))

    @property
    def kind(self) -> str:
        return self.tokens[0][0]

    @property
    def text(self) -> str:
        return self.tokens[0][1] if self.kind != "number" else ""

    def take(self) -> str:
        return self.tokens.pop(0)[1]

    def sum(self) -> Any:
        total = self.product()
        while self.text in {"+", "-"}:
            total = _joined(self.take(), total, self.product())
        return total

    def product(self) -> Any:
        total = self.unary()
        while self.text in {"*", "/"}:
            total = _joined(self.take(), total, self.unary())
        return total

    def unary(self) -> Any:
        if self.text in {"-", "+"}:
            negative = self.take() == "-"
            found = self.unary()
            return _wrapped(-found) if negative else found
        return self.beside()

    def beside(self) -> Any:
        is_number = self.kind == "number"
        found = self.power()
        if is_number and (self.kind == "name" or self.text == "("):
            raise Misread("a number before a name or a bracket")  # never printed
        return found

    def power(self) -> Any:
        base = self.atom()
        if self.text != "^":
            return base
        self.take()
        literal = self.kind == "number" or (self.text == "-" and self.tokens[1][0] == "number")
        minus = False
        while self.text in {"-", "+"}:
            minus ^= self.take() == "-"
        above = self.power()
        above = -above if minus else above
        if isinstance(base, int) and isinstance(above, int):
            if above < 0 and not literal:
                raise Misread("a negative power of a whole number")
            return _wrapped(base**above) if above >= 0 else float(base) ** above
        return np.asarray(base, np.float64) ** above

    def atom(self) -> Any:
        kind, text = self.tokens.pop(0)
        if kind == "number":
            if not text.isdigit():
                return np.float64(text)
            if int(text) >= 2**63:
                raise Misread("a whole number too large for Int64")
            return int(text)
        if kind == "name" and self.text == "(":
            self.take()
            arguments = [self.sum()]
            while self.text == ",":
                self.take()
                arguments.append(self.sum())
            self.close()
            if text in {"abs", "sign", "max", "min"} and all(isinstance(a, int) for a in arguments):
                return int(FUNCTIONS[text](*arguments))
            return FUNCTIONS[text](*arguments)
        if kind == "name":
            return float(PI) if text == "pi" else self.columns[text]
        if text == "(":
            found = self.sum()
            self.close()
            return found
        raise Misread(f"{text} in Julia")

    def close(self) -> None:
        if self.take() != ")":
            raise Misread("no closing bracket in Julia")


def _wrapped(number: Any) -> Any:
    return (number + 2**63) % 2**64 - 2**63 if isinstance(number, int) else number


def _joined(sign: str, a: Any, b: Any) -> Any:
    whole = isinstance(a, int) and isinstance(b, int)
    if sign == "/" and whole:
        return np.float64(a) / np.float64(b)
    return _wrapped(OPERATORS[sign](a, b))
