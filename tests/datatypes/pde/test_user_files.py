"""Fields of people's own whose truth is known: typed, or in a TOML file next to the field."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, HereRuntime, add_method, known, make_workspace, number

from mdbench.cli import main
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.pde.data_type import Pde
from mdbench.errors import DataError, UsageError
from mdbench.records import RecordStore
from mdbench.runtimes import venv

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mdbench.datatypes.pde.tasks import PdeDataset

STRICT = Protocol.STRICT
T = np.linspace(0, 1, 40)
X, Y = (np.linspace(0, 2 * np.pi, n, endpoint=False) for n in (24, 20))
HEAT = "0.5*u0_xx"
WAVES = ("0.3*u0_xx + 0.3*u0_yy - 2*u1", "0.3*u1_xx + 0.3*u1_yy + 2*u0")


def heat() -> dict[str, Any]:
    """Make two modes of u_t = u_xx / 2, exp(-k**2 t / 2) sin(k x)."""
    u, du = np.zeros((2, len(X), len(T)))
    for k, size in ((1, 1.0), (2, 0.7)):
        mode = size * np.exp(-(k**2) * T / 2) * np.sin(k * X)[:, None]
        u, du = u + mode, du - k**2 / 2 * mode
    return {"t": T, "x": X, "u": u[..., None], "du": du[..., None], "x_period": 2 * np.pi}


def turning() -> dict[str, Any]:
    """Make two components that spread alike and turn into each other, in two dimensions."""
    u, du = np.zeros((2, len(X), len(Y), len(T), 2))
    for kx, ky, size in ((1, 1, 1.0), (2, 1, 0.5), (1, 0, 0.3)):
        wave = size * np.sin(kx * X)[:, None, None] * np.cos(ky * Y)[:, None]
        decay, rate = np.exp(-0.3 * (kx**2 + ky**2) * T), -0.3 * (kx**2 + ky**2)
        c, s = np.cos(2 * T), np.sin(2 * T)
        both = np.stack([wave * decay * c, wave * decay * s], axis=-1)
        turned = np.stack([-both[..., 1], both[..., 0]], axis=-1)
        u, du = u + both, du + rate * both + 2 * turned
    return {"t": T, "x": X, "y": Y, "u": u, "du": du, "x_period": 2 * np.pi, "y_period": 2 * np.pi}


FIELDS = {"heat": (heat, (HEAT,)), "turning": (turning, WAVES)}


@pytest.fixture
def kind(tmp_path: Path) -> Pde:
    return Pde(tmp_path / "none", tmp_path / "cache")


def write(folder: Path, name: str, *, du: bool = True, toml: str | None = None) -> Path:
    arrays = FIELDS[name][0]()
    if not du:
        del arrays["du"]
    np.savez(folder / f"{name}.npz", **arrays)
    if toml is not None:
        (folder / f"{name}.toml").write_text(toml, encoding="utf-8")
    return folder / f"{name}.npz"


def said(truth: Mapping[str, str]) -> str:
    return "schema = 1\n[truth]\n" + "".join(f'"{k}" = "{v}"\n' for k, v in truth.items())


def load(kind: Pde, path: Path, *, snr: float | None = None, **options: Any) -> PdeDataset:
    return kind.source(path).load(
        path.stem, snr_db=snr, seed=0, protocol=options.pop("protocol", STRICT), options=options
    )


def scores(kind: Pde, data: PdeDataset, *texts: str, protocol: Protocol = STRICT) -> Any:
    task = kind.task(data, "field", protocol)
    return kind.score(task, kind.read_answer(task, Answer(texts))).metrics


@pytest.mark.parametrize("snr", [None, 20.0])
@pytest.mark.parametrize("du", [True, False])
@pytest.mark.parametrize("name", list(FIELDS))
def test_answers_have_a_verdict_and_the_truth_scores_its_floor(
    kind: Pde, tmp_path: Path, name: str, du: bool, snr: float | None
) -> None:
    truth = FIELDS[name][1]
    toml = said({f"u{place}": text for place, text in enumerate(truth)})
    data = load(kind, write(tmp_path, name, du=du, toml=toml), snr=snr)
    assert data.truth == truth
    assert known(data.floor) < (1e-20 if du else 1e-5)  # in weak form, of eight times
    right = scores(kind, data, *truth)
    assert (right["identified"], right["skeleton"]) == (1.0, 1.0)
    assert number(right["nmse"]) == data.floor
    other = [f"({text.replace('0.3*', '0.306*').replace('0.5*', '0.49*')})*1" for text in truth]
    assert scores(kind, data, *other)["identified"] == 1.0
    assert scores(kind, data, *(f"{text} + u0_x" for text in truth))["identified"] == 0.0
    wrong = scores(kind, data, *["u0_xxxx"] * len(truth))
    assert wrong["identified"] == 0.0
    assert number(wrong["nmse"]) > number(right["nmse"])


@pytest.mark.parametrize("protocol", list(Protocol))
@pytest.mark.parametrize("du", [True, False])
def test_the_floor_is_of_the_protocol(
    kind: Pde, tmp_path: Path, du: bool, protocol: Protocol
) -> None:
    path = write(tmp_path, "heat", du=du)
    data = load(kind, path, snr=30.0, truth=HEAT, protocol=protocol)
    found = scores(kind, data, HEAT, protocol=protocol)
    assert found["identified"] == 1.0
    assert number(found["nmse"]) == pytest.approx(known(data.floor), rel=1e-9)


def test_the_truth_is_part_of_what_data_are(kind: Pde, tmp_path: Path) -> None:
    path = write(tmp_path, "heat")
    without, typed = load(kind, path), load(kind, path, truth=HEAT)
    assert (without.truth, without.floor) == (None, None)
    assert "identified" not in scores(kind, without, HEAT)
    assert without.fingerprint != typed.fingerprint
    write(tmp_path, "heat", toml=said({"u0": HEAT}))
    assert load(kind, path).fingerprint == typed.fingerprint
    other = load(kind, path, truth="u0_t = 0.4*u0_xx")  # the option counts before the file
    assert other.truth == ("0.4*u0_xx",)
    assert other.fingerprint != typed.fingerprint


@pytest.mark.parametrize(
    "text",
    [HEAT, f"u0 = {HEAT}", f"u0_t = {HEAT}", f"du0/dt={HEAT}", f" u0' = {HEAT} ;"],
)
def test_the_left_hand_side_has_several_writings(kind: Pde, tmp_path: Path, text: str) -> None:
    assert load(kind, write(tmp_path, "heat"), truth=text).truth == (HEAT,)


def test_a_title_next_to_the_field_is_shown(kind: Pde, tmp_path: Path) -> None:
    path = write(tmp_path, "heat", toml='schema = 1\ntitle = "A ring"\nsource = "me"\n')
    assert kind.source(path).title("heat") == f"A ring: {path}"
    assert load(kind, path).truth is None
    path.with_suffix(".toml").write_text("no TOML")
    assert kind.source(path).title("heat") == str(path)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        (said({"u0": "0.5*u0_xxz"}), ["[truth]", "of u0", "'u0_xxz' at position 5", "u0_xxxx"]),
        (said({"u0": "0.5*x"}), ["unknown name 'x'", "The names are: u0, u0_x"]),
        (said({"u0": "erf(u0)"}), ["unknown function 'erf'", "There is no function"]),
        (said({"u0": "0.5*"}), ["found the end of '0.5*'"]),
        (said({"u0": ""}), ["found the end"]),
        (said({"u0": "nan*u0"}), ["finite numbers only"]),
        (said({"u1": HEAT}), ["no state 'u1'", "u0"]),
        (said({"u": HEAT}), ["no state 'u'", "u0"]),
        (said({"u0": HEAT, "u0_t": HEAT}), ["u0 has two equations"]),
        (said({}), ["u0 has no equation"]),
        ("schema = 1\n[truth]\nu0 = 0.5\n", ["'truth.u0' is 0.5", "docs/datasets.md"]),
        (f'schema = 1\ntruth = "{HEAT}"\n', [f"'truth' is '{HEAT}'", "docs/datasets.md"]),
        ("schema = 1\ninputs = ['a']\n", ["'inputs' is ['a']", "docs/datasets.md"]),
        (f'[truth]\nu0 = "{HEAT}"\n', ["'schema'"]),
        ("schema = 1\n[truth\n", ["no valid TOML"]),
    ],
)
def test_a_bad_truth_is_refused(kind: Pde, tmp_path: Path, toml: str, words: list[str]) -> None:
    path = write(tmp_path, "heat", toml=toml)
    with pytest.raises(DataError) as caught:
        load(kind, path)
    for word in [str(path.with_suffix(".toml")), *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("turning", "u0 = u0", ["--truth: u1 has no equation", "one for each state"]),
        ("turning", "u0; u1; u0", ["--truth is 'u0; u1; u0'", 'u0 = ...; u1 = ..."']),
        ("heat", "", ["--truth: u0 has no equation"]),
        ("heat", "u0 = u0_zz", ["unknown name 'u0_zz'", "The names are: u0, "]),
    ],
)
def test_a_bad_option_is_refused(
    kind: Pde, tmp_path: Path, name: str, text: str, words: list[str]
) -> None:
    path = write(tmp_path, name)
    with pytest.raises(UsageError) as caught:
        load(kind, path, truth=text)
    for word in words:
        assert word in str(caught.value)


def test_the_truth_of_the_projects_systems_is_known(tmp_path: Path) -> None:
    own = Pde(ROOT / "datasets" / "pde", tmp_path)
    with pytest.raises(UsageError, match="--dataset-path"):
        own.source().load(
            "burgers", snr_db=None, seed=0, protocol=STRICT, options={"truth": "u0 = u0"}
        )


RIGHT = """
class Adapter:
    '''Half the second derivative, whatever the data.'''
    def __init__(self, *, seed, threads): ...
    def fit(self, problem): ...
    def predict(self, problem):
        place = list(problem.variables).index("u0_xx")
        return 0.5 * problem.X[:, place : place + 1]
    def equations(self):
        return ["0.5*u0_xx"]
