from __future__ import annotations

import errno
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mdbench.errors import RecordsError, UsageError
from mdbench.records import Record, RecordStore, key_of
from mdbench.records.files import LONGEST_LINE, results_files

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[1] / "golden" / "records" / "schema-1.jsonl"
ROOT = Path(__file__).parents[2]
EXAMPLE = json.loads(GOLDEN.read_text(encoding="utf-8").splitlines()[1])

PROGRAM = """
import sys, time
from pathlib import Path
from mdbench.records import Record, RecordStore
golden, path, what = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
record = Record.model_validate_json(golden.read_text(encoding="utf-8").splitlines()[1])
with RecordStore(path).open_for_writing() as writer:
    print("open", flush=True)
    number = 0
    while what == "hold":
        time.sleep(60)
    while True:
        number += 1
        writer.append(record.model_copy(update={"seed": number, "reason": "x" * number}))
        print(number, flush=True)
"""


def record(number: int = 0, **changes: Any) -> Record:
    return Record.model_validate(
        {**EXAMPLE, "key": key_of({"n": str(number)}), "seed": number, **changes}
    )


def start_program(path: Path, what: str, **options: Any) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(GOLDEN), str(path), what],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "open\n"
    return program


def kill(program: subprocess.Popen[str]) -> str:
    program.kill()
    assert program.stdout is not None
    output = program.stdout.read()  # communicate() forgets what is in the stream's own buffer
    program.communicate()
    return output


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path / "sindy-ode.jsonl")


@pytest.fixture
def filled(store: RecordStore) -> RecordStore:
    with store.open_for_writing() as writer:
        for number in range(3):
            writer.append(record(number))
    return store


# Reading and writing


def test_there_are_no_records_where_there_is_no_file(store: RecordStore) -> None:
    assert store.read() == []
    assert store.latest() == {}
    assert not store.path.exists()


def test_records_are_read_as_they_were_written_in_folders_that_are_made(tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "a" / "b c" / "Rössler-ode.jsonl")
    written = [record(number) for number in range(3)]
    with store.open_for_writing() as writer:
        for one in written:
            writer.append(one)
            assert store.read()[-1] == one
    assert store.read() == written
    lines = store.path.read_bytes().split(b"\n")
    assert [json.loads(line)["seed"] for line in lines[:-1]] == [0, 1, 2]
    assert lines[-1] == b""


def test_the_newest_record_of_a_key_counts(store: RecordStore) -> None:
    with store.open_for_writing() as writer:
        assert writer.earlier == {}
        for number, status in enumerate(["interrupted", "failed", "timeout", "ok"]):
            writer.append(record(number % 2, status=status))
    statuses = {key_of({"n": "0"}): "timeout", key_of({"n": "1"}): "ok"}
    assert {key: one.status.value for key, one in store.latest().items()} == statuses
    with store.open_for_writing() as writer:
        assert writer.earlier == store.latest()
        assert writer.dropped_bytes == 0


