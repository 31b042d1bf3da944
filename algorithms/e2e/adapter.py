"""E2E: a pretrained transformer that writes an equation with its constants, then refined."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]


class Adapter(WrittenFronts):
    """One pass a target; the candidates are the model's trees, refined and not, as they are.

    Parameters
    ----------
    seed, threads
        Seed and number of threads of PyTorch and NumPy.
    max_input_points
        Samples that are read at once; more are cut into bags.
    n_trees_to_refine
        Number of trees whose constants are fitted by BFGS.
    rescale
        Whether inputs are brought to mean 0 and variance 1, as in the training.
    max_rows
        Largest number of samples; of more, a random part is drawn.
    """

    package = "E2E"
    scaled = False

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        max_input_points: int,
        n_trees_to_refine: int,
        rescale: bool,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._settings = {
            "max_input_points": max_input_points,
            "n_trees_to_refine": n_trees_to_refine,
            "rescale": rescale,
        }
        checkout = given("e2e", "checkout", "a checkout of facebookresearch/symbolicregression")
        self._weights = given("e2e", "weights", "its file model1.pt")
        import_from(checkout, "symbolicregression")

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Run the model, which has no time limit.

        Raises
        ------
        Unsupported
            If there are more variables than the model supports.
        """
        from symbolicregression.model import SymbolicTransformerRegressor  # noqa: PLC0415

        del target, limit
        seed_all(self.seed, self.threads)
        model = load_pickled(self._weights, device(), "env", "embedder", "encoder", "decoder")
        most = int(model.env.params.max_input_dimension)
        if X.shape[1] > most:
            raise Unsupported(f"these weights support at most {most} variables")
        regressor = SymbolicTransformerRegressor(model=model, **self._settings)
        with byte_masks():
            regressor.fit(X.copy(), y.copy())
        trees = [candidate["predicted_tree"] for candidate in regressor.tree[0] or []]
        return [in_calls(tree.prefix())[0].replace("x_", "x") for tree in trees]
