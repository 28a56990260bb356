"""What an overlay decides for a kind of launch is decided once, for thousands of launches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from triton_rvv.launches import overlay as module
from triton_rvv.launches.launch import Launch
from triton_rvv.launches.overlay import Overlay
from triton_rvv.launches.rule import Rule
from triton_rvv.launches.signature import signature_of

pytestmark = pytest.mark.usefixtures("on_host")


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


tuned_kernel = triton.autotune([triton.Config({"BLOCK": b}) for b in (16, 32, 64)], key=["n"])(
    scale_kernel
)


def launch_of(n: int, programs: int) -> Launch:
    x = torch.zeros(n)
    return Launch(scale_kernel, (x, torch.empty(n), n), {"BLOCK": 16}, (programs,))


def rule_for(launch: Launch) -> Rule:
    signature = launch.signature()
    return Rule(
        task=signature.key,
        call_key=signature.call_key,
        family=signature.family,
        call_family=signature.call_family,
        kernel=signature.kernel,
        name="scale_kernel",
        sizes=signature.sizes,
        dimensions=signature.dimensions,
        config={"BLOCK": 64},
        grid=("cdiv(n, BLOCK)", "1", "1"),
        is_grid_callable=False,
        followed=["BLOCK"],
        loose=[],
    )


def calls_of(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """The calls of one of the overlay's helpers from now on."""
    calls, helper = [], getattr(module, name)

    def counted(*args: Any) -> Any:
        calls.append(args)
        return helper(*args)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_a_grid_is_computed_once_for_launches_of_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = Overlay([rule_for(launch_of(1000, 63))], tmp_path / "report")
    calls = calls_of(monkeypatch, "_grid_with")
    for _ in range(3):
        launch = launch_of(1000, 63)
        overlay.launch(launch, object)
        assert (launch.kwargs["BLOCK"], launch.grid) == (64, (16, 1, 1))
    assert len(calls) == 1
    launch = launch_of(1000, 62)  # which leaves the rest out, on purpose or not
    overlay.launch(launch, object)
    assert (launch.kwargs["BLOCK"], launch.grid) == (16, (62,))


def test_an_autotuners_entry_is_found_once_for_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_of(1000, 63)
    untuned = replace(rule_for(launch), grid=None, is_grid_callable=True)
    ran: list[int] = []

    def run(*_args: Any, **_kwargs: Any) -> None:
        ran.append(tuned_kernel.configs[0].kwargs["BLOCK"])

    described = Overlay([], tmp_path / "none")
    signatures = calls_of(monkeypatch, "signature_of")
    given = {"grid": lambda meta: (triton.cdiv(1000, meta["BLOCK"]),), "warmup": False}
    described.tuned(tuned_kernel, launch.args, given, run)
    (arguments,) = signatures
    signature = signature_of(*arguments)
    rule = replace(untuned, call_key=signature.call_key)
    del scale_kernel.triton_rvv_overlay_of_tuner
    overlay, calls = Overlay([rule], tmp_path / "report"), calls_of(monkeypatch, "_configuration")
    ran.clear()
    for _ in range(3):
        overlay.tuned(tuned_kernel, launch.args, given, run)
    assert (ran, len(calls)) == ([64, 64, 64], 1)
    tuned_kernel.configs = tuned_kernel.configs[:2]
    overlay.tuned(tuned_kernel, launch.args, given, run)
    assert len(calls) == 2
