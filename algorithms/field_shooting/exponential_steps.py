"""Steps of exponential time differencing of fourth order, for systems that are coupled linearly.

Cox and Matthews, J. Comput. Phys. 176, 430 (2002), equations 26 to 29.  The functions of matrices
are blocks of the exponential of a larger one: Al-Mohy and Higham, SIAM J. Sci. Comput. 33, 488
(2011), theorem 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import expm

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Spectra = NDArray[np.complex128]

__all__ = ["ExponentialStep"]


@dataclass(frozen=True)
class ExponentialStep:
    """The matrices of a step, each (d, d, waves)."""

    whole: Spectra
    half: Spectra
    inner: Spectra
    first: Spectra
    middle: Spectra
    last: Spectra

    @classmethod
    def of(cls, linear: Spectra, h: float) -> ExponentialStep:
        """Make it of the linear part (d, d, waves) and the length of a step."""
        whole, one, two, three = _functions(linear * h)
        half, inner, _, _ = _functions(linear * (h / 2))
        return cls(
            whole,
            half,
            inner * (h / 2),
            h * (one - 3 * two + 4 * three),
            h * (2 * two - 4 * three),
            h * (4 * three - two),
        )

    def advance(
        self,
        v: Spectra,
        begin: Callable[[Spectra], Spectra],
        middle: Callable[[Spectra], Spectra],
        end: Callable[[Spectra], Spectra],
    ) -> Spectra:
        """Return spectra (..., d, waves) a step later.

        Parameters
        ----------
        begin, middle, end
            The rest of the right-hand side, at the begin, the middle and the end of the step.
        """
        n = begin(v)
        decayed = _times(self.half, v)
        a = decayed + _times(self.inner, n)
        na = middle(a)
        nb = middle(decayed + _times(self.inner, na))
        nc = end(_times(self.half, a) + _times(self.inner, 2 * nb - n))
        return (
            _times(self.whole, v)
            + _times(self.first, n)
            + _times(self.middle, na + nb)
            + _times(self.last, nc)
        )


def _times(matrices: Spectra, v: Spectra) -> Spectra:
    """Multiply each wave's states (..., d, waves) by its matrix."""
    made = np.zeros(v.shape, complex)
    for i, row in enumerate(matrices):
        for j, each in enumerate(row):
            made[..., i, :] += each * v[..., j, :]
    return made


def _functions(z: Spectra) -> tuple[Spectra, Spectra, Spectra, Spectra]:
    """Return exp and the functions phi of order 1, 2 and 3 of matrices (d, d, waves)."""
    d, _, waves = z.shape
    large = np.zeros((waves, 4 * d, 4 * d), complex)
    large[:, :d, :d] = np.moveaxis(z, -1, 0)
    for block in range(3):
        rows = slice(block * d, (block + 1) * d)
        large[:, rows, (block + 1) * d : (block + 2) * d] = np.eye(d)
    top = np.moveaxis(expm(large)[:, :d], 0, -1)
    whole, one, two, three = (top[:, k * d : (k + 1) * d] for k in range(4))
    return whole, one, two, three
