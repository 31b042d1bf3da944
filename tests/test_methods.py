from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from harness import ROOT, add_method, make_workspace

from mdbench import datatypes, methods
from mdbench.errors import MethodError, UsageError
from mdbench.method_spec import Limit
from mdbench.runs.plan import folder_options

if TYPE_CHECKING:
    from pathlib import Path


def test_finds_the_projects_own_methods() -> None:
    found = methods.discover(ROOT / "algorithms")
    assert {"sindy", "operon"} <= set(found)
    assert not [str(error) for error in found.values() if isinstance(error, MethodError)]


def test_unknown_method_shows_near_names(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "sindy")
    with pytest.raises(UsageError, match="Did you mean sindy"):
        methods.find("sindi", workspace.algorithms)


def test_every_method_of_the_project_states_who_wrote_it_and_chose_its_settings() -> None:
    for method in methods.discover(ROOT / "algorithms").values():
        assert isinstance(method, methods.Method)
        assert method.spec.implementation, method.name
        assert method.spec.settings, method.name
        assert method.spec.origin.endswith(" settings")


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("integral", "‡"),
        ("symbolic_transformer_fitted", "‡"),  # around a published network
        ("symbolic_transformer", "§"),
        ("afp", "§"),
        ("dsr", "§"),
        ("operon", ""),  # a package
        ("lasr", "§"),
        ("lasr_nollm", ""),  # a control, which takes a part away
        ("linear", ""),
        ("majority", ""),
        ("truth", ""),
    ],
)
def test_marks_of_methods_come_from_their_folders(name: str, mark: str) -> None:
    method = methods.find(name, ROOT / "algorithms")
    assert method.spec.mark == mark


def test_a_package_is_not_designed_here_but_for_the_search_around_it() -> None:
    found = list(methods.discover(ROOT / "algorithms").values())
    designed = {m.name for m in found if isinstance(m, methods.Method) and m.spec.designed_here}
    # Whose paper is this project's is designed here.
    own = {
        m.name
        for m in found
        if isinstance(m, methods.Method) and m.spec.paper.startswith("mdbench,")
    }
    assert own < designed


def test_methods_may_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, other, third = (
        make_workspace(tmp_path / name) for name in ("here", "there", "third")
    )
    for where, name in ((workspace, "own"), (other, "guest"), (third, "another")):
        add_method(where, name)
    monkeypatch.setenv("MDBENCH_METHODS", f"{other.algorithms}{os.pathsep}{third.algorithms}")
    assert list(methods.discover(workspace.algorithms)) == ["own", "guest", "another"]
    found = methods.find("guest", workspace.algorithms)
    assert found.folder == other.algorithms / "guest"
    assert methods.folders(workspace.algorithms)[found.folder.parent] == str(other.algorithms)
    with pytest.raises(UsageError, match="Did you mean guest"):
        methods.find("gest", workspace.algorithms)


def test_two_methods_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, other = make_workspace(tmp_path / "here"), make_workspace(tmp_path / "there")
    folders = [add_method(where, "same") for where in (workspace, other)]
    monkeypatch.setenv("MDBENCH_METHODS", str(other.algorithms))
    with pytest.raises(MethodError, match="2 methods 'same'") as caught:
        methods.find("same", workspace.algorithms)
    assert all(str(folder) in str(caught.value) for folder in folders)
    assert isinstance(methods.discover(workspace.algorithms)["same"], MethodError)


def test_a_folder_of_methods_that_is_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace(tmp_path)
    monkeypatch.setenv("MDBENCH_METHODS", "/nowhere/methods")
    with pytest.raises(UsageError, match="MDBENCH_METHODS or --methods names /nowhere/methods"):
        methods.discover(workspace.algorithms)


