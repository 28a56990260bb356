"""At the tuned sizes, a C library has the very code that was measured."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from test_c_library import infos

from engine.c_library.library_winner import LibraryWinner
from engine.c_library.objects import compile_variants
from engine.c_library.sources import header
from engine.c_library.variants import library_functions
from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from kernels.registry import load_kernel
from rvv_runner.measurement import ElfArtifact

OWN = Path(__file__).with_name("own_library.py")


@pytest.mark.parametrize(
    ("kernel", "shape", "config"),
    [
        # Rows that a caller may set apart, blocks that divide sizes, and several programs.
        ("layernorm_fwd", {"M": 32, "N": 64}, {"BLOCK_SIZE_M": 2, "BLOCK_SIZE_N": 32}),
        ("jacobi", {"M": 30, "N": 70}, {"BLOCK_SIZE_M": 4, "BLOCK_SIZE_N": 64}),
        ("vector_add", {"N": 4096}, {"BLOCK_SIZE": 512, "PREFETCH": "far"}),
        (f"{OWN}:sums_kernel", {"M": 5, "N": 20, "STRIDE": 24}, {"BLOCK": 32, "PREFETCH": "far"}),
    ],
)
def test_a_call_at_the_tuned_sizes_runs_what_was_measured(kernel, shape, config, tmp_path):
    target = infos()[0].target
    spec = load_kernel(kernel)
    dtype = "i8" if spec.file else "fp32"
    winner = LibraryWinner(
        kernel=spec.name,
        dtype=dtype,
        shape=shape,
        config=Config(config),
        target=target,
        study="study",
        device="emulated:x60",
        time_s=1e-3,
        estimated=True,
        made_with="",
        file=kernel if spec.file else "",
    )
    (function,) = library_functions([winner], lambda _: None)
    function, objects = compile_variants(function)
    first, *others = function.variants
    assert first.exact
    assert not any(variant.exact for variant in others)
    request = BuildRequest(kernel, shape, dtype, target, ArtifactStore(tmp_path))
    built = KernelBuilder(request).build(Config(config))
    assert isinstance(built, ElfArtifact)
    measured = code_of(built.elf_path.with_suffix(".o").read_bytes())
    assert code_of(objects[first.entry]) == measured
    assert code_of(objects[others[0].entry]) != measured


def code_of(contents: bytes) -> bytes:
    section = ELFFile(io.BytesIO(contents)).get_section_by_name(".text")
    return bytes(section.data())


def test_the_header_says_where_the_default_runs_since_it_is_tied():
    target, config = infos()[0].target, Config({"BLOCK_SIZE": 512})
    one = LibraryWinner("vector_add", "fp32", {"N": 4096}, config, target, "a", "x60", 1, True, "")
    other = replace(one, shape={"N": 64}, study="b", tied=True)
    text = header(library_functions([one, other], lambda _: None))
    assert re.findall(r"Tuned at (.*)", text) == [
        "N=64: the default, which is tied with the fastest."
    ]
