"""Packages and programs that want to be run, or to write, where no method's code is to be.

Each leaves no trace outside of its own environment: on the machine, in another environment, in
the cache of wheels.  What cannot be kept out of the tree is refused, and no environment is made.
"""

from __future__ import annotations

import os
import stat
import sysconfig
import time
from contextlib import suppress
from textwrap import indent
from typing import TYPE_CHECKING

import pytest
from sweeps import paired, sampled
from wheels import write_source, write_wheel

from mdbench.errors import UnavailableError
from mdbench.runtimes import bubblewrap
from mdbench.runtimes.environments.locks import split_requirements
from mdbench.runtimes.environments.requirements import lock_requirements
from mdbench.runtimes.environments.uv import STAMP
from mdbench.runtimes.environments.venvs import Environment, prepare

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.build

HERE = f"=={sysconfig.get_python_version()}.*"
VERSION = f"python{sysconfig.get_python_version()}"
TAG = f"cpython-{sysconfig.get_python_version().replace('.', '')}"


class Shop:
    """Wheels, a method's folder, a home, and things of the user's that nobody may touch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.wheels = root / "wheels"
        self.home = root / "home"
        self.method = root / "m"
        self.outside = root / "outside"
        for folder in (self.wheels, self.method, self.outside):
            folder.mkdir()
        self.canary = self.outside / "canary"
        (self.outside / "mine").write_text("mine", encoding="utf-8")
        self.numpy = write_wheel(self.wheels, "numpy", {"numpy.py": "pi = 3\n"})

    def prepare(self, **pins: str) -> Environment:
        """Make an environment of NumPy and packages with their hashes."""
        return self.prepare_with({}, **pins)

    def prepare_with(self, options: dict[str, object], **pins: str) -> Environment:
        lock = self.method / "requirements.lock"
        whole = {"numpy": self.numpy, **pins}
        lock.write_text(
            "".join(f"{name}==1.0 --hash=sha256:{sha}\n" for name, sha in whole.items()),
            encoding="utf-8",
        )
        return prepare("m", lock, HERE, self.home, **options)  # type: ignore[arg-type]

    def check_no_trace(self) -> None:
        """Check that nothing outside was touched, and that NumPy's environment is what it is."""
        assert [path.name for path in self.outside.iterdir()] == ["mine"]
        assert (self.outside / "mine").read_text(encoding="utf-8") == "mine"
        honest = self.prepare()
        site = honest.prefix / "lib" / VERSION / "site-packages"
        names = {path.name for path in site.iterdir()}
        assert names - {"_virtualenv.py", "_virtualenv.pth"} == {
            *("numpy.py", "numpy-1.0.dist-info", "__pycache__")
        }
        assert (site / "numpy.py").read_text(encoding="utf-8") == "pi = 3\n"
        assert honest.python.is_symlink()
        assert [path.name for path in self.outside.iterdir()] == ["mine"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    for name in os.environ:
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    shop = Shop(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shop.wheels))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    monkeypatch.setenv("UV_COMPILE_BYTECODE", "1")  # by which uv itself would run the packages
    return shop


