"""What MkDocs is told about docs/: the navigation, the catalogues page by page, and GitHub's Markdown.

docs/ is written to be read on GitHub and in an editor. For the site,

- a section of the navigation is what its folders hold (`extra.sections` of mkdocs.yml names folders);
- the rules and the causes, two long pages, become one page for each;
- a link to a file of the repository outside docs/ leads to a copy that the site carries;
- Markdown that GitHub and Python-Markdown read differently is written as both read it (site_markdown.py).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))  # a hook is loaded by its path

from site_markdown import for_python_markdown, linked, outside_fences, promoted

ROOT = Path(__file__).resolve().parent.parent
CARRIED = "repository"  # where the site keeps files of the repository that pages link to
# Pages that are cut at their headings of this level; those above it are the groups.
CATALOGUES = {"reference/rules.md": 3, "reference/causes.md": 2}
Part = tuple[str, str, str]  # the group, the anchor on the long page, the text with its own title

_origins: dict[str, str] = {}  # of a page that is no file of docs/: the page its links start from
_parts: dict[str, dict[str, str]] = {}  # of a catalogue: its anchors, and the page of each


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give every section the pages of its folders."""
    docs = Path(config.docs_dir)
    config.nav = [
        {title: [entry for place in places for entry in _entries(docs, place)]}
        for title, places in config.extra["sections"].items()
    ]
    return config


def _entries(docs: Path, place: str) -> Iterator[Any]:
    """The page itself, or the pages of a folder: its README first, then by name."""
    folder = docs / place
    files = [folder] if folder.is_file() else sorted(folder.glob("*.md"), key=_readme_first)
    for file in files:
        uri = file.relative_to(docs).as_posix()
        yield uri
        if uri in CATALOGUES:
            yield {f"All {file.stem}": list(_catalogue_entries(file, uri))}


def _readme_first(file: Path) -> tuple[bool, str]:
    return file.name != "README.md", file.name


def _catalogue_entries(file: Path, uri: str) -> Iterator[Any]:
    groups: dict[str, list[str]] = {}
    for group, anchor, _ in cut(file.read_text("utf-8"), CATALOGUES[uri]):
        groups.setdefault(group, []).append(_part_uri(uri, anchor))
    for group, uris in groups.items():
        yield from [{group: uris}] if group else uris


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the parts of the catalogues, and what pages link to outside docs/."""
    for uri in CATALOGUES:
        text = Path(config.docs_dir, uri).read_text("utf-8")
        for _, anchor, part in cut(text, CATALOGUES[uri]):
            made = _part_uri(uri, anchor)
            files.append(File.generated(config, made, content=part))
            _origins[made] = uri
            _parts.setdefault(uri, {})[anchor] = made
    for page in list(files.documentation_pages()):
        for target in _leading_out(page):
            carried = f"{CARRIED}/{target}"
            if carried not in files.src_uris and (ROOT / target).is_file():
                files.append(File.generated(config, carried, content=(ROOT / target).read_bytes()))
                _origins[carried] = f"../{target}"
    return files


def _leading_out(page: File) -> Iterator[str]:
    """The files of the repository, outside docs/, that a page links to."""
    origin = _origins.get(page.src_uri, page.src_uri)
    for link in linked(page.content_string):
        target = _target(origin, link.partition("#")[0])
        if "://" not in link and target.startswith("../"):
            yield target.removeprefix("../")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page as Python-Markdown reads it, with links that hold on the site."""
    uri = page.file.src_uri
    if uri.startswith(f"{CARRIED}/"):
        page.meta["search"] = {"exclude": True}  # whoever searches wants the documentation
    if uri in CATALOGUES:
        markdown = re.split(r"^## ", markdown, maxsplit=1, flags=re.MULTILINE)[0]
    return for_python_markdown(outside_fences(markdown, lambda text: _with_links(text, uri)))


def _with_links(text: str, uri: str) -> str:
    def put(found: re.Match[str]) -> str:
        link = _on_the_site(found["link"], uri)
        return f"[{found['label']}]({link})" if link else found["label"]

    return re.sub(r"\[(?P<label>[^\]\[]+)\]\((?P<link>[^)\s]+)\)", put, text)


def _on_the_site(link: str, uri: str) -> str:
    """Where a link of the page leads on the site; nowhere if it names a folder of the repository."""
    if "://" in link or link.startswith("mailto:"):
        return link
    origin = _origins.get(uri, uri)
    file, _, anchor = link.partition("#")
    target = _target(origin, file) if file else origin
    if anchor in _parts.get(target, {}):
        return relpath(_parts[target][anchor], dirname(uri) or ".")
    if target == uri:
        return link
    if target.startswith("../"):
        if (ROOT / target.removeprefix("../")).is_dir():
            return ""
        target = f"{CARRIED}/{target.removeprefix('../')}"
    return relpath(target, dirname(uri) or ".") + (f"#{anchor}" if anchor else "")


def _target(origin: str, file: str) -> str:
    """The file that a link of a page leads to, as seen from docs/."""
    return normpath(join(dirname(origin), file)).removeprefix("../docs/")


def cut(text: str, level: int) -> Iterator[Part]:
    """The parts of a long page at its headings of one level."""
    group = ""
    for part in re.split(rf"^(?=#{{2,{level}}} )", text, flags=re.MULTILINE)[1:]:
        hashes, _, title = part.partition("\n")[0].partition(" ")
        if len(hashes) < level:
            group = title
        else:
            yield group, _anchor(title), promoted(part, by=level - 1)


def _part_uri(catalogue: str, anchor: str) -> str:
    return f"{os.path.splitext(catalogue)[0]}/{anchor}.md"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-")
