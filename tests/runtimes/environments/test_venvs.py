"""Environments are made here from one tiny wheel that calls itself numpy: no network."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shutil
import subprocess
import sysconfig
import tarfile
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from mdbench.errors import MethodError, NotFetchedError, UnavailableError
from mdbench.runtimes import bubblewrap, usage
from mdbench.runtimes.environments import venvs
from mdbench.runtimes.environments.requirements import lock_requirements
from mdbench.runtimes.environments.venvs import Environment, prepare

pytestmark = pytest.mark.build

HERE = f"=={sysconfig.get_python_version()}.*"
ELSEWHERE = "==3.8.*"


if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Shop:
    """A folder with a wheel, a method's folder and a home."""

    root: Path
    sha256: str

    @property
    def lock(self) -> Path:
        return self.root / "m" / "requirements.lock"

    @property
    def home(self) -> Path:
        return self.root / "home folder"

    def prepare(self, requires_python: str = HERE) -> tuple[Environment, list[str]]:
        lines: list[str] = []
        made = prepare("m", self.lock, requires_python, self.home, on_line=lines.append)
        return made, lines

    def write_lock(self, text: str) -> None:
        self.lock.write_text(text, encoding="utf-8")


def make_wheel(folder: Path) -> str:
    files = {
        "numpy.py": b"pi = 3\n",
        "numpy-9.9.dist-info/METADATA": b"Metadata-Version: 2.1\nName: numpy\nVersion: 9.9\n",
        "numpy-9.9.dist-info/WHEEL": (
            b"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    record = [
        f"{name},sha256={urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},"
        f"{len(data)}"
        for name, data in files.items()
    ]
    path = folder / "numpy-9.9-py3-none-any.whl"
    with ZipFile(path, "w") as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
        wheel.writestr(
            "numpy-9.9.dist-info/RECORD", "\n".join([*record, "numpy-9.9.dist-info/RECORD,,\n"])
        )
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    for name in os.environ:
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", f"{wheels} {tmp_path / 'missing'}")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    (tmp_path / "m").mkdir()
    shop = Shop(tmp_path, make_wheel(wheels))
    shop.write_lock(f"numpy==9.9 --hash=sha256:{shop.sha256}\n")
    return shop


def test_an_environment_is_made_from_the_lock(shop: Shop) -> None:
    made, lines = shop.prepare()
    assert made.prefix.parent == shop.home / "envs"
    assert made.prefix.name.startswith("env-")
    assert made.lock_sha256 == hashlib.sha256(shop.lock.read_bytes()).hexdigest()
    assert made.python_version == platform.python_version()
    assert made.packages == {"numpy": "9.9"}
    assert lines[0].startswith("making the environment of m")
    answer = subprocess.check_output([made.python, "-c", "import numpy; print(numpy.pi)"])
    assert answer == b"3\n"
    assert list(made.prefix.glob("lib/*/site-packages/__pycache__/numpy.*.pyc"))


def test_what_is_made_is_found_again_without_uv(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = shop.prepare()
    monkeypatch.setattr(venvs, "run_uv", None)
    assert shop.prepare() == (made, [])


def test_another_lock_or_python_makes_another_environment(shop: Shop) -> None:
    made, _ = shop.prepare()
    again, _ = shop.prepare(f">={sysconfig.get_python_version()}")
    shop.write_lock(shop.lock.read_text(encoding="utf-8") + "# edited\n")
    edited, _ = shop.prepare()
    assert len({made.prefix, again.prefix, edited.prefix}) == 3
    assert made.python.exists()


def test_methods_with_one_lock_share_an_environment(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = shop.prepare()
    other = shop.lock.parent.with_name("other")
    shutil.copytree(shop.lock.parent, other)
    monkeypatch.setattr(venvs, "run_uv", None)  # nothing is made
    assert prepare("other", other / "requirements.lock", HERE, shop.home) == made


def test_what_is_built_is_not_shared_with_what_is_not(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = shop.prepare()
    places: list[Path] = []

    def noted(prefix: Path, *_: object, **__: object) -> None:
        places.append(prefix)
        raise UnavailableError("not made")

    monkeypatch.setattr(venvs, "build_once", noted)
    for build in (True, False):
        with pytest.raises(UnavailableError, match="not made"):
            prepare("m", shop.lock, HERE, shop.home, build=build)
    assert places[0] != places[1] == made.prefix


def test_a_wheel_whose_hash_differs_is_refused(shop: Shop) -> None:
    shop.write_lock(f"numpy==9.9 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(UnavailableError, match="of m cannot be made; uv reports:") as why:
        shop.prepare()
    assert "numpy==9.9" in str(why.value)


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        ("", "has no numpy.*\n.*Add numpy to requirements.in; then type: scripts/lock m"),
        ("scipy==1.0 --hash=sha256:00\n", "has no numpy"),
        ("numpy==9.9\n", "no hashes for numpy"),
        (None, "is missing.*\n.*Write a package a line .*then type: scripts/lock m"),
    ],
)
def test_a_lock_that_cannot_be_used_is_explained(
    shop: Shop, lock: str | None, message: str
) -> None:
    if lock is None:
        shop.lock.unlink()
    else:
        shop.write_lock(lock)
    with pytest.raises(MethodError, match=message):
        shop.prepare()
    assert not shop.home.exists()


def test_a_lock_still_to_be_made_is_named(shop: Shop) -> None:
    shop.lock.rename(shop.lock.with_suffix(".in"))
    with pytest.raises(MethodError, match=r"make it from requirements\.in, type: scripts/lock m"):
        shop.prepare()


def test_a_range_of_pythons_must_be_one(shop: Shop) -> None:
    with pytest.raises(MethodError, match="'three' is no range"):
        shop.prepare("three")


def test_a_python_that_cannot_be_had_makes_it_unavailable(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    silent = tmp_path / "python3.8"
    silent.write_text("#!/bin/sh\necho 'shim: no version is set' >&2\nexit 127\n", encoding="utf-8")
    silent.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "none"))
    with pytest.raises(UnavailableError, match=r"m needs Python ==3\.8\.\*: put one on PATH"):
        shop.prepare(ELSEWHERE)


def test_another_python_is_looked_for_on_path(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = tmp_path / "opt" / "python"
    real.parent.mkdir()
    real.touch()
    answering = tmp_path / "python3.8"
    answering.write_text(f"#!/bin/sh\necho 3.8.20 '{real}'\n", encoding="utf-8")
    answering.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    asked: list[list[str]] = []

    def pretend(_uv: str, arguments: list[str], **_: object) -> None:
        asked.append(arguments)

    monkeypatch.setattr(venvs, "run_uv", pretend)
    with pytest.raises(UnavailableError, match="bin/python"):
        shop.prepare(ELSEWHERE)
    assert asked[0][asked[0].index("--python") + 1] == str(real)


def test_requirements_are_locked_with_hashes_and_without_hosts(shop: Shop) -> None:
    source = shop.lock.with_suffix(".in")
    source.write_text("numpy>=9\n", encoding="utf-8")
    shop.lock.unlink()
    lock_requirements(source, shop.lock, HERE)
    text = shop.lock.read_text(encoding="utf-8")
    assert "scripts/lock" in text
    assert f"numpy==9.9 \\\n    --hash=sha256:{shop.sha256}\n" in text
    assert "://" not in text
    assert str(shop.root) not in text
    assert shop.prepare()[0].packages == {"numpy": "9.9"}


def test_what_cannot_be_locked_is_explained(shop: Shop) -> None:
    source = shop.lock.with_suffix(".in")
    with pytest.raises(MethodError, match=r"requirements\.in is missing"):
        lock_requirements(source, shop.lock, HERE)
    source.write_text("numpy>=10\n", encoding="utf-8")
    with pytest.raises(MethodError, match="'<4' has no lowest Python"):
        lock_requirements(source, shop.lock, "<4")
    with pytest.raises(UnavailableError, match=r"requirements.in cannot be locked; uv reports:"):
        lock_requirements(source, shop.lock, HERE)


def test_what_a_job_has_put_into_an_environment_is_gone_at_the_next_run(shop: Shop) -> None:
    made, _ = shop.prepare()
    (site,) = made.prefix.glob("lib/python*/site-packages")
    site.chmod(0o755)
    (site / "spy.pth").write_text("import os\n", encoding="utf-8")
    again, lines = shop.prepare()
    assert again.prefix == made.prefix
    assert "spy.pth was added" in lines[0]
    assert not (site / "spy.pth").exists()
    assert shop.prepare()[1] == []


SPYING_BACKEND = """
import os
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    if {hungry!r}:
        bytearray(1000 * 2**20)
    seen = [place for place in {places!r} if os.path.exists(place)]
    files = {{
        "found.py": f"seen = {{seen!r}}",
        "found-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: found\\nVersion: 1.0\\n",
        "found-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nTag: py3-none-any",
        "found-1.0.dist-info/RECORD": "",
    }}
    name = "found-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return name
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "found"
version = "1.0"
"""


def make_source(shop: Shop, places: list[str], *, hungry: bool = False, imports: str = "") -> str:
    """Make a source distribution whose build reports which of some folders it can see."""
    wheels = shop.root / "wheels"
    path = wheels / "found-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {
            "backend.py": imports + SPYING_BACKEND.format(places=places, hungry=hungry),
            "pyproject.toml": PROJECT,
            "PKG-INFO": "Metadata-Version: 2.1\nName: found\nVersion: 1.0\n",
        }.items():
            member = tarfile.TarInfo(f"found-1.0/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_build_happens_where_it_is_allowed_and_in_a_sandbox(shop: Shop) -> None:
    if trouble := bubblewrap.why_unavailable():
        pytest.skip(f"no bubblewrap: {trouble}")
    mine = shop.root / "mine"
    mine.write_text("secret", encoding="utf-8")
    sha256 = make_source(shop, [str(mine), "/usr"])
    numpy = shop.lock.read_text(encoding="utf-8")
    shop.write_lock(f"{numpy}found==1.0 --hash=sha256:{sha256}\n")
    with pytest.raises(UnavailableError, match=r"here of Python 3\.\d+.*build = true"):
        shop.prepare()
    made = prepare("m", shop.lock, HERE, shop.home, build=True)
    answer = subprocess.check_output([made.python, "-c", "import found; print(found.seen)"])
    assert answer == b"['/usr']\n"


def with_source(shop: Shop, *, hungry: bool = False, imports: str = "") -> None:
    if trouble := bubblewrap.why_unavailable():
        pytest.skip(f"no bubblewrap: {trouble}")
    sha256 = make_source(shop, [], hungry=hungry, imports=imports)
    numpy = shop.lock.read_text(encoding="utf-8")
    shop.write_lock(f"{numpy}found==1.0 --hash=sha256:{sha256}\n")


def test_what_a_package_does_not_declare_is_in_a_file_next_to_the_lock(shop: Shop) -> None:
    with_source(shop, imports="import numpy\nassert numpy.pi == 3\n")
    beside = shop.lock.parent
    with pytest.raises(UnavailableError, match="numpy"):
        prepare("m", shop.lock, HERE, shop.home, build=True)
    (beside / "uv.toml").write_text(
        '[extra-build-dependencies]\nfound = ["numpy"]\n', encoding="utf-8"
    )
    (beside / "build.lock").write_text(
        f"other==9.9 --hash=sha256:{shop.sha256}\n", encoding="utf-8"
    )
    with pytest.raises(UnavailableError, match="hash"):
        prepare("m", shop.lock, HERE, shop.home, build=True)
    (beside / "build.lock").write_text(
        f"numpy==9.9 --hash=sha256:{shop.sha256}\n", encoding="utf-8"
    )
    made = prepare("m", shop.lock, HERE, shop.home, build=True)
    assert set(made.packages) == {"found", "numpy"}
    assert not list(shop.root.glob("**/mdbench-scratch-*"))


def test_what_no_index_has_is_fetched_when_the_environment_is_made(shop: Shop) -> None:
    if trouble := bubblewrap.why_unavailable():
        pytest.skip(f"no bubblewrap: {trouble}")
    mine, program = shop.root / "mine", shop.root / "m" / "fetch_it.py"
    mine.write_text("secret", encoding="utf-8")

    def made(text: str) -> Environment:
        program.write_text(text, encoding="utf-8")
        return prepare("m", shop.lock, HERE, shop.home, fetch=program)

    with pytest.raises(NotFetchedError, match=r"fetch_it\.py reports:\n +no server") as why:
        made("import sys; print('a lot'); sys.exit('no server')")
    assert "a lot" not in str(why.value)
    fetching = (
        "import numpy, pathlib, sys\n"
        "place = pathlib.Path(sys.prefix, 'fetched')\n"
        "place.mkdir()\n"
        f"(place / 'it').write_text(str(pathlib.Path({str(mine)!r}).exists()))\n"
    )
    first, second = made(fetching), made(fetching + "# another\n")
    assert (first.prefix / "fetched" / "it").read_text(encoding="utf-8") == "False"
    assert first.prefix != second.prefix
    assert made(fetching) == first
    (first.prefix / "fetched").chmod(0o755)
    (first.prefix / "fetched" / "later").touch()
    again = made(fetching)  # it is what was made, and nothing else
    assert not (again.prefix / "fetched" / "later").exists()
    program.unlink()
    with pytest.raises(MethodError, match=r"fetch_it\.py is missing"):
        prepare("m", shop.lock, HERE, shop.home, fetch=program)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('index-url = "https://elsewhere.invalid/simple"\n', "unknown key 'index-url'"),
        ("no-build-isolation = true\n", "unknown key 'no-build-isolation'"),
        ("[[", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_uv_s_other_settings_are_the_user_s(shop: Shop, text: str | None, told: str) -> None:
    file = shop.lock.with_name("uv.toml")
    if text is None:
        file.mkdir()
    else:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(MethodError, match=told):
        shop.prepare()


def test_a_build_has_so_much_memory(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    if "memory" not in usage.can_make():
        pytest.skip("no groups can be made here")
    with_source(shop, hungry=True)
    monkeypatch.setattr(venvs, "_BUILD_MB", 500)
    with pytest.raises(UnavailableError, match="found"):
        prepare("m", shop.lock, HERE, shop.home, build=True)
    monkeypatch.setattr(venvs, "_BUILD_MB", 1500)
    assert "found" in prepare("m", shop.lock, HERE, shop.home, build=True).packages


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PIP_INDEX_URL", "https://me:hunter2@mirror.invalid/simple"),
        ("PIP_EXTRA_INDEX_URL", "https://me:hunter2@mirror.invalid/simple"),
        ("UV_INDEX_OURS_PASSWORD", "hunter2"),
        ("https_proxy", "http://me:hunter2@proxy.invalid:8080"),
    ],
)
def test_no_build_sees_a_password(
    shop: Shop, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_source(shop)
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(UnavailableError, match="could read the password in") as caught:
        prepare("m", shop.lock, HERE, shop.home, build=True)
    assert "hunter2" not in str(caught.value)
    assert "PIP_FIND_LINKS" in caught.value.hint
