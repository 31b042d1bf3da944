"""The methods' images: an environment from the lock, and on it the worker and the method.

Two images a method, so that an edit of the adapter is built in a second: ``mdbench-env-NAME``
(docker/environment.Dockerfile) and ``mdbench-NAME`` (docker/method.Dockerfile).  The tag ends
in a hash of all that the image is made of; what is there is not built again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion

import mdbench
from mdbench.errors import MethodError, UnavailableError
from mdbench.methods import files_of
from mdbench.runtimes.environments import base_images, docker_cli
from mdbench.runtimes.environments.base_images import Base, dockerfile, sha256
from mdbench.runtimes.environments.locks import read_lock
from mdbench.runtimes.environments.subprocesses import read_pip_settings, with_heartbeat
from mdbench.runtimes.environments.uv import file_lock
from mdbench.runtimes.environments.venvs import python_range
from mdbench.runtimes.job_folder import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mdbench.methods import Method
    from mdbench.runtimes.environments.docker_cli import Program

IMAGE_PYTHON = "/opt/env/bin/python"
"""The method's interpreter in its image."""
PATH_IN_IMAGE = "/mdbench/path"
"""PYTHONPATH in the image, so that the worker is found."""
METHODS_IN_IMAGE = "/mdbench/method"
"""The folder there that holds the method's folder and those that it uses."""

_HOW_LONG = "a minute or more, and once only; without images: --runtime venv"
"""How long the image of packages takes, and how to do without."""
_PACKAGE = Path(mdbench.__file__).resolve().parent


@dataclass(frozen=True)
class MethodImage:
    """A method's image that is there.

    Attributes
    ----------
    id
        Its id, ``sha256:...``.
    tag
        Its name.
    identity
        What its environment is made of, as `Images.identity` gives it.
    python, packages
        The versions inside it.
    size_mb
        Its size, the base included, in MB.
    base
        The id of the base image that it was made from.
    """

    id: str
    tag: str
    identity: str
    python: str
    packages: dict[str, str] = field(repr=False)
    size_mb: float
    base: str


@dataclass(frozen=True)
class _Recipe:
    """The parts of an environment."""

    method: str
    base: Base
    lock: str
    system_packages: tuple[str, ...]
    dockerfile: str
    fetch: str = ""
    """The text of the program that fetches what no index has."""
    sources: dict[str, str] = field(default_factory=dict)
    """The texts of the files that it reads, by their names."""

    @property
    def identity(self) -> str:
        made_of = [self.base.content, self.dockerfile, self.lock, "\n".join(self.system_packages)]
        if self.fetch:
            made_of += [dockerfile("fetching"), self.fetch]
        made_of += [text for pair in self.sources.items() for text in pair]
        return sha256(*made_of)

    @property
    def tag(self) -> str:
        return _environment_tag(self.method, self.identity)

    def labels(self, kind: str) -> dict[str, str]:
        return {
            "mdbench": "1",
            "mdbench.kind": kind,
            "mdbench.method": self.method,
            "mdbench.identity": self.identity,
            "mdbench.base": self.base.id,
            "mdbench.lock": hashlib.sha256(self.lock.encode()).hexdigest(),
            "mdbench.python": self.base.python,
            "mdbench.version": mdbench.__version__,
        }


