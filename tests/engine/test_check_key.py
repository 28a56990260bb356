"""What the power-of-two key costs, measured on the emulated board and used by lookups."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import engine
from engine import check_key
from foundation.errors import UserError


@pytest.mark.long
def test_the_keys_winner_is_measured_at_the_shape(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ray_for_tests: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    # Random search with another seed would hardly meet the key's winner by itself.
    command = ["matmul", "--shape", "M=9,N=17,K=9", "--trials", "10", "--sampler", "random"]
    command += ["--jobs", "1"]
    assert check_key.main([*command, "--limit", "5"]) == 1
    first, verdict = capsys.readouterr().out.splitlines()
    said = re.fullmatch(
        r"M=9,N=17,K=9: the winner of M=16,N=32,K=16 takes ([\d.]+)% longer than the best of 1\d, "
        r"estimated",
        first,
    )
    assert said is not None
    assert (
        verdict == f"worst {said[1]}% (estimated), limit 5.0%: the power-of-two key costs too much"
    )
    at_shape = engine.lookup("matmul", M=9, N=17, K=9)
    at_key = engine.lookup("matmul", M=16, N=32, K=16)
    time_s = at_shape.winner.times_s[at_key.config]
    assert float(said[1]) == pytest.approx(100 * (time_s / at_shape.winner.time_s - 1), abs=0.051)
    # Another shape of the same key is served by it where that may cost so much, and not else.
    cost = time_s / at_shape.winner.time_s - 1
    assert cost > 0.05
    for max_key_cost, how in [(cost + 1e-6, "power-of-two"), (cost - 1e-6, "nearest")]:
        found = engine.lookup("matmul", M=10, N=18, K=10, max_key_cost=max_key_cost)
        assert found.how == how


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["matmul"], "give --shape"),
        (["matmul", "--shape", "M=16,N=32,K=64"], "are powers of two"),
        (["matmul", "--shape", "M=3", "--trials", "9"], "at least 10"),
        (["matmul", "--shape", "M=3", "--limit", "-1"], "^--limit: must be a percentage, not -1 "),
    ],
)
def test_mistakes_are_told_before_anything_is_tuned(arguments: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        check_key.main(arguments)
