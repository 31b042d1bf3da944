"""What is known of data types by their names alone agrees with what their code says."""

from __future__ import annotations

import importlib
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT

from mdbench import datatypes
from mdbench.datatypes.facts import TypeFacts, names_in
from mdbench.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BY_NUMBER = TypeFacts(views=("table",), order=lambda name, head: (head["number"], name))


@pytest.mark.parametrize("name", datatypes.names())
def test_facts_are_what_the_class_has(name: str) -> None:
    (kind,) = datatypes.classes([name])
    facts = datatypes.facts_of(name)
    assert (facts.views, facts.families) == (kind.views, kind.families)
    assert facts.options is kind.options or facts.options == kind.options


@pytest.mark.parametrize("name", datatypes.names())
def test_names_are_those_of_the_source(name: str, tmp_path: Path) -> None:
    place = ROOT / "datasets" / name
    quick = names_in(place, datatypes.facts_of(name))
    assert quick == list(datatypes.own_names(name, place, tmp_path))
    source = datatypes.find(name, place, tmp_path).source()
    assert quick == list(source.names())
    assert all(source.title(each) for each in source.names()[:3])


def test_heads_are_what_the_whole_files_say() -> None:
    for folder in (ROOT / "datasets").glob("*/"):
        heads: dict[str, Mapping[str, Any]] = {}

        def keep(name: str, head: Mapping[str, Any], heads: dict[str, Any] = heads) -> tuple[str]:
            heads[name] = head
            return (name,)

        assert names_in(folder, TypeFacts(views=(), order=keep))
        for name, head in heads.items():
            whole = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
            assert head.items() <= whole.items()
            assert all(
                each in head for each, value in whole.items() if isinstance(value, str | int)
            )


@pytest.mark.parametrize(
    "text",
    [
        "number = 2\n[table]\nkey = 1\n",
        "list = [\n[1],\n[2]]\nnumber = 2\n",
        'text = """\n[table]\n"""\nnumber = 2\n[table]\n',
        "number = 2",
    ],
)
def test_a_bracket_that_begins_a_line_need_not_begin_a_table(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    (tmp_path / "b.toml").write_text("number = 1", encoding="utf-8")
    (tmp_path / "c.toml").write_text("number = 3", encoding="utf-8")
    assert names_in(tmp_path, BY_NUMBER) == ["b", "a", "c"]


@pytest.mark.parametrize("content", [b"number = ", b"other = 1", b"\xff", b"number = 'one'"])
def test_files_that_do_not_say_it_are_left_to_the_data_type(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(content)
    (tmp_path / "b.toml").write_text("number = 1", encoding="utf-8")
    assert names_in(tmp_path, BY_NUMBER) is None


def test_the_data_type_states_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no systems"):
        datatypes.own_names("ode", tmp_path, tmp_path)
    (tmp_path / "odd.toml").write_text("id = ", encoding="utf-8")
    with pytest.raises(DataError, match=r"odd\.toml"):
        datatypes.own_names("ode", tmp_path, tmp_path)
    with pytest.raises(UsageError, match="no data type 'odes'"):
        datatypes.own_names("odes", tmp_path, tmp_path)


def test_tables_without_a_description_are_named_too(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text("x,y\n" + "1,2\n2,3\n3,5\n4,8\n5,9\n" * 4, encoding="utf-8")
    assert datatypes.own_names("real", tmp_path, tmp_path) == ["a", "b"]
    assert list(datatypes.find("real", tmp_path, tmp_path).source().names()) == ["a", "b"]


def test_a_data_type_without_facts_is_asked_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stars").mkdir()
    (tmp_path / "stars" / "data_type.py").write_text(
        "class Source:\n    def names(self): return ['sun']\n"
        "class Stars:\n    views, families, options = ('sky',), ('lucky',), ()\n"
        "    def __init__(self, *folders): ...\n    def source(self): return Source()\n"
        "DATA_TYPE = Stars\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(datatypes, "__path__", [*datatypes.__path__, str(tmp_path)])
    assert datatypes.facts_of("stars") == TypeFacts(("sky",), ("lucky",), ())
    assert list(datatypes.own_names("stars", tmp_path, tmp_path)) == ["sun"]
    for name in ("stars", "stars.data_type"):
        monkeypatch.delitem(sys.modules, f"mdbench.datatypes.{name}")


@pytest.mark.parametrize(
    ("name", "module", "reader"),
    [
        ("ode", "ode.datasets", "read_system"),
        ("pde", "pde", "read_system"),
        ("srsd", "srsd.datasets", "read_problem"),
        ("surface", "surface.datasets", "read_surface"),
    ],
)
def test_one_dataset_needs_one_system(
    name: str, module: str, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"mdbench.datatypes.{module}" + ".data_type" * ("." not in module)
    read, files = getattr(importlib.import_module(place), reader), []

    def count(file: Path) -> Any:
        files.append(file.stem)
        return read(file)

    monkeypatch.setattr(f"{place}.{reader}", count)
    source = datatypes.find(name, ROOT / "datasets" / name, tmp_path).source()
    wanted = source.names()[1]
    assert wanted in sum(map(list, source.groups().values()), list(source.names()))
    assert source.title(wanted)
    assert files == [wanted]
