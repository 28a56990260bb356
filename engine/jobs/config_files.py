"""Writes the winners of a list of shapes as the files that the kernels' own loaders read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.jobs.shape_list import ShapeGroup
from engine.results.aiter_files import aiter_file, write_aiter_file
from engine.results.gemm_json import Buckets, buckets, commonest, write_gemm_json
from engine.results.vllm_files import unusable, vllm_file_name, write_vllm_file
from engine.workers.toolchain import toolchain_versions
from foundation.config import Config
from rvv_runner.board import BoardInfo

__all__ = ["write_default_file", "write_group_files"]

_VLLM_FOLDER = "vllm"


def write_group_files(
    folder: Path, info: BoardInfo, tag: str, group: ShapeGroup, winners: Mapping[int, Config]
) -> tuple[list[Path], list[str]]:
    """Write the files of one weight matrix.

    Args:
        folder: for all files.
        info: of the board. For a processor the file has the flat layout of older loaders; for a
            GPU there are AITER's, in today's layout, and vLLM's.
        tag: of the kernel's family.
        group: the weight matrix.
        winners: the best configuration by M, at least one.

    Returns:
        The paths, and a sentence for each file that could not be written for what a winner needs.

    Raises:
        UserError: if a file cannot be written.
    """
    if info.gpu is None:
        found = buckets(winners)
        return [write_gemm_json(folder, info.study_device, group.tag(tag), found)], []
    paths = []
    if group.experts is None:
        path = aiter_file(folder, info.gpu.arch, tag, group.n, group.k)
        paths.append(write_aiter_file(path, buckets(winners)))
    first = group.problems[0]
    name = vllm_file_name(first.spec.name, info.gpu.name, first.dtype, first.shape)
    if name is None:
        return paths, []
    missing = _missing_in_vllm(winners)
    if missing:
        return paths, [f"{name} was not written, since vLLM's kernel has no {missing}"]
    version = toolchain_versions(info.backend).get("triton") if group.experts else None
    path = folder / _VLLM_FOLDER / name
    return [*paths, write_vllm_file(path, winners, version)], []


def write_default_file(folder: Path, info: BoardInfo, tag: str, every: Sequence[Buckets]) -> Path:
    """Write the file for weight matrices without one: the commonest configuration of each range.

    Args:
        folder, info, tag: as in `write_group_files`.
        every: the winners of each weight matrix by ranges of M, at least one.
    """
    if info.gpu is None:
        return write_gemm_json(folder, info.study_device, tag, commonest(every))
    return write_aiter_file(aiter_file(folder, info.gpu.arch, tag), commonest(every))


def _missing_in_vllm(winners: Mapping[int, Config]) -> str:
    """What a winner needs and vLLM's kernel lacks, with the M it is the winner at, or ""."""
    for m, config in winners.items():
        if what := unusable(config):
            return f"{what}, with which M={m} is fastest: tune with --space vllm for its file"
    return ""
