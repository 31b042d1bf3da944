"""NeSymReS: a pretrained transformer that writes skeletons, whose constants BFGS fits."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from pretrained_models import device, given, import_from, seed_all
from written_fronts import WrittenFronts

from mdbench.worker import Unavailable, Unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_FILES = ("config.yaml", "eq_setting.json")
_BFGS = (
    *("activated", "n_restarts", "add_coefficients_if_not_existing", "normalization_o"),
    *("idx_remove", "normalization_type", "stop_time"),
)


class Adapter(WrittenFronts):
    """One pass a target; the candidates are the model's beam, constants fitted, as they are.

    Parameters
    ----------
    seed, threads
        Seed and number of threads of PyTorch and NumPy.
    beam_size, restarts
        Of the beam, and of BFGS; None for those of the authors' settings.
    max_rows
        Largest number of samples, since BFGS writes out a term for each; of more, some are drawn.
    """

    package = "NeSymReS"
    scaled = False

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        max_rows: int,
        beam_size: int = 0,
        restarts: int = 0,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._beam_size, self._restarts = beam_size, restarts
        what = "a checkout of SymposiumOrganization/NeuralSymbolicRegressionThatScales"
        checkout = given("nesymres", "checkout", what)
        self._weights = given("nesymres", "weights", "a checkpoint of the authors', 100M.ckpt")
        self._settings = given(
            "nesymres", "settings", f"the folder with {' and '.join(_FILES)} (jupyter/100M)"
        )
        for name in _FILES:
            if not (self._settings / name).is_file():
                raise Unavailable(f"paths.settings has no {name}")
        import_from(checkout, "src/nesymres")
        import_from(checkout / "src", "nesymres")

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Run the model, which has no time limit.

        Raises
        ------
        Unsupported
            If there are more variables than the model supports.
        """
        del target, limit
        seed_all(self.seed, self.threads)
        model, parameters = self._model()
        names = list(parameters.total_variables)
        if X.shape[1] > len(names):
            raise Unsupported(f"these weights support at most {len(names)} variables")
        # Variables that are not there are 0, as in the authors' notebook.
        padded = np.zeros((len(X), len(names)))
        padded[:, : X.shape[1]] = X
        found = model.fitfunc(
            torch.tensor(padded, dtype=torch.float32),
            torch.tensor(y, dtype=torch.float32),
            cfg_params=parameters,
        )
        number = {name: place for place, name in enumerate(names)}

        def ours(match: re.Match[str]) -> str:
            return f"x{number[match[0]]}" if match[0] in number else match[0]

        return [re.sub(r"x_\d+", ours, str(text)) for text in found["all_bfgs_preds"]]

    def _model(self) -> tuple[Any, Any]:
        from nesymres.architectures.model import Model  # noqa: PLC0415
        from nesymres.dclasses import BFGSParams, FitParams  # noqa: PLC0415
        from omegaconf import OmegaConf  # noqa: PLC0415

        config: Any = OmegaConf.load(self._settings / "config.yaml")
        text = (self._settings / "eq_setting.json").read_text(encoding="utf-8")
        equations = json.loads(text)
        bfgs = {name: config.inference.bfgs[name] for name in _BFGS}
        if self._restarts:
            bfgs["n_restarts"] = self._restarts
        parameters = FitParams(
            word2id=equations["word2id"],
            id2word={int(key): word for key, word in equations["id2word"].items()},
            una_ops=equations["una_ops"],
            bin_ops=equations["bin_ops"],
            total_variables=list(equations["total_variables"]),
            total_coefficients=list(equations["total_coefficients"]),
            rewrite_functions=list(equations["rewrite_functions"]),
            bfgs=BFGSParams(**bfgs),
            beam_size=self._beam_size or config.inference.beam_size,
        )
        model = Model.load_from_checkpoint(
            str(self._weights), cfg=config.architecture, map_location=device()
        )
        model.eval()
        return model, parameters