"""


def test_a_run_and_what_is_shown_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = make_workspace(tmp_path)
    toml = add_method(workspace, "right", RIGHT) / "method.toml"
    text = toml.read_text(encoding="utf-8")
    toml.write_text(re.sub(r"data_types = .*", 'data_types = ["pde"]', text), encoding="utf-8")
    monkeypatch.setenv("MDBENCH_ROOT", str(workspace.root))
    monkeypatch.setenv("MDBENCH_HOME", str(workspace.home))
    monkeypatch.setattr(venv, "VenvRuntime", lambda *_, **__: HereRuntime())
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, "heat", du=False, toml=said({"u0": HEAT}))
    line = ["--algorithm", "right", "--data-type", "pde", "--dataset-path", str(path)]
    assert main(["run", *line, "--runtime", "venv"]) == 0
    assert "✓" in capsys.readouterr().out
    [record] = RecordStore(Path("results/right-pde.jsonl")).read()
    assert (record.truth, record.metrics["identified"]) == ((HEAT,), 1.0)
    assert main(["show", "heat"]) == 0
    assert "heat: right, ✓ identified" in capsys.readouterr().out
    assert main(["report", "results", "--out", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "identified by 0 methods and 1 baseline" in page  # of which family it says it is
    assert main(["run", *line, "--runtime", "venv", "--truth", "u0 = 2*u0"]) == 0
    newest = [*RecordStore(Path("results/right-pde.jsonl")).latest().values()][-1]
    assert (newest.truth, newest.metrics["identified"]) == (("2*u0",), 0.0)


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_a_description_next_to_a_noisy_version_is_refused(
    tmp_path: Path, kind: Pde, ending: str
) -> None:
    for name in ("heat", "heat_snr_40"):
        (tmp_path / f"{name}.{ending}").write_text("t,u\n")
    (tmp_path / "heat_snr_40.toml").write_text(said({"u0": HEAT}))
    with pytest.raises(DataError, match=r"heat_snr_40\.toml(.|\n)*heat\.toml"):
        (kind if ending == "npz" else Ode(tmp_path, tmp_path)).source(tmp_path).names()


@pytest.mark.parametrize("name", ["real", "srsd", "surface", "derivation"])
def test_no_other_data_type_passes_over_a_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv("MDBENCH_ROOT", str(ROOT))
    monkeypatch.setenv("MDBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    points = [(np.cos(a) * b, np.sin(a) * b, b) for a in np.arange(10) for b in (1.0, 2.0, 3.0)]
    rows = ["x,y,z", *(",".join(map(str, (*point[:2], point[2]))) for point in points * 2)]
    Path("mine.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    Path("mine.toml").write_text(said({"y": "x"}), encoding="utf-8")
    method = "majority" if name == "derivation" else "zero"
    line = ["plan", "--algorithm", method, "--data-type", name, "--dataset-path"]
    for file in ("mine.csv", "mine.toml", "."):
        if file == "mine.csv" and name in {"srsd", "derivation"}:
            continue  # whose data are no tables
        assert main([*line, file]) == 2
        told = capsys.readouterr().err
        assert "error: " in told
        assert "mine" in told, told
    assert main([*line, "mine.toml", "--truth", "y = x"]) == 2
    assert (
        f"'--truth' is no option of a run, nor of the data type {name}" in capsys.readouterr().err
    )
