"""Calls of a kernel that came before in another form: each has to compute its own result."""

import pytest
import torch
import triton
import triton.language as tl

import triton_rvv
from triton_rvv.codegen import llvm

N = 40
FACTOR = tl.constexpr(3)


@pytest.fixture(autouse=True)
def on_host():
    triton_rvv.activate("host")


@triton.jit
def scaled_kernel(x_ptr, out_ptr, n, scale, SHIFT: tl.constexpr, BLOCK: tl.constexpr = 64):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr + at, x * scale + SHIFT + n, mask=at < n)


def check(x, n, scale, shift, **options):
    out = torch.zeros(N, dtype=torch.float64)
    scaled_kernel[(1,)](x, out, n, scale, SHIFT=shift, **options)
    expected = torch.zeros(N, dtype=torch.float64)
    expected[:n] = x[:n].double() * scale + shift + n
    torch.testing.assert_close(out, expected, atol=1e-6, rtol=1e-6)


def test_a_call_may_differ_from_those_before_in_anything():
    base = torch.arange(2 * N, dtype=torch.float32)
    odd = base[1:]  # at no multiple of 16 bytes
    for _ in range(2):
        for x in (base, odd, base.double(), base.to(torch.int8), torch.nn.Parameter(base)):
            for n in (N, 32, 1, 7):
                check(x, n, 2, 5)
        check(base, N, 2.5, 5)
        check(base, N, -3, 6)
        check(base, N, 1 << 20, -6)
        check(base, N, 2, 5, BLOCK=128)
        check(base, N, 2, 5, BLOCK=128, num_warps=2)


@triton.jit
def warps_kernel(out_ptr, IS_ASKED: tl.constexpr):
    tl.store(out_ptr, tl.extra.cuda.num_warps() if IS_ASKED else 1)


def test_what_differs_in_numbers_of_warps_and_stages_is_translated_once(monkeypatch, tmp_path):
    """Autotuners of packages list dozens of them, which hardly ever change code for a processor."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))  # an earlier run's has them
    translated, generate = [], llvm.generate

    def counted(llir, target):
        translated.append(llir)
        return generate(llir, target)

    monkeypatch.setattr(llvm, "generate", counted)
    out = torch.zeros(1)
    for is_asked, count in ((False, 1), (True, 3)):
        for number in (8, 2):
            options = {"num_warps": number, "num_stages": number}
            kernel = warps_kernel[(1,)](out, is_asked, **options)
            assert out.item() == (number if is_asked else 1)
            assert kernel.metadata.num_warps == kernel.metadata.num_stages == number
        assert len(translated) == count


@triton.jit
def count_kernel(out_ptr, by=2):
    tl.atomic_add(out_ptr, by)


@triton.jit
def travelling_kernel(out_ptr, by):
    tl.store(out_ptr, by)


def test_a_kernel_called_elsewhere_first_runs_here_too():
    out = torch.zeros(1, dtype=torch.int32)
    for number, target in enumerate(("rvv256", "host", "host", "rvv128", "host")):
        triton_rvv.activate(target)
        travelling_kernel[(1,)](out, number + 2)
        assert out.item() == number + 2


def test_grids_defaults_and_names():
    out = torch.zeros(1, dtype=torch.int32)
    for _ in range(2):
        count_kernel[(3,)](out)
        count_kernel[lambda meta: (meta["by"], 2)](out)
        count_kernel[[1, 2, 2]](by=5, out_ptr=out)
        count_kernel[(2,)](out, by=1)
        count_kernel[(0, 4)](out, by=1)
    assert out.item() == 2 * (3 * 2 + 4 * 2 + 4 * 5 + 2)


@triton.jit
def argumentless_kernel():
    tl.device_assert(tl.program_id(0) == 0, "more than one program")


def test_calls_after_one_without_arguments_run():
    for _ in range(2):
        argumentless_kernel[(1,)]()
        out = torch.zeros(1, dtype=torch.int32)
        count_kernel[(1,)](out, 1)
        assert out.item() == 1


def test_wrong_calls_stay_wrong():
    x = torch.zeros(1, dtype=torch.int32)
    for _ in range(2):
        count_kernel[(1,)](x, 1)
    with pytest.raises(TypeError):
        count_kernel[(1,)](x, 1, 2)
    with pytest.raises(TypeError):
        count_kernel[(1,)](x, 1, by=1)
    with pytest.raises(ValueError, match="move it to the CPU"):
        count_kernel[(1,)](x.to("meta"), 1)


@triton.jit
def factor_kernel(out_ptr):
    tl.store(out_ptr, FACTOR)


def test_a_changed_global_is_still_an_error(monkeypatch):
    out = torch.zeros(1)
    for _ in range(2):
        factor_kernel[(1,)](out)
    monkeypatch.setitem(factor_kernel.fn.__globals__, "FACTOR", tl.constexpr(4))
    with pytest.raises(RuntimeError, match="FACTOR has changed"):
        factor_kernel[(1,)](out)


def test_hooks_that_come_later_are_called():
    out, seen = torch.zeros(1, dtype=torch.int32), []
    for _ in range(2):
        count_kernel[(1,)](out, 1)
    hooks = triton.knobs.runtime.launch_enter_hook

    def hook(metadata):
        seen.append(metadata.get()["name"])

    hooks.add(hook)
    try:
        count_kernel[(1,)](out, 1)
    finally:
        hooks.remove(hook)
    count_kernel[(1,)](out, 1)
    assert seen == ["count_kernel"]
    assert out.item() == 4


def test_repeated_calls_take_the_short_way(monkeypatch):
    out = torch.zeros(1, dtype=torch.int32)
    for by in (16, 32):
        count_kernel[(1,)](out, by)

    def no_long_way(*_):
        raise AssertionError("Triton's own way was taken")

    launcher = type(count_kernel.warmup(torch.int32, 16, grid=(1,)).run)
    monkeypatch.setattr(launcher, "__call__", no_long_way)
    count_kernel[(1,)](out, 48)
    assert out.item() == 96


@triton.jit
def whole_numbers_kernel(out_ptr, n: tl.int32):
    tl.store(out_ptr, n)


def test_a_float_for_a_whole_number_is_cut_off_each_time():
    out = torch.zeros(1, dtype=torch.int32)
    for number in (1.5, 1.5, 2.5):
        whole_numbers_kernel[(1,)](out, number)
        assert out.item() == int(number)
