"""The symbolic transformer: forms of laws, tables to learn from, network, decoding, answers."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from genetic_methods import evaluate_text
from numpy.typing import NDArray
from torch_methods import ALGORITHMS, modules, torch_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inside import Inside

Array = NDArray[np.float64]
SHARED = ALGORITHMS / "shared" / "table_transformer"


@pytest.fixture(scope="module")
def load() -> Iterator[Any]:
    with modules(SHARED) as found:
        yield found


@pytest.fixture(scope="module")
def forms(load: Any) -> Any:
    return load("skeletons")


@pytest.fixture(scope="module")
def pretraining(load: Any) -> Any:
    return load("pretraining")


@pytest.fixture(scope="module")
def bigram(forms: Any, pretraining: Any) -> Any:
    return pretraining.Bigram(list(forms.read_laws(SHARED / "laws.txt").values()))


def value(tokens: Sequence[str], X: Array) -> Array:
    """Evaluate a law without numbers: the tests' own reader."""
    left = iter(tokens)
    one: dict[str, Callable[[Array], Array]] = {
        "square": lambda a: a**2, "cube": lambda a: a**3, "sqrt": np.sqrt, "exp": np.exp,
        "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan,
        "tanh": np.tanh,
    }  # fmt: skip
    two = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}

    def read() -> Array:
        name = next(left)
        if name in one:
            return np.asarray(one[name](read()))
        if name in two:
            first = read()
            return np.asarray(two[name](first, read()))
        return X[:, int(name[1:])]

    return read()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a*b", "b*a"),
        ("a/(b*c)", "a/b/c"),
        ("sqrt(a*b)", "sqrt(a)*sqrt(b)"),
        ("2*a/3", "C*a"),
        ("3*(1 + 2*a)", "C + C*a"),
        ("a - 2*b", "a + C*b"),
        ("exp(a + 2)", "C*exp(a)"),
        ("log(3*a)", "C + log(a)"),
        ("log(a**2)", "C*log(a)"),
        ("exp(log(a))*b", "a*b"),
        ("a + a", "C*a"),
        ("1/a", "C/a"),
        ("(a**2)**2", "a**4"),
        ("2*(a + 3*b)/c", "(C*a + C*b)/c"),
        ("a*(b/a)", "b"),
    ],
)
def test_laws_that_are_the_same_have_one_form(forms: Any, one: str, other: str) -> None:
    # Variables are numbered by their first mention: any other numbering will do.
    tokens = forms.prefix_of_form(forms.read_form(other))
    many = len({letter for letter in one if letter in "abc"})
    assert forms.read_form(one) in {
        forms.form_of_prefix(forms.renumbered(tokens, order))
        for order in itertools.permutations(range(many))
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a*b", "a/b"),
        ("a*b", "C*a*b"),
        ("a + b", "a - b"),
        ("a**2", "a**3"),
        ("sqrt(a)", "a"),
        ("sin(a)", "cos(a)"),
        ("sqrt(C - a)", "sqrt(a)"),
    ],
)
def test_laws_that_are_not_have_two(forms: Any, one: str, other: str) -> None:
    assert forms.read_form(one) != forms.read_form(other)


def test_what_is_written_is_read_as_the_same_form_and_the_same_function(
    forms: Any, bigram: Any
) -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(0.5, 1.4, (20, 10))
    without_numbers = 0
    for _ in range(400):
        tokens = bigram.draw(rng)
        form = forms.form_of_prefix(tokens)
        assert forms.prefix_of_form(form) == tokens
        if "const" not in tokens:
            without_numbers += 1
            order = rng.permutation(10).tolist()
            again = forms.prefix_of_form(forms.form_of_prefix(forms.renumbered(tokens, order)))
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(
                    value(again, X), value(tokens, X[:, order]), rtol=1e-9, equal_nan=True
                )
    assert without_numbers > 50


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a +", "no expression"),
        ("f(a)", r"holds 'f\(a\)'"),
        ("a**b", "no form has"),
        ("__import__('os')", "no form has"),
    ],
)
def test_what_is_no_law_is_refused(forms: Any, text: str, says: str) -> None:
    with pytest.raises(forms.FormError, match=says):
        forms.read_form(text)


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        ("mul x0", "not complete"),
        ("x0 x1", "more than one"),
        ("pow x0 x1", "no token 'pow'"),
    ],
)
def test_broken_prefixes_are_refused(forms: Any, tokens: str, says: str) -> None:
    with pytest.raises(forms.FormError, match=says):
        forms.form_of_prefix(tokens.split())


