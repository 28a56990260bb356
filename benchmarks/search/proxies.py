"""Low-fidelity proxies: cheaper than measuring a configuration in full."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from foundation.shapes import Shape
from kernels.registry import load_kernel, make_problem
from rvv_runner import Board, ElfArtifact
from search_spaces.blocks import elements_of, product_operands
from search_spaces.flash_attention_fwd import working_set
from triton_rvv.codegen.llvm import commented_assembly

__all__ = ["CASES", "NO_PROXY", "SMALLER", "Case", "Laboratory", "Proxy", "Trial"]

LIMIT_S = 600.0
NO_PROXY = "none"
# The names of proxies that run a smaller problem start with this.
SMALLER = "time at"
# A smaller problem has such a part of each of its dimensions.
PARTS = (2, 4)


@dataclass(frozen=True)
class Case:
    """The dimensions that a smaller problem reduces; elements of a step's blocks and sums."""

    dimensions: Sequence[str]
    blocks: Callable[[Config], int]
    sums: Callable[[Config], int]


_TILE = ("BLOCK_SIZE_M", "BLOCK_SIZE_N")
_HEADS = ("BLOCK_SIZE_M", "BLOCK_SIZE_DMODEL")
_PIXELS = ("BLOCK_SIZE_D", "BLOCK_SIZE_H", "BLOCK_SIZE_W")
CASES = {
    "matmul": Case(("M", "N", "K"), product_operands, elements_of(*_TILE)),
    "layernorm_fwd": Case(("M",), elements_of(*_TILE, copies=3), elements_of(*_TILE)),
    "flash_attention_fwd": Case(("N_CTX",), working_set, elements_of(*_HEADS)),
    "correlation": Case(("C",), elements_of(*_PIXELS, copies=3), elements_of(*_PIXELS)),
}


@dataclass(frozen=True)
class Proxy:
    """A proxy's value, and the seconds of building and running that it takes."""

    value: float
    build_s: float = 0.0
    run_s: float = 0.0


@dataclass(frozen=True)
class Trial:
    """A configuration measured in full, whose value is its time in seconds, and by each proxy."""

    full: Proxy
    proxies: Mapping[str, Proxy]


class Laboratory:
    """Builds configurations of a kernel at its default shape, runs them and applies the proxies."""

    def __init__(self, kernel: str, board: Board, folder: Path) -> None:
        self._case, self._board, self._store = CASES[kernel], board, ArtifactStore(folder)
        self.problem = make_problem(load_kernel(kernel), {}, None)
        shape, dtype, target = self.problem.shape, self.problem.dtype, board.info.target
        self._builder = KernelBuilder(BuildRequest(kernel, shape, dtype, target, self._store))
        self._smaller = {
            part: KernelBuilder(
                BuildRequest(kernel, self._part_of(part), dtype, target, self._store)
            )
            for part in PARTS
        }
        self._target = target

    def trial(self, config: Config) -> Trial | None:
        """A configuration measured in full and by every proxy; None if one of them fails."""
        start_s = time.perf_counter()
        built = self._builder.build(config)
        build_s = time.perf_counter() - start_s
        if not isinstance(built, ElfArtifact):
            return None
        llir = built.elf_path.with_suffix(".llir").read_text()
        counts = counted(commented_assembly(llir, self._target))  # comments name loops and spills
        read_s = time.perf_counter() - start_s
        proxies = {
            NO_PROXY: Proxy(0.0),
            "elements of the blocks": Proxy(self._case.blocks(config)),
            "bytes of the object": Proxy(built.elf_path.with_suffix(".o").stat().st_size, build_s),
            **{name: Proxy(count, read_s) for name, count in counts.items()},
        }
        for part in PARTS:
            name = f"{SMALLER} 1/{part} of {', '.join(self._case.dimensions)}"
            start_s = time.perf_counter()
            smaller = self._smaller[part].build(config)
            if not isinstance(smaller, ElfArtifact):
                return None
            proxies[name] = self._measured(smaller, time.perf_counter() - start_s)
        full = self._measured(built, build_s)
        every = (full, *proxies.values())
        return Trial(full, proxies) if all(one.value < math.inf for one in every) else None

    def _part_of(self, part: int) -> Shape:
        """The shape of a smaller problem."""
        sizes = {name: self.problem.shape[name] // part for name in self._case.dimensions}
        return {**self.problem.shape, **sizes}

    def _measured(self, artifact: ElfArtifact, build_s: float) -> Proxy:
        start_s = time.perf_counter()
        time_s = self._board.measure(artifact, 1, LIMIT_S).time_s
        run_s = time.perf_counter() - start_s
        return Proxy(math.inf if time_s is None else time_s, build_s, run_s)


def counted(assembly: str) -> dict[str, int]:
    """Numbers of instructions: all, vector, largest innermost loop, vector spills and reloads.

    Args:
        assembly: from LLVM, with the comments that name loops and spills.
    """
    names: list[str] = []
    loops: Counter[tuple[int, str]] = Counter()
    for block in re.split(r"^(?=\.LBB|# %bb)", assembly, flags=re.MULTILINE):
        names += (found := re.findall(r"^\t([a-z][\w.]*)", block, flags=re.MULTILINE))
        if head := re.match(r"\.L(BB\w+):(?:\s*#.*\n)*?.*Loop Header: Depth=(\d+)", block):
            loops[int(head[2]), head[1]] += len(found)
        elif inside := re.search(r"in Loop: Header=(BB\w+) Depth=(\d+)", block):
            loops[int(inside[2]), inside[1]] += len(found)
    return {
        "instructions": len(names),
        "vector instructions": sum(name.startswith("v") for name in names),
        "innermost loop": max(((depth, n) for (depth, _), n in loops.items()), default=(0, 0))[1],
        "vector spills and reloads": len(re.findall(r"vscale x \d+-byte Folded", assembly)),
    }
