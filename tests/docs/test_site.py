"""docs/ becomes a site without a broken link, whole, and without anything from the network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed: the site is not built")
pytest.importorskip("material", reason="mkdocs-material is not installed: the site is not built")

LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?([^"'\s>]+)|<link[^>]*\shref=["']?([^"'\s>]+)"""
)


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = built(root, folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def built(project: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    # Not --quiet: it keeps MkDocs from counting the warnings that --strict is about.
    called = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    surroundings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(called, cwd=project, env=surroundings, capture_output=True, text=True, check=False)


@pytest.fixture
def small(root: Path, tmp_path: Path) -> Path:
    """A project with as many pages as a site must have."""
    (tmp_path / "scripts").mkdir()
    for name in ("mkdocs.yml", "scripts/site_hooks.py", "scripts/site_markdown.py"):
        shutil.copy(root / name, tmp_path / name)
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    shutil.copytree(root / "docs" / "assets", tmp_path / "docs" / "assets")
    write(
        tmp_path / "docs" / "reference" / "rules.md",
        "# Rules\n\n[A1](#a1-one)\n\n## a\n\n### A1 one\n\nOne.\n",
    )
    write(tmp_path / "docs" / "reference" / "causes.md", "# Causes\n\n## two\n\n[one](rules.md#a1-one)\n")
    write(tmp_path / "docs" / "index.md", "# Start\n\n[notes](../notes.md), [docs](../docs)\n")
    write(tmp_path / "notes.md", "# Notes\n\n[back](docs/index.md)\n")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def test_a_small_site_is_built(small: Path) -> None:
    done = built(small, small / "site")
    assert done.returncode == 0, done.stderr
    cause = (small / "site" / "reference" / "causes" / "two.html").read_text(encoding="utf-8")
    assert '<a href="../rules/a1-one.html">one</a>' in cause
    start = (small / "site" / "index.html").read_text(encoding="utf-8")
    assert '<a href="repository/notes.html">notes</a>, docs' in start
    assert '<a href="../index.html">back</a>' in (small / "site" / "repository" / "notes.html").read_text(
        "utf-8"
    )


@pytest.mark.parametrize("link", ["gone.md", "reference/causes.md#gone", "../gone.py", "#gone"])
def test_a_broken_link_fails(small: Path, link: str) -> None:
    write(small / "docs" / "index.md", f"# Start\n\n[somewhere]({link})\n")
    done = built(small, small / "site")
    assert done.returncode == 1
    assert "gone" in done.stderr


def test_a_page_that_no_section_holds_fails(small: Path) -> None:
    write(small / "docs" / "lost.md", "# Lost\n")
    done = built(small, small / "site")
    assert done.returncode == 1
    assert "lost.md" in done.stderr


def test_every_page_is_there(site: Path, root: Path) -> None:
    pages = [page.relative_to(root / "docs") for page in root.glob("docs/**/*.md")]
    made = {
        page.with_name("index.html" if page.name == "README.md" else f"{page.stem}.html") for page in pages
    }
    assert [page for page in sorted(made) if not (site / page).is_file()] == []


@pytest.mark.parametrize(
    ("catalogue", "listed"), [("rules", r"\(#(\w+-[\w-]+)\)"), ("causes", r"\(#([\w-]+)\)")]
)
def test_everything_in_a_catalogue_has_a_page(site: Path, root: Path, catalogue: str, listed: str) -> None:
    names = re.findall(listed, (root / "docs" / "reference" / f"{catalogue}.md").read_text(encoding="utf-8"))
    assert len(names) > 50
    assert {f"{name}.html" for name in names} == {
        page.name for page in site.glob(f"reference/{catalogue}/*.html")
    }


def test_nothing_is_loaded_from_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = [one or other for one, other in LOADED.findall(page.read_text(encoding="utf-8"))]
        assert [address for address in loaded if "//" in address] == [], page


def test_code_blocks_are_code(site: Path) -> None:
    """A fence that Python-Markdown did not understand would stand on the page as text."""
    for page in site.rglob("*.html"):
        assert "<p>```" not in page.read_text(encoding="utf-8"), page


def test_the_search_works_from_disk(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "loss-sign-inverted" in index
    assert '<script src="assets/iframe-worker.js">' in (site / "index.html").read_text(encoding="utf-8")
