"""Transcripts: whole or cut with a number, and harmless whatever is said."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from browser import Browser
from hypothesis import given, settings
from hypothesis import strategies as st
from reporting import boards, data, write

from mdbench.cli import main
from mdbench.errors import printable
from mdbench.extensions.language_models.exchanges import Completion, Exchange, Usage
from mdbench.extensions.language_models.transcripts import (
    EVERYTHING,
    PAGE_LETTERS,
    Limits,
    Transcript,
    limit_letters,
    transcript,
    transcript_lines,
    transcripts,
)
from mdbench.records import Record
from mdbench.reports.html import page

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = (
    "</pre></details></script><script>document.title = 'x'</script>"
    "<img src=x onerror=\"document.title='x'\"> \x1b[2J\x07\x00 \u202egnp.exe"
)


def exchange(
    number: int, prompt: str = "p", text: str = "t", *, error: str = "", **more: Any
) -> Exchange:
    return Exchange(
        number=number,
        hash="0" * 64,
        occurrence=0,
        request={"messages": [{"role": "user", "content": prompt}], "seed": number},
        reply=None if error else Completion(text=text, finish_reason="stop"),
        error=error,
        usage=Usage(prompt_tokens=10, completion_tokens=number, **more),
        latency_s=0.5,
        attempts=1,
    )


def record(name: str = "loop", dataset: str = "a", **more: Any) -> Record:
    llm = {
        "model": "m",
        "prompt": "anon",
        "calls": 8,
        "price": [1.0, 2.0],
        "curve": [{"calls": 0, "loss": 1.0}, {"calls": 4, "loss": 0.5}, {"calls": 8, "loss": 0.25}],
    }
    return Record.model_validate(data(name, dataset, llm=llm, **more))


def many(turns: int, answers: int = 4, letters: int = 1) -> list[Exchange]:
    return [
        exchange(turn * answers + place + 1, f"prompt {turn}", "x" * letters)
        for turn in range(turns)
        for place in range(answers)
    ]


def test_answers_of_one_prompt_are_one_turn_with_what_was_known_before() -> None:
    verdicts = {3: "error 0.5 of the variance"}
    found = transcript(record(), [*many(2), exchange(9, "prompt 0", error="lost")], verdicts)
    one, two, three = found.turns
    assert [turn.title for turn in found.turns] == [
        "completions 1 to 4",
        "completions 5 to 8",
        "completion 9",
    ]
    assert (one.best, two.best, three.best) == (0.5, 0.25, None)
    assert one.known == "nothing was asked before"
    assert two.known == "before: 4 completions, 50 tokens; best loss 0.5, found by completion 4"
    assert one.answers[2].verdict == verdicts[3]
    assert three.same_as == 1
    assert three.answers[0].error == "lost"
    assert one.answers[1].facts == "10 + 2 tokens, 0.5 s, cost 1.4e-05"
    assert found.left_out == 0


@pytest.mark.parametrize("turns", [1, 5, 6, 7, 100])
def test_the_first_the_last_and_the_best_turns_are_shown_and_the_rest_is_counted(
    turns: int,
) -> None:
    one = record()
    found = transcript(one, many(turns), {}, Limits(turns=5))
    assert len(found.turns) + found.left_out == turns
    assert len(found.turns) == min(turns, 5)
    assert found.turns[0].answers[0].number == 1
    assert found.turns[-1].answers[-1].number == 4 * turns
    assert (f"{turns - 5} prompts" in found.note) == (turns > 6)
    improved = [turn for turn in transcript(one, many(turns), {}, EVERYTHING).turns if turn.best]
    assert all(turn in found.turns for turn in improved)


def test_the_prompt_of_a_turn_that_is_left_out_is_shown_where_it_is_asked_again() -> None:
    exchanges = [exchange(number, "odd" if number % 2 else f"p{number}") for number in range(1, 40)]
    for most in range(2, 12):
        shown: set[int] = set()
        for turn in transcript(record(), exchanges, {}, Limits(turns=most)).turns:
            assert turn.same_as is None or turn.same_as in shown
            shown.add(turn.answers[0].number)


@pytest.mark.parametrize("letters", [0, 10, 4000, None])
def test_long_texts_are_cut_and_the_number_is_said(letters: int | None) -> None:
    found = transcript(record(), many(1, 1, 5000), {}, Limits(letters=letters))
    text = found.turns[0].answers[0].text
    assert len(text.text) + text.left_out == 5000
    assert ("more letters" in text.note) == (letters is not None)
    lines = "\n".join(transcript_lines(found))
    assert (f"... {text.left_out:,} more letters" in lines) == (letters is not None)


def test_a_page_has_room_for_so_many_letters() -> None:
    one = transcript(record(), many(1, 1, 1000), {})
    kept, left_out = limit_letters([one] * 2000, PAGE_LETTERS)
    assert sum(each.letters for each in kept) <= PAGE_LETTERS
    assert len(kept) + left_out == 2000
    assert kept


def html(found: Transcript) -> str:
    records = [found.record.model_dump(mode="json", by_alias=True)]
    with pytest.MonkeyPatch.context() as patch:
        where = "mdbench.extensions.language_models.section.transcripts"
        patch.setattr(where, lambda *_: [found])
        return page([found.record], boards(records))


class Texts(HTMLParser):
    """The texts of all <pre>, and the tags within them."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._inside:
            self.tags.append(tag)
        elif tag == "pre" and ("tabindex", "0") in attrs and len(attrs) == 1:
            self.texts.append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[-1] += data


