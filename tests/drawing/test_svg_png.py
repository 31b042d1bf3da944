from __future__ import annotations

import numpy as np
from pngs import decode

from mdbench.drawing.svg import LEVELS, UNDEFINED, colours, levels, png

# Linear light to cone responses, and their cube roots to lightness, green-red and blue-yellow.
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
OKLAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def test_a_picture_is_read_back_as_it_was() -> None:
    numbers = np.arange(6 * 11, dtype=np.uint8).reshape(6, 11) % (LEVELS + 1)
    pixels, palette = decode(png(numbers))
    assert np.array_equal(pixels, numbers)
    assert palette[:LEVELS] == list(colours())
    assert palette[UNDEFINED] == (128, 128, 128)


def test_values_become_levels() -> None:
    values = np.array([-9.0, 0.0, 1.0, 2.0, 9.0, np.nan, np.inf, -np.inf])
    assert levels(values, 0.0, 2.0).tolist() == [0, 0, 32, 63, 63, *[UNDEFINED] * 3]
    assert levels(np.array([3.0, np.nan]), 3.0, 3.0).tolist() == [32, UNDEFINED]


def test_the_map_is_even_to_the_eye_and_to_the_colour_blind() -> None:
    rgb = np.array(colours()) / 255
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(light @ np.array(CONES).T) @ np.array(OKLAB).T
    steps = np.linalg.norm(lab[7::7] - lab[:-7:7], axis=1)  # of one, rounding would show
    assert steps.max() < 1.1 * steps.min()
    # Lightness alone, which all see, rises at every step and nearly evenly.
    rise = np.diff(lab[:, 0])
    assert rise.min() > 0.5 * rise.mean()
    # And so does blue against yellow in all but the darkest colours.
    assert (np.diff(lab[12:, 2]) > 0).all()
