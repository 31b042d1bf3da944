"""Build the engine of this method: ``python3 build.py FOLDER``, with Rust's cargo 1.85 or later.

FOLDER then has the program ``engine``.  cargo fetches the crate symbolic_regression and what it
needs from where it is set up to: see cargo's own settings for a proxy or a private registry.
Where there is no registry, ``--source`` names a folder with the repository of the crate, and
``--crates`` one with the crates that it needs, as ``cargo vendor`` makes it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "=0.11.0"
"""Of the crate."""
_PACKAGE = """[package]
name = "engine"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "engine"
path = "engine.rs"

[dependencies]
ndarray = "0.17"
symbolic_regression = {{ {source}, default-features = false }}
"""
_VENDORED = """[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = {folder}
"""


def build(folder: Path, cargo: str, source: Path | None, crates: Path | None) -> Path:
    """Build the engine and return the program.

    Raises
    ------
    OSError
        If cargo is not there, or `folder` cannot be written.
    subprocess.CalledProcessError
        If cargo fails; it has printed why.
    """
    with tempfile.TemporaryDirectory() as name:
        project = Path(name)
        shutil.copy(Path(__file__).with_name("engine.rs"), project)
        origin = f'version = "{VERSION}"'
        if source is not None:
            origin = f"path = {json.dumps(str(source / 'symbolic_regression'))}"
        (project / "Cargo.toml").write_text(_PACKAGE.format(source=origin), encoding="utf-8")
        options = ["--release"]
        if crates is not None:
            config = project / ".cargo"
            config.mkdir()
            text = _VENDORED.format(folder=json.dumps(str(crates)))
            (config / "config.toml").write_text(text, encoding="utf-8")
            options.append("--offline")
        subprocess.run([cargo, "build", *options], cwd=project, check=True)
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(project / "target" / "release" / "engine", folder / "engine"))


def main() -> int:
    """Read the command line, build, and print what is to be set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the program is written")
    parser.add_argument("--cargo", default="cargo", help="Rust's cargo, 1.85 or later")
    parser.add_argument("--source", type=Path, help="a folder with the crate's repository")
    parser.add_argument("--crates", type=Path, help="a folder with the crates that it needs")
    asked = parser.parse_args()
    source, crates = (path and path.resolve() for path in (asked.source, asked.crates))
    try:
        program = build(asked.folder.resolve(), asked.cargo, source, crates)
    except FileNotFoundError as error:
        return _failed(f"{error.filename} is not there; install Rust, or name it after --cargo")
    except OSError as error:
        return _failed(str(error))
    except subprocess.CalledProcessError:
        return _failed("cargo has failed; what it printed says why")
    sys.stdout.write(
        f"{program} is built.  In symbolic_regression_rs.toml in the folder MDBENCH_SETTINGS:\n"
        f'[paths]\nengine = "{program.parent}"\n'
    )
    return 0


def _failed(reason: str) -> int:
    sys.stderr.write(f"The engine cannot be built: {reason}.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
