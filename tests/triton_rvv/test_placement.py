"""Kernels placed in a program that is linked already, beside what a linker makes of them."""

from __future__ import annotations

import platform
import subprocess

import pytest
import triton
import triton.language as tl

from launchers.objects import launcher_object
from triton_rvv import RVVTarget, compile_kernel
from triton_rvv.codegen import link
from triton_rvv.codegen.elf_file import ElfFile, string_at
from triton_rvv.codegen.link import LinkError, link_elf
from triton_rvv.codegen.llvm import generate
from triton_rvv.codegen.placement import with_kernel
from triton_rvv.runtime.qemu import cpu_option, find_qemu
from triton_rvv.targets.host_target import host_target

TARGET = RVVTarget(vlen_bits=256)
QEMU = find_qemu()
# A kernel that hands its first argument to what a case defines.
KERNEL = """
target triple = "riscv64-unknown-linux-gnu"
@triton_rvv_kernel_name = constant [7 x i8] c"placed\\00"
@triton_rvv_vlen_bits = constant i32 256
define void @triton_rvv_kernel(ptr %args, i32 %x, i32 %y, i32 %z, i32 %nx, i32 %ny, i32 %nz) #0 {{
  %out = load ptr, ptr %args
  {}
  ret void
}}
{}
attributes #0 = {{ nounwind }}
"""


@triton.jit
def shuffled_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + (at * 37 + 11) % N, tl.sin(x) + tl.exp(x))


@pytest.fixture
def launcher():
    return launcher_object(TARGET)


@pytest.fixture
def linked(monkeypatch, tmp_path):
    """Makes the executable of an object, and says whether it was placed."""

    def make(compiled, places=True, target=TARGET):
        (tmp_path / "kernel.o").write_bytes(compiled)
        placed = []

        def asked(program, content):
            placed.append(with_kernel(program, content) if places else None)
            return placed[-1]

        monkeypatch.setattr(link, "with_kernel", asked)
        objects = [tmp_path / "kernel.o", launcher_object(target)]
        link_elf(objects, tmp_path / "kernel.elf", target.backend)
        monkeypatch.undo()
        return tmp_path / "kernel.elf", placed[0] is not None

    return make


def symbols(path):
    elf = ElfFile(path.read_bytes())
    sections = elf.sections()
    table, strings = elf.symbols(sections)
    return {string_at(strings, each.name): each for each in table}, sections


def test_what_is_placed_is_what_a_linker_makes(linked):
    compiled = compile_kernel(shuffled_kernel, {"x_ptr": "*fp32"}, {"N": 256}, TARGET)
    placed, is_placed = linked(compiled.object)
    ours, sections = symbols(placed)
    content = placed.read_bytes()
    other, is_other = linked(compiled.object, places=False)
    theirs, _ = symbols(other)
    assert is_placed
    assert not is_other
    assert {name for name in ours if name.startswith(b"triton_rvv")} == {
        name for name in theirs if name.startswith(b"triton_rvv")
    }
    kernel, same = ours[b"triton_rvv_kernel"], theirs[b"triton_rvv_kernel"]
    assert kernel.size == same.size
    attributes = next(each for each in sections if each.type == 0x70000003)
    held = content[attributes.offset : attributes.offset + attributes.size]
    assert b"zvl256b" in held


RAN = "exactly one data file"  # what the launcher says, so that the program has started


@pytest.mark.parametrize("places", [True, False])
def test_both_start(linked, places):
    compiled = compile_kernel(shuffled_kernel, {"x_ptr": "*fp32"}, {"N": 256}, TARGET)
    elf, is_placed = linked(compiled.object, places)
    done = subprocess.run(
        [str(QEMU), "-cpu", cpu_option(QEMU, TARGET), str(elf)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert is_placed == places
    assert RAN in done.stderr


@pytest.mark.skipif(platform.machine() != "x86_64", reason="places objects of x86-64")
@pytest.mark.parametrize("places", [True, False])
def test_a_program_for_this_machine_starts(linked, places):
    target = host_target()
    compiled = compile_kernel(shuffled_kernel, {"x_ptr": "*fp32"}, {"N": 256}, target)
    elf, is_placed = linked(compiled.object, places, target)
    done = subprocess.run([str(elf)], capture_output=True, text=True, check=False, timeout=200)
    assert is_placed == places
    assert RAN in done.stderr


TABLE = "@table = {} [4 x double] [double 1.0, double 2.5, double 3.0, double 7.0]"
READ = """
  %at = getelementptr double, ptr @table, i32 %x
  %value = load double, ptr %at
  store double %value, ptr %out
"""
SHARED = "define {} void @write(ptr %at) noinline #0 {{ store i64 7, ptr %at ret void }}"


@pytest.mark.parametrize(
    ("inside", "outside", "is_placed"),
    [
        ("store i32 %x, ptr %out", "", True),
        (READ, TABLE.format("internal constant"), True),
        (READ, TABLE.format("internal global"), False),
        (READ, TABLE.format("constant"), False),
        ("call void @write(ptr %out)", SHARED.format("internal"), True),
        ("call void @write(ptr %out)", SHARED.format(""), False),  # libc has a write of its own
        ("call void @srand(i32 %x)", "declare void @srand(i32)", False),
        ("call ptr @memset(ptr %out, i32 0, i64 64)", "declare ptr @memset(ptr, i32, i64)", True),
    ],
)
def test_which_objects_are_placed(linked, inside, outside, is_placed):
    elf, was_placed = linked(generate(KERNEL.format(inside, outside), TARGET).object)
    assert was_placed == is_placed
    assert elf.stat().st_mode & 0o111


def test_a_program_follows_its_objects(linked, launcher, tmp_path):
    compiled = generate(KERNEL.format("", ""), TARGET).object
    (tmp_path / "k.o").write_bytes(compiled)
    copy = tmp_path / "launcher.o"
    copy.write_bytes(launcher.read_bytes())
    link_elf([tmp_path / "k.o", copy], tmp_path / "one.elf")
    assert (tmp_path / "one.elf").read_bytes() == linked(compiled)[0].read_bytes()


def test_another_abi_is_for_the_linker(linked):
    compiled = bytearray(generate(KERNEL.format("", ""), TARGET).object)
    compiled[48] ^= 6  # floats are passed another way
    with pytest.raises(LinkError):
        linked(bytes(compiled))