@pytest.fixture(params=["bubblewrap", "without"])
def sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With bubblewrap, and on a machine without it."""
    if request.param == "without":
        monkeypatch.setattr(bubblewrap, "why_unavailable", lambda: "not here")
    elif trouble := bubblewrap.why_unavailable():
        pytest.skip(f"no bubblewrap: {trouble}")
    return str(request.param)


CODE = "import pathlib; pathlib.Path({canary!r}).write_text('run')\n"
SCRIPT = "#!/bin/sh\necho run >{canary}\n"
IN_WHEELS: dict[str, dict[str, str]] = {
    "pth": {"spy.pth": CODE},
    "pth-of-uv": {"_virtualenv.pth": CODE},
    "sitecustomize": {"sitecustomize.py": CODE},
    "usercustomize": {"usercustomize.py": CODE},
    "shadowed-module": {"compileall.py": CODE, "encodings/__init__.py": CODE, "os.py": CODE},
    "standard-library": {f"{{data}}/data/lib/{VERSION}/os.py": CODE},
    "pth-as-data": {f"{{data}}/data/lib/{VERSION}/site-packages/spy.pth": CODE},
    "python-as-data": {"{data}/data/bin/python": SCRIPT},
    "python-as-script": {"{data}/scripts/python": SCRIPT},
    "python3-as-script": {"{data}/scripts/python3": "#!python\n" + CODE},
    "uv-as-script": {"{data}/scripts/uv": SCRIPT},
    "python-as-entry-point": {
        "{info}/entry_points.txt": "[console_scripts]\npython = spy:main\n",
        "spy.py": CODE,
    },
    "entry-point-above": {
        "{info}/entry_points.txt": "[console_scripts]\n../../../../../outside/x = spy:main\n",
        "spy.py": CODE,
    },
    "path-above": {"../../../../../../../outside/x.py": CODE},
    "path-above-as-data": {"{data}/data/../../../../../../outside/x.py": CODE},
    "absolute-path": {"{outside}/x.py": CODE},
    "settings": {"{data}/data/pyvenv.cfg": "home = {outside}\nversion = 3.11.7\n"},
    "stamp": {f"{{data}}/data/{STAMP}": "whole"},
    "name-with-a-newline": {"spy\n\x1b[2J.py": CODE},
    "deeply-nested-source": {"spy.py": "(" * 100_000 + ")" * 100_000},
    "no-source": {"spy.py": "\0\0\0 {{ no python }}"},
}
REFUSED = {
    *("python-as-data", "python-as-script", "python3-as-script", "python-as-entry-point"),
    *("entry-point-above", "settings", "name-with-a-newline"),
}
"""The others are installed, and are files like others."""


@pytest.mark.parametrize(
    ("sandbox", "trap"), paired(("bubblewrap", "without"), IN_WHEELS), indirect=["sandbox"]
)
@pytest.mark.usefixtures("sandbox")
def test_a_wheel_leaves_no_trace(shop: Shop, trap: str) -> None:
    def fill(text: str) -> str:
        text = text.replace("{canary!r}", repr(str(shop.canary)))
        return text.replace("{canary}", str(shop.canary)).replace("{outside}", str(shop.outside))

    files = {fill(path): fill(text) for path, text in IN_WHEELS[trap].items()}
    pin = write_wheel(shop.wheels, "spy", files)
    if trap in REFUSED:
        with pytest.raises(UnavailableError) as caught:
            shop.prepare(spy=pin)
        assert not caught.value.passing
        assert "\x1b" not in str(caught.value)
    else:
        made = shop.prepare(spy=pin)
        assert made.packages == {"numpy": "1.0", "spy": "1.0"}
        assert made.python.readlink() == shop.prepare().python.readlink()
    shop.check_no_trace()


@pytest.mark.usefixtures("sandbox")
def test_bytecode_that_a_wheel_brings_for_another_package_is_not_kept(
    shop: Shop,
) -> None:
    """It would be taken for that of NumPy's source, which says something else."""
    poisoned = b"unchecked bytecode"
    pin = write_wheel(shop.wheels, "spy", {f"__pycache__/numpy.{TAG}.pyc": poisoned})
    made = shop.prepare(spy=pin)
    (bytecode,) = made.prefix.glob("lib/*/site-packages/__pycache__/numpy.*.pyc")
    assert poisoned not in bytecode.read_bytes()
    shop.check_no_trace()


@pytest.mark.usefixtures("sandbox")
def test_a_wheel_that_writes_over_another_one_does_so_in_its_own_environment(
    shop: Shop,
) -> None:
    shop.prepare()
    shop.prepare(spy=write_wheel(shop.wheels, "spy", {"numpy.py": "pi = 4\n"}))
    shop.check_no_trace()


@pytest.mark.usefixtures("sandbox")
def test_links_and_rights_in_a_wheel_are_plain_files(shop: Shop) -> None:
    modes = {
        "spy.py": stat.S_IFREG | 0o6755,
        "link": stat.S_IFLNK | 0o777,
        "pipe": stat.S_IFIFO | 0o666,
        "device": stat.S_IFCHR | 0o666,
    }
    files = {name: str(shop.outside) for name in modes}
    pin = write_wheel(shop.wheels, "spy", files | {"link/x.py": "x = 1\n"}, modes=modes)
    with suppress(UnavailableError):
        made = shop.prepare(spy=pin)
        site = made.prefix / "lib" / VERSION / "site-packages"
        for name in modes:
            mode = (site / name).lstat().st_mode
            assert not stat.S_ISLNK(mode)
            assert not mode & (stat.S_ISUID | stat.S_ISGID)
    shop.check_no_trace()


