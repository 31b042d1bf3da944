"""Checks certificates: Python's standard library and python-flint alone, nothing else of mdbench.

    python verify.py CERTIFICATES.jsonl RECORDS.jsonl ...

A certificate is a proof for one record, that its answer is the true law, or that it is not
(docs/fidelity.md).  What is proved:

``identified``
    For each equation truth and answer are ratios of two polynomials, in lowest terms, of variables
    and functions.  Both have the same products, and all constants are within 5 %, those inside of
    functions, too; so are exponents, which are equal where one of them is whole.  A ratio is scaled
    so that it has the fewest constants.
``different``
    For one equation there is a point at which the two have different values, in balls of Arb; where
    ``moved`` is true, each constant of the truth's form may be off by 5 %, and none such fits.
"""

from __future__ import annotations

import ast
import json
import operator
import re
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import flint
from flint.utils.flint_exceptions import DomainError

TOLERANCE = Fraction(1, 20)
"""How far a constant may be off, as a share of the true one; of a sum in a function, as it is."""
DIGITS, PRECISION = 25, 256
"""Digits of a ball in a certificate, and the bits that it is computed with."""
MOST_ATOMS, MOST_POWER, MOST_TEXT, MOST_TERMS = 24, 60, 20_000, 4000
KEYS = {"schema", "record", "claim", "truth", "equations", "proofs"}
FUNCTIONS = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "cot", "exp", "log"),
    *("max", "min", "sign", "sin", "sinh", "sqrt", "tan", "tanh"),
)
ALIASES = {"Abs": "abs", "Max": "max", "Min": "min", "ln": "log"}
ALIASES |= {f"arc{name}": f"a{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")}
EVEN = {"abs", "cos", "cosh"}
SYMMETRIC = EVEN | {"asin", "asinh", "atan", "atanh", "cot", "exp", "sign", "sin", "sinh", "tan"}
SYMMETRIC |= {"tanh"}
OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
NUMBER = re.compile(r"\d+(\.\d*)?([eE][+-]?\d{1,3})?|\.\d+([eE][+-]?\d{1,3})?")


class RefusedCertificate(Exception):  # noqa: N818 - it is an answer
    """The certificate proves nothing; the text says why."""


class Ratio(NamedTuple):
    """A ratio of two polynomials over the atoms of a `Ring`, in lowest terms, the lower monic."""

    upper: Any
    lower: Any


class Atom(NamedTuple):
    """A variable, a constant with a name, or a function of ratios; ``**`` is a power of two."""

    head: str
    arguments: tuple[Ratio, ...] = ()


