"""Adapters of pretrained transformers: stand-in checkouts with the entry points of the real ones.

Nobody has run E2E, NeSymReS and TPSR here: their code and weights are on hosts that users reach.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from stand_ins import adapter, made, module, problem
from torch_methods import folders, modules, specification

from mdbench import worker
from mdbench.worker import Problem, Unavailable, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

X = np.random.default_rng(0).uniform(0.5, 2.0, (30, 2))


class _Tensor:
    def masked_fill_(self, mask: Any, value: Any) -> Any:
        return self, mask, value


def torch(model: Any = None, error: Exception | None = None) -> ModuleType:
    """Make what adapters ask of PyTorch."""

    def load(file: Any, **settings: Any) -> Any:
        assert settings["weights_only"] is False
        assert Path(file).is_file()
        if error is not None:
            raise error
        return model

    return module(
        "torch",
        Tensor=_Tensor,
        cuda=SimpleNamespace(is_available=lambda: False),
        device=lambda kind: SimpleNamespace(type=kind),
        float32="float32",
        load=load,
        manual_seed=lambda _seed: None,
        set_num_threads=lambda _count: None,
        tensor=lambda array, dtype: np.asarray(array, dtype=dtype),
    )


def tree(prefix: str) -> Any:
    return SimpleNamespace(prefix=lambda: prefix)


def model(**params: int) -> Any:
    env = SimpleNamespace(params=SimpleNamespace(**params))
    return SimpleNamespace(env=env, embedder=0, encoder=0, decoder=0)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder whose modules are forgotten afterwards, with a file of weights in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights").write_bytes(b"weights")
    folder = tmp_path / "checkout"
    folder.mkdir()
    before, paths = set(sys.modules), list(sys.path)
    yield folder
    sys.path[:] = paths
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture
def given_paths(monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    known: dict[str, Path] = {}
    monkeypatch.setattr(worker, "paths", known)
    return known


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")


TRANSFORMERS = ("odeformer", "e2e", "nesymres", "tpsr")


def odeformer(trees: Sequence[Any], asked: list[Any]) -> dict[str, ModuleType]:
    class Regressor:
        def __init__(self, **parameters: Any) -> None:
            asked.append(parameters)

        def set_model_args(self, given_to_it: Any) -> None:
            asked.append(given_to_it)

        def fit(self, times: Any, states: Any, *, sort_candidates: bool) -> Any:
            assert not sort_candidates
            asked.append((times, states))
            return {0: list(trees)}

    return {
        "odeformer": module("odeformer"),
        "odeformer__model": module("odeformer.model", SymbolicTransformerRegressor=Regressor),
    }


def packages(name: str, pytorch: ModuleType) -> dict[str, ModuleType]:
    others = {"gymnasium": module("gymnasium")} if name == "tpsr" else {}
    return {"torch": pytorch, **others, **(odeformer([], []) if name == "odeformer" else {})}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_without_paths_the_method_is_unavailable(name: str, given_paths: dict[str, Path]) -> None:
    with adapter(name, **packages(name, torch())) as found:
        wanted = specification(name)["paths"]
        assert not given_paths
        with pytest.raises(Unavailable, match=rf"paths\.{wanted[0]} in \$MDBENCH_SETTINGS/{name}"):
            made(name, found)


@pytest.mark.parametrize("name", ["e2e", "nesymres", "tpsr"])
def test_a_folder_that_is_no_checkout_is_reported(
    name: str, checkout: Path, given_paths: dict[str, Path]
) -> None:
    given_paths.update(checkout=checkout, weights=checkout.parent / "weights", settings=checkout)
    for file in ("config.yaml", "eq_setting.json"):
        (checkout / file).write_text("", encoding="utf-8")
    with (
        adapter(name, **packages(name, torch())) as found,
        pytest.raises(Unavailable, match="is it the checkout's root folder"),
    ):
        made(name, found)


def trajectory(dimension: int = 2) -> Problem:
    t = np.linspace(0.0, 1.0, 20)
    u = 1.0 + np.outer(t, np.arange(1.0, dimension + 1))
    names = tuple(f"u{place}" for place in range(dimension))
    arrays = {"t": t, "u": u, "measured": u + 1.0, "du": np.ones_like(u)}
    return Problem("trajectory", names, tuple(f"{n}_t" for n in names), arrays)


def test_odeformer_s_samples_are_taken_as_they_are(
    checkout: Path, given_paths: dict[str, Path]
) -> None:
    given_paths["weights"] = checkout.parent / "weights"
    trees = [
        tree("sub,x_0,sub,x_0,1.0|,1.0"),
        None,
        tree("x_0"),  # a system of one
        tree("x_0|x_1|x_0"),
        tree("t|x_1"),
        tree("mul,inf,x_0|x_1"),
        tree("sub,x_0,sub,x_0,1.0|,1.0"),
        tree("inv,x_0|pow2,x_1"),
    ]
    asked: list[Any] = []
    pytorch = torch(model(max_dimension=6))
    with adapter("odeformer", **odeformer(trees, asked), torch=pytorch) as found:
        method = made("odeformer", found)
        question = trajectory()
        method.fit(question)
        offered = [each.equations for each in method.candidates()]
        assert method.equations() == list(offered[0])  # it is nearest to the derivatives
        method.choose([1])
        np.testing.assert_allclose(method.predict(question)[:, 1], question.u[:, 1] ** 2)
        with pytest.raises(Unsupported, match="at most 6"):
            made("odeformer", found).fit(trajectory(7))
    assert offered == [("(u0 - (u0 - 1))", "1"), ("(1/(u0))", "((u1)**2)")]
    assert asked[1]["beam_size"] == 50
    np.testing.assert_array_equal(asked[2][1], question.measured)
    with adapter("odeformer", **odeformer([None], []), torch=pytorch) as found:
        method = made("odeformer", found)
        with pytest.raises(RuntimeError, match="none of the 1 samples"):
            method.fit(trajectory())


@pytest.mark.parametrize(
    ("pytorch", "told"),
    [
        (torch({"state": 1}), "a dict without 'env', and no whole model"),
        (torch(error=RuntimeError("bad magic")), "bad magic"),
        (torch(error=ModuleNotFoundError("No module named 'odd'")), "odd"),
    ],
)
def test_weights_that_are_none(
    pytorch: ModuleType, told: str, checkout: Path, given_paths: dict[str, Path]
) -> None:
    given_paths["weights"] = checkout.parent / "weights"
    with adapter("odeformer", **odeformer([], []), torch=pytorch) as found:
        method = made("odeformer", found)
        with pytest.raises(Unavailable, match=told):
            method.fit(trajectory())


E2E = """
class SymbolicTransformerRegressor:
    def __init__(self, model, max_input_points=0, n_trees_to_refine=0, rescale=True):
        self.model = model
    def fit(self, X, y):
        assert y.shape == (len(X),)
        X[:] = 0  # as the code may
        self.tree = {0: [{"predicted_tree": each} for each in self.model.trees] or None}
    def refine(self, X, y, trees, verbose):
        return [{"predicted_tree": each} for each in trees]
