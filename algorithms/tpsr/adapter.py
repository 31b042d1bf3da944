"""TPSR: Monte Carlo tree search over the words of the pretrained E2E transformer."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from pretrained_models import (
    byte_masks,
    device,
    given,
    import_from,
    in_calls,
    load_pickled,
    seed_all,
)
from written_fronts import WrittenFronts

from mdbench.worker import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

# The checkout loads its weights, which are a pickle, by PyTorch's old default.
os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
# Of gym, which has no wheel, it needs a class of spaces that its successor has, too.
sys.modules.setdefault("gym", gymnasium)


class Adapter(WrittenFronts):
    """One tree search a target; the candidates are its tree, refined and not, as they are.

    Parameters
    ----------
    seed, threads
        Seed and number of threads of PyTorch and NumPy.
    complexity_weight
        Lambda of the reward.
    width, beams, rollouts, horizon
        Settings of the tree search, as the checkout's options of those names.
    max_input_points
        Samples that the search reads; the constants are fitted to all.
    rescale
        Whether inputs are brought to mean 0 and variance 1, as in the training.
    max_rows
        Largest number of samples; of more, a random part is drawn.
    """

    package = "TPSR"
    scaled = False

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        complexity_weight: float,
        width: int,
        beams: int,
        rollouts: int,
        horizon: int,
        max_input_points: int,
        rescale: bool,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._options: dict[str, Any] = {
            "backbone_model": "e2e",
            "lam": complexity_weight,
            "width": width,
            "num_beams": beams,
            "rollout": rollouts,
            "horizon": horizon,
            "max_input_points": max_input_points,
        }
        self._rescale = rescale
        checkout = given("tpsr", "checkout", "a checkout of deep-symbolic-mathematics/TPSR")
        self._weights = given("tpsr", "weights", "E2E's file model1.pt")
        import_from(checkout, "tpsr.py", "parsers.py", "symbolicregression")

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Search, without a time limit.

        Raises
        ------
        Unsupported
            If there are more variables than the model supports.
        """
        from symbolicregression.envs import build_env  # noqa: PLC0415
        from symbolicregression.model import (  # noqa: PLC0415
            SymbolicTransformerRegressor,
            build_modules,
            utils_wrapper,
        )
        from tpsr import tpsr_fit  # noqa: PLC0415

        del target, limit
        seed_all(self.seed, self.threads)
        where = device()
        parameters = self._parameters(where)
        env = build_env(parameters)
        env.rng = np.random.RandomState(self.seed % 2**32)
        build_modules(env, parameters)
        if X.shape[1] > parameters.max_input_dimension:
            raise Unsupported(
                f"these weights support at most {parameters.max_input_dimension} variables"
            )
        scaler = utils_wrapper.StandardScaler() if self._rescale else None
        inputs = X.copy() if scaler is None else scaler.fit_transform(X.copy())
        columns = y[:, None]
        with _weights_in_place(self._weights), byte_masks():
            words, *_ = tpsr_fit([inputs], [columns], parameters, env)
            tree = env.idx_to_infix(words[1:], is_float=False, str_array=False)
            if tree is None:
                return []
            model = load_pickled(self._weights, where, "env", "embedder", "encoder", "decoder")
            regressor = SymbolicTransformerRegressor(model=model, rescale=self._rescale)
            regressor.start_fit = 0.0
            found = regressor.refine(inputs, columns, [tree], verbose=False)
        trees = [candidate["predicted_tree"] for candidate in found]
        if scaler is not None:
            trees = [scaler.rescale_function(env, each, *scaler.get_params()) for each in trees]
        return [in_calls(each.prefix())[0].replace("x_", "x") for each in trees]

    def _parameters(self, where: torch.device) -> Any:
        from parsers import get_parser  # noqa: PLC0415

        parameters = get_parser().parse_args([])
        for name, value in self._options.items():
            setattr(parameters, name, value)
        parameters.cpu = where.type == "cpu"
        parameters.device = where
        parameters.seed = parameters.random_state = self.seed
        parameters.multi_gpu = parameters.is_slurm_job = parameters.debug = False
        return parameters


@contextmanager
def _weights_in_place(weights: Path) -> Iterator[None]:
    """Make a working folder where the checkout finds its weights, which it loads by path."""
    before = Path.cwd()
    folder = Path("scratch").resolve() / "tpsr"
    place = folder / "symbolicregression" / "weights" / "model.pt"
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        place.symlink_to(weights)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
