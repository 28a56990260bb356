"""Code for cores and profiles by name: what it uses, and that it is right."""

from __future__ import annotations

import re

import pytest
import torch
import triton
import triton.language as tl
from pairs import in_turn
from qemu_kernels import Expected
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from rvv_runner.board import BoardInfo
from triton_rvv.compile_command import read_target
from triton_rvv.pipeline import compile_kernel
from triton_rvv.runtime.qemu import QemuError, cpu_option, find_qemu
from triton_rvv.targets.cores import CORES
from triton_rvv.targets.target import RVVTarget

N = 64


@triton.jit
def mix_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(out_ptr + at, tl.where(x > y, x + y, x * y))


def instructions(dtype: str, target: RVVTarget) -> set[str]:
    signature = dict.fromkeys(("x_ptr", "y_ptr", "out_ptr"), f"*{dtype}")
    assembly = compile_kernel(mix_kernel, signature, {"BLOCK": N}, target).assembly
    return set(re.findall(r"^\s+(v[\w.]+)", assembly, re.MULTILINE))


@pytest.mark.parametrize("name", CORES)
def test_every_core_compiles(name):
    target = RVVTarget.named(name)
    assert target.vlen_bits == CORES[name].vlen_bits
    assert "vfadd.vv" in instructions("fp32", target)


@pytest.mark.parametrize(
    ("name", "computes_fp16", "converts_bf16"),
    [("x60", True, False), ("x100", True, True), ("rva23", False, False)],
)
def test_a_core_gets_the_instructions_that_it_has(name, computes_fp16, converts_bf16):
    """RVA23 leaves arithmetic in fp16 to each core; everybody may convert and compute in fp32."""
    target = RVVTarget.named(name)
    assert ("vfwcvt.f.f.v" not in instructions("fp16", target)) == computes_fp16
    assert ("vfwcvtbf16.f.f.v" in instructions("bf16", target)) == converts_bf16


def test_a_profile_has_the_vector_length_that_is_asked_for():
    assert read_target("rva23") == RVVTarget.named("rva23", 256)
    assert read_target("rva23:128") == RVVTarget.named("rva23", 128)
    assert read_target("rva23:128") != read_target("rvv128")


def test_boards_and_triton_name_cores_alike():
    board = BoardInfo("desk", "k3", "x100", 256, cores=8, frequency_hz=2.4e9)
    assert board.target == RVVTarget.named("x100")
    signature = dict.fromkeys(("x_ptr", "y_ptr", "out_ptr"), "*bf16") | {"BLOCK": "constexpr"}
    source = ASTSource(mix_kernel, signature, {"BLOCK": N})
    compiled = triton.compile(source, target=GPUTarget("rvv", "x100", 256))
    assert '"target-features"="' + RVVTarget.named("x100").features in compiled.asm["llir"]


def test_builds_for_other_extensions_have_another_name():
    names = {str(RVVTarget.named(name, 256)) for name in ("generic-rv64", "x100", "rva23")}
    assert len(names) == 3


@pytest.fixture(scope="module")
def newer_qemu():
    """Versions before 8.2 lack extensions of RVA23."""
    try:
        cpu_option(find_qemu(), RVVTarget.named("x100"))
    except QemuError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("newer_qemu")
@pytest.mark.parametrize(
    ("core", "dtype"), in_turn(["x100", "rva23"], [torch.float16, torch.bfloat16])
)
def test_code_of_newer_cores_is_right(run, core, dtype):
    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(N, generator=generator).to(dtype) for _ in range(2))
    x[:4] = torch.tensor([float("nan"), float("inf"), -0.0, 3e38]).to(dtype)
    out = torch.where(x > y, x + y, x * y)
    run(mix_kernel, core=core, x_ptr=x, y_ptr=y, out_ptr=Expected(out), BLOCK=N)