def build_modules(env, params):
    env.built = params
"""


def test_e2e_s_trees_are_taken_as_they_are(checkout: Path, given_paths: dict[str, Path]) -> None:
    write(
        checkout,
        {"symbolicregression/__init__.py": "", "symbolicregression/model/__init__.py": E2E},
    )
    given_paths.update(checkout=checkout, weights=checkout.parent / "weights")
    known = model(max_input_dimension=2)
    known.trees = [tree("sub,x_0,add,x_1,2.5"), tree("arctan,x_1"), tree("x_9")]
    question = problem(X, X[:, 0] - X[:, 1] - 2.5)
    with adapter("e2e", torch=torch(known)) as found:
        method = made("e2e", found)
        method.fit(question)
        assert [e.equations[0] for e in method.candidates()] == ["(v0 - (v1 + 2.5))", "atan(v1)"]
        np.testing.assert_allclose(method.predict(question), question.Y)
        with pytest.raises(Unsupported, match="at most 2 variables"):
            made("e2e", found).fit(problem(np.ones((9, 3)), np.ones(9)))
        known.trees = []
        with pytest.raises(RuntimeError, match="E2E's answer for y0: it is empty"):
            made("e2e", found).fit(question)


def test_masks_of_bytes_are_taken_and_nothing_is_left_behind() -> None:
    with modules(*folders("e2e")) as imported, pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", torch())
        old = imported("pretrained_models")
        before = _Tensor.masked_fill_
        with old.byte_masks():
            _, mask, value = _Tensor().masked_fill_(SimpleNamespace(bool=lambda: "bits"), 7)
        assert (mask, value) == ("bits", 7)
        assert _Tensor.masked_fill_ is before
        for text in ("add,x_0", "x_0,x_1", "", "x_0|"):
            with pytest.raises(ValueError, match="end"):
                old.in_calls(text)


NESYMRES = """
class Model:
    @classmethod
    def load_from_checkpoint(cls, file, cfg, map_location):
        assert cfg == "the architecture", cfg
        return cls()
    def eval(self):
        pass
    def fitfunc(self, X, y, cfg_params):
        assert X.shape == (len(y), 3) and not X[:, 2].any()
        assert cfg_params.id2word == {1: "S"} and cfg_params.bfgs.n_restarts == 4
        return {"all_bfgs_preds": ["((x_1)*(x_2))", "exp(x_1)", "x_3"]}