class Ring:
    """Polynomials with rational coefficients over atoms, which are made as they are met."""

    def __init__(self) -> None:
        names = [f"g{i}" for i in range(MOST_ATOMS)]
        self.context = flint.fmpq_mpoly_ctx.get(names, flint.Ordering.lex)
        self.atoms: list[Atom] = []
        self.met: set[int] = set()

    def number(self, value: Fraction) -> Ratio:
        """Return a constant."""
        one = self.context.constant(flint.fmpq(1))
        return Ratio(one * flint.fmpq(value.numerator, value.denominator), one)

    def atom(self, head: str, *arguments: Ratio) -> Ratio:
        """Return an atom, the same one for the same function of the same arguments."""
        made = Atom(head, arguments)
        if made not in self.atoms:
            if len(self.atoms) == MOST_ATOMS:
                raise RefusedCertificate(f"more than {MOST_ATOMS} variables and functions")
            self.atoms.append(made)
        index = self.atoms.index(made)
        self.met.add(index)
        return Ratio(self.context.gens()[index], self.number(Fraction(1)).upper)

    def reduce(self, upper: Any, lower: Any) -> Ratio:
        """Return a ratio in lowest terms."""
        if lower == 0:
            raise RefusedCertificate("a division by zero")
        if max(len(upper), len(lower)) > MOST_TERMS:
            raise RefusedCertificate("too many terms")
        common = upper.gcd(lower) if upper != 0 else lower
        upper, lower = upper / common, lower / common
        leading = lower.leading_coefficient()
        return Ratio(upper / leading, lower / leading)

    name = atom

    def call(self, name: str, *arguments: Ratio) -> Ratio:
        """Return a function; of ``x`` and ``-x`` one, where both have the same value but a sign."""
        if name == "sqrt":
            return self.power(arguments[0], self.number(Fraction(1, 2)))
        upper = arguments[0].upper
        if name not in SYMMETRIC or upper == 0 or upper.leading_coefficient() > 0:
            return self.atom(name, *arguments)
        minus = self.number(Fraction(-1))
        turned = self.atom(name, self.multiply(minus, arguments[0]))
        if name == "exp":
            return self.power(turned, minus)
        return turned if name in EVEN else self.multiply(minus, turned)

    def add(self, a: Ratio, b: Ratio) -> Ratio:
        """Return a sum."""
        if a.lower == b.lower:
            return self.reduce(a.upper + b.upper, a.lower)
        return self.reduce(a.upper * b.lower + b.upper * a.lower, a.lower * b.lower)

    def subtract(self, a: Ratio, b: Ratio) -> Ratio:
        """Return a difference."""
        return self.add(a, self.multiply(self.number(Fraction(-1)), b))

    def multiply(self, a: Ratio, b: Ratio) -> Ratio:
        """Return a product."""
        if len(a.upper) * len(b.upper) > MOST_TERMS or len(a.lower) * len(b.lower) > MOST_TERMS:
            raise RefusedCertificate("too many terms")
        return self.reduce(a.upper * b.upper, a.lower * b.lower)

    def divide(self, a: Ratio, b: Ratio) -> Ratio:
        """Return a quotient."""
        return self.multiply(a, self.reduce(b.lower, b.upper))

    def power(self, base: Ratio, exponent: Ratio) -> Ratio:
        """Return a power: of a whole number as a product, else as an atom."""
        whole = constant_of(exponent)
        if whole is None or whole.denominator != 1:
            return self.atom("**", base, exponent)
        if abs(whole) > MOST_POWER:
            raise RefusedCertificate("a power that is too high")
        product = self.number(Fraction(1))
        if whole < 0:
            base = self.divide(product, base)
        for _ in range(abs(int(whole))):
            product = self.multiply(product, base)
        return product

    def read(self, text: str) -> Ratio:
        """Return an equation's right-hand side; each function in it is still in the result."""
        self.met = set()
        ratio: Ratio = value_in(self, tree_of(text), text.strip())
        functions = {index for index in self.met if self.atoms[index].arguments}
        if lost := functions - self.within(ratio):
            raise RefusedCertificate(
                f"{self.atoms[min(lost)].head} cancels, which may be undefined somewhere"
            )
        return ratio

    def within(self, ratio: Ratio) -> set[int]:
        """Return the numbers of the atoms of a ratio, and of those inside of them."""
        generators = {i for i, power in enumerate(degrees(ratio)) if power}
        for index in list(generators):
            for argument in self.atoms[index].arguments:
                generators |= self.within(argument)
        return generators


def value_in(algebra: Any, node: ast.AST, text: str) -> Any:
    """Return what a formula is in an algebra, `Ring` or `Balls`."""
    if isinstance(node, ast.Constant):
        return algebra.number(number_of(node, text))
    if isinstance(node, ast.Name):
        return algebra.name(node.id)
    if isinstance(node, ast.Call):
        name, arguments = call_of(node)
        return algebra.call(name, *(value_in(algebra, each, text) for each in arguments))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = algebra.number(Fraction(-1 if isinstance(node.op, ast.USub) else 1))
        return algebra.multiply(sign, value_in(algebra, node.operand, text))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        sides = (value_in(algebra, side, text) for side in (node.left, node.right))
        return getattr(algebra, OPERATIONS[type(node.op)])(*sides)
    raise RefusedCertificate("an equation has what is no formula")


def tree_of(text: Any) -> ast.expr:
    """Read a formula with Python's own parser, which runs nothing of it."""
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        raise RefusedCertificate("an equation is no text, or too long")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise RefusedCertificate("an equation cannot be read") from None


def number_of(node: ast.Constant, text: str) -> Fraction:
    """Return a number as it is written, with all its digits."""
    written = ast.get_source_segment(text, node) or ""
    if not NUMBER.fullmatch(written):
        raise RefusedCertificate(f"{written[:40]!r} is no number")
    return Fraction(written)


