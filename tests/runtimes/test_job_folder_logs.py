from __future__ import annotations

import io
import itertools
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from mdbench.runtimes import job_folder
from mdbench.runtimes.job_folder import LOG_CAP, LogSink

if TYPE_CHECKING:
    import pytest


def pump(sink: LogSink, blocks: list[bytes]) -> None:
    read, write = os.pipe()
    thread = threading.Thread(target=sink.pump, args=(read,))
    thread.start()
    for block in blocks:
        os.write(write, block)
    os.close(write)
    thread.join()


def mark(job: str) -> bytes:
    return b"\0end of " + job.encode() + b"\0\n"


def test_words_of_a_job_end_at_its_mark(tmp_path: Path) -> None:
    sink = LogSink()
    sink.begin(tmp_path / "deep" / "log", "one")
    pump(sink, [b"before", b" and more" + mark("one") + b"after"])
    sink.end()
    assert (tmp_path / "deep" / "log").read_bytes() == b"before and more"
    assert sink.stray == b"after"


@given(
    words=st.binary(max_size=40),
    cuts=st.sets(st.integers(0, 60)),
)
def test_mark_is_found_however_the_stream_is_cut(words: bytes, cuts: set[int]) -> None:
    sink = LogSink()
    whole = words + mark("job-7") + b"rest"
    sink._path, sink._mark = Path("somewhere"), mark("job-7")
    kept: list[bytes] = []

    class File(io.BytesIO):
        def close(self) -> None:
            kept.append(self.getvalue())
            super().close()

    sink._file = File()
    pending = b""
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    for start, stop in itertools.pairwise(edges):
        with sink._changed:
            pending = sink._take(pending + whole[start:stop])
    assert b"".join(kept) == words
    assert sink.stray + pending == b"rest"


def test_another_jobs_mark_is_only_words(tmp_path: Path) -> None:
    sink = LogSink()
    sink.begin(tmp_path / "log", "one")
    pump(sink, [mark("two") + mark("one")])
    sink.end()
    assert (tmp_path / "log").read_bytes() == mark("two")


def test_cap_counts_what_is_dropped(tmp_path: Path) -> None:
    sink = LogSink()
    sink.begin(tmp_path / "log", "one")
    pump(sink, [b"x" * 60_000] * 20 + [mark("one")])
    sink.end()
    content = (tmp_path / "log").read_bytes()
    assert content.startswith(b"x" * LOG_CAP)
    assert content.endswith(
        f"[{20 * 60_000 - LOG_CAP} more bytes were printed and dropped]\n".encode()
    )


def test_end_does_not_wait_indefinitely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = LogSink()
    sink.begin(tmp_path / "log", "one")
    monkeypatch.setattr(job_folder, "_PATIENCE", 0.05)
    sink.end()
    assert not (tmp_path / "log").exists()


def test_who_prints_nothing_leaves_no_log_and_none_of_an_earlier_try(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("of an earlier try", encoding="ascii")
    sink = LogSink()
    sink.begin(log, "one")
    pump(sink, [mark("one")])
    sink.end()
    assert not log.exists()


def test_full_disk_costs_the_log_and_nothing_else() -> None:
    sink = LogSink()
    sink.begin(Path("/dev/full"), "one")
    pump(sink, [b"words", mark("one"), b"after"])
    sink.end()
    assert sink.stray == b"after"
