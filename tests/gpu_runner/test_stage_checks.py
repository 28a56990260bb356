"""Builds that exceed a GPU's registers or shared memory end before Triton's slow stages."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
import triton
import triton.language as tl
from gpus import H200, MI300X

from gpu_runner.compile import compile_kernel, kernel_input
from gpu_runner.detect import target_of
from gpu_runner.errors import GpuCompileError
from gpu_runner.stage_checks import carried_registers
from rvv_runner.board import BoardInfo

MODULE = 'module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 32 : i32} {'
LOOPS = """
    %0:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %c = %z) -> \
(tensor<64xf16, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64x128xf32, #mma>, \
tensor<64x!tt.ptr<f32>, #blocked>)  : i32 {
    }
    %1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (i32) : i32 {
    %2 = tt.load %p : tensor<512x512x!tt.ptr<f32>, #blocked>
    %3 = arith.addf %2, %2 : tensor<512x512xf32, #blocked>
    %4:2 = scf.while (%a = %x, %b = %y) : (tensor<8xf64, #b>, i1) -> (tensor<8xf64, #b>, i1) {
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def test_the_loop_that_carries_most_counts_and_pointers_do_not() -> None:
    first, _, rest = LOOPS.partition("%1 =")
    assert carried_registers(MODULE + first) == (64 * 128 * 32 + 64 * 16) // 32 // 64
    assert carried_registers(MODULE + rest.replace("<8x", "<64x")) == 2
    assert carried_registers(MODULE + LOOPS) == carried_registers(MODULE + first)
    assert carried_registers(MODULE + rest.partition("%4")[0]) == 0


def test_offsets_do_not_count_and_sums_of_integers_do() -> None:
    """Of 128 by 128 offsets, LLVM keeps one or two for each thread: nothing was spilled."""
    first, _, _ = LOOPS.partition("%1 =")
    assert carried_registers(MODULE + first.replace("128xf32, #mma", "128xi32, #blocked")) == 0
    assert carried_registers(MODULE + first.replace("128xf32", "128xi32")) == 128


def test_the_programs_of_a_cluster_have_a_part_of_its_blocks_each() -> None:
    first, _, _ = LOOPS.partition("%1 =")
    pair = MODULE.replace("{", '{"ttg.num-ctas" = 2 : i32, ', 1)
    assert carried_registers(pair + first) == carried_registers(MODULE + first) // 2


@triton.jit
def sums_kernel(x, y, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for step in range(n):
        total += tl.load(x + step * ROWS * COLUMNS + at)
    tl.store(y + at, total)


@pytest.mark.parametrize(("gpu", "columns"), [(H200, 512), (MI300X, 1024)])
def test_a_loop_that_would_spill_in_each_step_is_refused_early(
    gpu: BoardInfo, columns: int
) -> None:
    assert gpu.gpu is not None
    target = target_of(gpu)
    signature = kernel_input(sums_kernel, [], {"x": None, "y": None, "n": 1}, {}, target)
    types = (("x", "*fp32"), ("y", "*fp32"), ("n", "i32"), *signature.signature[3:])
    rows = 4 * target.warp_threads  # of 4 warps: a register per thread for each column

    def make(count: int) -> None:
        constants = (("ROWS", rows), ("COLUMNS", count))
        made_from = replace(signature, signature=types, constants=constants)
        compile_kernel(sums_kernel, made_from, target, gpu.gpu)

    make(32)
    start_s = time.process_time()
    most = gpu.gpu.registers_per_thread
    with pytest.raises(GpuCompileError, match=rf"carries {columns} registers.* are {most}:"):
        make(columns)
    assert time.process_time() - start_s < 10


@triton.jit
def accumulator_kernel(x_ptr):
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    x = tl.load(x_ptr + at)
    total = tl.dot(x, x, tl.zeros((32, 32), tl.int32))
    tl.store(x_ptr + at, total.to(tl.int8))


def test_what_triton_refuses_without_a_message_names_the_line() -> None:
    target = target_of(H200)
    given = kernel_input(accumulator_kernel, [], {"x_ptr": None}, {}, target)
    made_from = replace(given, signature=(("x_ptr", "*i8"),), constants=())
    line = r"test_stage_checks\.py:\d+: Triton does not accept `total = tl\.dot\(x, x, .*"
    with pytest.raises(GpuCompileError, match=line + "AssertionError in its semantic"):
        compile_kernel(accumulator_kernel, made_from, target)