@settings(max_examples=2)
@given(st.lists(st.text(max_size=60), min_size=20, max_size=20, unique=True))
def test_whatever_is_said_is_shown_as_text(drawn: list[str]) -> None:
    """One page has all that is said: to make one takes longer than all the rest."""
    said = [HOSTILE, "{{ 1 + 1 }}", "<!--", "]]>", "&lt;", "", *drawn]
    numbered = (f"{number} {one}" for number, one in enumerate(said))
    texts = [one.encode("utf-8", "replace").decode() for one in numbered]
    exchanges = [exchange(number, text, text) for number, text in enumerate(texts, 1)]
    verdicts = {number: text[:20] for number, text in enumerate(texts, 1)}
    found = transcript(record(), exchanges, verdicts, EVERYTHING)
    parts = [turn.answers[0].text.text for turn in found.turns]
    assert parts == [printable(text.replace("\r\n", "\n").replace("\r", "\n")) for text in texts]
    whole = html(found)
    reader = Texts()
    reader.feed(whole[whole.index('id="transcripts"') :])
    assert reader.texts == [part for part in parts for _ in range(2)]
    assert reader.tags == []


def log_in(folder: Path, name: str, exchanges: list[Exchange], rest: bytes = b"") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [one.model_dump_json(by_alias=True).encode() + b"\n" for one in exchanges]
    path.write_bytes(b"".join(lines) + rest)


def test_logs_are_found_in_the_folders_of_results_and_nowhere_else(tmp_path: Path) -> None:
    inside, outside = tmp_path / "results", tmp_path / "secret.llm.ndjson"
    inside.mkdir()
    log_in(tmp_path, outside.name, many(1))
    log_in(inside, "logs/loop/a.llm.ndjson", many(1), b'{"torn')
    (inside / "link").symlink_to(outside)
    names = ["logs/loop/a.llm.ndjson", "../secret.llm.ndjson", str(outside), "link", "none", "logs"]
    records = [record(exchanges=name) for name in names]
    found = list(transcripts([*records, record()], [tmp_path / "other", inside]))
    assert [one.record.exchanges for one in found] == names[:1]
    assert len(found[0].turns[0].answers) == 4


