"""Something new to read while work takes long; standard library only, as `programs`."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["SILENCE", "filled", "speaking"]

SILENCE = 4.0
"""Seconds after which a sign of life is given."""


@contextmanager
def speaking(
    say: Callable[[str], None], doing: Callable[[], str], silence: float | None = None
) -> Iterator[Callable[[str], None]]:
    """Say what is being done and for how long, whenever nothing was said for a while.

    Parameters
    ----------
    say
        Told lines of text; from another thread, too.
    doing
        Says in a few words what is being done.
    silence
        Seconds; default: `SILENCE`.

    Yields
    ------
    callable
        To be used instead of `say` meanwhile.
    """
    longest = SILENCE if silence is None else silence
    start = last = time.monotonic()
    done = threading.Event()

    def told(text: str) -> None:
        nonlocal last
        last = time.monotonic()
        say(text)

    def beat() -> None:
        while not done.wait(max(last + longest - time.monotonic(), 0.01)):
            now = time.monotonic()
            if now - last >= longest:
                told(f"{doing()}, {now - start:.0f} s so far")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        done.set()
        thread.join()


def filled(
    make: Callable[[Callable[[str], None]], None],
    what: str,
    prefix: Path,
    lock: Path,
    say: Callable[[str], None],
) -> Callable[[], None]:
    """Give a making of a virtual environment that says how it fills, as `speaking` does.

    A lock holds the packages of every platform, so that not all of them need come.
    """

    def telling() -> None:
        with speaking(say, doing) as told:
            make(told)

    locked = re.findall(r"^[A-Za-z0-9]\S*==", lock.read_text("utf-8", "replace"), re.MULTILINE)

    def doing() -> str:
        count = sum(1 for _ in prefix.glob("lib/python*/site-packages/*.dist-info"))
        return f"{what}: {count} of up to {len(set(locked))} packages are in"

    return telling