def call_of(node: ast.Call) -> tuple[str, list[ast.expr]]:
    """Return the function of a call, and its arguments."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    name = ALIASES.get(name, name)
    if name not in FUNCTIONS or node.keywords or len(node.args) != 1 + (name in {"max", "min"}):
        raise RefusedCertificate(f"{name[:40]!r} is no function")
    return name, node.args


def degrees(ratio: Ratio) -> list[int]:
    """Return the highest power of each atom in either polynomial."""
    return [max(pair) for pair in zip(ratio.upper.degrees(), ratio.lower.degrees(), strict=True)]


def fraction(value: Any) -> Fraction:
    """Return a rational number of FLINT's as one of Python's."""
    return Fraction(int(value.p), int(value.q))


def constant_of(ratio: Ratio) -> Fraction | None:
    """Return the number that a ratio is; None if it is none."""
    if any(degrees(ratio)):
        return None
    return fraction(ratio.upper.leading_coefficient()) if ratio.upper != 0 else Fraction(0)


def within_tolerance(value: Fraction, true: Fraction) -> bool:
    """Whether a constant is within 5 % of the true one."""
    return abs(value - true) <= TOLERANCE * abs(true)


def alike(ring: Ring, truth: Ratio, answer: Ratio, pairs: dict[int, int]) -> bool:
    """Whether two ratios are the same but for constants, and these within 5 %.

    Parameters
    ----------
    pairs
        For atoms of the answer those of the truth that they stand for; all others for themselves.
    """
    pairing = paired_terms(truth, answer, pairs)
    if pairing is None or not all(stands_for(ring, t, a, pairs) for a, t in pairs.items()):
        return False
    terms = [(t, a) for part in pairing for _, t, a in part]
    scales = scales_of(terms) if len(truth.lower) > 1 else [Fraction(1)]
    return any(all(within_tolerance(a, s * t) for t, a in terms) for s in scales)


def scales_of(terms: list[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """Return the shares of the constants by which a ratio may be scaled, so that they are right.

    They are those that leave the truth the fewest constants, once it is divided by one of them.
    """
    left = [sum(abs(other) != abs(one) for other, _ in terms) for one, _ in terms]
    return [a / t for (t, a), number in zip(terms, left, strict=True) if number == min(left)]


def stands_for(ring: Ring, true: int, answered: int, pairs: dict[int, int]) -> bool:
    """Whether a function of the answer is one of the truth's, but for constants within 5 %."""
    t, a = ring.atoms[true], ring.atoms[answered]
    if t.head != a.head or len(t.arguments) != len(a.arguments) or not t.arguments:
        return False
    for index, (x, y) in enumerate(zip(t.arguments, a.arguments, strict=True)):
        c, d = constant_of(x), constant_of(y)
        if c is None or d is None:
            inside = ring.within(y)
            if not alike(ring, x, y, {k: v for k, v in pairs.items() if k in inside}):
                return False
        elif c != d:
            is_whole = t.head == "**" and index == 1 and 1 in {c.denominator, d.denominator}
            if is_whole or not within_tolerance(d, c):
                return False
    return True


Terms = list[tuple[tuple[int, ...], Fraction, Fraction]]


def paired_terms(truth: Ratio, answer: Ratio, pairs: dict[int, int]) -> list[Terms] | None:
    """Return products with their true and their answered constant; None if they are not the same.

    The first list is of the upper polynomials, the second of the lower ones.
    """
    if len({*pairs.values()}) < len(pairs):
        return None
    whole = []
    for true, answered in zip(truth, answer, strict=True):
        moved: dict[tuple[int, ...], Fraction] = {}
        for powers, value in answered.to_dict().items():
            exponents = [0] * MOST_ATOMS
            for index, power in enumerate(powers):
                exponents[pairs.get(index, index)] += int(power)
            moved[tuple(exponents)] = moved.get(tuple(exponents), Fraction(0)) + fraction(value)
        wanted = {tuple(map(int, k)): fraction(v) for k, v in true.to_dict().items()}
        if wanted.keys() != moved.keys() or len(moved) < len(answered):
            return None
        whole.append([(k, wanted[k], moved[k]) for k in sorted(wanted, reverse=True)])
    return whole


def list_terms(terms: list[Terms]) -> list[list[list[Any]]]:
    """Return paired terms as a certificate lists them: powers by atom, and both constants."""
    return [
        [[{str(i): p for i, p in enumerate(powers) if p}, str(t), str(a)] for powers, t, a in part]
        for part in terms
    ]


