"""On a GPU, a launch like one before it goes straight to the winner's code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

from triton_rvv.launches.decorators import decorators_of
from triton_rvv.launches.interception import intercept
from triton_rvv.launches.launch import Launch
from triton_rvv.launches.overlay import Overlay
from triton_rvv.launches.rule import Rule
from triton_rvv.launches.signature import signature_of

pytestmark = pytest.mark.gpu

SCALE = tl.constexpr(2)


@triton.jit
def scale_kernel(x, y, n, seed, add: tl.constexpr = 1, BLOCK: tl.constexpr = 32):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, SCALE * tl.load(x + at, mask=at < n) + add + 0 * seed, mask=at < n)


tuned_kernel = triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], key=["n"])(
    scale_kernel
)


def programs(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What Triton itself launched, by its blocks."""
    blocks, run = [], JITFunction.run

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        blocks.append(kwargs["BLOCK"])
        return run(self, *args, **kwargs)

    monkeypatch.setattr(JITFunction, "run", counted)
    return blocks


@pytest.fixture
def watched(launched: list[int], tmp_path: Path) -> Iterator[None]:
    """Launches of 1,000 elements have a winner, by the kernel and by its autotuner."""
    x = torch.ones(1000, device="cuda")
    launch = Launch(scale_kernel, (x, x.clone(), 1000, 5), {"BLOCK": 32}, programs)
    by_tuner = signature_of(
        scale_kernel, launch.bound, {}, (1, 1, 1), decorators_of(scale_kernel, tuned_kernel)
    )
    signature = launch.signature()
    rule = Rule(
        task=signature.key,
        call_key=by_tuner.call_key,
        family=signature.family,
        call_family=by_tuner.call_family,
        kernel=signature.kernel,
        name="scale_kernel",
        sizes=signature.sizes,
        dimensions=signature.dimensions,
        config={"BLOCK": 128, "num_warps": 2},
        grid=None,
        is_grid_callable=True,
        followed=["BLOCK"],
        loose=["BLOCK"],
    )
    undo = intercept(Overlay([rule], tmp_path / "report"))
    yield
    undo()


def by_kernel(x: torch.Tensor, y: torch.Tensor, seed: int = 5) -> Any:
    return scale_kernel[programs](x, y, len(x), seed=seed, BLOCK=32)


def by_tuner(x: torch.Tensor, y: torch.Tensor, seed: int = 5) -> Any:
    return tuned_kernel[programs](x, y, len(x), seed=seed)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("call", [by_kernel, by_tuner])
def test_launches_of_a_kind_go_through_triton_once(
    call: Callable[..., Any], launched: list[int]
) -> None:
    results = []
    for seed in (5, 6, 7):  # of one doubling, so of one decision
        x = torch.rand(1000, device="cuda")
        y = torch.full_like(x, torch.nan)
        results.append(call(x, y, seed))
        torch.testing.assert_close(y, 2 * x + 1)
    assert launched == [128]
    assert results[0] is results[1] is results[2]
    assert call(x, y, 21) is results[0]
    assert launched == [128, 128]
    x = torch.rand(1001, device="cuda")[1:]  # not aligned, so the code is another
    y = torch.full_like(x, torch.nan)
    call(x, y)
    torch.testing.assert_close(y, 2 * x + 1)
    assert len(launched) > 2


@pytest.mark.usefixtures("watched")
def test_hooks_are_called_and_changed_globals_are_refused(
    launched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = torch.rand(1000, device="cuda"), torch.empty(1000, device="cuda")
    for _ in range(2):
        by_kernel(x, y)
    assert launched == [128]
    heard: list[int] = []
    monkeypatch.setattr(scale_kernel, "pre_run_hooks", [lambda *args, **kwargs: heard.append(1)])
    by_kernel(x, y)
    assert (heard, launched) == ([1], [128, 128])
    monkeypatch.setattr(scale_kernel, "pre_run_hooks", [])
    monkeypatch.setitem(globals(), "SCALE", tl.constexpr(3))
    with pytest.raises(RuntimeError, match="SCALE has changed"):
        by_kernel(x, y)
