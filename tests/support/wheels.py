"""Wheels and source distributions that are written by hand, whatever is in them."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
from typing import TYPE_CHECKING
from zipfile import ZipFile, ZipInfo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_WHEEL = "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "{name}"
version = "1.0"
"""
_BACKEND = """
import os
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    deed()
    info = "{name}-1.0.dist-info"
    files = {{
        "{name}.py": "",
        f"{{info}}/METADATA": "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n",
        f"{{info}}/WHEEL": "Wheel-Version: 1.0\\nTag: py3-none-any",
        f"{{info}}/RECORD": "",
    }}
    with zipfile.ZipFile(os.path.join(folder, "{name}-1.0-py3-none-any.whl"), "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return "{name}-1.0-py3-none-any.whl"
"""


def write_wheel(
    folder: Path,
    name: str,
    files: Mapping[str, str | bytes],
    *,
    record: str = "",
    modes: Mapping[str, int] | None = None,
) -> str:
    """Write version 1.0 of a wheel and return its SHA-256; ``RECORD`` lists no hashes.

    Parameters
    ----------
    files
        Contents by path; ``{info}`` is the folder of its metadata, ``{data}`` that of its data.
    record
        More lines of ``RECORD``.
    modes
        What is no plain file: its mode, by path.
    """
    info, data = f"{name}-1.0.dist-info", f"{name}-1.0.data"
    named = {path.format(info=info, data=data): text for path, text in files.items()}
    whole: dict[str, str | bytes] = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": _WHEEL,
        **named,
    }
    listed = "".join(f"{path},,\n" for path in whole if path.isprintable())
    whole[f"{info}/RECORD"] = f"{listed}{record}{info}/RECORD,,\n"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as wheel:
        for place, text in whole.items():
            member = ZipInfo(place)
            member.external_attr = (modes or {}).get(place, stat.S_IFREG | 0o644) << 16
            wheel.writestr(member, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_source(folder: Path, name: str, deed: str, *, dynamic: str = "") -> str:
    """Write version 1.0 of a source distribution; its build calls what is defined as ``deed``.

    Parameters
    ----------
    dynamic
        A field of its metadata that only its build can tell.
    """
    path = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, text in {
            "backend.py": deed + _BACKEND.format(name=name),
            "pyproject.toml": _PROJECT.format(name=name)
            + (f'dynamic = ["{dynamic}"]\n' if dynamic else ""),
            "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        }.items():
            member = tarfile.TarInfo(f"{name}-1.0/{file}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()
