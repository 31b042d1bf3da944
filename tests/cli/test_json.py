"""What programs read: the keys of each command's JSON are a format, kept in a golden file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from harness import ROOT, add_method

from mdbench.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from mdbench.workspace import Workspace

GOLDEN = json.loads((ROOT / "tests/golden/json_keys.json").read_text(encoding="utf-8"))
"""The keys of each object in the JSON of each command, by the object's place."""
FREE = {
    *(
        "causes",
        "checkouts",
        "counts",
        "data_types",
        "flags",
        "gained",
        "grid",
        "groups",
        "hyperparameters",
        "knows",
    ),
    *(
        "lost",
        "made_with",
        "metrics",
        "missing",
        "names",
        "notes",
        "options",
        "protocols",
        "reasons",
    ),
    *("statuses", "told_by", "values"),
}
"""Objects whose keys depend on the data, such as names of metrics; their place goes on as ``*``."""
RUN = ("--algorithm", "zero", "--data-type", "ode", "--dataset", "rc-circuit")
EMPTY_WITHOUT_AN_ENGINE = {".runtimes[].enforces"}
"""A runtime that a machine does not have enforces nothing."""


def test_the_keys_are_those_of_the_format(
    command_line: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    zero = add_method(command_line, "zero") / "adapter.py"
    add_method(command_line, "broken", "raise RuntimeError('no')")
    assert main(["run", *RUN, "--result-dir", "before"]) == 0
    text = zero.read_text(encoding="utf-8").replace('"0"', '"1"').replace("zeros", "ones")
    zero.write_text(text, encoding="utf-8")
    main(["run", *RUN, "--algorithm", "broken", "--snr", "30,clean", "--result-dir", "after"])
    seen: dict[str, set[str]] = {verb: set() for verb in GOLDEN}
    for line in (
        ["run", *RUN, "--result-dir", "after"],
        ["run", "--dry-run", *RUN, "--algorithm", "broken"],
        ["plan", *RUN, "--algorithm", "broken"],
        ["list"],
        ["probe"],
        ["check", "zero"],
        ["report", "after"],
        ["compare", "before", "after"],
        ["score", "x0*sin(x1)", "x0"],
        ["score", "x0", "x0+"],
    ):
        capsys.readouterr()
        main([*line, "--json"])
        found = json.loads(capsys.readouterr().out)
        verb = "plan" if "--dry-run" in line else line[0]
        for place, keys in objects(found):
            if not keys and place in EMPTY_WITHOUT_AN_ENGINE:
                continue
            assert keys == GOLDEN[verb][place], (line, place)
            seen[verb].add(place)
    assert seen == {verb: set(places) for verb, places in GOLDEN.items()}


def objects(value: Any, place: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the place of every object that has fixed keys, and these keys."""
    if isinstance(value, list):
        for each in value:
            yield from objects(each, f"{place}[]")
    elif isinstance(value, dict):
        free = place.rpartition(".")[2] in FREE
        if not free:
            yield place, sorted(value)
        for key, each in value.items():
            yield from objects(each, f"{place}.{'*' if free else key}")