@pytest.mark.usefixtures("sandbox")
def test_what_a_wheel_lists_as_its_own_is_not_removed(shop: Shop) -> None:
    lines = "../../../../../../outside/mine,,\n../../../bin/python,,\n"
    shop.prepare(spy=write_wheel(shop.wheels, "spy", {"spy.py": ""}, record=lines))
    again = write_wheel(shop.wheels, "spy", {"spy.py": "x = 1\n"}, record=lines)
    shop.prepare(spy=again)
    shop.check_no_trace()


REFUSED_DEEDS = {
    # deed: its code, and what the refusal is about
    "another-python": (
        "os.unlink(prefix + '/bin/python')\nwrite(prefix + '/bin/python', script, 0o755)",
        "bin/python was replaced",
    ),
    "python-elsewhere": (
        "os.unlink(prefix + '/bin/python')\nos.symlink('/bin/sh', prefix + '/bin/python')",
        "bin/python was replaced",
    ),
    "settings": ("write(prefix + '/pyvenv.cfg', 'home = ' + outside)", "pyvenv.cfg was changed"),
    "settings-elsewhere": (
        "os.unlink(prefix + '/pyvenv.cfg')\nos.symlink(outside + '/mine', prefix + '/pyvenv.cfg')",
        "pyvenv.cfg was changed",
    ),
    "link-to-a-folder": ("os.symlink('/etc', site + '/x')", "leads out of it"),
    "link-to-a-file": ("os.symlink(outside + '/mine', site + '/x.py')", "leads out of it"),
    "link-by-a-link": (
        "os.symlink('..', site + '/up')\nos.symlink('up/../../../../..', site + '/more')",
        "leads out of it",
    ),
    "link-for-bytecode": ("os.symlink(outside, site + '/__pycache__')", "leads out of it"),
    "link-for-packages": (
        "os.rename(site, site + '-2')\nos.symlink(outside, site)",
        "leads out of it",
    ),
    "pipe": ("os.mkfifo(site + '/x.py')", "is no file"),
    "socket": (
        "import socket\nsocket.socket(socket.AF_UNIX).bind(prefix + '/s')",
        "is no file",
    ),
    "set-uid": ("write(prefix + '/sh', script, 0o4755)", "set-uid"),
    "set-gid": ("write(prefix + '/sh', script, 0o2755)", "set-uid"),
    "name-with-escape": ("write(site + '/x\\x1b[2J.py', '')", "control characters"),
    "name-with-a-newline": ("write(site + '/x\\nmdbench: ok', '')", "control characters"),
    "new-stamp-elsewhere": (
        f"os.symlink(outside + '/mine', prefix + '/{STAMP}.new')",
        "leads out of it",
    ),
}
IN_BUILDS = ("another-python", "settings", "link-to-a-file", "pipe", "set-uid")
"""Deeds that the build of a package does, too."""
HARMLESS = f"""
write(site + '/x.pth', run)
write(site + '/sitecustomize.py', run)
write(site + '/usercustomize.py', run)
write(site + '/compileall.py', run)
write(site + '/over.py', run)
write(site + '/numpy.py', run)
write(prefix + '/bin/uv', script, 0o755)
os.symlink('numpy.py', site + '/same.py')
os.makedirs(site + '/__pycache__', exist_ok=True)
write(site + '/__pycache__/numpy.{TAG}.pyc', 'poisoned')
write(prefix + '/../../canary', run)  # of the sandbox, and gone with it
import subprocess, sys
later = 'import time; time.sleep(1); ' + run
nothing = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
subprocess.Popen([sys.executable, '-c', later], start_new_session=True, **nothing)
"""
IMPOSSIBLE = f"""
for number, try_it in enumerate((
    lambda: write(outside + '/canary', run),
    lambda: write(cache + '/x', run),
    lambda: write(prefix + '/../other/x', run),
    lambda: os.mknod(site + '/null', 0o666 | 0o020000, os.makedev(1, 3)),
    lambda: write(prefix + '/{STAMP}', 'whole'),
    lambda: os.unlink(prefix + '/{STAMP}'),
    lambda: os.rename(prefix + '/{STAMP}', prefix + '/x'),
    lambda: os.kill(os.getppid() + 10**6, 0),
    lambda: os.listdir(outside),
)):
    try:
        try_it()
    except OSError:
        continue
    raise SystemExit("it could do number " + str(number))
"""
PRELUDE = """
import glob
import os

def write(path, text, mode=0o644):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)

def deed():
    outside, cache, home = {outside!r}, {cache!r}, {home!r}
    (prefix,) = glob.glob(home + "/envs/*")
    (site,) = glob.glob(prefix + "/lib/python*/site-packages")
    run = "import pathlib; pathlib.Path(" + repr(outside + "/canary") + ").write_text('run')\\n"
    script = "#!/bin/sh\\necho run >" + outside + "/canary\\n"
"""


