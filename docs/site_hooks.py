"""Brings pages from outside docs/ into the site, and points links at where pages stand there."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files

__all__ = ["on_files", "on_page_markdown"]

_PROJECT = Path(__file__).resolve().parents[1]
# Pages of the site whose text stands elsewhere in the project: the first page is the README.
_BROUGHT = {
    "index.md": "README.md",
    "pages.md": "docs/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "studies.md": "studies/README.md",
}
_PAGES = {source: page for page, source in _BROUGHT.items()}
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<path>[^()\s#:]+)(?P<anchor>#[^()\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages from outside; docs/README.md becomes a page of its own beside the first."""
    for file in [file for file in files if file.src_uri in _BROUGHT or file.src_uri == "README.md"]:
        files.remove(file)
    for page, source in _BROUGHT.items():
        files.append(File.generated(config, page, content=(_PROJECT / source).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Points links to pages at their place in the site; other files are named without a link.

    In the site's search, notes come after the pages for users.
    """
    if page.file.src_uri.startswith("notes/"):
        page.meta["search"] = {"boost": 0.001}  # a word in a title counts 1000 times
    source = _BROUGHT.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    folder = PurePosixPath(source).parent
    place = PurePosixPath(page.file.src_uri).parent

    def in_the_site(link: re.Match[str]) -> str:
        target = normpath(str(folder / link["path"]))
        if not (_PROJECT / target).exists():
            return link[0]
        if target in _PAGES or target.startswith("docs/"):
            there = _PAGES.get(target, target.removeprefix("docs/"))
            return f"[{link['text']}]({relpath(there, place)}{link['anchor'] or ''})"
        return f"{link['text']} (`{target}`)"

    return _LINK.sub(in_the_site, markdown)
