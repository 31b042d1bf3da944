"""Pictures of our own: axes, points and lines as SVG, whose colours the page's style sets."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

WIDTH, HEIGHT = 480, 330
"""Size of a figure; 480 is near a telephone's width, so that letters stay readable there."""
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 46
MARKERS = COLOURS = 7
LETTER, EXPONENT, SPACE = 6.7, 5.2, 37.0
"""Pixels of a letter of a tick, of one of its exponent, and of both next to the axis's title, which
is written above the axis where they would reach it."""
_FEWEST_TICKS = 3
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2", "1 2")


def marker(number: int, x: float, y: float, size: float = 4.5) -> str:
    """Draw the sign of a method: seven shapes, so that colour is never all there is."""
    s = size
    # The eighth method has the first one's colour, and another shape.
    match (number + number // COLOURS) % MARKERS:
        case 0:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{s:g}"/>'
        case 1:
            path = f"M{x - s:.1f} {y - s:.1f}h{2 * s:g}v{2 * s:g}h{-2 * s:g}z"
        case 2:
            path = f"M{x:.1f} {y - 1.2 * s:.1f}l{1.2 * s:g} {2.2 * s:g}h{-2.4 * s:g}z"
        case 3:
            path = f"M{x:.1f} {y - 1.4 * s:.1f}l{1.4 * s:g} {1.4 * s:g}l{-1.4 * s:g} {1.4 * s:g}"
            path += f"l{-1.4 * s:g} {-1.4 * s:g}z"
        case 4:
            path = f"M{x:.1f} {y + 1.2 * s:.1f}l{1.2 * s:g} {-2.2 * s:g}h{-2.4 * s:g}z"
        case 5:
            path = f"M{x - s:.1f} {y - s / 3:.1f}h{s * 2 / 3:g}v{-s * 2 / 3:g}h{s * 2 / 3:g}"
            path += f"v{s * 2 / 3:g}h{s * 2 / 3:g}v{s * 2 / 3:g}h{-s * 2 / 3:g}v{s * 2 / 3:g}"
            path += f"h{-s * 2 / 3:g}v{-s * 2 / 3:g}h{-s * 2 / 3:g}z"
        case _:
            path = f"M{x - 1.3 * s:.1f} {y - s / 2:.1f}h{2.6 * s:g}v{s:g}h{-2.6 * s:g}z"
    return f'<path d="{path}"/>'


def dashes(number: int) -> str:
    """Return the dashes of a method's line, as `stroke-dasharray`; empty for a whole line."""
    return _DASHES[(number + number // COLOURS) % len(_DASHES)]


def ticks(low: float, high: float, *, log: bool, most: int = 6) -> list[float]:
    """Choose round values between two ends: 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> ticks(0.0, 1.0, log=False)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(1e-3, 1e1, log=True)
    [0.001, 0.01, 0.1, 1.0, 10.0]
    >>> ticks(4.0, 60.0, log=True)
    [5.0, 10.0, 20.0, 50.0]
    """
    if log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        if last - first >= _FEWEST_TICKS - 1:
            step = math.ceil((last - first + 1) / most)
            return [10.0**power for power in range(first, last + 1, step)]
        for multiples in ((1, 2, 5), (1, 3), (1,)):  # powers of ten alone would be few
            steps = [m * 10.0**power for power in range(first - 1, last + 1) for m in multiples]
            inside = [step for step in steps if low * 0.999 <= step <= high * 1.001]
            if _FEWEST_TICKS <= len(inside) <= most + 1:
                return inside
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first = math.ceil(low / width - 1e-9)
    digits = 1 - math.floor(math.log10(width))
    return [
        round((first + n) * width, digits)
        for n in range(math.floor(high / width + 1e-9) - first + 1)
    ]


class Axis:
    """The numbers along one side of a plot, from `low` to `high`."""

    def __init__(self, values: Sequence[float], *, log: bool, zero: bool = False) -> None:
        known = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
        low, high = (min(known), max(known)) if known else (0.1, 1.0)
        self.log = log
        self.low: float
        self.high: float
        if log:
            beyond = max((high / low) ** 0.04, 10**0.1)
            self.low, self.high = low / beyond, high * beyond
        else:
            self.low = 0.0 if zero else float(low)
            self.high = float(high) if high > self.low else self.low + 1.0
            self.high += 0.04 * (self.high - self.low)

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 to 1."""
        if self.log:
            low, high = math.log10(self.low), math.log10(self.high)
            value = math.log10(max(value, self.low))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def label(self, value: float) -> str:
        """Write a tick's value, as a power of ten where it is long; no two are alike."""
        if value == 0 or 1e-3 <= abs(value) < 1e5:  # noqa: PLR2004 - short enough as they are
            return f"{value:g}".replace("-", "−")
        mantissa, power = f"{value:.5e}".split("e")
        factor = f"{float(mantissa):g}".replace("-", "−")
        before = {"1": "", "−1": "−"}.get(factor, f"{factor}·")
        exponent = f"{int(power)}".replace("-", "−")
        return f'{before}10<tspan dy="-5" font-size="9">{exponent}</tspan>'


class Plot:
    """A plot that grows: frame and axes first, then what is drawn.

    Its `data_attributes` stand in the picture as ``data-`` attributes, for the page's script.

    Parameters
    ----------
    title
        What the picture shows, for those who do not see it.
    y
        The vertical axis.
    x
        The horizontal axis, or the names of places along it.
    labels
        The titles of the two axes: x, y.
    beyond
        What a value above the axis means; a band above the plot is kept for it.
    right
        Pixels on the right that are kept free.
    counts
        How many values each place has, as text.
    """

    def __init__(
        self,
        title: str,
        x: Axis | Sequence[str],
        y: Axis,
        labels: tuple[str, str],
        beyond: str = "",
        *,
        right: float = RIGHT,
        counts: Sequence[str] = (),
    ) -> None:
        self.x, self.y, self.title, self.labels = x, y, title, labels
        self.end = WIDTH - right
        self.top = TOP + (28 if beyond else 0)
        self.parts: list[str] = []
        self.data_attributes: dict[str, str] = {}
        right, bottom = self.end, HEIGHT - BOTTOM
        for value in ticks(y.low, y.high, log=y.log):
            at = self.at_y(value)
            self.parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{right}"/>')
            self.text(LEFT - 6, at + 4, y.label(value), "end", raw=True)
        if isinstance(x, Axis):
            for value in ticks(x.low, x.high, log=x.log):
                at = self.at_x(value)
                self.parts.append(f'<path class="grid" d="M{at:.1f} {self.top}V{bottom}"/>')
                self.text(at, bottom + 17, x.label(value), raw=True)
        else:
            for number, name in enumerate(x):
                if number:  # marks between two lines belong to one place
                    at = self.at_x(number - 0.5)
                    self.parts.append(f'<path class="grid" d="M{at:.1f} {self.top}V{bottom}"/>')
                text = escape(name)
                if counts:
                    text += f'<tspan class="count" dx="4">{escape(counts[number])}</tspan>'
                self.text(self.at_x(number), bottom + 17, text, raw=True)
        if beyond:
            self.parts.append(
                f'<path class="band" d="M{LEFT} {self.top - 8}H{right}V{TOP}H{LEFT}z"/>'
            )
            self.text(LEFT - 6, TOP + 12, beyond, "end")
        self.parts.append(f'<path class="axis" d="M{LEFT} {self.top}V{bottom}H{right}"/>')
        self.text((LEFT + right) / 2, HEIGHT - 8, labels[0], css="label")
        if max(map(self._width, map(y.label, ticks(y.low, y.high, log=y.log))), default=0) > SPACE:
            self.text(2, TOP - 4, labels[1], "start", css="label")
            return
        middle = (self.top + bottom) / 2
        self.parts.append(
            f'<text class="label" text-anchor="middle" transform="translate(13 {middle:.0f}) '
            f'rotate(-90)">{escape(labels[1])}</text>'
        )

    @staticmethod
    def _width(label: str) -> float:
        """Return about how many pixels a tick's label takes; exponents are small."""
        plain, _, power = label.partition("<tspan")
        return LETTER * len(plain) + EXPONENT * len(power.partition(">")[2].partition("<")[0])

    def at_x(self, value: float) -> float:
        """Return the pixel of a value, or of the n-th place (fractions lie between places)."""
        width = self.end - LEFT
        if isinstance(self.x, Axis):
            return LEFT + width * self.x.place(value)
        return LEFT + width * (value + 0.5) / max(1, len(self.x))

    def at_y(self, value: float) -> float:
        """Return the pixel of a value; what is infinite lies in the band above."""
        if math.isinf(value):
            return TOP + 10.0
        return self.top + (HEIGHT - BOTTOM - self.top) * (1 - self.y.place(value))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        anchor: str = "middle",
        css: str = "",
        *,
        raw: bool = False,
    ) -> None:
        """Write at a place; `raw` text is SVG of our own."""
        name = f' class="{css}"' if css else ""
        shown = text if raw else escape(text)
        self.parts.append(
            f'<text{name} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{shown}</text>'
        )

    def series(
        self,
        number: int,
        name: str,
        points: Sequence[tuple[float, float]],
        spreads: Sequence[tuple[float, float]] = (),
        *,
        joined: bool = True,
        size: float = 4.5,
        aside: float = 0.0,
        hovers: Sequence[str] = (),
    ) -> None:
        """Draw one method: a line, its points, and from where to where each one spreads.

        All of it lies `aside` of its place, in pixels, so that equal methods stand side by side.
        The line is interrupted where a place has no point.  A pointer that rests on the line shows
        the name, and one that rests on a point its text of `hovers`.
        """
        dash = dashes(number)
        places = [(self.at_x(x) + aside, self.at_y(y)) for x, y in points]
        (first_x, top), *_ = places or [(0.0, 0.0)]
        self.parts.append(
            f'<g class="m{number % COLOURS}" data-m="{escape(name)}" data-o="{aside:.1f}" '
            f'data-p="{first_x:.1f} {top:.1f}"><title>{escape(name)}</title>'
        )
        for (x, _), (low, high) in zip(places, spreads, strict=False):
            self.parts.append(
                f'<path class="spread" d="M{x:.1f} {self.at_y(low):.1f}V{self.at_y(high):.1f}"/>'
            )
        if joined and len(places) > 1:
            path = ""
            for step, (x, y) in enumerate(places):
                gap = not step or (
                    not isinstance(self.x, Axis) and points[step][0] - points[step - 1][0] > 1
                )
                path += f"{'M' if gap else 'L'}{x:.1f} {y:.1f}"
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            self.parts.append(f'<path class="line"{dashed} d="{path}"/>')
        for index, (x, y) in enumerate(places):
            sign = marker(number, x, y, size)
            if hovers:
                shape = sign[1 : sign.index(" ")]
                inside = f"><title>{escape(hovers[index])}</title></{shape}>"
                sign = sign.removesuffix("/>") + inside
            self.parts.append(sign)
        self.parts.append("</g>")

    def render(self) -> str:
        """Return the SVG."""
        inner = "".join(self.parts)
        attributes = "".join(
            f' data-{name}="{escape(text)}"' for name, text in self.data_attributes.items()
        )
        return (
            f'<svg class="plot"{attributes} viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
            f"<title>{escape(self.title)}</title>{inner}</svg>"
        )


LEVELS = 64
"""Colours of the map; the eye does not distinguish more, and files would be larger."""
UNDEFINED = LEVELS
"""Colour of values that are not finite: a grey."""

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
    """Return the map from the smallest to the largest value: dark blue, teal, light yellow.

    Neighbours are equally far apart to the eye: the map is a smooth path through the colour space
    Oklab, cut into steps of one length.  Lightness rises all the way, and blue against yellow
    repeats the same.  Those who do not distinguish red from green see the same order, and a print
    in grey has it.

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


@dataclass(frozen=True)
class Figure:
    """A picture, and the sentence that explains how to read it."""

    title: str
    caption: str
    svg: str
    whole: bool = False
    """Whether it is always of all results: the page hides it while a filter is chosen."""
