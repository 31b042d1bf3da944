"""docs/ as a site: whole, without network, found by search, readable and reachable in a browser."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from browser import PROGRAM, Browser
from harness import ROOT
from sweeps import paired

from mdbench import methods
from mdbench.cli.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.build, pytest.mark.slow]

# Not a reason that a CI machine may have: .ci/run installs a browser.
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no browser: apt install chromium")

SEEN = (
    *("index", "tutorial-data", "results/gallery", "api", "records", "results/results-ode"),
    "search",
)
LEAST_CONTRAST = 4.5
CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const read = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const over = (top, under) => {
    const share = top[3] / 255;
    return under.map((c, i) => top[i] * share + c * (1 - share));
  };
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    return over(read(getComputedStyle(element).backgroundColor), behind(element.parentElement));
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const low = [];
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim(), element = walk.currentNode.parentElement;
    const shown = element.checkVisibility({visibilityProperty: true, opacityProperty: true});
    if (!text || !shown || element.closest('script,style,noscript,svg')) continue;
    const under = behind(element);
    const [a, b] = [light(over(read(getComputedStyle(element).color), under)), light(under)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const where = element.className || element.tagName;
    if (ratio < LEAST) low.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)} in ${where}`);
  }
  return [...new Set(low)];
})()
""".replace("LEAST", str(LEAST_CONTRAST))
UNREACHABLE = """
[...document.querySelectorAll('a,button,input,select,summary,label[for],[role=button],[onclick]')]
  .filter((one) => one.checkVisibility({visibilityProperty: true}))
  .filter((one) => !one.closest('dialog:not([open])'))
  .filter((one) => one.tabIndex < 0 || (one.tagName == 'A' && !one.href) || one.tagName == 'LABEL')
  .map((one) => one.outerHTML.slice(0, 200))
"""
PANELS = """
[...document.querySelectorAll('.bd-article img[src$=".svg"]')]
  .filter((one) => getComputedStyle(one).backgroundColor != 'rgba(0, 0, 0, 0)'
    || getComputedStyle(one).colorScheme != document.documentElement.dataset.theme)
  .map((one) => one.src)
"""
"""Figures on a panel, on which those with the colours of a dark page cannot be read."""
FOUND = """
new Promise((done) => {
  const look = () => {
    const links = [...document.querySelectorAll('#search-results li a')];
    const pages = links.map((link) => link.pathname.split('/').pop());
    pages.includes('report.html') ? done(pages) : setTimeout(look, 50);  // one by one
  };
  look();
})
"""


class _Loads(HTMLParser):
    """Gathers what a page loads by itself, which a link is not."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag != "a":
            found = [given.get(name) for name in ("src", "href", "srcset", "data", "poster")]
            self.addresses += [address for address in found if address]


@pytest.fixture(scope="module")
def site() -> Path:
    done = subprocess.run(
        [ROOT / "scripts" / "docs"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "docs" / "_build" / "html"


def test_a_page_for_every_page_and_none_loads_anything_from_elsewhere(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        loads = _Loads()
        text = (site / f"{page.stem}.html").read_text(encoding="utf-8")
        loads.feed(text)
        assert loads.addresses
        for address in loads.addresses:
            assert not re.match(r"(?:[a-z]+:)?//", address), (page.name, address)
            if not address.startswith(("data:", "#")):
                assert (site / re.split(r"[?#]", address)[0]).is_file(), (page.name, address)
    for style in site.rglob("*.css"):
        assert not re.search(
            r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"]?(?:https?:)?//",
            style.read_text(encoding="utf-8"),
        ), style


def test_pages_that_are_generated_are_whole(site: Path) -> None:
    verbs = (site / "options.html").read_text(encoding="utf-8")
    for name in VERBS.core:
        assert f'<section id="{name.replace(" ", "-")}">' in verbs, name
    table = (site / "methods.html").read_text(encoding="utf-8")
    for name in methods.discover(ROOT / "algorithms"):
        assert re.search(rf'\n<tr.*<td[^>]*><p><a .*<span class="pre">{name}</span>', table), name
    numbers = (site / "results" / "published-numbers.html").read_text(encoding="utf-8")
    assert numbers.count("<tr") > 50


def test_public_names_have_their_entry(site: Path) -> None:
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in (
        "api.run",
        "api.load",
        "worker.Candidate",
        "datatypes.derivation.library.generate",
    ):
        assert f'id="mdbench.{name}"' in text


WINDOWS = ((1280, False), (1280, True), (360, False))
"""Widths, and whether the page is dark."""


@pytest.fixture(scope="module", params=WINDOWS)
def browser(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    width, dark = request.param
    with Browser(tmp_path_factory.mktemp("profile"), width=width, dark=dark) as one:
        yield one


@needs_browser
@pytest.mark.browser
@pytest.mark.parametrize(("browser", "page"), paired(WINDOWS, SEEN), indirect=["browser"])
def test_a_page_can_be_read_and_used(browser: Browser, site: Path, page: str) -> None:
    browser.open(site / f"{page}.html")
    assert browser.problems == []
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run(CONTRAST) == []
    assert browser.run(UNREACHABLE) == []
    assert browser.run(PANELS) == []
    assert all(request.startswith(("file:", "data:")) for request in browser.requests)


@needs_browser
@pytest.mark.browser
def test_search_finds_a_page_from_a_file(site: Path, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as one:
        one.open(site / "search.html", place="?q=Nemenyi")
        asked = one.ask("Runtime.evaluate", expression=FOUND, returnByValue=True, awaitPromise=True)
        assert "report.html" in asked["result"]["value"]
        assert one.problems == []
