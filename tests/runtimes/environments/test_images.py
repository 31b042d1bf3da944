"""Images are built here from tiny wheels, one of which calls itself numpy: no network."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, ZipInfo

import pytest
from harness import ROOT, add_method, make_workspace
from packaging.tags import sys_tags
from wheels import write_wheel

from mdbench import methods
from mdbench.errors import MethodError, UnavailableError
from mdbench.runtimes.environments import base_images, docker_cli
from mdbench.runtimes.environments.base_images import Base
from mdbench.runtimes.environments.images import Images, MethodImage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mdbench.methods import Method
    from mdbench.workspace import Workspace

pytestmark = pytest.mark.engine

SECRET = "hunter2hunter2"
X86 = base_images.Target(
    python="3.11.2",
    implementation="cp",
    abi="cp311",
    platforms=("manylinux_2_36_x86_64", "manylinux_2_17_x86_64", "linux_x86_64"),
    markers={"python_full_version": "3.11.2", "python_version": "3.11", "sys_platform": "linux"},
)
ARM = base_images.Target(
    python="3.9.1",
    implementation="cp",
    abi="cp39",
    platforms=("manylinux_2_17_aarch64", "linux_aarch64"),
    markers={"python_full_version": "3.9.1", "python_version": "3.9", "sys_platform": "linux"},
)


def make_wheel(folder: Path, name: str, version: str, tag: str, body: str = "") -> str:
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": body.encode(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    record = [
        f"{path},sha256={urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},"
        f"{len(data)}"
        for path, data in files.items()
    ]
    path = folder / f"{name}-{version}-{tag}.whl"
    with ZipFile(path, "w") as wheel:
        for inside, data in files.items():
            wheel.writestr(ZipInfo(inside), data)  # without the time: the same wheel, the same hash
        wheel.writestr(ZipInfo(f"{info}/RECORD"), "\n".join([*record, f"{info}/RECORD,,\n"]))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of wheels, which is the only place that pip looks at."""
    for name in os.environ:
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "shelf"
    folder.mkdir()
    settings = tmp_path / "pip.conf"
    settings.write_text(
        f"[global]\nno-index = true\nfind-links = {folder}\nno-cache-dir = true\n"
        f"extra-index-url = https://me:{SECRET}@mirror.invalid/simple\n"
        f"proxy = http://me:{SECRET}@proxy.invalid:3128\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    return folder


# The lock, as one Python needs it.


def test_a_lock_is_filtered_by_the_containers_markers() -> None:
    lock = """# made by a tool
numpy==2.0.2 ; python_full_version < '3.10' \\
    --hash=sha256:11 \\
    --hash=sha256:12
    # via scipy
numpy==2.4.0 ; python_full_version >= '3.10' \\
    --hash=sha256:21
colorama==0.4 ; sys_platform == 'win32' \\
    --hash=sha256:31
Scipy[fast]==1.2 \\
    --hash=sha256:41
"""
    assert base_images.lock_for_python(lock, X86) == (
        "Scipy[fast]==1.2 --hash=sha256:41\nnumpy==2.4.0 --hash=sha256:21\n"
    )
    assert base_images.lock_for_python(lock, ARM) == (
        "Scipy[fast]==1.2 --hash=sha256:41\nnumpy==2.0.2 --hash=sha256:11 --hash=sha256:12\n"
    )
    assert base_images.pins(base_images.lock_for_python(lock, X86)) == {
        "numpy": "2.4.0",
        "scipy": "1.2",
    }


def test_a_line_that_is_no_requirement_is_named() -> None:
    with pytest.raises(MethodError, match="line 1: 'numpy=2 --hash=sha256:12' is no package"):
        base_images.lock_for_python("numpy=2 --hash=sha256:12\n", X86)


@pytest.mark.parametrize(
    ("target", "tag"),
    [
        (X86, "cp311-cp311-manylinux_2_17_x86_64"),
        (X86, "cp39-abi3-manylinux_2_17_x86_64"),
        (X86, "py3-none-any"),
        (ARM, "cp39-cp39-manylinux_2_17_aarch64"),
    ],
)
def test_wheels_are_the_containers_not_ours(
    shelf: Path, tmp_path: Path, target: base_images.Target, tag: str
) -> None:
    tags = {
        "cp39-cp39-manylinux_2_17_aarch64",
        "cp311-cp311-manylinux_2_17_aarch64",
        "cp312-cp312-manylinux_2_17_x86_64",
        "cp311-cp311-win_amd64",
        tag,
    } - ({"cp39-cp39-manylinux_2_17_aarch64"} if target is X86 else set())
    hashes = [make_wheel(shelf, "numpy", "9.9", each, body=each) for each in sorted(tags)]
    lock = tmp_path / "lock"
    lock.write_text(
        " --hash=".join(["numpy==9.9", *(f"sha256:{each}" for each in hashes)]), encoding="utf-8"
    )
    here = {str(each) for each in sys_tags()}
    assert target is X86 or tag not in here
    base_images.download("m", lock, tmp_path / "got", target, print)
    assert [path.name for path in (tmp_path / "got").iterdir()] == [f"numpy-9.9-{tag}.whl"]


def test_a_package_without_a_wheel_is_named_and_no_password_is_shown(
    shelf: Path, tmp_path: Path
) -> None:
    digest = make_wheel(shelf, "numpy", "9.9", "cp312-cp312-win_amd64")
    lock = tmp_path / "lock"
    lock.write_text(f"numpy==9.9 --hash=sha256:{digest}\n", encoding="utf-8")
    with pytest.raises(UnavailableError, match=r"(?s)Python 3.11.2 on manylinux.*numpy==9.9") as e:
        base_images.download("m", lock, tmp_path / "got", X86, print)
    assert SECRET not in str(e.value)


# An engine that is not there, or fails: a script that calls itself docker.


@pytest.fixture
def fake_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Images]:
    def write(script: str) -> Images:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "docker"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return Images(tmp_path / "home")

    return write


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Cannot connect to the Docker daemon at unix:///x. Is it running?", "systemctl start"),
        ("Got permission denied while trying to connect to unix:///x", "usermod"),
    ],
)
def test_an_engine_that_does_not_answer(
    fake_docker: Callable[[str], Images], said: str, hint: str
) -> None:
    fake = fake_docker(f'echo "{said}" >&2; exit 1')
    trouble = fake.why_unavailable()
    assert trouble is not None
    assert said in trouble
    assert hint in trouble
    assert not fake.has_local_base()
    with pytest.raises(UnavailableError, match=hint):
        fake.base()


