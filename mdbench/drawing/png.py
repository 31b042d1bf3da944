"""Pictures of numbers: a colour map of our own, and a PNG file small enough to stand in a page."""

from __future__ import annotations

import base64
import struct
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["LEVELS", "UNDEFINED", "colours", "levels", "png", "png_uri"]

LEVELS = 64
"""Colours of the map; more are not told apart by eye, and make files larger."""
UNDEFINED = LEVELS
"""What stands for values that are not finite: a grey of its own."""

_BLUE, _TEAL, _YELLOW = (0.24, 0.01, -0.11), (0.62, -0.13, -0.05), (0.95, -0.04, 0.15)
"""Lightness, green-red and blue-yellow: control points of the map's path."""
_FOOT = 0.0031308
"""Below this the values of sRGB files are proportional to the light."""
_GREY = (128, 128, 128)
_TO_CONES = (
    (0.3963377774, 0.2158037573),
    (-0.1055613458, -0.0638541728),
    (-0.0894841775, -1.2914855480),
)
_TO_RGB = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)


@lru_cache
def colours() -> tuple[tuple[int, int, int], ...]:
    """Give the map from the smallest to the largest value: dark blue, teal, light yellow.

    Neighbours are equally far apart to the eye: the map is a smooth path through the colour space
    Oklab, cut into steps of one length.  Lightness rises all the way, and blue against yellow
    says the same again, so that those who do not tell red from green see the same order, and so
    does a print in grey.

    References
    ----------
    Ottosson, "A perceptual color space for image processing", 2020: Oklab.
    """
    s = np.linspace(0, 1, 2001)[:, None]
    first, middle, last = (np.array(each) for each in (_BLUE, _TEAL, _YELLOW))
    path = (1 - s) ** 2 * first + 2 * s * (1 - s) * middle + s**2 * last
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    even = np.linspace(0, length[-1], LEVELS)
    lab = np.stack([np.interp(even, length, column) for column in path.T], axis=1)
    cones = (lab[:, :1] + lab[:, 1:] @ np.array(_TO_CONES).T) ** 3
    linear = np.clip(cones @ np.array(_TO_RGB).T, 0, 1)
    curved = np.where(linear <= _FOOT, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return tuple((int(r), int(g), int(b)) for r, g, b in np.rint(255 * curved))


def levels(values: Array, low: float, high: float) -> NDArray[np.uint8]:
    """Turn values into numbers of colours: 0 at `low` and below, the last at `high` and above."""
    with np.errstate(all="ignore"):
        share = np.clip((values - low) / (high - low), 0, 1) if high > low else 0 * values + 0.5
    finite = np.isfinite(values)
    return np.where(finite, np.rint((LEVELS - 1) * np.where(finite, share, 0)), UNDEFINED).astype(
        np.uint8
    )


def png(
    numbers: NDArray[np.uint8],
    palette: Sequence[tuple[int, int, int]] = (),
    clear: int | None = None,
) -> bytes:
    """Write numbers of colours, shape (rows, columns), first row on top, as a PNG file.

    Parameters
    ----------
    palette
        The colours, at most 256; by default those of the map, and grey.
    clear
        The number of the one that is not drawn, but shows what is behind.

    References
    ----------
    W3C, "Portable Network Graphics (PNG) Specification", sections 11.2 and 12.
    """
    rows, columns = numbers.shape
    table = b"".join(bytes(colour) for colour in palette or (*colours(), _GREY))
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)  # 8 bits, by palette
    lines = np.zeros((rows, columns + 1), np.uint8)  # each after its filter: none
    lines[:, 1:] = numbers
    parts = [(b"IHDR", header), (b"PLTE", table)]
    if clear is not None:
        parts.append((b"tRNS", b"\xff" * clear + b"\0"))
    parts += [(b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def png_uri(
    numbers: NDArray[np.uint8],
    palette: Sequence[tuple[int, int, int]] = (),
    clear: int | None = None,
) -> str:
    """Write the picture as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(png(numbers, palette, clear)).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
