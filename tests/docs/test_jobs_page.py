"""The files shown on the pages about jobs and lookups are such files, and the code runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from documents import REPOSITORY, code_blocks

from engine.jobs.gemm_files import read_sizes
from engine.jobs.shape_list import read_shape_list
from engine.results.gemm_json import bucket_of, read_gemm_json
from foundation.errors import UserError

PAGE = REPOSITORY / "docs/guides/jobs.md"


def blocks(language: str) -> list[str]:
    return [block.text for block in code_blocks(PAGE) if block.language == language]


def test_files_on_the_page_are_read(tmp_path: Path) -> None:
    sizes, results, shapes = blocks("yaml")
    path = tmp_path / "sizes.yaml"
    path.write_text(sizes)
    assert [entry.problem.spec.name for entry in read_sizes(path)][-1] == "split_k_matmul"
    path.write_text(results)
    (entry,) = read_sizes(path)
    assert entry.config is not None
    path.write_text(shapes)
    ours = read_shape_list(REPOSITORY / "studies/small_products.yaml")
    assert replace(read_shape_list(path), path=ours.path) == ours


def test_json_on_the_page_is_of_the_list_that_the_page_tunes(tmp_path: Path) -> None:
    (text,) = blocks("json")
    path = tmp_path / "found.json"
    path.write_text(text)
    found = read_gemm_json(path)
    group = read_shape_list(REPOSITORY / "studies/small_products.yaml").groups[-1]
    assert {bucket_of(problem.shape["M"]) for problem in group.problems} <= set(found)
    problem = group.problems[0]
    assert all(set(config) == set(problem.default_config) for config in found.values())


def test_mistake_on_the_page_is_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sizes.yaml").write_text("- {M: 16, N: 16, K: 16}\n- {M: -16, N: 16, K: 16}\n")
    with pytest.raises(UserError) as caught:
        read_sizes(Path("sizes.yaml"))
    assert f"rvv-tune: {caught.value}\n" in blocks("")