class Images:
    """Makes and finds methods' images, by the engine's command line.

    Parameters
    ----------
    home
        Folder below which is kept what was learned of base images.
    on_line
        Called with each line on what is being done.
    program
        The engine's command line.
    """

    def __init__(
        self,
        home: Path,
        on_line: Callable[[str], None] | None = None,
        program: Program = "docker",
    ) -> None:
        self._folder = home.absolute() / "images"
        self._program: Program = program
        self._report = on_line or _ignore
        self._base: Base | None = None

    def why_unavailable(self) -> str | None:
        """Return why no engine can be used here and what to type, or None where one answers."""
        return docker_cli.why_no_engine(self._program)

    def has_local_base(self) -> bool:
        """Whether there is a base image without asking a registry."""
        try:
            return base_images.find_local(self._program) is not None
        except UnavailableError:
            return False

    def base(self) -> Base:
        """Return the base image: MDBENCH_BASE_IMAGE, else mdbench-base, else the official one.

        Raises
        ------
        UnavailableError
            If there is none and none can be had, or if it has no Python that can be used.
        """
        if self._base is None:
            self._base = base_images.find(self._folder, self._report, self._program)
        return self._base

    def identity(
        self,
        method_name: str,
        lock: Path,
        system_packages: Sequence[str],
        fetch: Path | None = None,
        sources: Sequence[Path] = (),
    ) -> str:
        """Return what a method's environment would be made of, without making it.

        The hash covers the base image's content, the Dockerfile, the part of the lock that the
        base's Python takes, and the system packages. It covers the program that fetches more, with
        what it reads.

        Raises
        ------
        UnavailableError
            If there is no base image.
        MethodError
            If the lock cannot be used.
        """
        return self._recipe(method_name, lock, system_packages, fetch, sources).identity

    def build(self, method: Method) -> MethodImage:
        """Build a method's images, or find them built.

        Raises
        ------
        UnavailableError
            If they cannot be built on this machine; with the reason.
        MethodError
            If the method's folder lacks what it takes.
        """
        try:
            files = _files_of(method)
            fingerprint = _fingerprint(files)
        except OSError as error:
            raise MethodError(f"{method.folder} cannot be read: {error}.") from None
        recipe, _ = self._environment_of(method)
        text = dockerfile("method")
        content = sha256(recipe.identity, text, fingerprint)
        tag = f"mdbench-{_docker_name(method.name)}:{content[:12]}"

        def make() -> None:
            self._report(f"building the image {tag}")
            labels = recipe.labels("method") | {"mdbench.content": content}
            with _context(text, labels, self._report) as folder:
                if _fingerprint(_copy(files, folder)) != fingerprint:
                    raise UnavailableError(
                        f"{method.folder} was edited during the build.",
                        "Run the same command again.",
                    )
                docker_cli.build(
                    folder,
                    tag,
                    arguments={"ENVIRONMENT": recipe.tag},
                    network=False,
                    proxies={},
                    on_line=_ignore,
                    program=self._program,
                )

        return _described(recipe, tag, self._once(tag, content, make))

    def save(self, tags: Sequence[str], path: Path) -> None:
        """Write images and their base into one file; a file that is there is replaced at the end.

        Raises
        ------
        UnavailableError
            If the file cannot be written.
        """
        part = path.with_name(f"{path.name}.part")
        environments = []
        for tag in tags:
            image = docker_cli.image(tag, program=self._program) or {}
            labels = image.get("Config", {}).get("Labels") or {}
            parts = labels["mdbench.method"], labels["mdbench.identity"]
            environments.append(_environment_tag(*parts))
        names = [self.base().reference, *environments, *tags]
        try:
            docker_cli.docker(
                ["image", "save", "--output", str(part), *names],
                f"The images cannot be saved in {path}",
                timeout=docker_cli.BUILD_SECONDS,
                program=self._program,
            )
            part.replace(path)
        except OSError as error:
            raise UnavailableError(
                f"The images cannot be saved in {path}: {error}.", "Name another file."
            ) from error
        finally:
            part.unlink(missing_ok=True)

    def build_environment(self, method: Method) -> MethodImage:
        """Build the image of a method's environment alone, or find it built; raises as `build`."""
        recipe, made = self._environment_of(method)
        return _described(recipe, recipe.tag, made)

    def _environment_of(self, method: Method) -> tuple[_Recipe, dict[str, Any]]:
        if method.spec.build:
            raise UnavailableError(
                f"{method.name} is built from its source (build = true), and images are made of "
                "wheels alone.",
                "Run it with --runtime venv.",
            )
        _check_python(method, self.base())
        recipe = self._recipe(
            method.name, method.lock, method.spec.system_packages, method.fetch, method.sources
        )
        made = self._once(recipe.tag, recipe.identity, lambda: self._environment(recipe))
        return recipe, made

    def _recipe(
        self,
        name: str,
        lock: Path,
        system_packages: Sequence[str],
        fetch: Path | None,
        sources: Sequence[Path],
    ) -> _Recipe:
        base = self.base()
        text = read_lock(name, lock).decode(errors="replace")
        bad = [package for package in system_packages if not re.fullmatch(_PACKAGE_NAME, package)]
        if bad:
            raise MethodError(
                f"{name}: system_packages has {bad[0]!r}, which is no name of a Debian package.",
                "Write it like 'libgomp1' in method.toml.",
            )
        try:
            program = "" if fetch is None else fetch.read_text(encoding="utf-8")
            texts = {file.name: file.read_text(encoding="utf-8") for file in sources}
        except (OSError, UnicodeDecodeError) as error:
            raise MethodError(f"What {name} fetches with cannot be read: {error}.") from None
        return _Recipe(
            method=name,
            base=base,
            lock=base_images.lock_for_python(text, base.target),
            system_packages=tuple(sorted(system_packages)),
            dockerfile=dockerfile("environment"),
            fetch=program,
            sources=texts,
        )

    def _once(self, tag: str, content: str, make: Callable[[], None]) -> dict[str, Any]:
        """Make an image unless it is there; of several processes one makes it."""
        image = _image_of(tag, content, self._program)
        if image is None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                with file_lock(self._folder / tag.replace(":", "-"), self._report):
                    image = _image_of(tag, content, self._program)
                    if image is None:
                        with with_heartbeat(self._report, lambda: f"making the image {tag}"):
                            make()
                        image = _image_of(tag, content, self._program)
            except OSError as error:
                raise UnavailableError(
                    f"The image {tag} cannot be made: {error}.",
                    "See to it that the disk has space and that the folder may be written.",
                ) from error
        if image is None:
            raise UnavailableError(f"The image {tag} was built, but the engine does not have it.")
        return image

    def _environment(self, recipe: _Recipe) -> None:
        if recipe.fetch:
            self._fetched(recipe)
            return
        self._report(
            f"building the image {recipe.tag} on {recipe.base.reference}: the packages of "
            f"{recipe.method}, {_HOW_LONG}"
        )
        labels = recipe.labels("environment") | {"mdbench.content": recipe.identity}
        with _context(recipe.dockerfile, labels, self._report) as folder:
            (folder / "wheels").mkdir()
            lock = folder / "wheels" / "requirements.lock"
            lock.write_text(recipe.lock, encoding="utf-8")
            base_images.download(recipe.method, lock, lock.parent, recipe.base.target, self._report)
            if recipe.system_packages:
                _write_apt(folder / "apt", recipe.system_packages)
            _open_to_all(folder)
            try:
                docker_cli.build(
                    folder,
                    recipe.tag,
                    target="environment-with-packages" if recipe.system_packages else "environment",
                    arguments={"BASE_IMAGE": recipe.base.reference},
                    network=bool(recipe.system_packages),
                    proxies=_proxies() if recipe.system_packages else {},
                    on_line=self._report,
                    program=self._program,
                )
            finally:
                self._prune(recipe.identity)
        self._check_base(recipe)

    def _fetched(self, recipe: _Recipe) -> None:
        """Make an environment, and on it what its program fetches (docker/fetching.Dockerfile)."""
        under = replace(recipe, fetch="", sources={})
        self._once(under.tag, under.identity, lambda: self._environment(under))
        self._report(f"building the image {recipe.tag}: {recipe.method} gets what no index has")
        labels = recipe.labels("environment") | {"mdbench.content": recipe.identity}
        with _context(dockerfile("fetching"), labels, self._report) as folder:
            (folder / "fetch").mkdir()
            for file, text in {**recipe.sources, "program.py": recipe.fetch}.items():
                (folder / "fetch" / file).write_text(text, encoding="utf-8")
            _write_authority(folder / "fetch")
            _open_to_all(folder)
            try:
                docker_cli.build(
                    folder,
                    recipe.tag,
                    arguments={"ENVIRONMENT": under.tag},
                    network=True,
                    proxies=_proxies(),
                    on_line=self._report,
                    program=self._program,
                )
            finally:
                self._prune(recipe.identity)
        self._check_base(recipe)

    def _prune(self, identity: str) -> None:
        """Remove the stages that the older builder leaves, with all wheels in them."""
        try:
            docker_cli.docker(
                ["image", "prune", "--force", f"--filter=label=mdbench.stage={identity}"],
                "The stages of the build cannot be removed",
                program=self._program,
            )
        except UnavailableError as error:
            self._report(str(error))

    def _check_base(self, recipe: _Recipe) -> None:
        """Refuse an image that was built while its base's name moved on to another image.

        The name it must be: BuildKit asks a registry for an id.
        """
        made = docker_cli.image(recipe.tag, program=self._program)
        layers = tuple(made["RootFS"].get("Layers") or ()) if made else ()
        if layers[: len(recipe.base.layers)] != recipe.base.layers:
            if made:
                docker_cli.docker(
                    ["image", "rm", recipe.tag],
                    f"{recipe.tag} cannot be removed",
                    program=self._program,
                )
            self._base = None
            raise UnavailableError(
                f"The base image {recipe.base.reference} was replaced during the build.",
                "Run the same command again.",
            )