def deed_of(shop: Shop, code: str) -> str:
    prelude = PRELUDE.format(
        outside=str(shop.outside), cache=str(shop.root / "cache"), home=str(shop.home)
    )
    return prelude + indent(code, "    ") + "\n"


def do(shop: Shop, way: str, code: str) -> Environment:
    """Make an environment in which the build of a package, or a program that fetches, does it."""
    if trouble := bubblewrap.why_unavailable():
        pytest.skip(f"no bubblewrap: {trouble}")
    if way == "build":
        pin = write_source(shop.wheels, "spy", deed_of(shop, code))
        return shop.prepare_with({"build": True}, spy=pin)
    program = shop.method / "fetch_it.py"
    program.write_text(deed_of(shop, code) + "deed()\n", encoding="utf-8")
    return shop.prepare_with({"fetch": program})


@pytest.mark.parametrize(
    ("way", "deed"),
    [
        *sampled((("fetch", deed) for deed in REFUSED_DEEDS), share=0.4),
        *sampled((("build", deed) for deed in IN_BUILDS), least=2),
    ],
)
def test_what_leads_out_of_an_environment_is_refused(shop: Shop, way: str, deed: str) -> None:
    code, told = REFUSED_DEEDS[deed]
    with pytest.raises(UnavailableError) as caught:
        do(shop, way, code)
    assert not caught.value.passing
    assert told in str(caught.value)
    assert "\x1b" not in str(caught.value)
    do(shop, way, "pass")  # begins with what was left
    shop.check_no_trace()


@pytest.mark.parametrize("way", ["build", "fetch"])
def test_what_is_written_into_an_environment_is_not_run(shop: Shop, way: str) -> None:
    made = do(shop, way, HARMLESS)
    (bytecode,) = made.prefix.glob("lib/*/site-packages/__pycache__/numpy.*.pyc")
    assert b"poisoned" not in bytecode.read_bytes()
    assert not (shop.home / "canary").exists()
    time.sleep(1.5)  # a process that was left would have written by now
    shop.check_no_trace()


@pytest.mark.parametrize("way", ["build", "fetch"])
def test_nothing_outside_can_be_touched(shop: Shop, way: str) -> None:
    do(shop, way, IMPOSSIBLE)
    shop.check_no_trace()


def test_a_lock_is_made_without_running_packages_outside_of_a_sandbox(shop: Shop) -> None:
    """The requirements of a source distribution are those that its own code tells."""
    if trouble := bubblewrap.why_unavailable():
        pytest.skip(f"no bubblewrap: {trouble}")
    code = "write(outside + '/canary', run)"
    tolerant = f"try:\n    {code}\nexcept OSError:\n    pass\n"
    prelude = PRELUDE.format(outside=str(shop.outside), cache="", home="").replace(
        "(prefix,) =", "prefix ="
    )
    prelude = prelude.replace('(site,) = glob.glob(prefix + "/lib/python*/site-packages")', "")
    write_source(shop.wheels, "spy", prelude + indent(tolerant, "    "), dynamic="dependencies")
    source, lock = shop.method / "requirements.in", shop.method / "requirements.lock"
    source.write_text("numpy\nspy\n", encoding="utf-8")
    with pytest.raises(UnavailableError):
        lock_requirements(source, lock, HERE, options=["--no-build"])
    assert not lock.exists()
    lock_requirements(source, lock, HERE, build="m")
    assert split_requirements(lock.read_text(encoding="utf-8")).keys() == {"numpy", "spy"}
    assert "requirements.in" in lock.read_text(encoding="utf-8")
    lock.unlink()
    shop.check_no_trace()
