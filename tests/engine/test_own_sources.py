"""Replays of a user's sampler count only while all that it is made of stays as it is."""

from __future__ import annotations

import sys

import pytest

from engine.replays.searches import identity

FILES = {
    "mine.py": "import helper\nfrom parts.inner import made\n",
    "helper.py": "import further\nimport numpy\n",
    "further.py": "import helper\n",  # in a circle
    "parts/__init__.py": "",
    "parts/inner.py": "def made(space, seed): ...\n",
    "bystander.py": "",
    "pkg_bench/__init__.py": "import helper\n",
    "pkg_bench/deep/sampler.py": "class Sampler: ...\n",
    "lone_bench.py": "import further\nclass Sampler: ...\n",
}
OF_FILE = {"mine.py", "helper.py", "further.py", "parts/__init__.py", "parts/inner.py"}
OF_PACKAGE = {"pkg_bench/__init__.py", "pkg_bench/deep/sampler.py", "helper.py", "further.py"}
OF_MODULE = {"lone_bench.py", "further.py", "helper.py"}


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("{}/mine.py:make", OF_FILE),
        ("pkg_bench.deep.sampler.Sampler", OF_PACKAGE),
        ("lone_bench.Sampler", OF_MODULE),
    ],
)
def test_a_change_in_any_source_of_a_sampler_makes_it_another(
    tmp_path, monkeypatch, name, sources
) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    search = name.format(tmp_path)
    before = identity(search)
    changed = set()
    for path, text in FILES.items():
        (tmp_path / path).write_text(text + "# another\n")
        if identity(search) != before:
            changed.add(path)
        (tmp_path / path).write_text(text)
    assert changed == sources
    assert identity(search) == before
    assert not {"pkg_bench", "lone_bench"} & set(sys.modules)
