"""The assembly that people read is the code of the object, instruction by instruction."""

from __future__ import annotations

from io import BytesIO

import pytest
from elftools.elf.elffile import ELFFile
from pairs import in_turn

from foundation.config import Config
from kernels.registry import load_kernel, make_problem
from triton_rvv.codegen.assembler import assemble_object
from triton_rvv.pipeline import compile_kernel
from triton_rvv.targets.target import RVVTarget

BLOCKS = {"BLOCK_SIZE_M": 256, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 128, "GROUP_SIZE_M": 1}


def _code(compiled: bytes) -> bytes:
    """The instructions, in the order of the sections."""
    elf = ELFFile(BytesIO(compiled))
    return b"".join(s.data() for s in elf.iter_sections() if s.name.startswith(".text"))


@pytest.mark.parametrize(
    ("source_lines", "name", "config"),
    in_turn([False, True], [("matmul", BLOCKS), ("softmax", None)]),
)
def test_the_assembly_is_that_of_the_object(name, config, source_lines):
    problem = make_problem(load_kernel(name), {})
    config = problem.default_config if config is None else Config(config)
    signature = {argument.name: argument.type for argument in problem.arguments(config)}
    compiled = compile_kernel(
        problem.spec.kernel,
        signature,
        problem.constants(config),
        RVVTarget.named("spacemit-x60", 256),
        source_lines=source_lines,
        disjoint_arguments=True,
    )
    assert len(_code(compiled.object)) > 1000
    assert _code(assemble_object(compiled.assembly)) == _code(compiled.object)
