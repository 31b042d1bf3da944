"""Signs on a terminal without UTF-8, and Ctrl-C while the command line is imported."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from harness import ROOT

SHOW = "from mdbench.cli import main; import sys; main(['--version']); print({text!r})"


@pytest.mark.parametrize(
    ("encoding", "text", "shown"),
    [
        ("utf-8", "✓ rössler ±1 R²", "✓ rössler ±1 R²"),
        ("latin-1", "✓ rössler ±1 R² ⚠ – …", "yes rössler ±1 R² ! - ..."),
        ("ascii", "✓ rössler ±1 R² u₀ 𝟙 漢", "yes rossler +-1 R2 u0 1 ?"),
        ("cp437", "✗ 10⁻³", "no 10-3"),
    ],
)
def test_signs_are_words_where_the_encoding_has_none(encoding: str, text: str, shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOW.format(text=text)],
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode(encoding).splitlines()[-1] == shown


def test_an_interrupt_during_imports_leaves_no_traceback() -> None:
    # A module that every verb imports is interrupted, as if Ctrl-C came at that moment.
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'mdbench.cli.options': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['mdbench', 'list']\n"
        "from mdbench.__main__ import start\n"
        "sys.exit(start())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "Interrupted. Nothing was done.\n"