@pytest.mark.parametrize("before", [None, "third"])
def test_more_folders_come_first_and_end_with_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    here, other, third = (make_workspace(tmp_path / name) for name in ("here", "there", "third"))
    for where, name in ((here, "own"), (other, "guest"), (third, "another")):
        add_method(where, name)
    monkeypatch.chdir(tmp_path)
    named = before and str(third.algorithms)
    if named is None:
        monkeypatch.delenv(methods.FOLDERS_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(methods.FOLDERS_VARIABLE, named)
    with methods.more_folders(["there/root/algorithms"]):
        expected = ["own", "guest", *["another"] * (named is not None)]
        assert list(methods.discover(here.algorithms)) == expected
        assert methods.own_folder(here.algorithms) == other.algorithms
    assert os.environ.get(methods.FOLDERS_VARIABLE) == named


@pytest.mark.parametrize("there", [True, False])
def test_installed_packages_bring_methods_and_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    workspace = make_workspace(tmp_path / "here")
    site = tmp_path / "site"
    facts = site / "acme_methods-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-methods\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[mdbench.methods]\nacme = acme_methods.inside\n")
    (site / "acme_methods").mkdir()
    (site / "acme_methods" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    if there:
        other = make_workspace(tmp_path / "other")
        add_method(other, "acme")
        shutil.copytree(other.algorithms, site / "acme_methods" / "inside")
    monkeypatch.syspath_prepend(site)
    if not there:
        with pytest.raises(UsageError, match="acme-methods declares methods in"):
            methods.discover(workspace.algorithms)
        return
    assert list(methods.discover(workspace.algorithms)) == ["acme"]
    assert list(methods.folders(workspace.algorithms).values()) == ["", "package acme-methods"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("family =", "famly ="), ["'famly' is not known", "Did you mean family"]),
        (('family = "baseline"', 'family = "magic"'), ["'family'", "'magic'", "'genetic'"]),
        (('family = "baseline"', 'family = "predictor"'), ["equations = false", "'predictor'"]),
        (
            ('family = "baseline"', 'family = "baseline"\nequations = false'),
            ["belong together", "'baseline'"],
        ),
        (
            ('family = "baseline"', 'family = "predictor"\nequations = false\ngiven = ["truth"]'),
            ["without the truth", "['truth']"],
        ),
        (('view = "table"\n', ""), ["'view'", "missing"]),
        (("schema = 1", "schema = 99"), ["'schema'", "99"]),
        (('tuning = "none"', 'tuning = "grid"'), ["tuning", "grid"]),
        (('name = "broken"', 'name = "other"'), ["'other'", "'broken'", "same name"]),
        (('title = "', "title = "), ["no valid TOML"]),
        (('licence = "MIT"', 'licence = "MIT"\n[hyperparameters]\na = inf'), ["a is inf"]),
        (("seedable = true", "seedable = true\ntimeout = -1"), ["'timeout'", "-1"]),
        (('licence = "MIT"', 'licence = "MIT"\n[grid]\na = []'), ["grid"]),
        (
            ('licence = "MIT"', 'licence = "MIT"\n[[limits]]\ndata_type = "ode"'),
            ["reason", "missing"],
        ),
    ],
)
def test_wrong_key_names_file_key_and_value(
    change: tuple[str, str], words: list[str], tmp_path: Path
) -> None:
    workspace = make_workspace(tmp_path)
    file = add_method(workspace, "broken") / "method.toml"
    text = file.read_text(encoding="utf-8")
    assert change[0] in text
    file.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(MethodError) as caught:
        methods.find("broken", workspace.algorithms)
    for word in [str(file), *words]:
        assert word in str(caught.value)


def test_a_broken_method_does_not_hide_the_others(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "good")
    (add_method(workspace, "bad") / "method.toml").write_text("schema = ", encoding="utf-8")
    (add_method(workspace, "bare") / "adapter.py").unlink()
    found = methods.discover(workspace.algorithms)
    assert isinstance(found["good"], methods.Method)
    assert isinstance(found["bad"], MethodError)
    assert "adapter.py is missing" in str(found["bare"])


