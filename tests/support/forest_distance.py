"""The edit distance of ordered forests by its recursive definition: an oracle for small trees."""

from __future__ import annotations

from functools import cache

Nested = tuple[str, tuple["Nested", ...]]
"""A label and the children."""


def size(forest: tuple[Nested, ...]) -> int:
    """Return the number of nodes."""
    return sum(1 + size(children) for _, children in forest)


@cache
def brute(one: tuple[Nested, ...], other: tuple[Nested, ...]) -> int:
    """Work the distance of two forests out by its recursive definition, from the right."""
    if not one or not other:
        return size(one) + size(other)
    (a, inside_a), (b, inside_b) = one[-1], other[-1]
    return min(
        brute(one[:-1] + inside_a, other) + 1,
        brute(one, other[:-1] + inside_b) + 1,
        brute(one[:-1], other[:-1]) + brute(inside_a, inside_b) + (a != b),
    )
