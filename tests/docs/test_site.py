"""The pages build as a site: strictly, so that each link and anchor leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from documents import REPOSITORY

# What makes a browser fetch something when it shows the page.
_FETCHED = re.compile(r"""<(?:script|img|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^"' >]+""")


def test_the_site_builds_strictly_and_fetches_nothing(tmp_path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=REPOSITORY,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    first = (tmp_path / "index.html").read_text()
    docs = REPOSITORY / "docs"
    for page in docs.glob("**/*.md"):
        place = page.relative_to(docs).with_suffix("").as_posix()
        name = "pages" if place == "README" else place
        assert f'href="{name}.html"' in first, f"{name} is not in the site's navigation"
    for page in tmp_path.rglob("*.html"):
        assert not _FETCHED.findall(page.read_text()), page.name