@pytest.mark.parametrize("lines", [0, 1, 5, 12])
def test_what_is_not_read_of_a_log_is_said(tmp_path: Path, lines: int) -> None:
    log_in(tmp_path, "a", many(12, 1))
    whole = (tmp_path / "a").read_bytes()
    end = sum(map(len, whole.splitlines(keepends=True)[:lines]))
    for most in {end, min(end + 7, len(whole))}:
        for one in transcripts([record(exchanges="a")], [tmp_path], Limits(read=most)):
            assert len(one.turns) == lines
            assert one.unread == len(whole) - end
            assert ("MiB of the log not read" in one.note) == (lines < 12)
    (one,) = transcripts([record(exchanges="a")], [tmp_path], EVERYTHING)
    assert (len(one.turns), one.note, one.warning) == (12, "", "")


@pytest.mark.parametrize("good", [0, 3])
def test_damaged_lines_are_counted(tmp_path: Path, good: int) -> None:
    log_in(tmp_path, "a", many(good, 1), b"\nnone\n[]\n\xff\n" + b"[" * 100_000 + b'\n{"torn')
    (one,) = transcripts([record(exchanges="a")], [tmp_path])
    assert len(one.turns) == good
    assert one.warning == "6 lines of the log cannot be read"
    assert one.warning in "\n".join(transcript_lines(one))
    assert one.warning in html(one)


def test_what_the_method_says_of_completions_is_read_from_its_log(tmp_path: Path) -> None:
    log_in(tmp_path, "a.llm.ndjson", many(1))
    said = b"hello\ncompletion 2: error 0.1\ncompletion 2: again\ncompletion x: no\ncompletion 3:\n"
    (tmp_path / "a.log").write_bytes(said + b"completion 4: \x1b[31mred\xff\n")
    (one,) = transcripts([record(exchanges="a.llm.ndjson", log="a.log")], [tmp_path])
    verdicts = [answer.verdict for answer in one.turns[0].answers]
    assert verdicts == ["", "error 0.1", "", "\\x1b[31mred�"]


def test_show_prints_them_and_the_report_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "logs/loop-ode/a.llm.ndjson"
    llm = {"model": "m", "calls": 120}
    records = [data("loop", "a", llm=llm, exchanges=name), data("sindy", "a")]
    write(tmp_path / "r", records)
    log_in(tmp_path / "r", name, [*many(30), exchange(121, "last", HOSTILE + "y" * 9000)])
    results = str(tmp_path / "r")
    assert main(["llm", "transcripts", "a", "--results", results]) == 0
    said = capsys.readouterr().out
    assert "== completion 121" in said
    assert "7 prompts with their answers left out (all of it: --all)" in said
    assert "\x1b" not in said
    assert main(["llm", "transcripts", "a", "--results", results, "--all"]) == 0
    said = capsys.readouterr().out
    assert "left out" not in said
    assert "y" * 9000 in said
    assert main(["llm", "transcripts", "b", "--results", results]) == 2
    assert "no log of exchanges" in capsys.readouterr().err
    assert main(["report", results, "--out", str(tmp_path / "p.html")]) == 0
    text = (tmp_path / "p.html").read_text()
    assert 'id="transcripts"' in text
    assert "<script>document" not in text


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_it_can_be_read_on_small_and_large_screens(tmp_path: Path, width: int) -> None:
    long = HOSTILE + "A" * 3000 + "\n" + json.dumps({"x": 1})
    found = transcript(record(), [exchange(n, f"{n // 4}" + long, long) for n in range(1, 40)], {})
    path = tmp_path / "p.html"
    path.write_text(html(found), encoding="utf-8")
    with Browser(tmp_path / "profile", width=width) as one:
        one.open(path)
        one.run("for (const each of document.querySelectorAll('details')) each.open = true")
        assert one.run("document.documentElement.scrollWidth") <= width
        assert one.run("document.title") == "mdbench report"
        widest = "Math.max(...[...document.querySelectorAll('.transcript *')].map((e) => "
        assert one.run(f"{widest}e.getBoundingClientRect().right))") <= width
        assert one.problems == []
        assert len(one.requests) == 1