def test_many_threads_share_one_writer(store: RecordStore) -> None:
    def append(worker: int) -> None:
        for number in range(10):
            writer.append(record(100 * worker + number, reason="r" * 400))

    with store.open_for_writing() as writer:
        threads = [threading.Thread(target=append, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    seeds = [one.seed for one in store.read()]
    assert sorted(seeds) == [100 * worker + number for worker in range(8) for number in range(10)]
    for worker in range(8):
        own = [seed for seed in seeds if seed // 100 == worker]
        assert own == sorted(own)


def test_a_closed_writer_takes_nothing(store: RecordStore) -> None:
    with store.open_for_writing() as writer:
        writer.append(record())
    with pytest.raises(ValueError, match="closed"):
        writer.append(record())
    writer.close()
    assert len(store.read()) == 1


def test_empty_lines_and_windows_line_ends_do_no_harm(filled: RecordStore) -> None:
    before = filled.read()
    content = filled.path.read_bytes()
    filled.path.write_bytes(b"\n" + content.replace(b"\n", b"\r\n") + b" \n\n  ")
    assert filled.read() == before
    with filled.open_for_writing() as writer:
        writer.append(record(9))
    assert [one.seed for one in filled.read()] == [0, 1, 2, 9]


# A torn last line


def test_all_whole_records_survive_a_cut_at_every_byte(
    filled: RecordStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # to save time: it changes no file
    lines = filled.path.read_bytes().splitlines(keepends=True)[:2]
    content = b"".join(lines)
    *before, last = lines
    for cut in range(len(last) + 1):
        torn = content[: len(content) - cut]
        store = RecordStore(tmp_path / f"{cut}.jsonl")  # a new file: rewriting one is slow
        store.path.write_bytes(torn)
        survive = before if cut > 1 else lines  # a record is whole without its newline
        with store.open_for_writing() as writer:
            assert len(writer.earlier) == len(survive)
            assert writer.dropped_bytes == (len(last) - cut if cut > 1 else 0)
            assert store.path.read_bytes() == b"".join(survive)
            writer.append(record(7))
        assert store.path.read_bytes() == b"".join(survive) + record(7).to_line().encode() + b"\n"


def test_reading_passes_over_a_torn_last_line_and_leaves_it(filled: RecordStore) -> None:
    content = filled.path.read_bytes()
    before = filled.read()
    for cut, left in ((0, 3), (1, 3), (2, 2), (100, 2)):
        torn = content[: len(content) - cut]
        filled.path.write_bytes(torn)
        assert filled.read() == before[:left]
        assert filled.path.read_bytes() == torn


def test_zeros_that_a_power_cut_left_are_a_torn_line(filled: RecordStore) -> None:
    content = filled.path.read_bytes()
    for tail in (bytes(100), b'{"schema":1,"mdb' + bytes(100)):
        filled.path.write_bytes(content + tail)
        assert len(filled.read()) == 3
        with filled.open_for_writing() as writer:
            assert writer.dropped_bytes == len(tail)
        assert filled.path.read_bytes() == content


def test_text_that_no_record_begins_with_is_not_cut_off(store: RecordStore) -> None:
    store.path.write_text("my notes on\nthe experiment")
    for use in (store.read, store.open_for_writing().__enter__):
        with pytest.raises(RecordsError, match="line 1 is damaged"):
            use()
    assert store.path.read_text() == "my notes on\nthe experiment"


def test_a_writer_that_is_killed_leaves_whole_records(store: RecordStore) -> None:
    kept = 0
    for _ in range(3):
        program = start_program(store.path, "append")
        assert program.stdout is not None
        for _ in range(5):
            program.stdout.readline()
        reported = kill(program).split()
        told = int(reported[-1]) if reported else 5
        records = store.read()
        # What was reported as written is there; one more may be.
        assert len(records) - kept in (told, told + 1)
        assert [one.seed for one in records[kept:]] == list(range(1, len(records) - kept + 1))
        assert all(one.reason == "x" * min(one.seed, 500) for one in records)
        with store.open_for_writing() as writer:
            writer.append(record(0, reason=""))
        assert store.read()[:-1] == records
        kept = len(records) + 1


# Damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (b"no JSON", "Expecting value"),
        (b'{"schema":1,"mdb', "Unterminated string"),
        (b"\xff\xfe", "codec can't decode"),
        (b"[1, 2]", "a record is an object"),
        (b"[" * 100_000, "values in values too deep"),
        (b'{"schema":1,"mdbench":' + b'{"a":' * 20_000, "values in values too deep"),
        (b'{"colour": "red"}', "no record of mdbench: its schema number is None"),
        (b'{"schema":1}', "mdbench: Field required"),
        (json.dumps({**EXAMPLE, "seed": "red"}).encode(), "seed: Input should be a valid integer"),
        (json.dumps({**EXAMPLE, "colour": 1}).encode(), "colour: Extra inputs are not permitted"),
    ],
)
def test_a_damaged_line_is_an_error_that_names_it_and_changes_nothing(
    filled: RecordStore, damage: bytes, message: str
) -> None:
    lines = filled.path.read_bytes().splitlines(keepends=True)
    middle = b"".join([*lines[:2], damage, b"\n", lines[2]])
    last = b"".join([*lines, damage, b"\n"])
    for content, number in ((middle, 3), (last, 4)):
        filled.path.write_bytes(content)
        for use in (filled.read, filled.latest, filled.open_for_writing().__enter__):
            with pytest.raises(RecordsError) as caught:
                use()
            assert f"sindy-ode.jsonl, line {number}" in caught.value.message
            assert message in caught.value.message
            assert caught.value.hint
        assert filled.path.read_bytes() == content


def test_a_last_line_without_newline_is_not_cut_off_if_it_is_whole(filled: RecordStore) -> None:
    content = filled.path.read_bytes()
    foreign = content + b'{"schema":1,"colour":"red"}'
    filled.path.write_bytes(foreign)
    with pytest.raises(RecordsError, match="line 4 is damaged"):
        filled.open_for_writing().__enter__()
    assert filled.path.read_bytes() == foreign
    filled.path.write_bytes(content[:-1])
    with filled.open_for_writing() as writer:
        assert (len(writer.earlier), writer.dropped_bytes) == (3, 0)
    assert filled.path.read_bytes() == content


OLDER = GOLDEN.with_name("older.jsonl").read_bytes().splitlines()
"""A record of each of the schemas 1 to 9 that there were before the first release."""


@pytest.mark.parametrize("number", range(1, 10))
def test_a_record_from_before_the_first_release_is_refused_with_what_reads_it(
    filled: RecordStore, number: int
) -> None:
    older = OLDER[number - 1]
    content = filled.path.read_bytes() + older + b"\n"
    filled.path.write_bytes(content)
    for use in (filled.read, filled.open_for_writing().__enter__):
        with pytest.raises(RecordsError) as caught:
            use()
        writer = json.loads(older)["mdbench"]
        words = rf"line 4: this record has schema {number} \(mdbench {writer}\) from before the "
        assert re.search(words, caught.value.message)
        assert re.search("read by mdbench 0.2.0 at commit [0-9a-f]{8}", caught.value.hint)
        assert ("Only the number differs" in caught.value.hint) == (number == 9)
    assert filled.path.read_bytes() == content


def test_a_record_of_schema_9_is_read_once_its_number_is_written_as_the_hint_says(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sindy-ode.jsonl"
    path.write_bytes(OLDER[8] + b"\n")
    with pytest.raises(RecordsError) as caught:
        RecordStore(path).read()
    command = caught.value.hint.partition("differs: ")[2].removesuffix("FILE")
    subprocess.run([*shlex.split(command), str(path)], check=True)
    # The keys that were added since are null.
    assert RecordStore(path).read() == [
        Record.model_validate_json(GOLDEN.read_bytes().splitlines()[0])
    ]


@pytest.mark.parametrize("number", [None, "1", 0, -1, True, 1.0])
def test_a_schema_number_that_is_none_is_refused(filled: RecordStore, number: object) -> None:
    filled.path.write_text(json.dumps({**EXAMPLE, "schema": number}) + "\n", encoding="utf-8")
    with pytest.raises(RecordsError, match="no record of mdbench: its schema number is"):
        filled.read()


def test_a_newer_schema_is_refused_and_the_file_left_alone(filled: RecordStore) -> None:
    lines = filled.path.read_bytes().splitlines(keepends=True)
    newer = json.dumps({**EXAMPLE, "schema": 10, "mdbench": "9.9"}).encode()
    torn = b'{"schema":1,"mdb'
    for content in (newer + b"\n" + lines[0], lines[0] + newer, newer + b"\n" + torn):
        filled.path.write_bytes(content)
        for use in (filled.read, filled.open_for_writing().__enter__):
            with pytest.raises(RecordsError, match=r"schema 10 \(mdbench 9.9\)"):
                use()
        assert filled.path.read_bytes() == content


# A disk that takes no more


def write_until_full(space: int) -> Callable[[int, bytes], int]:
    """Make an `os.write` that writes a few bytes at a time, and fails when `space` are used up."""
    left = space

    def write(file: int, data: bytes) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        piece = data[: min(left, 7)]
        left -= len(piece)
        return real_write(file, piece)

    real_write = os.write
    return write


def test_a_record_that_does_not_fit_leaves_nothing(
    filled: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = filled.path.read_bytes()
    for space in (0, 1, 7, 100, len(record(9).to_line())):
        with filled.open_for_writing() as writer:
            with monkeypatch.context() as patch:
                patch.setattr(os, "write", write_until_full(space))
                with pytest.raises(RecordsError, match="no space left") as caught:
                    writer.append(record(9))
            assert "Free some space" in caught.value.hint
            assert filled.path.read_bytes() == content
            writer.append(record(8))
            assert [one.seed for one in filled.read()] == [0, 1, 2, 8]
        filled.path.write_bytes(content)


def test_a_write_in_pieces_is_whole(store: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", write_until_full(1_000_000))
    with store.open_for_writing() as writer:
        writer.append(record(1))
    assert store.read() == [record(1)]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), OSError(errno.EIO, "I/O error")])
def test_a_record_that_may_not_be_on_the_disk_is_taken_back(
    filled: RecordStore, monkeypatch: pytest.MonkeyPatch, interruption: BaseException
) -> None:
    def interrupted(_: int) -> None:
        monkeypatch.undo()
        raise interruption

    content = filled.path.read_bytes()
    with filled.open_for_writing() as writer:
        monkeypatch.setattr(os, "fsync", interrupted)
        with pytest.raises((KeyboardInterrupt, RecordsError)):
            writer.append(record(9))
        assert filled.path.read_bytes() == content
        writer.append(record(8))
    assert [one.seed for one in filled.read()] == [0, 1, 2, 8]


def test_taking_back_is_tried_again_before_the_next_record(
    filled: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "I/O error")

    with filled.open_for_writing() as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write_until_full(50))
            patch.setattr(os, "ftruncate", fail)
            for _ in range(2):
                with pytest.raises(RecordsError):
                    writer.append(record(9))
        assert len(filled.read()) == 3  # and a torn line of 50 bytes
        writer.append(record(8))
    assert [one.seed for one in filled.read()] == [0, 1, 2, 8]


def test_the_limit_of_the_file_size_stops_the_run_and_not_the_records(store: RecordStore) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    program = start_program(store.path, "append", preexec_fn=limit)
    assert program.stdout is not None
    output = program.stdout.read()  # communicate() forgets what is in the stream's own buffer
    _, errors = program.communicate(timeout=1800)
    assert "RecordsError" in errors
    assert "file too large" in errors
    content = store.path.read_bytes()
    assert content.endswith(b"\n")
    assert len(store.read()) == len(output.split()) > 1


# One writer at a time


def test_a_second_process_is_refused_and_the_writer_is_named(filled: RecordStore) -> None:
    program = start_program(filled.path, "hold")
    try:
        with pytest.raises(RecordsError) as caught, filled.open_for_writing():
            pass
        assert f"is being written by process {program.pid}" in caught.value.message
        assert "--result-dir" in caught.value.hint
        assert len(filled.read()) == 3
    finally:
        kill(program)
    with filled.open_for_writing() as writer:
        writer.append(record(3))


def test_a_second_writer_is_refused_through_another_name_too(filled: RecordStore) -> None:
    soft, hard = filled.path.with_name("soft"), filled.path.with_name("hard")
    soft.symlink_to(filled.path)
    hard.hardlink_to(filled.path)
    with filled.open_for_writing():
        for path in (filled.path, soft, hard):
            with pytest.raises(RecordsError, match=f"process {os.getpid()}"):
                RecordStore(path).open_for_writing().__enter__()


def test_the_holder_of_the_lock_may_be_unknown(
    filled: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled.open_for_writing():
        monkeypatch.setattr(Path, "read_text", lambda *_, **__: "garbage\n1: FLOCK\n")
        with pytest.raises(RecordsError, match="by another process"):
            filled.open_for_writing().__enter__()


def test_an_error_in_the_run_lets_the_lock_go(filled: RecordStore) -> None:
    with pytest.raises(ZeroDivisionError), filled.open_for_writing():
        raise ZeroDivisionError
    with filled.open_for_writing():
        pass


def test_a_file_that_was_refused_is_not_locked_afterwards(filled: RecordStore) -> None:
    content = filled.path.read_bytes()
    filled.path.write_bytes(b"damage\n")
    with pytest.raises(RecordsError):
        filled.open_for_writing().__enter__()
    filled.path.write_bytes(content)
    with filled.open_for_writing() as writer:
        assert len(writer.earlier) == 3


def test_a_started_program_does_not_hold_the_lock(filled: RecordStore) -> None:
    with filled.open_for_writing():
        program = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with filled.open_for_writing():
            assert program.poll() is None
    finally:
        program.kill()
        program.wait()


def test_a_forked_child_does_not_hold_the_lock(filled: RecordStore) -> None:
    reading, writing = os.pipe()
    with filled.open_for_writing() as writer:
        child = os.fork()
        if child == 0:  # pragma: no cover - in the child
            try:
                writer.append(record(9))
            except Exception as error:  # noqa: BLE001 - nothing may escape into pytest
                os.write(writing, type(error).__name__.encode())
            time.sleep(60)
            os._exit(0)
        assert os.read(reading, 100) == b"ValueError"
        writer.append(record(3))
    try:
        with filled.open_for_writing() as writer:
            writer.append(record(4))
        assert [one.seed for one in filled.read()] == [0, 1, 2, 3, 4]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


# Changes by others


def replace_as_an_editor_does(path: Path) -> None:
    copy = path.with_suffix(".new")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def append_a_line(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"half a li")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Path.unlink, "was removed"),
        (replace_as_an_editor_does, "was replaced or changed"),
        (append_a_line, "was replaced or changed"),
        (lambda path: path.write_bytes(b""), "was replaced or changed"),
    ],
)
def test_a_change_by_somebody_else_is_noticed_and_left_as_it_is(
    filled: RecordStore, change: Callable[[Path], None], message: str
) -> None:
    with filled.open_for_writing() as writer:
        change(filled.path)
        after = filled.path.read_bytes() if filled.path.exists() else None
        for _ in range(2):
            with pytest.raises(RecordsError, match=message):
                writer.append(record(9))
    assert (filled.path.read_bytes() if filled.path.exists() else None) == after


