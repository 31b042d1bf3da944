"""A new method can be run as it is, and the check explains what is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import ROOT, HereRuntime, add_method, children
from inside import inside

from mdbench import methods
from mdbench.authoring import make_method
from mdbench.authoring.check import Finding, check_method
from mdbench.authoring.trials import missing_modules
from mdbench.errors import NotFetchedError, UsageError
from mdbench.runtimes.base import Prepared
from mdbench.runtimes.environments.venvs import prepare
from mdbench.workspace import Workspace

GOOD = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads):
        self.rng = np.random.default_rng(seed)
    def fit(self, problem):
        if not np.isfinite(problem.X).all():
            raise ValueError("not finite")
        self.value = float({draw})
        self.targets = len(problem.targets)
    def predict(self, problem):
        return np.full((len(problem.X), self.targets), self.value)
    def equations(self):
        return [{equation}] * self.targets
"""


def good(draw: str = "self.rng.normal()", equation: str = "repr(self.value)") -> str:
    return GOOD.format(draw=draw, equation=equation)


def broken(workspace: Workspace, name: str = "m") -> list[Finding]:
    findings = list(check_method(name, workspace, HereRuntime()))
    assert findings
    assert not children()
    return [finding for finding in findings if not finding.passed]


def test_new_method_keeps_the_contract_as_it_stands(workspace: Workspace) -> None:
    folder = make_method("my-method", workspace.algorithms)
    assert {file.name for file in folder.iterdir()} == {
        "method.toml",
        "adapter.py",
        "requirements.in",
        "requirements.lock",
    }
    assert methods.find("my-method", workspace.algorithms).spec.name == "my-method"
    findings = list(check_method("my-method", workspace, HereRuntime()))
    assert [finding.point for finding in findings if not finding.passed] == []
    assert len(findings) == 3 + 2 * 3 + 4


@pytest.mark.parametrize("name", ["", "My", "1st", "a b", "a/b", "../up", "x" * 41, "é"])
def test_names_that_are_none(name: str, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="is no name"):
        make_method(name, workspace.algorithms)
    assert not list(workspace.algorithms.iterdir())


def test_existing_folder_is_never_touched(workspace: Workspace) -> None:
    folder = add_method(workspace, "mine")
    before = (folder / "adapter.py").read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        make_method("mine", workspace.algorithms)
    assert (folder / "adapter.py").read_bytes() == before


def test_good_method_passes(workspace: Workspace) -> None:
    add_method(workspace, "m", good())
    assert broken(workspace) == []


@pytest.mark.parametrize(
    ("adapter", "point", "words"),
    [
        ("import nothing_like_it", "adapter.py can be imported", "nothing_like_it"),
        (good(draw="np.random.default_rng().normal()"), "the same seed", "pass the seed on"),
        (
            good(equation="f'{self.value:.3f}'"),
            "prediction mismatch",
            "repr",
        ),
        (good(equation="f'{self.value:.2f}'"), "fit, predict and equations work", "contradict"),
        (good(equation="'what?'"), "fit, predict and equations work", "invalid_output"),
        (good().replace("raise ValueError", "ValueError"), "data with NaN", "ok"),
        (good().replace("threads):", "threads, **more):"), "unknown hyperparameter", "__init__"),
    ],
)
def test_each_breach_is_explained(
    adapter: str, point: str, words: str, workspace: Workspace
) -> None:
    add_method(workspace, "m", adapter)
    findings = broken(workspace)
    assert findings
    assert all(point in finding.point for finding in findings)
    assert words in findings[0].explanation


def test_metadata_come_first(workspace: Workspace) -> None:
    (add_method(workspace, "m") / "method.toml").write_text("schema = 1", encoding="utf-8")
    (finding,) = broken(workspace)
    assert finding.point == "method.toml is valid"


def test_unknown_data_type_is_a_finding(workspace: Workspace) -> None:
    file = add_method(workspace, "m", good()) / "method.toml"
    text = file.read_text(encoding="utf-8").replace('["ode"]', '["ode", "odd"]')
    file.write_text(text, encoding="utf-8")
    (finding,) = broken(workspace)
    assert "odd" in finding.point


IMPORT = "from mdbench.worker import Unavailable\n"


SAYS = "raise Unavailable('put weights there')\n"


@pytest.mark.parametrize(
    "adapter",
    [IMPORT + SAYS, IMPORT + good().replace("if not", f"{SAYS}        if not")],
    ids=["at import", "at fit"],
)
def test_what_is_unavailable_here_breaks_nothing(adapter: str, workspace: Workspace) -> None:
    add_method(workspace, "m", adapter)
    findings = list(check_method("m", workspace, HereRuntime()))
    assert all(finding.passed for finding in findings)
    assert "declared as unavailable here" in findings[-1].point
    assert "put weights there" in findings[-1].explanation
    assert not children()


