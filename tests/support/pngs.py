"""Reads the PNG files of the report: what is in them, by the format's own rules."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def decode(data: bytes) -> tuple[NDArray[np.uint8], list[tuple[int, ...]]]:
    """Return the numbers of the pixels' colours, and the palette."""
    assert data[:8] == bytes([137, 80, 78, 71, 13, 10, 26, 10])
    chunks, at = [], 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert check == zlib.crc32(kind + body)
        if kind != b"tRNS":  # which colour shows what is behind
            chunks.append((kind, body))
        at += 12 + size
    assert [kind for kind, _ in chunks] == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    columns, rows, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert rest == [8, 3, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(chunks[2][1]), np.uint8).reshape(rows, columns + 1)
    assert not lines[:, 0].any()  # no filter
    palette = chunks[1][1]
    return lines[:, 1:], [tuple(palette[i : i + 3]) for i in range(0, len(palette), 3)]


def pictures(html: str) -> list[NDArray[np.uint8]]:
    """Decode the pictures of panels, in their order; scales are left out."""
    found = re.findall(r'<image [^>]*href="data:image/png;base64,([^"]*)"', html)
    return [decode(base64.b64decode(each))[0] for each in found]
