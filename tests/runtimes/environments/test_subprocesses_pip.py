from __future__ import annotations

import os
import ssl
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.errors import UnavailableError
from mdbench.runtimes.environments.subprocesses import (
    UvSettings,
    read_pip_settings,
    redact,
    uv_settings,
)

if TYPE_CHECKING:
    from pathlib import Path

NO_CERTIFICATES = {"UV_SYSTEM_CERTS": "false"}


def translated(**pip: str) -> dict[str, str]:
    settings = {name.replace("_", "-"): value for name, value in pip.items()}
    return uv_settings(settings, NO_CERTIFICATES).environment


def test_nothing_set_is_nothing_said() -> None:
    assert uv_settings({}, NO_CERTIFICATES) == UvSettings({}, ())


def test_an_index_is_passed_on() -> None:
    assert translated(index_url="https://me:pw@mirror.example/simple") == {
        "UV_DEFAULT_INDEX": "https://me:pw@mirror.example/simple"
    }


def test_with_several_indexes_the_best_of_all_is_taken_as_pip_does() -> None:
    assert translated(extra_index_url="https://a.example/s\nhttps://b.example/s") == {
        "UV_INDEX": "https://a.example/s https://b.example/s",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_folders_that_are_missing_are_left_out(tmp_path: Path) -> None:
    there = tmp_path / "wheels, old"
    there.mkdir()
    uri = there.as_uri()
    found = translated(
        find_links=f"{tmp_path}/missing {uri} https://a.example/links,2 {tmp_path}",
        extra_index_url=f"file://{tmp_path}/missing {uri}",
    )
    # uv takes a comma for a separator here, and only here.
    assert found["UV_FIND_LINKS"].split(",") == [
        uri,
        "https://a.example/links%2C2",
        tmp_path.as_uri(),
    ]
    assert found["UV_INDEX"] == uri
    assert "," not in uri


def test_a_folder_may_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "wheels").mkdir()
    assert translated(find_links="~/wheels")["UV_FIND_LINKS"] == (tmp_path / "wheels").as_uri()


def test_certificates(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.touch()
    assert uv_settings({"cert": str(bundle)}, {}).environment == {"SSL_CERT_FILE": str(bundle)}
    assert uv_settings({"cert": str(tmp_path)}, {}).environment == {"SSL_CERT_DIR": str(tmp_path)}
    # pip's HTTP library heeds this variable where pip has no setting.
    environ = {"REQUESTS_CA_BUNDLE": str(bundle)}
    assert uv_settings({}, environ).environment == {"SSL_CERT_FILE": str(bundle)}
    own = {"SSL_CERT_FILE": "/mine.pem"}
    assert uv_settings({"cert": str(bundle)}, own).environment == {}


@pytest.mark.parametrize("store", ["/etc/ssl/cert.pem", None])
def test_without_a_setting_the_system_is_trusted_if_it_has_certificates(
    monkeypatch: pytest.MonkeyPatch, store: str | None
) -> None:
    paths = SimpleNamespace(cafile=store, capath=None)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    assert uv_settings({}, {}).environment == ({"UV_SYSTEM_CERTS": "true"} if store else {})


@pytest.mark.parametrize("proxy", ["proxy.example:8080", "http://proxy.example:8080"])
def test_a_proxy_is_used_for_both_protocols(proxy: str) -> None:
    url = "http://proxy.example:8080"
    assert translated(proxy=proxy) == {"HTTP_PROXY": url, "HTTPS_PROXY": url}


def test_a_proxy_of_the_environment_stays() -> None:
    environ = NO_CERTIFICATES | {"https_proxy": "http://mine.example"}
    assert uv_settings({"proxy": "other.example:1"}, environ).environment == {}


def test_hosts_client_certificate_and_timeouts() -> None:
    assert translated(
        trusted_host="a.example\n  b.example:8443", client_cert="/me.pem", timeout="2.7"
    ) == {
        "UV_INSECURE_HOST": "a.example b.example:8443",
        "SSL_CLIENT_CERT": "/me.pem",
        "UV_HTTP_TIMEOUT": "3",
    }
    assert translated(default_timeout="180")["UV_HTTP_TIMEOUT"] == "180"
    assert translated(timeout="soon") == {}


def test_no_index_leaves_the_indexes_out(tmp_path: Path) -> None:
    pip = {"no-index": "yes", "index-url": "https://a.example", "find-links": str(tmp_path)}
    found = uv_settings(pip, NO_CERTIFICATES)
    assert found == UvSettings({"UV_FIND_LINKS": tmp_path.as_uri()}, ("--no-index",))
    assert uv_settings(pip | {"no-index": "0"}, NO_CERTIFICATES).arguments == ()


FULL = {
    "index-url": "https://pip.example",
    "extra-index-url": "https://pip.example/2",
    "find-links": "https://pip.example/3",
    "trusted-host": "pip.example",
    "timeout": "7",
    "client-cert": "/pip.pem",
    "cert": "/pip-ca.pem",
    "proxy": "pip.example:1",
}


@given(
    st.sets(
        st.sampled_from(
            [
                *("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"),
                *("UV_INDEX_STRATEGY", "UV_FIND_LINKS", "UV_INSECURE_HOST", "UV_HTTP_TIMEOUT"),
                *("SSL_CLIENT_CERT", "SSL_CERT_FILE", "HTTPS_PROXY", "ALL_PROXY"),
            ]
        )
    )
)
def test_what_is_set_for_uv_is_never_changed(names: set[str]) -> None:
    environ = dict.fromkeys(names, "mine")
    found = uv_settings(FULL, environ).environment
    assert not names & set(found)
    assert ("UV_DEFAULT_INDEX" in found) == (not names & {"UV_DEFAULT_INDEX", "UV_INDEX_URL"})
    assert ("UV_INDEX" in found) == (not names & {"UV_INDEX", "UV_EXTRA_INDEX_URL"})


@given(st.text("ab:@%", min_size=1, max_size=12))
def test_no_part_of_a_login_is_shown(login: str) -> None:
    shown = redact(f"error: https://{login}@host.example/x/@y, ftp://plain.example")
    assert shown == "error: https://***@host.example/x/@y, ftp://plain.example"


@pytest.fixture
def pip_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in os.environ:
        if name.startswith(("PIP_", "XDG_CONFIG")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / ".config/pip/pip.conf"
    file.parent.mkdir(parents=True)
    return file


def test_pip_itself_is_asked(monkeypatch: pytest.MonkeyPatch, pip_file: Path) -> None:
    pip_file.write_text(
        "[global]\ntimeout = 11\nindex-url = https://u:p@a.example/'x'\nretries = 2\n"
        "[install]\nretries = 3\nfind_links =\n    /one\n    /two\n"
        "[download]\nretries = 4\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PIP_TIMEOUT", "22")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "")
    found = read_pip_settings(sys.executable)
    assert found["timeout"] == "22"
    assert found["index-url"] == "https://u:p@a.example/'x'"
    assert found["retries"] == "3"
    assert found["find-links"].split() == ["/one", "/two"]
    assert "trusted-host" not in found


def test_settings_that_pip_cannot_read_are_an_error(pip_file: Path) -> None:
    pip_file.write_text("timeout = 11\n", encoding="utf-8")
    with pytest.raises(UnavailableError, match="pip config debug"):
        read_pip_settings(sys.executable)


def test_without_pip_there_are_no_settings(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    assert read_pip_settings(python) == {}