def test_the_bigram_draws_what_was_counted_and_no_more(forms: Any, pretraining: Any) -> None:
    laws = [forms.read_form("C*a*b"), forms.read_form("sqrt(a + b)")]
    only = pretraining.Bigram(laws, share=0.0)
    rng = np.random.default_rng(0)
    seen = {name for _ in range(200) for name in only.draw(rng) if name in forms.ARITY}
    assert seen >= {"const", "mul", "sqrt", "add"}
    # Two of a variable are a power of it.
    assert seen <= {"const", "mul", "sqrt", "add", "square", "cube"}


def test_in_a_drawn_table_every_part_of_the_law_is_seen(
    forms: Any, pretraining: Any, bigram: Any
) -> None:
    rng = np.random.default_rng(5)
    checked = 0
    for _ in range(150):
        tokens = bigram.draw(rng)
        table = pretraining.drawn_table(tokens, 40, rng, dummies=1)
        if table is None:
            continue
        used = {int(name[1:]) for name in table.tokens if name not in forms.ARITY}
        columns = table.X.shape[1]
        assert len(used) == columns - 1
        assert max(used) < columns
        assert np.isfinite(table.X).all()
        decades = np.log10(np.abs(table.X))
        np.testing.assert_allclose(table.ranges, np.stack([decades.min(0), decades.max(0)], 1))
        assert np.ptp(table.y) > 0
        if "const" not in tokens:
            np.testing.assert_allclose(table.y, value(table.tokens, table.X), rtol=1e-9)
            checked += 1
    assert checked > 20


def test_tables_are_repeated_by_their_seed(pretraining: Any, bigram: Any) -> None:
    one, two = (
        pretraining.drawn_table(bigram.draw(rng), 20, rng)
        for rng in (np.random.default_rng(8), np.random.default_rng(8))
    )
    assert one.tokens == two.tokens
    np.testing.assert_array_equal(one.X, two.X)


def test_features_know_a_product_of_powers(pretraining: Any) -> None:
    rng = np.random.default_rng(0)
    X = 10 ** rng.uniform(-3, 2, (50, 2))
    cells = pretraining.features(X, 3e5 * X[:, 0] ** 2 / X[:, 1])
    assert cells.shape == (50, 3, pretraining.FEATURES)
    np.testing.assert_allclose(cells[:, 0, 6], 2 / 2, atol=1e-5)
    np.testing.assert_allclose(cells[:, 1, 6], -1 / 2, atol=1e-5)
    np.testing.assert_allclose(cells[..., 7], math.log10(3e5) / 10, atol=1e-5)
    np.testing.assert_allclose(cells[..., 9], 0, atol=1e-5)


def test_features_of_odd_tables_are_finite(pretraining: Any) -> None:
    zero, large = np.zeros((5, 1)), np.full((5, 1), 1e300)
    for X in (zero, large, -large, np.hstack([zero, large])):
        for y in (zero[:, 0], large[:, 0], np.arange(5.0)):
            with np.errstate(all="raise", under="ignore"):
                assert np.isfinite(pretraining.features(X, y)).all()


def test_a_balance_brings_summands_to_like_sizes(load: Any) -> None:
    balance = load("balancing").Balance
    X = np.random.default_rng(1).uniform(1, 2, (30, 2)) * [1e8, 1e-9]
    law = ["add", "square", "x0", "mul", "const", "exp", "mul", "const", "x1"]
    own = balance(law, X, [1.0, 1.0])
    own.settle()
    values = own.values()
    assert own.least_share() > 0.1
    assert np.isfinite(values).all()
    # The exponent is about 1 then, and the factor about 1e16.
    assert 0.2 < own.numbers[1] * 1.5e-9 < 8
    assert 1e15 < own.numbers[0] < 1e17


PRELUDE = """
import itertools, json, math, sys, time, warnings
import numpy as np
import torch
from adapter import Adapter
from decoding import decode
from mdbench.worker import Problem
from pretraining import features
from table_network import TOKENS, NetworkSizes, TableNetwork
warnings.simplefilter("error")
given = json.load(sys.stdin)
torch.set_num_threads(1)
torch.manual_seed(0)

def problem(f, columns=2, low=1.0, high=100.0, targets=1, limit=None):
    X = np.exp(np.random.default_rng(0).uniform(np.log(low), np.log(high), (300, columns)))
    Y = np.stack([f(*X.T)] * targets, axis=1)
    names = tuple(f"u{i}" for i in range(columns))
    return Problem("table", names, tuple(f"y{i}" for i in range(targets)), {"X": X, "Y": Y},
                   time_limit=limit)
"""


