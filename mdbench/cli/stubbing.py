"""``mdbench llm-stub``: a server that speaks as a language model's does."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench.cli.exits import Exit
from mdbench.drawing.numbers import counted
from mdbench.language_models.stub import MODES, Stub

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["serve", "wait"]


def wait() -> None:
    """Wait for ever."""
    threading.Event().wait()


def serve(mode: str, port: int, seed: int, answer: str, knows: float, console: Console) -> int:
    """Serve until Ctrl-C."""
    stub = Stub(mode=mode, seed=seed, answer=answer, knows=knows, port=port, keeps=False)
    with stub:
        console.print(
            f"{escape(stub.url)} answers with {MODES[mode]}.  To stop it: Ctrl-C", soft_wrap=True
        )
        try:
            wait()
        except KeyboardInterrupt:
            console.print(f"{counted(stub.count, 'request')}.")
    return Exit.DONE