class Balls:
    """Balls of Arb: a middle and a radius, into which all rounding goes."""

    add, subtract = operator.add, operator.sub
    multiply, divide = operator.mul, operator.truediv

    def __init__(self, point: dict[str, Fraction]) -> None:
        self.point = {name: self.number(value) for name, value in point.items()}
        self.point |= {"pi": flint.arb.pi(), "E": flint.arb.const_e()}

    @staticmethod
    def number(value: Fraction) -> Any:
        """Return a constant."""
        return flint.arb(flint.fmpq(value.numerator, value.denominator))

    def name(self, name: str) -> Any:
        """Return the value of a variable, or of a constant with a name."""
        if name not in self.point:
            raise RefusedCertificate(f"the point has no {name[:40]!r}")
        return self.point[name]

    @staticmethod
    def call(name: str, *balls: Any) -> Any:
        """Return the value of a function."""
        if name == "abs":
            return abs(balls[0])
        return getattr(balls[0], {"sign": "sgn"}.get(name, name))(*balls[1:])

    @staticmethod
    def power(base: Any, exponent: Any) -> Any:
        """Return a power of real numbers; what has none is no number."""
        if exponent.is_exact() and exponent.is_integer():
            return base ** int(exponent.unique_fmpz())
        return (base.log() * exponent).exp() if base > 0 else flint.arb.nan()


def moved_ball(ring: Ring, ratio: Ratio, balls: Balls, *, inner: bool = False) -> Any:
    """Return a ball with all values that a ratio has with each of its constants moved by 5 %."""
    around = flint.arb(0, 0.0501)
    values = {}
    for index in (i for i, power in enumerate(degrees(ratio)) if power):
        head, arguments = ring.atoms[index]
        inside = [moved_ball(ring, each, balls, inner=True) for each in arguments]
        if not arguments:
            values[index] = balls.name(head)
        elif head == "**" and (exponent := constant_of(arguments[1])) is not None:
            values[index] = balls.power(inside[0], balls.number(exponent) * (1 + around))
        else:
            values[index] = (balls.power if head == "**" else partial(balls.call, head))(*inside)
    parts = []
    for polynomial in ratio:
        total = flint.arb(0)
        for powers, value in polynomial.to_dict().items():
            term = flint.arb(value) * (1 + around)
            if inner and not any(powers):
                term += around
            for index, power in enumerate(powers):
                if power:
                    term *= values[index] ** int(power)
            total += term
        parts.append(total)
    return parts[0] / parts[1]


def check_point(certificate: dict[str, Any], proof: dict[str, Any], domain: dict[str, Any]) -> None:
    """Refuse a point at which the two may have the same value."""
    if proof.keys() != {"equation", "point", "moved", "true", "answered"}:
        raise RefusedCertificate("a proof has other keys")
    if not isinstance(proof["moved"], bool) or proof["equation"] < 0:
        raise RefusedCertificate("a proof has other values")
    truth, answer = (certificate[key][proof["equation"]] for key in ("truth", "equations"))
    point = {name: Fraction(text) for name, text in proof["point"].items()}
    for name, (low, high) in domain.items():
        if name in point and not low <= point[name] <= high:
            raise RefusedCertificate(f"the point's {name} is not in the domain")
    values = balls_at(truth, answer, point, moved=proof["moved"])
    if [each.str(DIGITS) for each in values] != [proof["true"], proof["answered"]]:
        raise RefusedCertificate("the values at the point are others")
    if not all(each.is_finite() for each in values) or values[0].overlaps(values[1]):
        raise RefusedCertificate("the values at the point may be the same")


def balls_at(
    truth: str, answer: str, point: dict[str, Fraction], *, moved: bool
) -> tuple[Any, Any]:
    """Return balls with the values of truth and answer at a point."""
    flint.ctx.prec = PRECISION
    texts = truth.strip(), answer.strip()
    trees = [tree_of(each) for each in texts]
    used = {n.id for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Name)}
    if point.keys() != used - {"pi", "E", *FUNCTIONS, *ALIASES}:
        raise RefusedCertificate("the point names other variables than the equations")
    at, ring = Balls(point), Ring()
    true, answered = (value_in(at, *each) for each in zip(trees, texts, strict=True))
    return moved_ball(ring, ring.read(truth), at) if moved else true, answered


