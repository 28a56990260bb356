"""Files of configurations by ranges of M: which range a size is in, and the way there and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.results.gemm_json import (
    bucket_of,
    buckets,
    commonest,
    config_for,
    gemm_json_name,
    read_gemm_json,
    write_gemm_json,
)
from foundation.config import Config
from foundation.errors import UserError


def config(m: int) -> Config:
    return Config({"BLOCK_SIZE_M": m, "cache_modifier": ".cg"})


@pytest.mark.parametrize(
    ("m", "bucket"),
    [
        (1, "small"),
        (31, "small"),
        (32, "medium_M32"),
        (33, "medium_M64"),
        (64, "medium_M64"),
        (65, "medium_M128"),
        (128, "medium_M128"),
        (129, "large"),
        (256, "large"),
        (257, "xlarge"),
    ],
)
def test_ranges_are_those_of_the_guide(m: int, bucket: str) -> None:
    assert bucket_of(m) == bucket


def test_each_winner_has_its_ranges_under_both_names() -> None:
    found = buckets({m: config(m) for m in (16, 8, 64, 512, 4096)})
    assert {name: c["BLOCK_SIZE_M"] for name, c in found.items()} == {
        "small": 16,
        "medium_M64": 64,
        "xlarge": 4096,
        "M_LEQ_8": 8,
        "M_LEQ_16": 16,
        "M_LEQ_64": 64,
        "M_LEQ_512": 512,
        "M_LEQ_4096": 4096,
        "M_GEQ_4096": 4096,
        "any": 4096,
    }


def test_size_beyond_every_bound_is_still_written() -> None:
    found = buckets({20000: config(1), 2: config(2)})
    assert found["M_GEQ_8192"] == found["xlarge"] == found["any"] == config(1)
    assert "M_LEQ_4" in found


def test_loader_takes_the_least_range_that_holds_m() -> None:
    found = buckets({m: config(m) for m in (8, 64, 512)})
    assert [config_for(found, m)["BLOCK_SIZE_M"] for m in (1, 8, 9, 64, 100, 512, 9999)] == [
        8,
        8,
        64,
        64,
        512,
        512,
        512,
    ]
    with pytest.raises(UserError, match="M = 100"):
        config_for({"M_LEQ_64": config(1)}, 100)


def test_default_has_the_commonest_of_each_range() -> None:
    files = [{"any": config(1), "small": config(4)}, {"any": config(2)}, {"any": config(2)}]
    assert commonest(files) == {"any": config(2), "small": config(4)}
    assert commonest([{"any": config(3)}, {"any": config(2)}]) == {"any": config(3)}


def test_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    found = buckets({16: config(16), 32: config(32)})
    path = write_gemm_json(tmp_path / "configs", "emulated:x60", "A8W8-N=16-K=8", found)
    assert path.name == "emulated-x60-GEMM-A8W8-N=16-K=8.json"
    assert read_gemm_json(path) == found
    assert list(json.loads(path.read_text())) == list(found)


def test_device_names_become_file_names() -> None:
    assert gemm_json_name("ssh://me@host:22", "T") == "ssh-me-host-22-GEMM-T.json"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('{"any": {"BLOCK_SIZE_M": 16},\n "tiny": {"BLOCK_SIZE_M": 16}}', 2, "tiny is not a range"),
        ('{"any": 16}', 1, "16 is not a configuration"),
        ('{"any": {"BLOCK_SIZE_M":\n [16]}}', 2, "BLOCK_SIZE_M is a list"),
        ('{"any": {"A": 1},\n\n "any": {"A": 2}}', 3, "any is given twice"),
        ("[1, 2]", 1, "not a file of configurations"),
        ('{"any": {"A": 1}', 1, "YAML or JSON"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "found.json"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_gemm_json(path)
    assert f"{path}, line {line}: " in str(caught.value)
    assert says in str(caught.value)
