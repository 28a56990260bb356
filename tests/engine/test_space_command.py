"""The command that says what may be tried."""

from __future__ import annotations

import json

import pytest

from engine import space
from foundation.errors import UserError


def lines(text: str) -> list[dict[str, str]]:
    return [dict(f.split("=", 1) for f in line.split("\t")) for line in text.splitlines()]


def test_sizes_rules_and_samples_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert space.main(["matmul", "--shape", "M=64,N=64,K=64", "--samples", "3"]) == 0
    printed = capsys.readouterr().out
    assert space.main(["matmul", "--shape", "M=64,N=64,K=64", "--samples", "3"]) == 0
    assert capsys.readouterr().out == printed
    first, *rest = lines(printed)
    pruned = sum(int(line["pruned"]) for line in rest if "rule" in line)
    assert int(first["combinations"]) == int(first["valid"]) + pruned
    assert first["exact"] == "yes"
    assert pruned > 0
    assert all(line["reason"] for line in rest if "rule" in line)
    assert sum("sample" in line for line in rest) == 3
    assert {line["parameter"] for line in rest if "parameter" in line} == {
        "BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M"
    }  # fmt: skip


def test_json_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert space.main(["softmax", "--json", "--samples", "100"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["valid"] == len(record["samples"])
    assert record["default"] in record["samples"]
    assert record["soft_rules"] == []


def test_a_mistake_is_one_sentence() -> None:
    with pytest.raises(UserError, match="did you mean --samples"):
        space.main(["matmul", "--sample", "3"])
