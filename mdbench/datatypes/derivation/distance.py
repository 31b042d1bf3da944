"""How far apart two texts are."""

from __future__ import annotations

__all__ = ["damerau_levenshtein"]


def damerau_levenshtein(one: str, other: str) -> int:
    """Count the insertions, deletions, substitutions and swaps of neighbours between two texts.

    No part is edited twice (optimal string alignment).  All cells of a column are worked out at
    once, as the bits of a number (Hyyrö 2003, "A bit-vector algorithm for computing Levenshtein
    and Damerau edit distances").

    >>> damerau_levenshtein("sin(x)", "sni(y)")
    2
    """
    if not one:
        return len(other)
    places: dict[str, int] = {}
    for place, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << place
    mask, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    up, down, diagonal, before, distance = mask, 0, 0, 0, len(one)
    for character in other:
        here = places.get(character, 0)
        swapped = ((~diagonal & here) << 1) & before
        diagonal = ((((here & up) + up) ^ up) | here | down | swapped) & mask
        right = (down | ~(diagonal | up)) & mask
        left = diagonal & up
        distance += bool(right & last) - bool(left & last)
        right, left = (right << 1 | 1) & mask, (left << 1) & mask
        up = (left | ~(diagonal | right)) & mask
        down = diagonal & right
        before = here
    return distance