def test_settings_are_in_order_and_the_last_key_is_fastest(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    more = """
        [hyperparameters]
        kind = "new"
        [grid]
        z = [1, 2]
        a = ["x", "y"]
        [protocols.published.hyperparameters]
        kind = "old"
        [protocols.published.grid]
        z = [3]
    """
    add_method(workspace, "m", tuning="grid", more=more)
    spec = methods.find("m", workspace.algorithms).spec
    assert [(s["z"], s["a"]) for s in spec.combinations("strict", "ode")] == [
        (1, "x"),
        (1, "y"),
        (2, "x"),
        (2, "y"),
    ]
    assert [(s["z"], s["a"]) for s in spec.combinations("published", "ode")] == [(3, "x"), (3, "y")]
    assert spec.fixed("strict", "ode") == {"kind": "new"}
    assert spec.fixed("published", "ode") == {"kind": "old"}


def test_settings_of_a_data_type_come_after_the_methods_and_before_the_protocols(
    tmp_path: Path,
) -> None:
    workspace = make_workspace(tmp_path)
    more = """
        max_rows = 50
        source = "a paper, table 1"
        [hyperparameters]
        kind = "new"
        size = 1
        [grid]
        z = [1, 2]
        a = ["x"]
        [[by_data_type]]
        data_types = ["srsd"]
        max_rows = 20
        source = "another paper, section 2"
        differs = "its budget is 10 s"
        hyperparameters = { kind = "of laws" }
        grid = { z = [5] }
        [[by_data_type]]
        data_types = ["pde"]
        hyperparameters = { size = 3 }
        [protocols.published]
        hyperparameters = { kind = "old" }
        grid = { a = ["y", "z"] }
    """
    file = add_method(workspace, "m", tuning="grid", more=more) / "method.toml"
    file.write_text(file.read_text().replace('["ode"]', '["ode", "pde", "srsd"]'))
    method = methods.find("m", workspace.algorithms)
    spec = method.spec
    assert spec.fixed("strict", "ode") == {"kind": "new", "size": 1}
    assert spec.fixed("strict", "srsd") == {"kind": "of laws", "size": 1}
    assert spec.fixed("published", "srsd") == {"kind": "old", "size": 1}
    assert spec.fixed("strict", "pde") == {"kind": "new", "size": 3}
    assert [s["z"] for s in spec.combinations("strict", "srsd")] == [5]
    assert spec.combinations("published", "srsd") == [{"z": 5, "a": "y"}, {"z": 5, "a": "z"}]
    assert [spec.most_rows(name) for name in ("ode", "pde", "srsd")] == [50, 50, 20]
    kind = datatypes.find("pde", ROOT / "datasets" / "pde", tmp_path)
    assert folder_options(method, kind) == {"max_rows": 50}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('data_types = ["srsd"]', "by_data_type has 'srsd'; data_types are ['ode']"),
        ('data_types = ["ode", "ode"]', "by_data_type has 'ode' twice"),
        ("max_rows = 3", "by_data_type.0.data_types' is missing"),
        ('data_types = ["ode"]\nrows = 3', "by_data_type.0.rows' is not known"),
        ('data_types = ["ode"]\nmax_rows = 0', "by_data_type.0.max_rows' is 0"),
        ('data_types = ["ode"]\nhyperparameters = { a = nan }', "hyperparameter a is nan"),
    ],
)
def test_wrong_settings_of_a_data_type_are_refused(
    tmp_path: Path, table: str, message: str
) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "m", more="[[by_data_type]]\n" + table)
    with pytest.raises(MethodError, match=re.escape(message)):
        methods.find("m", workspace.algorithms)


def test_what_a_maker_knew_is_of_the_method_s_data_types(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "m", more='[knows]\node = "tried on two of them"')
    assert methods.find("m", workspace.algorithms).spec.knows == {"ode": "tried on two of them"}
    for wrong, message in (
        ('srsd = "all"', "knows has 'srsd'; data_types are ['ode']"),
        ('ode = ""', "knows.ode"),
        ("ode = true", "knows.ode"),
    ):
        file = workspace.algorithms / "m" / "method.toml"
        text = file.read_text(encoding="utf-8")
        file.write_text(text[: text.index("[knows]")] + f"[knows]\n{wrong}\n", encoding="utf-8")
        with pytest.raises(MethodError, match=re.escape(message)):
            methods.find("m", workspace.algorithms)