def test_links_to_files_and_folders_are_followed(filled: RecordStore, tmp_path: Path) -> None:
    big_disk = tmp_path / "big-disk"
    big_disk.mkdir()
    (tmp_path / "results").symlink_to(big_disk)
    (tmp_path / "results" / "link.jsonl").symlink_to(filled.path)
    store = RecordStore(tmp_path / "results" / "link.jsonl")
    with store.open_for_writing() as writer:
        writer.append(record(3))
    assert (big_disk / "link.jsonl").is_symlink()
    assert filled.read() == store.read()
    assert len(filled.read()) == 4


# Files that cannot be used


@pytest.mark.parametrize("kind", ["folder", "pipe", "below a file", "dangling link", "loop"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "results" / "sindy-ode.jsonl"
    path.parent.mkdir()
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "below a file":
            path.parent.rmdir()
            path.parent.write_text("")
        case "dangling link":
            path.symlink_to(tmp_path / "not-mounted" / "x.jsonl")
        case "loop":
            path.symlink_to(path)
    store = RecordStore(path)
    with pytest.raises(RecordsError) as caught:
        store.open_for_writing().__enter__()
    assert str(path) in caught.value.message
    assert "--result-dir" in caught.value.hint
    if kind == "dangling link":
        assert "a link to" in caught.value.message
        assert store.read() == []
    else:
        with pytest.raises(RecordsError, match=r"sindy-ode\.jsonl"):
            store.read()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EMFILE])