def test_what_cannot_be_fetched_here_breaks_nothing(workspace: Workspace) -> None:
    class Offline(HereRuntime):
        def prepare(self, method: methods.Method) -> Prepared:
            raise NotFetchedError(f"what {method.name} needs is on no server", "Check the network.")

    add_method(workspace, "m", good())
    findings = list(check_method("m", workspace, Offline()))
    assert [(one.passed, one.note) for one in findings[1:]] == [(True, "unavailable")]
    assert "on no server" in findings[-1].explanation


def test_nothing_is_ok_where_no_fit_works(workspace: Workspace) -> None:
    """A refusal of what is wrong proves nothing where what is right is refused, too."""
    add_method(workspace, "m", good().replace("def fit(", "def fit_not("))
    said: list[str] = []
    findings = list(check_method("m", workspace, HereRuntime(), said.append))
    assert [one.point for one in findings if one.passed] == [
        "method.toml is valid",
        "the environment can be made",
        "adapter.py can be imported",
    ]
    assert [one.point for one in findings if not one.passed] == [
        "ode rc-circuit: fit, predict and equations work",
        "ode harmonic-oscillator: fit, predict and equations work",
    ]
    assert [line.partition(" (")[0] for line in said[1:]] == [
        "trying ode rc-circuit",
        "trying ode harmonic-oscillator",
    ]


def test_an_old_lock_is_a_breach(workspace: Workspace) -> None:
    add_method(workspace, "m", good())
    (workspace.algorithms / "m" / "requirements.in").write_text("numpy\ntorch\n")
    [finding] = broken(workspace)
    assert finding.point == "requirements.lock has all of requirements.in"
    assert "torch" in finding.explanation
    assert "scripts/lock m" in finding.explanation


