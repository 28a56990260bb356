"""Executables that know their kernel's lines: the code is the same, and every save is found."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest

from kernels.registry import load_kernel, make_problem
from launchers.objects import launcher_object
from triton_rvv.codegen.line_table import read_code_map, saving_places
from triton_rvv.codegen.link import link_elf
from triton_rvv.pipeline import CompiledKernel, compile_kernel
from triton_rvv.targets.target import RVVTarget

TARGET = RVVTarget.named("spacemit-x60", 256)


def _compiled(name: str, shape: dict[str, int], *, source_lines: bool) -> CompiledKernel:
    problem = make_problem(load_kernel(name), shape)
    config = problem.default_config
    arguments = problem.arguments(config)
    signature = {argument.name: argument.type for argument in arguments}
    constants = problem.constants(config)
    return compile_kernel(
        problem.spec.kernel, signature, constants, TARGET, source_lines=source_lines
    )


def _linked(compiled: CompiledKernel, folder: Path, *, with_lines: bool) -> Path:
    folder.mkdir()
    (folder / "k_kernel.o").write_bytes(compiled.object)
    objects = [folder / "k_kernel.o", launcher_object(TARGET)]
    link_elf(objects, folder / "k.elf", with_lines=with_lines)
    return folder / "k.elf"


def _addresses(elf: Path) -> dict[str, int]:
    """Of the functions and variables that are in one place alone, by name."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        symbols = [*ELFFile(file).get_section_by_name(".symtab").iter_symbols()]
    kinds = ("STT_FUNC", "STT_OBJECT")
    named = [s for s in symbols if s["st_info"]["type"] in kinds and "triton_rvv" not in s.name]
    count = Counter(s.name for s in named)
    return {s.name: s["st_value"] for s in named if count[s.name] == 1}


def _code(compiled: CompiledKernel) -> bytes:
    """The instructions, before a linker fills in the distances to constants."""
    from elftools.elf.elffile import ELFFile

    section = ELFFile(io.BytesIO(compiled.object)).get_section_by_name(".text")
    content: bytes = section.data()
    return content


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        pytest.param("matmul", {"M": 64, "N": 64, "K": 64}, marks=pytest.mark.long),
        ("softmax", {"M": 8, "N": 512}),
        pytest.param("vector_add", {}, marks=pytest.mark.long),
    ],
)
@pytest.mark.usefixtures("faster_order")  # the tests' choice reads the lines, too
def test_lines_change_no_code(name, shape, tmp_path):
    plain = _compiled(name, shape, source_lines=False)
    lined = _compiled(name, shape, source_lines=True)
    elf = _linked(lined, tmp_path / "lined", with_lines=True)
    assert _code(lined) == _code(plain)
    # So caches count the same: the launcher and its memory lie where they do without lines.
    addresses = _addresses(_linked(plain, tmp_path / "plain", with_lines=False))
    assert {name: at for name, at in _addresses(elf).items() if name in addresses} == addresses
    assert len(addresses) > 100
    assert len(_code(lined)) > 50
    code = read_code_map(elf, lined.commented_assembly)
    start, size = next((s, z) for s, z, n in code.functions if n == "triton_rvv_kernel")
    inside = [code.line_of(at) for at in range(start, start + size, 2)]
    named = [line for line in inside if Path(line.file).name == f"{name}.py" and line.number]
    assert len(named) > 0.8 * len(inside)
    assert len({line.number for line in named}) >= 3
    assert size < sum(z for _, z, _ in code.functions)
    main = next(s for s, _, n in code.functions if n == "main")
    assert (code.line_of(main).file, code.line_of(main).number) == ("main", 0)


def test_labels_within_a_function_begin_no_other():
    tile = "tile:\n\tvle8.v\tv0, (a0)\n1:\n\tvle8.v\tv1, (a0)\n\tbnez\ta3, 1b\n"
    kernel = "kernel:\n.LBB0_1:\n\tld\ta0, 0(sp)                      # 8-byte Folded Reload\n"
    assert saving_places(tile + kernel) == {"tile": [False, False], "kernel": [True]}


@pytest.mark.long
def test_each_save_of_a_register_is_found(tmp_path):
    lined = _compiled("matmul", {"M": 64, "N": 64, "K": 64}, source_lines=True)
    code = read_code_map(_linked(lined, tmp_path / "k", with_lines=True), lined.commented_assembly)
    saves = sum(map(sum, saving_places(lined.commented_assembly).values()))
    assert len(code.saves) == saves == lined.commented_assembly.count(" Folded ") > 0
    other = _compiled("vector_add", {}, source_lines=True)
    with pytest.raises(ValueError, match="memory accesses, and its assembly"):
        read_code_map(tmp_path / "k" / "k.elf", other.commented_assembly)