def test_fingerprint_covers_every_file_but_the_lock(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    folder = add_method(workspace, "m")
    prints = [methods.find("m", workspace.algorithms).fingerprint()]

    def now() -> str:
        return methods.find("m", workspace.algorithms).fingerprint()

    (folder / "requirements.lock").write_text("# other\n", encoding="utf-8")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert now() == prints[0]
    (folder / "extra.py").write_text("x = 1\n", encoding="utf-8")
    prints.append(now())
    (folder / "extra.py").rename(folder / "renamed.py")
    prints.append(now())
    with (folder / "adapter.py").open("a", encoding="utf-8") as file:
        file.write("# a word\n")
    prints.append(now())
    assert len(set(prints)) == 4


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "/", "gone/../../x", "notes"])
def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path, target: str) -> None:
    workspace = make_workspace(tmp_path)
    folder = add_method(workspace, "m")
    (workspace.algorithms.parent / "secret").write_text("x", encoding="ascii")
    (folder / "notes").symlink_to(target)  # the last one is a loop
    with pytest.raises(MethodError, match=r"m/notes is a link to .* not in"):
        methods.find("m", workspace.algorithms).fingerprint()


def test_a_lock_that_is_a_link_elsewhere_is_refused(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    folder = add_method(workspace, "m")
    (folder / "requirements.lock").unlink()
    (folder / "requirements.lock").symlink_to("/etc/passwd")
    with pytest.raises(MethodError, match="is a link to"):
        methods.find("m", workspace.algorithms).fingerprint()


def test_links_within_the_folder_and_to_the_folder_are_files(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    folder = add_method(workspace, "m")
    (folder / "inside").symlink_to("adapter.py")
    folder.rename(tmp_path / "m")
    folder.symlink_to(tmp_path / "m")
    names = [path.name for path in methods.files_of(folder)]
    assert names == ["adapter.py", "inside", "method.toml", "requirements.in", "requirements.lock"]
    assert methods.find("m", workspace.algorithms).fingerprint()


def test_limit_needs_all_its_keys_to_match() -> None:
    limit = Limit(reason="slow", dataset="lorenz*", max_dim=2)
    assert limit.covers("ode", "lorenz-equations", 3)
    assert not limit.covers("ode", "lorenz-equations", 2)
    assert not limit.covers("ode", "rc-circuit", 3)
    assert Limit(reason="never").covers("pde", "kdv", 1)


def test_missing_lock_states_what_to_type(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (add_method(workspace, "m") / "requirements.lock").unlink()
    with pytest.raises(MethodError, match="scripts/lock m"):
        methods.find("m", workspace.algorithms).lock_sha256()


def test_a_lock_older_than_what_is_asked_for_is_noticed(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "m")
    method = methods.find("m", workspace.algorithms)
    method.lock.write_text("NumPy==2.4.6 \\\n    --hash=sha256:0\nscikit-learn==1.8.0 ; x\n")
    asked = method.lock.with_suffix(".in")
    for line in (
        "numpy",
        "numpy>=2",
        "numpy==2.4.6  # why",
        "scikit_learn[extra]==1.8.0",
        "# torch",
    ):
        asked.write_text(f"{line}\n-r other.in\n\n")
        assert method.not_locked() == [], line
    asked.write_text("numpy==2.4.7 # newer\ntorch\nscikit-learn==1.8.*\n")
    assert method.not_locked() == ["numpy==2.4.7", "torch"]


def test_no_lock_of_the_project_is_older_than_its_source() -> None:
    for name, method in methods.discover(ROOT / "algorithms").items():
        assert isinstance(method, methods.Method), method
        assert method.not_locked() == [], name


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "[grid]\n" + "\n".join(f"p{n} = {list(range(10))}" for n in range(16)),
            "1e\\+16 settings",
        ),
        ("[hyperparameters]\na = " + "[" * 20_000 + "]" * 20_000, "too deep"),
        ("# " + "x" * 300_000, "more than 256 KiB"),
        ("timeout = inf", "less than or equal"),
        ("timeout = nan", "less than or equal"),
        ("timeout = 1e308", "less than or equal to 10000000"),
        ("timeout = 1e-300", "greater than or equal to 0.01"),
        ("work = 1e-300", "greater than or equal to 0.001"),
        ("work = 1e9", "less than or equal"),
        ("threads = 100000000", "less than or equal to 1024"),
        ("memory_mb = 1000000000000", "less than or equal"),
        ("max_rows = 10000000000", "less than or equal"),
    ],
)
def test_what_is_too_much_is_refused_with_the_reason(
    tmp_path: Path, more: str, message: str
) -> None:
    workspace = make_workspace(tmp_path)
    tuning = "grid" if "[grid]" in more else "none"
    folder = add_method(workspace, "large", tuning=tuning, more=more)
    with pytest.raises(MethodError, match=message):
        methods.load(folder)