def seedable(folder: Path, value: str) -> None:
    file = folder / "method.toml"
    text = re.sub(r"seedable = .*", f"seedable = {value}", file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")


def notes(workspace: Workspace, name: str = "m") -> dict[str, list[Finding]]:
    findings = list(check_method(name, workspace, HereRuntime()))
    return {note: [one for one in findings if one.note == note] for note in ("warning", "skipped")}


def test_a_seed_that_changes_nothing_is_warned_of(workspace: Workspace) -> None:
    seedable(add_method(workspace, "m", good(draw="1.5")), "true")
    found = notes(workspace)["warning"]
    assert [one.point for one in found if "seed" in one.point] == [
        "ode: the seed changes the answer"
    ]
    assert "seedable = false" in found[-1].explanation
    seedable(add_method(workspace, "drawing", good()), "true")
    assert not [one for one in notes(workspace, "drawing")["warning"] if "seed" in one.point]


def test_an_answer_that_is_no_better_than_none_is_warned_of(workspace: Workspace) -> None:
    add_method(workspace, "m", good(draw="1e6"))
    found = [one for one in notes(workspace)["warning"] if "no equation" in one.point]
    assert [one.point.split(":")[0] for one in found] == [
        "ode rc-circuit",
        "ode harmonic-oscillator",
    ]
    make_method("linear", workspace.algorithms)
    assert not notes(workspace, "linear")["warning"]


def test_a_seed_that_is_to_change_nothing_and_does_breaks_the_contract(
    workspace: Workspace,
) -> None:
    seedable(add_method(workspace, "m", good(draw="1.5")), "false")
    assert broken(workspace) == []
    seedable(add_method(workspace, "drawing", good()), "false")
    [found] = broken(workspace, "drawing")
    assert found.point == "ode: no seed changes the answer"
    assert "set seedable = true" in found.explanation


def test_a_package_without_a_seed_is_not_asked_for_the_same_answer(workspace: Workspace) -> None:
    drawing = good(draw="np.random.default_rng().normal()")
    seedable(add_method(workspace, "m", drawing), '"no argument"')
    assert broken(workspace) == []
    skipped = notes(workspace)["skipped"]
    assert len(skipped) == 2
    assert all("no argument for a seed" in one.explanation for one in skipped)


def test_the_time_of_a_try_is_given_and_more_can_be_asked_for(workspace: Workspace) -> None:
    waits = good().replace("self.value =", "__import__('time').sleep(30); self.value =")
    add_method(workspace, "m", waits)
    said: list[str] = []
    findings = check_method("m", workspace, HereRuntime(), said.append, seconds=1.0)
    slow = [one for one in findings if not one.passed]
    assert said[0] == "at most 10 tries of 1 s: 0 min if all of it is used"
    assert said[1] == "trying ode rc-circuit (at most 1 s)"
    assert all("--timeout 6" in one.explanation for one in slow)
    assert len(slow) == 2


def test_the_cpu_time_of_each_try_is_told_and_cut_seeds_are_not_compared(
    workspace: Workspace,
) -> None:
    early = good().replace("self.value =", "self.stopped_early = True; self.value =")
    seedable(add_method(workspace, "m", early), "true")
    used: list[float] = []
    found = list(check_method("m", workspace, HereRuntime(), seconds=15.0, used=used.append))
    # two datasets, one seed of two, NaN, an unknown hyperparameter, and both with little work
    assert len(used) == 7
    assert all(0.0 <= one < 15.0 for one in used)
    [seeds] = [one for one in found if "the seed changes" in one.point]
    assert seeds.note == "skipped"
    assert "partial" in seeds.explanation


def test_keys_that_are_wrong_are_answered_with_all_there_are(workspace: Workspace) -> None:
    folder = add_method(workspace, "m", good())
    file = folder / "method.toml"
    file.write_text("seedabel = true\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    found = broken(workspace)
    assert "Did you mean seedable?" in found[0].explanation
    for key in ("gpu", "max_rows", "tuning", "paths", "schema"):
        assert key in found[0].explanation


def test_no_method_is_named_as_the_folder_of_shared_code(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="code that methods share"):
        make_method("shared", tmp_path)
    assert not list(tmp_path.iterdir())


def test_new_methods_are_made_where_the_user_keeps_them(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert methods.own_folder(workspace.algorithms) == workspace.algorithms
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.setenv("MDBENCH_METHODS", str(mine))
    assert methods.own_folder(workspace.algorithms) == mine
    make_method("m", methods.own_folder(workspace.algorithms))
    assert methods.find("m", workspace.algorithms).folder == mine / "m"


def test_a_method_with_torch_has_the_lock_of_the_others(workspace: Workspace) -> None:
    folder = make_method("m", workspace.algorithms, "torch")
    lock = (ROOT / "algorithms" / "dsr" / "requirements.lock").read_bytes()
    assert (folder / "requirements.lock").read_bytes() == lock
    assert "import torch" in (folder / "adapter.py").read_text(encoding="utf-8")
    assert "@NAME@" not in (folder / "method.toml").read_text(encoding="utf-8")


def test_a_method_like_scikit_learn_has_the_packages_that_it_needs_alone(
    workspace: Workspace,
) -> None:
    (workspace.algorithms / "shared").symlink_to(ROOT / "algorithms" / "shared")
    folder = make_method("my-forest", workspace.algorithms, "scikit_learn")
    forest = (ROOT / "algorithms" / "random_forest" / "requirements.lock").read_text("utf-8")
    lock = (folder / "requirements.lock").read_text("utf-8")
    pins = re.findall(r"(?m)^([a-z-]+)==\S+", lock)
    needed = {"cloudpickle", "joblib", "narwhals", "numpy", "scikit-learn", "scipy"}
    assert {*pins} == {*needed, "threadpoolctl"}
    assert {*re.findall(r"(?m)^\S+==\S+", lock)} <= {*re.findall(r"(?m)^\S+==\S+", forest)}
    method = methods.find("my-forest", workspace.algorithms)
    assert method.not_locked() == []
    assert not method.spec.equations
    assert [one.name for one in method.used] == ["scikit_learn"]
    assert len((folder / "adapter.py").read_text(encoding="utf-8").splitlines()) < 30


def test_a_method_for_a_gpu_is_not_checked_where_there_is_none(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(workspace, "m", good(), more="gpu = true")
    monkeypatch.setattr("mdbench.authoring.check.gpus", lambda: [Path("/dev/nvidia0")])
    assert len(list(check_method("m", workspace, HereRuntime()))) > 4
    monkeypatch.setattr("mdbench.authoring.check.gpus", list)
    monkeypatch.setattr(HereRuntime, "prepare", None)  # an environment with CUDA is large
    *_, last = check_method("m", workspace, HereRuntime())
    assert last.note == "unavailable"
    assert "needs a GPU (gpu = true" in last.explanation


@pytest.mark.slow
@pytest.mark.build
def test_a_new_method_with_torch_gives_the_same_answer_each_time(workspace: Workspace) -> None:
    folder = make_method("m", workspace.algorithms, "torch")
    home = Workspace.find().home
    python = prepare("m", folder / "requirements.lock", ">=3.11", home).python
    with inside(python, [folder, ROOT]) as process:
        done = process.run(SAME)
    assert done.stdout.split() == ["1"], done.stderr


SAME = """
from types import SimpleNamespace
import numpy as np, torch
from adapter import Adapter

draw = np.random.default_rng(0)
X, Y = draw.normal(size=(118, 2)), draw.normal(size=(118, 2))
problem = SimpleNamespace(X=X, Y=Y, variables=("u0", "u1"))
answers = set()
for number in range(300):
    left = torch.randint(-3, 4, (3,), dtype=torch.int32)  # what freed memory may hold
    del left
    adapter = Adapter(seed=number, threads=1)
    adapter.fit(problem)
    answers.add(tuple(adapter.equations()))
print(len(answers))
"""


def test_all_missing_modules_are_found_in_one_pass(workspace: Workspace, tmp_path: Path) -> None:
    """Modules of modules are read, not run; those that may be missing do not count."""
    packages = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    texts = {
        "outer/__init__.py": "from . import inner\nfrom .deep.part import thing\nraise SystemExit",
        "outer/inner.py": "import numpy, first_missing.part\nif 1:\n    import second_missing",
        "outer/deep/__init__.py": "",
        "outer/deep/part.py": "from third_missing.x import y\nclass A:\n    import fourth_missing",
        "outer/unused.py": "import never_met",
        "single.py": "try:\n    import optional\nexcept ImportError: pass\ndef f(): import later",
        "compiled.cpython-311-x86_64-linux-gnu.so": "",
        "numpy/__init__.py": "import os, sys",
    }
    for name, text in texts.items():
        file = packages / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    adapter = (
        "import outer, single, compiled, absent\nfrom typing import TYPE_CHECKING\n"
        "from mdbench.worker import Unsupported\nif TYPE_CHECKING:\n    import only_types\n"
    )
    add_method(workspace, "m", adapter)
    method = methods.find("m", workspace.algorithms)
    prepared = Prepared((str(packages.parent.parent.parent / "bin" / "python"),), "", "3.11")
    assert sorted(missing_modules(method, prepared)) == [
        *("absent", "first_missing", "fourth_missing", "second_missing", "third_missing"),
    ]
    assert missing_modules(method, Prepared(("docker", "run"), "", "3.11")) == []


def test_a_package_that_is_called_otherwise_than_its_module_is_named(workspace: Workspace) -> None:
    add_method(workspace, "m", "import no_such_module, skimage.filters\n")
    [found] = broken(workspace)
    assert "missing: no_such_module, skimage (of scikit-image).  Add" in found.explanation
    assert "scripts/lock m" in found.explanation


def test_an_answer_that_the_short_limit_cuts_breaks_nothing(workspace: Workspace) -> None:
    """Where the limit is the method's own, it is a breach: its answers are never whole."""
    ends_early = good().replace("self.value =", "self.stopped_early = True; self.value =")
    add_method(workspace, "m", ends_early)
    assert not [one for one in check_method("m", workspace, HereRuntime()) if not one.passed]
    cut = [one for one in notes(workspace)["warning"] if "fit, predict" in one.point]
    assert len(cut) == 2
    assert all(one.explanation.startswith("partial: ") for one in cut)
    assert len([one for one in notes(workspace)["skipped"] if "same seed" in one.point]) == 2
    add_method(workspace, "short", ends_early, more="timeout = 5")
    assert len([one for one in broken(workspace, "short") if "fit, predict" in one.point]) == 2


SEARCHES = """
import numpy as np
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads, rounds=10**9):
        self.rounds = rounds
    def fit(self, problem):
        if not np.isfinite(problem.X).all():
            raise ValueError("not finite")
        self.problem, self.texts = problem, []
        {in_fit}
    def candidates(self):
        {in_candidates}
    def search(self):
        for number in range(self.rounds):
            value = sum(range(10**5)) and repr(number / 8)
            self.texts.append(value)
            yield Candidate((value,) * len(self.problem.targets))
    def choose(self, indices):
        self.chosen = self.texts[indices[0]]
    def predict(self, problem):
        return np.full((len(problem.X), len(self.problem.targets)), float(self.chosen))
    def equations(self):
        return [self.chosen] * len(self.problem.targets)
"""


@pytest.mark.parametrize("sends", [True, False])
def test_a_try_with_little_work_says_whether_there_is_an_answer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *, sends: bool
) -> None:
    """The same search: candidates that are sent as they are found count, others do not."""
    monkeypatch.setattr("mdbench.authoring.check.WORK_S", 0.5)
    parts = ("pass", "yield from self.search()")
    if not sends:
        parts = ("self.all = list(self.search())", "yield from self.all")
    text = SEARCHES.format(in_fit=parts[0], in_candidates=parts[1])
    small = "[check.hyperparameters]\nrounds = 3"
    add_method(workspace, "m", text, tuning="front", more=small)
    findings = list(check_method("m", workspace, HereRuntime()))
    assert [finding.point for finding in findings if not finding.passed] == []
    (within,) = [finding for finding in findings if "0.5 reference seconds" in finding.point]
    assert within.point.endswith(f"{2 * sends} of 2 problems have an answer")
    assert within.note == ("" if sends else "warning")
    assert ("no candidate had been sent" in within.explanation) == (not sends)
    assert "What counts at the limit" in within.explanation
