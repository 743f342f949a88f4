"""The documentation site builds without a warning, its notebooks run, and people can read it in a browser."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

for _tool in ("furo", "ipykernel", "latex2mathml", "myst_nb"):
    pytest.importorskip(_tool, reason='the site\'s tools are not installed: pip install -e ".[docs]"')

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs"
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object|input|track)\b[^>]*?\s(?:src|srcset|data)\s*=\s*["']([^"']+)"""
    r"""|<link\b[^>]*?\shref\s*=\s*["']([^"']+)"""
)
"""Addresses that a browser loads by itself; links that a reader follows are no such."""
STYLED = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as CONTRIBUTING says."""
    out = tmp_path_factory.mktemp("site") / "html"
    command = [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-q", str(DOCS), str(out)]
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    return out


def test_it_has_a_page_for_every_source(site: Path) -> None:
    sources = [path.relative_to(DOCS) for ending in ("md", "ipynb") for path in DOCS.rglob(f"*.{ending}")]
    expected = [path.with_suffix(".html") for path in sources if not {"_build", "generated"} & set(path.parts)]
    assert len(expected) > 40 and [page for page in expected if not (site / page).is_file()] == []


def test_nothing_that_a_browser_loads_is_on_another_host(site: Path) -> None:
    pages = [(path, LOADED) for path in site.rglob("*.html")] + [(path, STYLED) for path in site.rglob("*.css")]
    assert len(pages) > 40
    found = [
        f"{path.relative_to(site)}: {address}"
        for path, pattern in pages
        for match in pattern.findall(path.read_text(encoding="utf-8"))
        for address in match
        if re.match(r"(?:[a-z]+:)?//", address)
    ]
    assert found == []


def test_formulae_are_mathml_and_need_no_script(site: Path) -> None:
    assert "<math " in (site / "papers" / "two_afc.html").read_text(encoding="utf-8")
    pages = [path.read_text(encoding="utf-8").lower() for path in site.rglob("*.html")]
    assert not any(re.search(r"<script[^>]*(?:mathjax|katex)", page) for page in pages)


def test_commands_settings_and_scores_are_those_of_the_code(site: Path) -> None:
    from eyechart.evaluators import list_tasks
    from eyechart.metrics import list_metrics

    commands, settings, scores = (
        (site / "reference" / f"{name}.html").read_text(encoding="utf-8") for name in ("commands", "settings", "scores")
    )
    assert "leaderboard build" in commands
    # Options can be pasted, and stand in the groups of `--help`.
    assert "--judge-arg" in commands and not re.search(r"\u2013[a-z]", commands + settings)
    headings = [commands.index(f"<strong>{name}</strong>") for name in ("Options", "Model on a server", "Judge")]
    assert headings == sorted(headings)
    assert all(task in settings for task in list_tasks()) and "shuffle_seed" in settings
    assert all(metric in scores for metric in list_metrics())


PAGES = ("index", "papers/two_afc", "topics/intervals", "reference/commands", "notebooks/compare_runs", "search")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_axe_finds_nothing(
    site: Path, serve: Callable[[Path], str], browser: Any, axe: Callable[[Chrome], list[str]], dark: bool, width: int
) -> None:
    driver, address = browser(width, 900, dark=dark), serve(site)
    found = {}
    for page in PAGES:
        driver.get(f"{address}{page}.html")
        found[page] = axe(driver)
    assert found == {page: [] for page in PAGES}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_front_pages_are_wide_enough(
    site: Path, tmp_path: Path, serve: Callable[[Path], str], browser: Any, dark: bool
) -> None:
    """The site's and the checkout's; the second as plain Markdown, on a page without a style of its own."""
    from markdown_it import MarkdownIt

    (tmp_path / "docs").symlink_to(DOCS)
    body = MarkdownIt("commonmark").enable("table").render((DOCS.parent / "README.md").read_text(encoding="utf-8"))
    style = "body { max-width: 60rem; margin: 2rem auto; font-family: sans-serif } img { max-width: 100% }"
    page = f'<!doctype html><html lang="en"><meta name="color-scheme" content="light dark"><style>{style}</style>{body}'
    (tmp_path / "readme.html").write_text(page, encoding="utf-8")
    driver = browser(1280, 1600, dark=dark)
    for folder, name in ((site, "index"), (tmp_path, "readme")):
        driver.get(f"{serve(folder)}{name}.html")
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        loaded = "return [...document.images].every((image) => image.complete && image.naturalWidth > 0)"
        assert driver.execute_script(loaded)