def check_form(certificate: dict[str, Any], number: int, proof: dict[str, Any]) -> None:
    """Refuse two equations that are not the same but for constants within 5 %."""
    if proof.keys() != {"pairs", "terms"}:
        raise RefusedCertificate("a proof has other keys")
    ring = Ring()
    truth, answer = (ring.read(certificate[key][number]) for key in ("truth", "equations"))
    pairs = {int(a): int(t) for a, t in proof["pairs"].items()}
    if not all(0 <= each < len(ring.atoms) for pair in pairs.items() for each in pair):
        raise RefusedCertificate("a pair names what is not there")
    if pairs.keys() - ring.within(answer) or {*pairs.values()} - ring.within(truth):
        raise RefusedCertificate("a pair names what neither has")
    if not alike(ring, truth, answer, pairs):
        raise RefusedCertificate("they are not the same but for constants within 5 %")
    terms = paired_terms(truth, answer, pairs)
    if terms is None or list_terms(terms) != proof["terms"]:
        raise RefusedCertificate("the terms are others")


def verify(certificate: Any, record: dict[str, Any] | None = None) -> str:
    """Check a certificate, and return what it proves: ``identified`` or ``different``.

    Parameters
    ----------
    certificate
        As it was read from JSON; may be anything.
    record
        The record that it is about; None to check the proof alone.

    Raises
    ------
    Refused
        If it proves nothing, or is about another record.
    """
    try:
        return _verify(certificate, record)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise RefusedCertificate(f"it is no certificate: {type(error).__name__}") from None
    except (ArithmeticError, MemoryError, DomainError) as error:
        raise RefusedCertificate(f"it cannot be computed: {type(error).__name__}") from None


def _verify(certificate: Any, record: dict[str, Any] | None) -> str:
    if certificate.keys() != KEYS or certificate["schema"] != 1:
        raise RefusedCertificate("its keys are not those of a certificate")
    claim, proofs = certificate["claim"], certificate["proofs"]
    domain: dict[str, Any] = {}
    if record is not None:
        said = {1: "identified", 0: "different"}.get(record["metrics"]["identified"])
        about = (record["key"], said, list(record["truth"]), list(record["equations"]))
        if about != tuple(certificate[key] for key in ("record", "claim", "truth", "equations")):
            raise RefusedCertificate("it is about another record")
        domain = domain_of(record)
    if len(certificate["truth"]) != len(certificate["equations"]) or not certificate["truth"]:
        raise RefusedCertificate("truth and answer have not as many equations")
    if claim == "identified":
        for number, (_, proof) in enumerate(zip(certificate["truth"], proofs, strict=True)):
            check_form(certificate, number, proof)
    elif claim == "different":
        (proof,) = proofs
        check_point(certificate, proof, domain)
    else:
        raise RefusedCertificate("it claims nothing")
    return str(claim)


def is_proof(certificate: Any, record: dict[str, Any] | None) -> bool:
    """Whether a certificate proves what it claims of a record."""
    try:
        return bool(verify(certificate, record))
    except RefusedCertificate:
        return False


def domain_of(record: dict[str, Any]) -> dict[str, tuple[Fraction, Fraction]]:
    """Return the range of each variable that a record's notes name."""
    intervals = {}
    for note in record.get("notes", {}).get("domain", ()):
        name, _, text = note.partition(": ")
        low, _, high = text.partition(" to ")
        intervals[name] = (Fraction(low), Fraction(high))
    return intervals


def main(arguments: list[str]) -> int:
    """Check a file of certificates against records, and print what is refused."""
    files = [Path(each).read_text(encoding="utf-8").splitlines() for each in arguments]
    records: dict[str, list[dict[str, Any]]] = {}
    for record in (json.loads(line) for lines in files[1:] for line in lines):
        records.setdefault(record["key"], []).append(record)
    refused = 0
    for number, line in enumerate(files[0], 1):
        try:
            certificate = json.loads(line)
            about = records[certificate["record"]] if records else [None]
            if not any(is_proof(certificate, record) for record in about):
                verify(certificate, about[-1])
        except (RefusedCertificate, KeyError, TypeError, ValueError, RecursionError) as error:
            refused += 1
            sys.stdout.write(f"line {number}: refused: {error}\n")
    sys.stdout.write(f"{len(files[0]) - refused} of {len(files[0])} certificates are proofs\n")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