def test_a_file_that_may_not_be_written_is_refused(
    filled: RecordStore, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(path: Path, *_: object) -> int:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(RecordsError) as caught:
        filled.open_for_writing().__enter__()
    assert caught.value.message == (
        f"{filled.path} cannot be opened for writing: {os.strerror(number).lower()}"
    )


TRY = """
import sys
from pathlib import Path
from mdbench.errors import RecordsError, UsageError
from mdbench.records import RecordStore

store = RecordStore(Path(sys.argv[2]))
try:
    store.read() if sys.argv[1] == "read" else store.open_for_writing().__enter__()
except RecordsError as error:
    print(error.message)
"""


def as_plain_user(verb: str, path: Path) -> str:
    """Try to use a results file in a process that permissions hold for, root or not."""
    heeding = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    command = [sys.executable, "-c", TRY, verb, str(path)]
    return subprocess.check_output(
        [*(heeding if os.geteuid() == 0 else []), *command], text=True, cwd=ROOT
    ).strip()


@pytest.mark.parametrize(
    ("kind", "mode"), [("file", 0o444), ("folder", 0o555), ("locked folder", 0o000)]
)
def test_permissions_are_heeded(filled: RecordStore, kind: str, mode: int) -> None:
    folder = filled.path.parent / "results"
    folder.mkdir()
    path = filled.path.rename(folder / filled.path.name)
    (path if kind == "file" else folder).chmod(mode)
    try:
        wanted = path.with_suffix(".new") if kind == "folder" else path
        assert as_plain_user("write", wanted).endswith("permission denied")
        reading = as_plain_user("read", path)
        assert reading.endswith("permission denied") if kind == "locked folder" else not reading
    finally:
        folder.chmod(0o755)


def test_a_file_system_without_locks_is_refused(
    filled: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(RecordsError, match="cannot be locked"):
        filled.open_for_writing().__enter__()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n" * 20_000, "more than 10000 empty lines"),
        (b" " * (LONGEST_LINE + 2), "more than 32 MiB"),
        (b'{"schema":' + b"[]," * 700_000, "more than 1000000 values"),
    ],
)
def test_what_is_too_much_for_a_results_file_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "large.jsonl"
    path.write_bytes(content + b"\n")
    with pytest.raises(RecordsError, match=message):
        RecordStore(path).read()
    assert path.read_bytes() == content + b"\n"


@pytest.mark.parametrize("name", ["results.zip", "report.html", "results"])
def test_other_files_are_no_results(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(UsageError, match=r"(?s)is no results file: .*jsonl.*unpacked first"):
        results_files(tmp_path / name)
