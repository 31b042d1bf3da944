"""Vague names of locals are seen where they live long, and only there."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def script() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        return importlib.import_module("names")


NAMES = script()
LONG = "    x = 1\n    x = 2\n    x = 3\n"
INNER = LONG.replace("    ", "        ")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (f"def f():\n    found = 1\n{LONG}    return found\n", ["found"]),
        ("def f():\n    found = 1\n    x = 2\n    return found\n", []),
        (f"def f(given):\n{LONG}    return given\n", ["given"]),
        (f"def f(given: Annotated[str, 'an option']):\n{LONG}    return given\n", []),
        (f"def f(*rest):\n{LONG}    return rest\n", ["rest"]),
        (f"def f(a):\n    left, right = a\n{LONG}    return left + right\n", []),
        (f"def f(a):\n    left, other = a\n{LONG}    return left + other\n", ["left"]),
        (f"def f(a):\n    for one in a:\n{INNER}        g(one)\n", ["one"]),
        ("def f(a):\n    return [one for one in a]\n", []),
        ("def f(a):\n    return [\n\n    one\n\n\n    for one in a\n    ]\n", ["one"]),
        (f"def f():\n    kept = 1\n    def g():\n{INNER}        return kept\n", ["kept"]),
        (
            f"def f():\n    kept = 1\n    def g(kept):\n        return kept\n{LONG}    return g\n",
            [],
        ),
        (f"def f():\n    kept = 1\n{LONG}    return [kept for kept in []]\n", []),
    ],
)
def test_vague_names_that_live_long_are_seen(code: str, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(code, encoding="utf-8")
    lines = list(NAMES.complaints(path))
    assert [line.split("'")[1] for line in lines] == names


def test_the_code_has_none() -> None:
    assert NAMES.main() == 0