@pytest.fixture(scope="module")
def fitting() -> Iterator[Inside]:
    with torch_inside("symbolic_transformer_fitted") as found:
        yield found


@pytest.fixture(scope="module")
def plain() -> Iterator[Inside]:
    with torch_inside("symbolic_transformer") as found:
        yield found


def told(process: Inside, code: str, **given: Any) -> Any:
    done = process.run(PRELUDE + code, given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


NETWORK = """
network = TableNetwork(NetworkSizes(16, 16, 2, 1, 4)).eval()
X = np.random.default_rng(0).uniform(1, 2, (12, 2))
y = X[:, 0] * X[:, 1]
cells = torch.from_numpy(features(X, y))[None]
there = torch.ones(1, 3, dtype=torch.bool)
mul = TOKENS.index("mul")
written = torch.tensor([[mul, len(TOKENS), len(TOKENS) + 1]])

def logits(cells, there):
    return network(network.read(cells, there), there, written).detach()

out = {}
base = logits(cells, there)
order = torch.from_numpy(np.random.default_rng(1).permutation(12))
out["rows"] = float((logits(cells[:, order], there) - base).abs().max())
between = torch.full((1, 12, 3, cells.shape[3]), 7.0)
padded = torch.cat([cells[:, :, :2], between, cells[:, :, 2:]], 2)
wide = logits(padded, torch.tensor([[True, True, False, False, False, True]]))
out["padding"] = float((wide[..., : len(TOKENS) + 2] - base).abs().max())
out["padded"] = bool(torch.isneginf(wide[..., len(TOKENS) + 2 :]).all())
# What is written later has no part in what comes before it.
other = written.clone()
other[0, 2] = len(TOKENS)
changed = network(network.read(cells, there), there, other).detach()
out["later"] = float((changed[:, :3] - base[:, :3]).abs().max())
out["it"] = float((changed[:, 3] - base[:, 3]).abs().max())

# Every whole expression of up to three tokens over one column, by brute force.
single = X[:, :1]
cells, there = torch.from_numpy(features(single, y))[None], torch.ones(1, 2, dtype=torch.bool)
network.shape = NetworkSizes(16, 16, 2, 1, 3)
from skeletons import ARITY, FormError, form_of_prefix, prefix_of_form
names = [*TOKENS, "x0"]
read = network.read(cells, there)
best = {}
for length in (1, 2, 3):
    for codes in itertools.product(range(len(names)), repeat=length):
        places = 1
        for at, code in enumerate(codes):
            places += ARITY.get(names[code], 0) - 1
            if places == 0 and at < length - 1:
                places = -1
                break
        if places != 0:
            continue
        given_codes = torch.tensor([codes])
        own = torch.log_softmax(network(read, there, given_codes), -1).detach()
        chance = sum(float(own[0, at, code]) for at, code in enumerate(codes))
        try:
            form = form_of_prefix([names[code] for code in codes])
            form = tuple(prefix_of_form(form, gathered=True))
        except FormError:  # the cube of a cube
            continue
        best[form] = max(best.get(form, -math.inf), chance)
found = decode(network, single, y, beam=5000)
network.shape = NetworkSizes(16, 16, 2, 1, 4)
out["all"] = [len(found), len(best)]
out["chances"] = max(abs(one.log_chance - best[one.tokens]) for one in found)
out["sorted"] = [one.log_chance for one in found] == sorted(
    (one.log_chance for one in found), reverse=True)

from pathlib import Path
file = Path(given["folder"]) / "weights.npz"
network.save(file)
again = TableNetwork.load(file)
out["kept"] = max(float((a - b).abs().max()) for a, b in
                  zip(network.state_dict().values(), again.state_dict().values()))
out["shape"] = again.shape == network.shape
print(json.dumps(out))
"""


@pytest.mark.build
def test_the_network_reads_sets_and_the_beam_finds_all_expressions(
    plain: Inside, tmp_path: Any
) -> None:
    out = told(plain, NETWORK, folder=str(tmp_path))
    assert out["rows"] < 1e-4
    assert out["padding"] < 1e-4
    assert out["padded"]
    assert out["later"] < 1e-5
    assert out["it"] > 1e-4
    assert out["all"][0] == out["all"][1]
    assert out["chances"] < 1e-4
    assert out["sorted"]
    assert out["kept"] < 2e-3
    assert out["shape"]


FITTED = """
one = Adapter(seed=0, threads=1)
out = {}
laws = {
    "gravity": problem(lambda a, b, r: 6.674e-11 * a * b / r**2, 3),
    "product": problem(lambda a, b: a * b),
    "lens": problem(lambda a, b: a * b / (a + b)),
    "root": problem(lambda a: 2.006 * np.sqrt(a), 1),
}
for name, each in laws.items():
    one.fit(each)
    out[name] = {
        "equation": one.equations()[0], "off": float(np.abs(one.predict(each) / each.Y - 1).max()),
        "candidates": [c.equations[0] for c in one.candidates()], "early": one.stopped_early,
    }
one.fit(problem(lambda a, b: a * b, limit=1e-3))
out["late"] = [one.stopped_early, len(one.equations())]
two = problem(lambda a, b: a * b, targets=2)
one.fit(two)
out["two"] = [list(one.predict(two).shape), sorted({c.target for c in one.candidates()})]
constant = problem(lambda a, b: 0 * a + 3.0)
one.fit(constant)
out["constant"] = float(np.abs(one.predict(constant) - 3).max())
try:
    one.fit(problem(lambda *x: x[0], columns=11))
except ValueError as error:
    out["wide"] = str(error)
print(json.dumps(out))
"""


@pytest.mark.build
def test_simple_laws_are_found_with_their_numbers(fitting: Inside) -> None:
    out = told(fitting, FITTED)
    for law in ("gravity", "product", "lens", "root"):
        assert out[law]["off"] < 1e-6, out[law]
        assert out[law]["equation"] in out[law]["candidates"]
        assert not out[law]["early"]
    X = np.array([[2.0, 3.0, 5.0]])
    assert evaluate_text(out["gravity"]["equation"], X)[0] == pytest.approx(
        6.674e-11 * 6 / 25, rel=1e-6
    )
    assert out["late"] == [True, 1]
    assert out["two"] == [[300, 2], [0, 1]]
    assert out["constant"] < 1e-6
    assert "11 variables" in out["wide"]


PLAIN = """
import re
from table_decoder import STAND_INS
one, two = (Adapter(seed=0, threads=1) for _ in range(2))
out = []
for law in (problem(lambda a, b: a * b), problem(lambda a, b, r: 6.674e-11 * a * b / r**2, 3)):
    one.fit(law)
    two.fit(law)
    (equation,) = one.equations()
    numbers = [float(n) for n in re.findall(r"(?<![\\w*])\\d+\\.\\d+", equation)]
    out.append({
        "equation": equation, "again": two.equations()[0], "many": len(list(one.candidates())),
        "stand_ins": set(numbers) <= set(STAND_INS),
    })
print(json.dumps(out))
"""


@pytest.mark.build
def test_without_fitting_numbers_are_stand_ins(plain: Inside) -> None:
    product, gravity = told(plain, PLAIN)
    for law in (product, gravity):
        assert law["equation"] == law["again"]
        assert law["many"] == 1
        assert law["stand_ins"]
        assert "e-" not in law["equation"]
    X = np.array([[2.0, 3.0], [5.0, 7.0]])
    np.testing.assert_allclose(evaluate_text(product["equation"], X), [6.0, 35.0])


TRAINING = """
import runpy
sys.argv = ["train.py", "--minutes", "5", "--threads", "1", "--steps", "8", "--into",
            given["folder"], "--state", given["folder"] + "/state.pt"]
import io, contextlib
with contextlib.redirect_stdout(io.StringIO()):
    runpy.run_path(given["file"], run_name="__main__")
state = torch.load(given["folder"] + "/state.pt", weights_only=True)
network = TableNetwork.load(__import__("pathlib").Path(given["folder"]) / "weights.npz")
print(json.dumps([state["step"], state["curve"][-1][1]]))
"""


@pytest.mark.build
def test_the_weights_can_be_made_again(plain: Inside, tmp_path: Any) -> None:
    file = ALGORITHMS / "symbolic_transformer" / "train.py"
    step, loss = told(plain, TRAINING, folder=str(tmp_path), file=str(file))
    assert step == 8
    assert 0 < loss < 5
    assert (tmp_path / "curve.csv").read_text(encoding="utf-8").startswith("step,loss")