def _described(recipe: _Recipe, tag: str, made: dict[str, Any]) -> MethodImage:
    return MethodImage(
        id=made["Id"],
        tag=tag,
        identity=recipe.identity,
        python=recipe.base.python,
        packages=base_images.pins(recipe.lock),
        size_mb=round(made["Size"] / 1e6, 1),
        base=made["Config"]["Labels"]["mdbench.base"],
    )


_PACKAGE_NAME = r"[a-z0-9][a-z0-9+.-]+"


def _check_python(method: Method, base: Base) -> None:
    wanted = python_range(method.name, method.spec.python)
    try:
        fits = wanted.contains(base.python.rstrip("+"))
    except InvalidVersion:
        fits = False
    if not fits:
        raise UnavailableError(
            f"{method.name} needs Python {method.spec.python}, but the base image "
            f"{base.reference} has Python {base.python}.",
            "Name a base image with such a Python: MDBENCH_BASE_IMAGE=python:3.X-slim",
        )


def _image_of(tag: str, content: str, program: Program) -> dict[str, Any] | None:
    """Return an image if it is what its tag promises."""
    found = docker_cli.image(tag, program=program)
    labels = (found["Config"].get("Labels") or {}) if found else {}
    return found if labels.get("mdbench.content") == content else None


def _files_of(method: Method) -> dict[str, Path]:
    """Return the files of a method's image by their names in the build's folder."""
    inside = METHODS_IN_IMAGE.lstrip("/")
    places = {f"{PATH_IN_IMAGE.lstrip('/')}/mdbench/worker": _PACKAGE / "worker"}
    for folder in (*method.used, method.folder):
        places[f"{inside}/{method.place_of(folder)}"] = folder
    return {
        f"{place}/{path.relative_to(folder).as_posix()}": path
        for place, folder in places.items()
        for path in files_of(folder)
    }