"""


def test_nesymres_with_the_authors_settings(
    checkout: Path, given_paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = "from types import SimpleNamespace as FitParams, SimpleNamespace as BFGSParams"
    write(
        checkout / "src" / "nesymres",
        {
            "__init__.py": "",
            "architectures/__init__.py": "",
            "architectures/model.py": NESYMRES,
            "dclasses.py": classes,
        },
    )
    names = ("word2id", "una_ops", "bin_ops", "total_coefficients", "rewrite_functions")
    equations = {**{name: [] for name in names}, "id2word": {"1": "S"}}
    equations["total_variables"] = ["x_1", "x_2", "x_3"]
    (checkout / "eq_setting.json").write_text(json.dumps(equations), encoding="utf-8")
    given_paths.update(checkout=checkout, weights=checkout.parent / "weights", settings=checkout)
    bfgs = dict.fromkeys(
        (
            *("activated", "n_restarts", "add_coefficients_if_not_existing", "normalization_o"),
            *("idx_remove", "normalization_type", "stop_time"),
        ),
        4,
    )
    config = SimpleNamespace(
        inference=SimpleNamespace(bfgs=bfgs, beam_size=2), architecture="the architecture"
    )
    omegaconf = module("omegaconf", OmegaConf=SimpleNamespace(load=lambda _file: config))
    monkeypatch.setitem(sys.modules, "omegaconf", omegaconf)
    with adapter("nesymres", torch=torch()) as found:
        with pytest.raises(Unavailable, match=r"paths\.settings has no config\.yaml"):
            made("nesymres", found)
        (checkout / "config.yaml").write_text("", encoding="utf-8")
        method = made("nesymres", found)
        method.fit(problem(X, X[:, 0] * X[:, 1]))
        offered = [each.equations[0] for each in method.candidates()]
        assert offered == ["(v0 * v1)", "exp(v0)"]  # and not one in a variable that is not there
        with pytest.raises(Unsupported, match="at most 3 variables"):
            made("nesymres", found).fit(problem(np.ones((9, 4)), np.ones(9)))


def test_tpsr_finds_its_weights_where_it_looks(
    checkout: Path, given_paths: dict[str, Path]
) -> None:
    write(
        checkout,
        {
            "symbolicregression/__init__.py": "",
            "symbolicregression/model/__init__.py": E2E,
            "symbolicregression/model/utils_wrapper.py": """
            class StandardScaler:
                def fit_transform(self, X):
                    return X - 1
                def get_params(self):
                    return (1.0,)
                def rescale_function(self, env, tree, one):
                    return tree if one == 1.0 else None
            """,
            "symbolicregression/envs/__init__.py": """
            from types import SimpleNamespace
            def build_env(params):
                words = lambda words, **kinds: SimpleNamespace(prefix=lambda: ",".join(words))
                return SimpleNamespace(idx_to_infix=words)
            """,
            "parsers.py": """
            import argparse
            def get_parser():
                parser = argparse.ArgumentParser()
                parser.add_argument("--max_input_dimension", type=int, default=2)
                return parser
            """,
            "tpsr.py": """
            import pathlib
            def tpsr_fit(X, Y, params, env):
                assert (params.backbone_model, params.lam, params.width) == ("e2e", 0.1, 3)
                assert params.cpu and params.device.type == "cpu" and env.built is params
                assert Y[0].shape == (len(X[0]), 1)
                weights = pathlib.Path("symbolicregression/weights/model.pt")
                assert weights.read_bytes() == b"weights"
                return ["<EOS>", "mul", "x_0", "x_1"], 0.0, 1
            """,
        },
    )
    given_paths.update(checkout=checkout, weights=checkout.parent / "weights")
    here = Path.cwd()
    with adapter("tpsr", torch=torch(model()), gymnasium=module("gymnasium")) as found:
        method = made("tpsr", found)
        method.fit(problem(X, X[:, 0] * X[:, 1], X[:, 1]))
        assert method.equations() == ["(v0 * v1)", "(v0 * v1)"]
        with pytest.raises(Unsupported, match="at most 2 variables"):
            made("tpsr", found).fit(problem(np.ones((9, 3)), np.ones(9)))
    assert Path.cwd() == here
    sys.modules.pop("gym", None)