def test_no_docker_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    trouble = Images(tmp_path).why_unavailable()
    assert trouble is not None
    assert "apt install docker.io" in trouble


def test_an_engine_that_hangs(
    fake_docker: Callable[[str], Images], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_docker("exec sleep 60")
    monkeypatch.setattr(docker_cli, "ANSWER_SECONDS", 60)
    with pytest.raises(UnavailableError, match="was silent for 0 s"):
        docker_cli.docker(["version"], "It fails", timeout=0.2)
    with pytest.raises(UnavailableError, match="ended after 0 s"):
        docker_cli.follow(
            ["sh", "-c", f"(sleep 60; touch {tmp_path}/late) & sleep 60"],
            environment={},
            failure="It fails",
            hint="",
            on_line=print,
            timeout=0.2,
        )
    assert not (tmp_path / "late").exists()  # nobody has waited for what it has started


def test_no_registry(fake_docker: Callable[[str], Images], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MDBENCH_BASE_IMAGE", raising=False)
    fake = fake_docker(
        "case $1 in version) echo 1;; pull) echo 'no such host' >&2; exit 1;;"
        " *) echo 'Error: No such image: x' >&2; exit 1;; esac"
    )
    assert not fake.has_local_base()
    with pytest.raises(UnavailableError, match=r"(?s)No image registry.*python:3.*base-image"):
        fake.base()


def test_what_docker_states_holds_no_password(fake_docker: Callable[[str], Images]) -> None:
    fake_docker(f"echo 'https://me:{SECRET}@x/ failed'; echo last; exit 1")
    lines: list[str] = []
    with pytest.raises(UnavailableError, match=r"(?s)m:1 cannot.*; docker reports:.*last") as e:
        docker_cli.build(
            Path(),
            "m:1",
            arguments={},
            network=False,
            proxies={},
            on_line=lines.append,
        )
    assert SECRET not in str(e.value)


def test_proxies_reach_a_build_by_its_environment_alone(
    fake_docker: Callable[[str], Images], tmp_path: Path
) -> None:
    fake_docker(f'echo "$@" > {tmp_path}/said; echo "$http_proxy" > {tmp_path}/proxy')
    proxies = {"http_proxy": f"http://me:{SECRET}@proxy.invalid"}
    for network in (True, False):
        docker_cli.build(
            Path(),
            "m:1",
            arguments={"A": "b"},
            network=network,
            proxies=proxies,
            on_line=print,
        )
        said = (tmp_path / "said").read_text(encoding="utf-8")
        assert "--build-arg A=b" in said
        assert SECRET not in said
        assert ("--network none" in said) is not network
        assert (SECRET in (tmp_path / "proxy").read_text(encoding="utf-8")) is network


# What an environment is made of.


def base(**others: object) -> Base:
    shown = {"reference": "b", "id": "sha256:1", "content": "c", "target": X86, "layers": ()}
    return Base(**(shown | others))  # type: ignore[arg-type]


def identity(
    tmp_path: Path, lock: str, start: Base, *packages: str, fetch: str | None = None
) -> str:
    kept = Images(tmp_path / "home")
    kept._base = start
    file, program = tmp_path / "requirements.lock", tmp_path / "fetch_it.py"
    file.write_text(lock, encoding="utf-8")
    program.write_text(fetch or "", encoding="utf-8")
    return kept.identity("m", file, packages, None if fetch is None else program)


def test_a_link_that_leaves_is_refused_before_anything_is_built(
    tmp_path: Path, fake_docker: Callable[[str], Images]
) -> None:
    images = fake_docker("echo asked >&2; exit 1")
    workspace = make_workspace(tmp_path)
    (add_method(workspace, "m") / "notes.txt").symlink_to("/etc/passwd")
    with pytest.raises(MethodError, match=r"notes\.txt is a link to /etc/passwd"):
        images.build(methods.find("m", workspace.algorithms))


def test_what_is_built_from_its_source_is_refused_before_anything_is_fetched(
    fake_docker: Callable[[str], Images], tmp_path: Path
) -> None:
    method = add_method(make_workspace(tmp_path), "compiled")
    text = (method / "method.toml").read_text(encoding="utf-8")
    (method / "method.toml").write_text(f"build = true\n{text}", encoding="utf-8")
    images = fake_docker("echo nothing may be asked >&2; exit 1")
    with pytest.raises(UnavailableError, match="built from its source") as caught:
        images.build(methods.find("compiled", method.parent))
    assert "--runtime venv" in str(caught.value)


def test_what_a_killed_build_leaves_is_removed_at_the_next_start(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "from mdbench.runtimes.environments.images import _context\n"
        "with _context('FROM x', {'mdbench.content': 'y'}, print) as folder:\n"
        "    assert (folder / 'Dockerfile').is_file()\n"
        "    os._exit(9)\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=False)
    assert done.returncode == 9
    assert list(temporary.iterdir())
    again = "from mdbench.runtimes.job_folder import remove_left_over; remove_left_over()"
    subprocess.run([sys.executable, "-c", again], cwd=ROOT, env=environment, check=True)
    assert list(temporary.iterdir()) == []


def test_identity_covers_all_ingredients_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numpy = "numpy==2.0 \\\n    --hash=sha256:12\n"
    first = identity(tmp_path, numpy, base(), "a1", "b1")
    elsewhere = "colorama==1 ; sys_platform == 'win32' \\\n    --hash=sha256:13\n"
    assert identity(tmp_path, f"# remark\n{elsewhere}{numpy}", base(), "b1", "a1") == first
    assert identity(tmp_path, numpy, base(id="sha256:2", reference="x"), "a1", "b1") == first
    others = {
        identity(tmp_path, numpy, base(content="d"), "a1", "b1"),
        identity(tmp_path, numpy.replace("2.0", "2.1"), base(), "a1", "b1"),
        identity(tmp_path, numpy.replace("12", "13"), base(), "a1", "b1"),
        identity(tmp_path, numpy, base(), "a1"),
        identity(tmp_path, numpy, base()),
        identity(tmp_path, numpy, base(), "a1", "b1", fetch="print(1)"),
        identity(tmp_path, numpy, base(), "a1", "b1", fetch="print(2)"),
    }
    dockerfiles = tmp_path / "docker"
    dockerfiles.mkdir()
    text = (ROOT / "docker/environment.Dockerfile").read_text(encoding="utf-8")
    (dockerfiles / "environment.Dockerfile").write_text(text + "\n", encoding="utf-8")
    monkeypatch.setattr(base_images, "_DOCKERFILES", dockerfiles)
    others.add(identity(tmp_path, numpy, base(), "a1", "b1"))
    assert len(others | {first}) == 9


def test_a_system_package_that_is_an_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="'-o=x', which is no name of a Debian package"):
        identity(tmp_path, "numpy==2.0 --hash=sha256:12\n", base(), "-o=x")


# Real builds.


@pytest.fixture(scope="module")
def engine() -> Iterator[None]:
    here = Images(Path(tempfile.gettempdir()))
    if here.why_unavailable():
        pytest.skip("no Docker engine answers")
    if not here.has_local_base():
        pytest.skip("no base image: type scripts/base-image")
    yield
    found = docker_cli.docker(
        ["image", "ls", "--format={{.Repository}}:{{.Tag}}", "--filter=label=mdbench.kind"], ""
    ).split()
    mine = [name for name in found if name.startswith((f"mdbench-{TINY}", f"mdbench-env-{TINY}"))]
    if mine:
        docker_cli.docker(["image", "rm", "--force", *mine], "")


TINY = f"tiny{os.getpid()}"
"""The name of the method: the engine may serve others who run these tests."""
OWN = f"someones-own:{os.getpid()}"
ADAPTER = "class Adapter:\n    version = {}\n"


@pytest.fixture
def workspace(tmp_path: Path, shelf: Path) -> Workspace:
    """Return a workspace with the method; its environment is the same in all tests."""
    found = make_workspace(tmp_path)
    add_method(found, TINY, ADAPTER.format(1))
    stock(found, shelf, "where = 'here'\n")
    return found


def stock(workspace: Workspace, shelf: Path, numpy: str) -> None:
    """Lock another numpy, so that the environment is another one."""
    digest = make_wheel(shelf, "numpy", "9.9", "py3-none-any", body=numpy)
    (workspace.algorithms / TINY / "requirements.lock").write_text(
        f"numpy==9.9 \\\n    --hash=sha256:{digest}\n", encoding="utf-8"
    )


def build(workspace: Workspace, *, at_once: int = 1) -> tuple[MethodImage, list[str]]:
    """Build the method's images, several times at once; gives what the first one made."""
    lines: list[str] = []
    method = tiny(workspace)
    with ThreadPoolExecutor(at_once) as pool:
        all_made = list(
            pool.map(lambda _: Images(workspace.home, lines.append).build(method), range(at_once))
        )
    assert all(made == all_made[0] for made in all_made)
    return all_made[0], lines


def tiny(workspace: Workspace) -> Method:
    return methods.find(TINY, workspace.algorithms)


def run_in(image: MethodImage, script: str) -> str:
    return docker_cli.docker(
        [
            *("run", "--rm", "--network=none", "--read-only", "--user=12345", "--cap-drop=ALL"),
            *("-e", "PYTHONPATH=/mdbench/path", image.id, "/opt/env/bin/python", "-s", "-B", "-c"),
            script,
        ],
        "",
    ).strip()


@pytest.mark.usefixtures("engine")
def test_an_image_holds_the_method_and_is_built_once_by_two_at_once(
    workspace: Workspace, shelf: Path
) -> None:
    stock(workspace, shelf, "where = 'first'\n")
    folder = workspace.algorithms / TINY
    (folder / "data").mkdir()
    (folder / "data" / "table.txt").write_text("12", encoding="utf-8")
    (folder / "data" / "table.txt").chmod(0o600)
    umask = os.umask(0o077)
    try:
        made, lines = build(workspace, at_once=2)
    finally:
        os.umask(umask)
    packages, own = [line for line in lines if line.startswith("building")]
    tag = f"mdbench-env-{TINY}:{made.identity[:12]}"
    assert packages.startswith(f"building the image {tag} on {_reference(workspace)}: the packages")
    assert "a minute or more" in packages
    assert packages.endswith("without images: --runtime venv")
    assert own == f"building the image {made.tag}"
    assert run_in(made, "import mdbench.worker; print(mdbench.worker.__file__)") == (
        "/mdbench/path/mdbench/worker/__init__.py"
    )
    assert run_in(made, f"print(open('/mdbench/method/{TINY}/data/table.txt').read())") == "12"
    cached = run_in(made, "import numpy, os; print(os.path.isfile(c := numpy.__cached__), c)")
    assert cached.startswith("True /opt/env/lib/")
    found = f"import glob; print(*glob.glob('/mdbench/method/{TINY}/__pycache__/adapter.*.pyc'))"
    assert run_in(made, found)
    assert run_in(made, "import platform; print(platform.python_version())") == made.python
    assert made.packages == {"numpy": "9.9"}
    # The environment holds what the lock says and nothing else.
    listed = "from importlib.metadata import *; print(*(d.name for d in distributions()))"
    assert run_in(made, listed) == "numpy"

    again, lines = build(workspace)
    assert again == made
    assert lines == []
    assert made.identity == Images(workspace.home).identity(TINY, tiny(workspace).lock, ())
    labels = _inspect(made.id)["Config"]["Labels"]
    assert labels["mdbench"] == "1"
    assert labels["mdbench.kind"] == "method"
    assert labels["mdbench.method"] == TINY
    assert labels["mdbench.identity"] == made.identity
    assert labels["mdbench.base"] == made.base == Images(workspace.home).base().id
    assert labels["mdbench.python"] == made.python
    environment = _inspect(f"mdbench-env-{TINY}:{made.identity[:12]}")
    assert environment["Config"]["Labels"]["mdbench.kind"] == "environment"
    assert made.size_mb == pytest.approx(_inspect(made.id)["Size"] / 1e6, abs=0.1)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("trap", ["run-at-start", "python-as-script"])
def test_packages_are_not_run_while_an_image_is_built(
    workspace: Workspace, shelf: Path, tmp_path: Path, trap: str
) -> None:
    """Else the name of what has run would be in the image, or on the machine."""
    canaries = [f"/canary-{os.getpid()}", "/opt/env/canary", str(tmp_path / "canary")]
    code = f"for name in {canaries}:\n    try: open(name, 'w')\n    except OSError: pass\n"
    line = f"import os; exec({code!r})\n"
    files = {
        "run-at-start": {
            **dict.fromkeys(("spy.pth", "sitecustomize.py", "usercustomize.py"), line),
            **dict.fromkeys(("compileall.py", "pip/__init__.py", "encodings/__init__.py"), code),
            "{data}/data/lib/spy.pth": line,
        },
        "python-as-script": {
            "{data}/scripts/python3": "#!/bin/sh\n" + "".join(f"echo >{n}\n" for n in canaries)
        },
    }[trap]
    digest = write_wheel(shelf, "spy", files)
    lock = workspace.algorithms / TINY / "requirements.lock"
    lock.write_text(f"{lock.read_text()}spy==1.0 \\\n    --hash=sha256:{digest}\n")
    made, _ = build(workspace)
    show = ["run", "--rm", "--network=none", "--entrypoint=find", made.id, "/", "-xdev"]
    assert "canary" not in docker_cli.docker([*show, "-name", "canary*"], "")
    assert "spy" in docker_cli.docker([*show, "-name", "spy-1.0.dist-info"], "")
    assert not Path(canaries[0]).exists()
    assert not Path(canaries[2]).exists()


@pytest.mark.usefixtures("engine")
def test_an_edited_adapter_keeps_its_environment(workspace: Workspace) -> None:
    made, _ = build(workspace)
    code = f"import sys; sys.path.append('/mdbench/method/{TINY}'); import adapter"
    show = f"{code}; print(adapter.Adapter.version)"
    assert run_in(made, show) == "1"
    before = (workspace.algorithms / TINY / "adapter.py").stat()
    (workspace.algorithms / TINY / "adapter.py").write_text(ADAPTER.format(2), encoding="utf-8")
    os.utime(
        workspace.algorithms / TINY / "adapter.py", ns=(before.st_atime_ns, before.st_mtime_ns)
    )
    edited, lines = build(workspace)
    assert lines == [f"building the image {edited.tag}"]
    assert edited.identity == made.identity
    assert edited.tag != made.tag
    assert run_in(edited, show) == "2"


@pytest.mark.usefixtures("engine")
def test_saved_images_are_all_that_another_machine_needs(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = build(workspace)
    file = tmp_path / "images.tar"
    Images(workspace.home).save([made.tag], file)
    assert not (tmp_path / "images.tar.part").exists()
    environment = f"mdbench-env-{TINY}:{made.identity[:12]}"
    docker_cli.docker(["image", "rm", "--force", made.tag, environment], "")
    docker_cli.docker(["load", "--quiet", "--input", str(file)], "", timeout=600)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "none"))
    other = make_workspace(tmp_path / "other")
    lines: list[str] = []
    again = Images(other.home, lines.append).build(tiny(workspace))
    assert again == made
    assert lines == []
    with pytest.raises(UnavailableError, match=r"cannot be saved in /nonexistent/images\.tar"):
        Images(workspace.home).save([made.tag], Path("/nonexistent/images.tar"))


@dataclass(frozen=True)
class Using(methods.Method):
    """A method that uses a folder which others use too."""

    used: tuple[Path, ...] = ()


@pytest.mark.usefixtures("engine")
def test_folders_that_a_method_uses_are_next_to_it(workspace: Workspace) -> None:
    shared = workspace.algorithms / "shared" / "words"
    (shared / "__pycache__").mkdir(parents=True)
    (shared / "__pycache__" / "old.pyc").touch()
    (shared / "common.py").write_text("x = 5\n", encoding="utf-8")
    plain = tiny(workspace)
    alone = Images(workspace.home).build(plain)
    made = Images(workspace.home).build(Using(plain.folder, plain.spec, (shared,)))
    assert made.identity == alone.identity
    assert made.tag != alone.tag
    listed = run_in(made, "import os; print(sorted(os.listdir('/mdbench/method')))")
    assert listed == str(sorted(["shared", TINY]))
    cached = "/mdbench/method/shared/words/__pycache__"
    listed = run_in(made, f"import os; print(os.listdir({cached!r}))")
    assert "common" in listed
    assert "old" not in listed


@pytest.mark.usefixtures("engine")
def test_no_setting_of_pip_is_in_an_image(workspace: Workspace) -> None:
    made, _ = build(workspace)
    for tag in (made.tag, f"mdbench-env-{TINY}:{made.identity[:12]}"):
        shown = docker_cli.docker(["history", "--no-trunc", tag], "") + json.dumps(_inspect(tag))
        assert "mirror.invalid" not in shown
        assert "proxy.invalid" not in shown
        assert SECRET not in shown
    files = "import subprocess as s; print(s.run(['grep', '-rlE', 'mirror.invalid|hunter2h', "
    roots = "'/etc', '/opt', '/root', '/home', '/tmp', '/mdbench'], capture_output=True).stdout)"
    assert run_in(made, files + roots) == "b''"


@pytest.mark.usefixtures("engine")
def test_nothing_is_left_of_a_build_that_fails(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docker" / "environment.Dockerfile").read_text(encoding="utf-8")
    spoilt = text.replace("COPY wheels/ /wheels/\n", "COPY wheels/ /wheels/\nRUN echo oh; exit 7\n")
    assert spoilt != text
    (tmp_path / "environment.Dockerfile").write_text(spoilt, encoding="utf-8")
    monkeypatch.setattr(base_images, "_DOCKERFILES", tmp_path)
    identity = Images(workspace.home).identity(TINY, tiny(workspace).lock, ())
    with pytest.raises(UnavailableError, match=r"(?s)env-tiny.*docker reports:.*exit 7"):
        build(workspace)
    stage = f"--filter=label=mdbench.stage={identity}"
    assert docker_cli.docker(["ps", "--all", "--quiet", stage], "") == ""
    assert docker_cli.docker(["image", "ls", "--all", "--quiet", stage], "") == ""
    assert docker_cli.image(f"mdbench-env-{TINY}:{identity[:12]}") is None


@pytest.mark.usefixtures("engine")
def test_a_wheel_that_is_not_what_was_locked(workspace: Workspace, shelf: Path) -> None:
    stock(workspace, shelf, "where = 'nowhere'\n")
    (shelf / "numpy-9.9-py3-none-any.whl").write_bytes(b"another")
    with pytest.raises(UnavailableError, match=r"(?s)The wheels of tiny.*pip reports:.*HASHES"):
        build(workspace)


@pytest.mark.usefixtures("engine")
def test_a_python_that_the_base_does_not_have(workspace: Workspace) -> None:
    file = workspace.algorithms / TINY / "method.toml"
    file.write_text(f'{file.read_text(encoding="utf-8")}python = "==3.8.*"\n', encoding="utf-8")
    with pytest.raises(UnavailableError, match=r"tiny\d+ needs Python ==3.8.\*, but .* Python 3"):
        build(workspace)


@pytest.mark.usefixtures("engine")
def test_the_base_is_asked_once_and_a_torn_answer_again(workspace: Workspace) -> None:
    first = Images(workspace.home).base()
    here = docker_cli.docker(
        ["run", "--rm", "--network=none", "--entrypoint=python3", first.id, "--version"], ""
    )
    assert here.split()[1] == first.python
    assert first.markers["python_full_version"] == first.python
    assert first.platforms[-1].startswith("linux_")
    (file,) = (workspace.home / "images").glob("*.json")
    file.write_text(file.read_text(encoding="utf-8").replace(first.python, "3.5.0"), "utf-8")
    assert Images(workspace.home).base().python == "3.5.0"
    file.write_text("{", encoding="utf-8")
    assert Images(workspace.home).base() == first


@pytest.mark.usefixtures("engine")
def test_a_base_that_does_not_exist(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDBENCH_BASE_IMAGE", "localhost:1/none")
    assert not Images(workspace.home).has_local_base()
    with pytest.raises(UnavailableError, match=r"(?s)No image registry.*localhost:1/none.*base-im"):
        Images(workspace.home).base()


@pytest.mark.usefixtures("engine")
def test_the_other_builder_makes_the_same(
    workspace: Workspace, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock(workspace, shelf, "where = 'by BuildKit'\n")
    docker = next((each for each in _clients() if _takes_buildkit(each)), None)
    if docker is None:
        pytest.skip("no Docker client here speaks BuildKit: install docker-buildx")
    folder = workspace.home / "bin"
    folder.mkdir(parents=True)
    (folder / "docker").symlink_to(docker)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_BUILDKIT", "1")
    made, lines = build(workspace)
    assert any(line.startswith("#") for line in lines), lines
    assert run_in(made, "import numpy; print(numpy.where)") == "by BuildKit"
    assert _inspect(made.id)["Config"]["Labels"]["mdbench.identity"] == made.identity
    shown = docker_cli.docker(["history", "--no-trunc", made.tag], "")
    assert SECRET not in shown


@pytest.fixture
def base_with_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make a base image whose only source of packages is a folder in itself."""
    context = tmp_path / "context"
    (context / "deb" / "DEBIAN").mkdir(parents=True)
    (context / "deb" / "etc").mkdir()
    file_inside = context / "deb" / "etc" / "mdbench-tiny"
    file_inside.write_text("installed", encoding="utf-8")
    control = "Package: {0}\nVersion: 1\nArchitecture: all\nMaintainer: m <m@m>\n{1}"
    listed = ""
    for name, more in (("tinyneeded", ""), ("tinysystem", "Depends: tinyneeded\n")):
        text = control.format(name, more) + "Description: tiny\n"
        (context / "deb" / "DEBIAN" / "control").write_text(text, encoding="utf-8")
        file = context / f"{name}_1_all.deb"
        subprocess.run(["dpkg-deb", "--build", context / "deb", file], check=True)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        size = file.stat().st_size
        listed += f"{text}Filename: ./{file.name}\nSize: {size}\nSHA256: {digest}\n\n"
        file_inside.unlink(missing_ok=True)  # one package may own it
    (context / "Packages").write_text(listed, encoding="utf-8")
    (context / "Dockerfile").write_text(
        f"FROM {Images(tmp_path / 'other').base().reference}\nCOPY *.deb Packages /repository/\n"
        "RUN rm -rf /etc/apt/sources.list* && "
        "echo 'deb [trusted=yes] copy:/repository ./' > /etc/apt/sources.list\n",
        encoding="utf-8",
    )
    docker_cli.docker(["build", "--network=none", "--tag", OWN, str(context)], "")
    monkeypatch.setenv("MDBENCH_BASE_IMAGE", OWN)
    yield
    docker_cli.docker(["image", "rm", "--force", OWN], "")


@pytest.mark.usefixtures("engine", "base_with_packages")
def test_system_packages_are_installed_and_the_authority_is_not_left(
    workspace: Workspace, tmp_path: Path
) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_text(f"# {SECRET}\n", encoding="utf-8")
    with (tmp_path / "pip.conf").open("a", encoding="utf-8") as file:
        file.write(f"cert = {authority}\n")
    toml = workspace.algorithms / TINY / "method.toml"
    toml.write_text(
        f'{toml.read_text(encoding="utf-8")}system_packages = ["tinysystem"]\n', encoding="utf-8"
    )
    made, _ = build(workspace)
    assert run_in(made, "print(open('/etc/mdbench-tiny').read())") == "installed"
    status = run_in(made, "print(open('/var/lib/dpkg/status').read())")
    assert "Package: tinysystem\nStatus: install ok installed" in status
    left = "from pathlib import Path as P; print(*P('/apt').glob('*'), *P('/debs').glob('*'), "
    assert run_in(made, f"{left}*P('/etc/apt/apt.conf.d').glob('*mdbench'))") == ""
    shown = docker_cli.docker(["history", "--no-trunc", made.tag], "") + json.dumps(
        _inspect(made.tag)
    )
    assert SECRET not in shown


@pytest.mark.usefixtures("engine")
def test_what_no_index_has_is_fetched_into_the_image(workspace: Workspace, tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_text(f"# {SECRET}\n", encoding="utf-8")
    with (tmp_path / "pip.conf").open("a", encoding="utf-8") as file:
        file.write(f"cert = {authority}\n")
    without, _ = build(workspace)
    toml = workspace.algorithms / TINY / "method.toml"
    toml.write_text(f'{toml.read_text(encoding="utf-8")}fetch = "fetch_it.py"\n', encoding="utf-8")
    (toml.parent / "fetch_it.py").write_text(
        "import numpy, os, pathlib, sys\n"
        "authority = pathlib.Path(os.environ['SSL_CERT_FILE']).read_text()\n"
        "place = pathlib.Path(sys.prefix, 'fetched')\n"
        "(place / 'it').write_text(str(len(authority)) + numpy.where)\n"
        "pathlib.Path('/tmp/left').write_text(authority)\n",
        encoding="utf-8",
    )
    made, _ = build(workspace)
    found = run_in(made, "print(open('/opt/env/fetched/it').read())")
    assert found == f"{len(SECRET) + 3}here"
    assert made.identity != without.identity
    left = "from pathlib import Path as P; print(*P('/').glob('fetch*'), P('/tmp/left').exists())"
    assert run_in(made, left) == "False"
    shown = docker_cli.docker(["history", "--no-trunc", made.tag], "")
    assert SECRET not in shown + json.dumps(_inspect(made.tag))
    (toml.parent / "fetch_it.py").write_text("import sys; sys.exit('no server')", encoding="utf-8")
    with pytest.raises(UnavailableError, match="no server"):
        build(workspace)


def _reference(workspace: Workspace) -> str:
    return Images(workspace.home).base().reference


def _inspect(reference: str) -> dict[str, Any]:
    found = docker_cli.image(reference)
    assert found is not None
    return found


def _clients() -> list[str]:
    places = [f"{folder}/docker" for folder in os.get_exec_path()]
    return [place for place in places if os.access(place, os.X_OK)]


def _takes_buildkit(client: str) -> bool:
    """Whether a client can build by BuildKit: old ones by themselves, new ones by buildx."""
    done = subprocess.run(
        [client, "build", "--help"],
        env=os.environ | {"DOCKER_BUILDKIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return "buildx" not in done.stderr.lower() and done.returncode == 0