def _copy(files: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """Copy a method's files into the build's folder; return the copies."""
    copies = {name: folder / name for name in files}
    for name, copy in copies.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(files[name], copy)
    (folder / PATH_IN_IMAGE.lstrip("/") / "mdbench" / "__init__.py").touch()
    _open_to_all(folder)
    return copies


def _fingerprint(files: Mapping[str, Path]) -> str:
    return sha256(
        *(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for name, path in files.items())
    )


@contextmanager
def _context(
    dockerfile: str, labels: Mapping[str, str], report: Callable[[str], None]
) -> Iterator[Path]:
    """Make the folder that is sent to the engine, for as long as it is needed.

    It is claimed: what a run that is killed meanwhile leaves is removed when the next one starts.

    The labels are filled in as one instruction: options of the command would be one each, which
    takes the older builder a second in all.
    """
    pairs = " ".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
    filled = dockerfile.replace("LABEL mdbench=1\n", f"LABEL {pairs}\n")
    filled = filled.replace("mdbench.stage=1\n", f"mdbench.stage={labels['mdbench.content']}\n")
    scratch = Scratch(report)
    try:
        folder = scratch.path / "build"
        folder.mkdir()
        (folder / "Dockerfile").write_text(filled, encoding="utf-8")
        yield folder
    finally:
        scratch.remove()


def _open_to_all(folder: Path) -> None:
    """Make what goes into an image readable for every user, whatever our umask is."""
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _write_apt(folder: Path, packages: Sequence[str]) -> None:
    folder.mkdir()
    (folder / "packages").write_text("".join(f"{each}\n" for each in packages), encoding="utf-8")
    _write_authority(folder)


def _write_authority(folder: Path) -> None:
    authority = read_pip_settings(sys.executable).get("cert") or os.environ.get("SSL_CERT_FILE")
    if authority and Path(authority).expanduser().is_file():
        shutil.copyfile(Path(authority).expanduser(), folder / "ca.pem")


def _proxies() -> dict[str, str]:
    names = ("http_proxy", "https_proxy", "no_proxy")
    proxies = {name: os.environ.get(name) or os.environ.get(name.upper(), "") for name in names}
    proxy = read_pip_settings(sys.executable).get("proxy", "")
    if proxy and not (proxies["http_proxy"] or proxies["https_proxy"]):
        proxies["http_proxy"] = proxies["https_proxy"] = (
            proxy if "://" in proxy else f"http://{proxy}"
        )
    return {name: value for name, value in proxies.items() if value}


def _environment_tag(method_name: str, identity: str) -> str:
    return f"mdbench-env-{_docker_name(method_name)}:{identity[:12]}"


def _docker_name(method_name: str) -> str:
    """Return the part of a tag: unlike a method's name it may not end in a hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", method_name).strip("-")


def _ignore(_line: str) -> None:
    pass
