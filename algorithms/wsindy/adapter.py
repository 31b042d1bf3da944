"""WSINDy: sparse regression on the weak form of a library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from field_adapter import FieldAdapter
from library import FieldLibrary
from models import Models
from sr3 import refit, supports
from weak import WeakForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import FieldTerms

    from mdbench.worker import Problem


@dataclass(frozen=True)
class _Setting:
    """One point of the grid."""

    library: FieldLibrary
    points: int
    threshold: float


class Adapter(FieldAdapter):
    """WSINDy with SR3.

    The hyperparameters are ``library``, ``basis``, ``derivative_order``, ``order``, ``points``
    (the number of windows that are integrated over) and ``threshold``; see
    ``library.FieldLibrary``, ``weak`` and ``sr3``.
    """

    @classmethod
    def setting(cls, *, points: int = 200, threshold: float = 0.1, **library: Any) -> _Setting:
        """Read a setting."""
        return _Setting(FieldLibrary.of(**library), points, float(threshold))

    @classmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[_Setting], *, seed: int
    ) -> Models:
        """Integrate all terms over as many windows as any setting takes, and follow SR3 in them."""
        most = max(setting.points for setting in settings)
        weak = WeakForm(problem, most, np.random.default_rng(seed))
        features, targets = weak.regression(terms)
        groups: dict[tuple[FieldLibrary, int], list[int]] = {}
        for place, setting in enumerate(settings):
            groups.setdefault((setting.library, setting.points), []).append(place)
        found = np.zeros((len(settings), targets.shape[1], len(terms)))
        for (library, points), places in groups.items():
            columns = np.flatnonzero(terms.columns(library))
            used, wanted = features[:points, columns], targets[:points]
            thresholds = np.array([settings[place].threshold for place in places])
            kept = supports(used, wanted, thresholds)
            found[np.ix_(places, range(targets.shape[1]), columns)] = refit(used, wanted, kept)
        return Models(found.reshape(-1, len(terms)), targets.shape[1])
