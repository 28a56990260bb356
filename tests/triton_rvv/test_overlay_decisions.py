"""What an overlay decides for a kind of launch is decided once, for thousands of launches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from triton_rvv.launches import overlay as module
from triton_rvv.launches.decorators import decorators_of
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
        followed=["BLOCK", "cdiv", "n"],
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
    calls = calls_of(monkeypatch, "grid_with")
    for _ in range(3):
        launch = launch_of(1000, 63)
        overlay.launch(launch, object)
        assert (launch.kwargs["BLOCK"], launch.grid) == (64, (16, 1, 1))
    assert len(calls) == 1
    launch = launch_of(1000, 62)  # which leaves the rest out, on purpose or not
    overlay.launch(launch, object)
    assert (launch.kwargs["BLOCK"], launch.grid) == (16, (62,))


def rule_by_tuner(launch: Launch, grid: Any) -> Rule:
    """A winner of launches by the autotuner, which chooses the block unless it is passed."""
    bound, decorators = launch.bound, decorators_of(scale_kernel, tuned_kernel)
    signature = signature_of(scale_kernel, bound, {}, (1, 1, 1), decorators)
    return replace(rule_for(launch_of(1000, 63)), call_key=signature.call_key, grid=grid)


def given_to_tuner(launch: Launch, **passed: Any) -> dict[str, Any]:
    return {"grid": launch.grid, "warmup": False, **passed}


def test_an_autotuners_entry_is_found_once_for_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = Launch(scale_kernel, launch_of(1000, 63).args, {}, lambda meta: (meta["BLOCK"],))
    ran: list[int] = []

    def run(*_args: Any, **_kwargs: Any) -> None:
        ran.append(tuned_kernel.configs[0].kwargs["BLOCK"])

    overlay = Overlay([rule_by_tuner(launch, None)], tmp_path / "report")
    calls, given = calls_of(monkeypatch, "configuration_with"), given_to_tuner(launch)
    for _ in range(3):
        overlay.tuned(tuned_kernel, launch.args, given, run)
    assert (ran, len(calls)) == ([64, 64, 64], 1)
    monkeypatch.setattr(tuned_kernel, "configs", tuned_kernel.configs[:2])
    overlay.tuned(tuned_kernel, launch.args, given, run)
    assert len(calls) == 2


def test_an_autotuner_has_its_list_again_after_launches_by_two_threads(tmp_path: Path) -> None:
    launch = Launch(scale_kernel, launch_of(1000, 63).args, {}, lambda meta: (meta["BLOCK"],))
    overlay, given = Overlay([rule_by_tuner(launch, None)], tmp_path / "report"), []
    listed, begun, ended = tuned_kernel.configs, threading.Event(), threading.Event()

    def launch_with(run: Callable[[], object]) -> None:
        def noted(*_args: Any, **_kwargs: Any) -> None:
            given.append(tuned_kernel.configs[0].kwargs["BLOCK"])
            run()

        overlay.tuned(tuned_kernel, launch.args, given_to_tuner(launch), noted)

    def second() -> None:
        begun.set()
        ended.wait(10)

    with ThreadPoolExecutor(1) as threads:
        launch_with(lambda: (threads.submit(launch_with, second), begun.wait(10)))
        ended.set()
    assert given == [64, 64]
    assert tuned_kernel.configs is listed


def test_what_a_launch_passes_to_an_autotuner_is_replaced_as_decided_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_of(1000, 63)
    rule = rule_by_tuner(launch, ("cdiv(n, BLOCK)", "1", "1"))
    overlay, calls = Overlay([rule], tmp_path / "report"), calls_of(monkeypatch, "grid_with")
    ran: list[Any] = []

    def run(*_args: Any, **kwargs: Any) -> None:
        ran.append((kwargs["BLOCK"], kwargs["grid"]))

    for programs, expected in ((63, (64, (16, 1, 1))), (62, (16, (62,)))):
        given = given_to_tuner(launch_of(1000, programs), BLOCK=16)
        for _ in range(2):
            overlay.tuned(tuned_kernel, launch.args, given, run)
        assert ran[-2:] == [expected, expected]
    assert len(calls) == 2


@triton.jit
def noisy_kernel(x, y, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + tl.rand(seed, at), mask=at < n)


def noisy(seed: int) -> Launch:
    return Launch(noisy_kernel, (torch.zeros(64), torch.empty(64), 64, seed), {"BLOCK": 16}, (4,))


def test_a_seed_needs_no_decision_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = Overlay([rule_for(noisy(7))], tmp_path / "report")
    calls = calls_of(monkeypatch, "grid_with")
    for seed in (9, 8, 11, 15):
        launch = noisy(seed)
        overlay.launch(launch, object)
        assert (launch.args[3], launch.kwargs["BLOCK"], launch.grid) == (seed, 64, (1, 1, 1))
    assert len(calls) == 1
    overlay.launch(noisy(1 << 40), object)  # a wider one, for which the kernel is another
    assert len(calls) == 1
    assert list(overlay._uses.values())[-1].rule is None


def test_a_kernel_without_a_winner_is_left_from_its_second_launch_on(tmp_path: Path) -> None:
    overlay = Overlay([rule_for(noisy(7))], tmp_path / "report")
    assert not overlay.leaves(scale_kernel, None)
    launch = launch_of(1000, 63)
    overlay.launch(launch, object)
    assert (launch.kwargs["BLOCK"], overlay.leaves(scale_kernel, None)) == (16, True)
    overlay.launch(noisy(7), object)
    assert not overlay.leaves(noisy_kernel, None)
    another = Overlay([rule_for(launch_of(1000, 63))], tmp_path / "another")
    assert not another.leaves(scale_kernel, None)


def test_arguments_by_name_keep_their_names_and_options_are_added(tmp_path: Path) -> None:
    rule = replace(rule_for(noisy(7)), config={"BLOCK": 64, "num_warps": 2})
    overlay, given = Overlay([rule], tmp_path / "report"), noisy(7)
    x, y, n, seed = given.args
    launch = Launch(noisy_kernel, (x,), {"n": n, "y": y, "seed": seed, "BLOCK": 16}, (4,))
    overlay.launch(launch, object)
    assert launch.args == (x,)
    assert launch.kwargs == {"n": n, "y": y, "seed": seed, "BLOCK": 64, "num_warps": 2}


@triton.jit
def placed_kernel(x, y, n, place, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + place + at, tl.load(x + at, mask=at < n), mask=at < n)


def placed(n: int, place: int) -> Launch:
    x, y = torch.zeros(640), torch.empty(1280)
    return Launch(placed_kernel, (x, y, n, place), {"BLOCK": 96}, (triton.cdiv(n, 96),))


def test_a_place_needs_no_decision_of_its_own_and_a_size_of_the_grid_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were 64 to divide 640 only by chance, no other size would have the winner."""
    rule = rule_for(placed(640, 100))
    overlay = Overlay([rule], tmp_path / "report")
    calls = calls_of(monkeypatch, "reaching")

    def block_of(n: int, place: int) -> int:
        launch = placed(n, place)
        overlay.launch(launch, object)
        return launch.kwargs["BLOCK"]

    assert (block_of(640, 100), len(calls)) == (64, 0)  # the task itself
    assert [block_of(640, place) for place in (101, 102, 103)] == [64] * 3
    assert len(calls) == 1
    assert triton.cdiv(576, 96) == triton.cdiv(560, 96)
    assert [block_of(n, 101) for n in (576, 560, 600)] == [64, 96, 96]
    assert len(calls) == 4
