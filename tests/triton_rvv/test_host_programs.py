"""What programs that were written for a GPU ask of the device, where it is this machine."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
import torch
import triton
import triton.language as tl

import triton_rvv
from triton_rvv.compiler import RVVBackend

pytestmark = pytest.mark.usefixtures("on_host")

# As programs write it, and mypy cannot see.
DEVICE = getattr(torch, "cpu")  # noqa: B009


@triton.jit
def scale_kernel(x_ptr, y_ptr, one, factor, n, BLOCK: tl.constexpr, EXTRA: tl.constexpr, out_ptr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * one, mask=at < n)
    if y_ptr is not None:
        x += tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * factor + EXTRA, mask=at < n)


def test_a_compiled_kernel_is_called_without_its_constants():
    x, out = torch.arange(100.0), torch.zeros(100)
    # Triton makes constants of what is None or 1; these are passed all the same.
    compiled = scale_kernel[(1,)](x, None, 1, 2.0, 100, 128, 3, out)
    compiled[(1, 1, 1)](x, None, 1, 5.0, 100, out)
    assert torch.equal(out, x * 5 + 3)
    compiled[(1, 1, 1)](x, None, 1, 7.0, 100, 128, 3, out)
    assert torch.equal(out, x * 7 + 3)


def test_the_target_is_a_kind_of_device_that_torch_has():
    driver = triton.runtime.driver.active
    target = driver.get_current_target()
    assert getattr(torch, target.backend) is torch.cpu
    assert target.warp_size == 32
    assert RVVBackend.supports_target(target)


def test_the_driver_says_that_it_is_active():
    from triton.backends import backends

    assert [name for name, each in backends.items() if each.driver.is_active()] == ["rvv"]


def test_torch_cpu_has_what_torch_cuda_has():
    x = torch.zeros(1)
    device = getattr(torch, x.device.type)
    properties = device.get_device_properties(x.device)
    assert properties.multi_processor_count == triton_rvv.num_threads()
    assert properties.total_memory > 1 << 28
    assert device.get_device_capability(x.device) < (1, 0)
    assert isinstance(device.get_device_name(), str)
    with device.device(x.device):
        device.synchronize()
    with pytest.raises(AttributeError, match="has no 'regs_per_multiprocessor'"):
        _ = properties.regs_per_multiprocessor
    assert device.current_device() == "cpu"  # torch's own


def test_a_kernel_s_cache_is_found_by_torch_s_name_of_the_device():
    kernel = triton.jit(scale_kernel.fn)
    kernel[(1,)](torch.zeros(1), None, 1, 2.0, 1, 1, 3, torch.zeros(1))
    assert set(kernel.device_caches) == {DEVICE.current_device()}


def test_properties_that_there_are_not_are_named():
    driver = triton.runtime.driver.active
    properties = driver.utils.get_device_properties(driver.get_current_device())
    assert properties["multiprocessor_count"] == triton_rvv.num_threads()
    with pytest.raises(KeyError, match="mem_clock_rate: kernels run on this machine's processor"):
        _ = properties["mem_clock_rate"]


def test_a_grid_may_follow_from_what_a_device_holds_at_once():
    """As Triton's tutorial of softmax finds out how many programs a device runs at once."""
    driver = triton.runtime.driver.active
    held = driver.utils.get_device_properties(driver.get_current_device())
    x, out, num_warps = torch.arange(3.0), torch.zeros(3), 8
    kernel = scale_kernel.warmup(x, None, 1, 2.0, 3, 4, 3, out, num_warps=num_warps, grid=(1,))
    kernel._init_handles()
    by_registers = held["max_num_regs"] // (kernel.n_regs * held["warpSize"] * num_warps)
    by_memory = held["max_shared_mem"] // kernel.metadata.shared
    programs = min(held["multiprocessor_count"] * min(by_registers, by_memory), 3)
    assert programs == 3
    kernel[(programs, 1, 1)](x, None, 1, 2.0, 3, out)
    assert torch.equal(out, x * 2 + 3)


@pytest.mark.parametrize(
    "option", [{"waves_per_eu": 2}, {"maxnreg": 64}, {"matrix_instr_nonkdim": 16}, {"kpack": 1}]
)
def test_options_of_other_back_ends_change_nothing(option):
    x, out = torch.arange(3.0), torch.zeros(3)
    compiled = scale_kernel[(1,)](x, None, 1, 2.0, 3, 4, 3, out, **option)
    assert torch.equal(out, x * 2 + 3)
    assert compiled.hash == scale_kernel[(1,)](x, None, 1, 2.0, 3, 4, 3, out).hash
    with pytest.raises(KeyError, match="no_option_of_any was specified but unrecognised"):
        scale_kernel[(1,)](x, None, 1, 2.0, 3, 4, 3, out, no_option_of_any=1)


def test_random_states_follow_torch():
    generator = DEVICE.default_generators[0]
    torch.manual_seed(3)
    first, second = generator.get_state(), generator.get_state()
    torch.manual_seed(3)
    assert torch.equal(generator.get_state(), first)
    assert not torch.equal(first, second)
    assert first.view(torch.int64).shape == (2,)


def test_a_random_state_that_is_set_stays():
    generator = DEVICE.default_generators["cpu"]
    state = torch.tensor([11, 8]).view(torch.uint8)
    generator.set_state(state)
    assert torch.equal(generator.get_state(), state)
    moved = state.clone()
    moved.view(torch.int64)[1] += 4
    generator.set_state(moved)
    assert generator.get_state().view(torch.int64).tolist() == [11, 12]
    torch.manual_seed(torch.initial_seed() + 1)
    assert generator.get_state().view(torch.int64)[0] != 11


def test_libdevice_has_the_name_that_programs_look_for():
    libdevice = importlib.import_module("triton.language.extra.cpu.libdevice")
    assert libdevice.erf is tl.extra.cpu.libdevice.erf


@pytest.mark.parametrize(
    ("first", "complaint"),
    [
        ("", "ModuleNotFoundError: flag_gems is not installed"),
        ("sys.modules['flag_gems'] = sys", "RuntimeError: call triton_rvv.flag_gems.register() b"),
    ],
)
def test_what_flag_gems_needs_is_said(first, complaint):
    program = f"""
import sys
{first}
import triton_rvv.flag_gems
triton_rvv.flag_gems.register()
"""
    if first == "" and importlib.util.find_spec("flag_gems"):
        pytest.skip("flag_gems is installed")
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert complaint in done.stderr