@pytest.mark.parametrize(
    ("more", "message", "hint"),
    [
        (
            "[check.hyperparameter]\na = 1",
            "'check.hyperparameter' is not known",
            "hyperparameters.",
        ),
        ("[check.grid]\na = [1]", "'check.grid' is not known", "The keys are: hyperparameters."),
        (
            "[protocols.strict]\nhyper = 1",
            "'protocols.strict.hyper' is not known",
            "The keys are: hyperparameters, grid.",
        ),
        ("[protocols.stict.grid]\na = [1]", "'protocols.stict' is no name", ""),
        (
            "[[limits]]\nresaon = 'x'",
            "'limits.0.resaon' is not known",
            "Did you mean reason?  The keys are: reason, data_type, dataset, max_dim.",
        ),
        ("[limits]\nreason = 'x'", "a list of tables, \\[\\[limits\\]\\]", ""),
        (
            "[checkouts.odr]\nurl = 'u'\ncomit = 'a'",
            "'checkouts.odr.comit' is not known",
            "The keys are: url, commit, sha256.",
        ),
        ("[checkouts.Odr]\nurl = 'u'", "'checkouts.Odr' is no name .* small letters", ""),
        ("[access]\nlmm = true", "'access.lmm' is not known", "The keys are: llm."),
        ('"a.b" = 1', "key '\"a.b\"' is not known", "The keys are: schema, name, "),
        ('"" = 1', "key '\"\"' is not known", "The keys are: schema, name, "),
        ('gpu = "no"', "'gpu' is 'no': it should be true or false", ""),
        ("fork_safe = 0", "'fork_safe' is 0: it should be true or false", ""),
        ('timeout = "10 s"', "'timeout' is '10 s': it should be a number", ""),
        ('uses = "fits"', "'uses' is 'fits': it should be a list", ""),
    ],
)
def test_a_slip_is_explained_in_whatever_table_it_is(
    tmp_path: Path, more: str, message: str, hint: str
) -> None:
    folder = add_method(make_workspace(tmp_path), "slip", more=more)
    with pytest.raises(MethodError, match=message) as caught:
        methods.load(folder)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("given", ['"no"', '"no arguments"', "2"])
def test_what_seedable_may_be_is_said(tmp_path: Path, given: str) -> None:
    folder = add_method(make_workspace(tmp_path), "slip")
    file = folder / "method.toml"
    text = re.sub("seedable = .*", f"seedable = {given}", file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")
    with pytest.raises(MethodError, match=r"'seedable' is .*: .* true, false or 'no argument'"):
        methods.load(folder)


def test_shared_code_of_the_project_is_there_for_methods_of_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, mine = make_workspace(tmp_path / "project"), make_workspace(tmp_path / "mine")
    shared = workspace.algorithms / methods.SHARED / "fits"
    shared.mkdir(parents=True)
    (shared / "fits.py").write_text("")
    add_method(mine, "guest", more='uses = ["fits"]')
    monkeypatch.setenv("MDBENCH_METHODS", str(mine.algorithms))
    guest = methods.find("guest", workspace.algorithms)
    assert guest.used == (shared,)
    assert guest.place_of(guest.folder) == "guest"
    assert guest.place_of(shared) == "shared/fits"
    before = guest.fingerprint()
    (shared / "fits.py").write_text("changed = True")
    assert guest.fingerprint() != before
    # What lies next to it comes first.
    own = mine.algorithms / methods.SHARED / "fits"
    own.mkdir(parents=True)
    assert methods.find("guest", workspace.algorithms).used == (own,)
    add_method(mine, "lost", more='uses = ["fitz"]')
    with pytest.raises(MethodError, match="uses names 'fitz'") as caught:
        methods.find("lost", workspace.algorithms)
    assert "Did you mean fits?" in (caught.value.hint or "")
