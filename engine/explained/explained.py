"""Builds a configuration with its source lines, and says where the cycles of its run went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from engine.workers.artifacts import BuildFailure
from engine.workers.kernel_builder import COMMENTED, KernelBuilder
from foundation.config import Config
from foundation.errors import UserError
from foundation.processors import cores
from rvv_runner.emulated.board import EmulatedBoard
from rvv_runner.emulated.causes import CAUSES, Causes, explain_run
from rvv_runner.emulated.plugin import build_plugin
from rvv_runner.measurement import ElfArtifact, Measurement
from triton_rvv.codegen.line_table import CodeMap, SourceLine, read_code_map
from triton_rvv.lowering import LineAccess, accesses_by_line

__all__ = ["CAUSE_MEANINGS", "SPILLS", "Explained", "explain_configs"]

SPILLS = "spills"
CAUSE_MEANINGS: Mapping[str, str] = {
    **CAUSES,
    SPILLS: "registers saved to the stack and loaded back",
}

_LIMIT_S = 600.0


@dataclass(frozen=True)
class Explained:
    """Where the cycles of one configuration went.

    Args:
        label: its role: "winner", "runner-up" or "default".
        config: the configuration.
        measurement: of the run, with the counters.
        cycles: the estimate.
        by_cause: cycles by cause; they add up to the estimate.
        by_line: likewise, by source line of the kernel or function around it, and by cause.
        accesses: its loads and stores of blocks, as the compiler sees them.
    """

    label: str
    config: Config
    measurement: Measurement
    cycles: float
    by_cause: Mapping[str, float]
    by_line: Mapping[SourceLine, Mapping[str, float]]
    accesses: Sequence[LineAccess] = ()

    @property
    def accounted(self) -> float:
        """The share of its cycles that has a cause."""
        return sum(self.by_cause.values()) / self.cycles

    def of_line(self, line: SourceLine) -> float:
        """Cycles of a line, 0 if it has none."""
        return sum(self.by_line.get(line, {}).values())

    @property
    def lines(self) -> list[SourceLine]:
        """Its lines, the one with the most cycles first."""
        return sorted(self.by_line, key=lambda line: (-self.of_line(line), line))


def explain_configs(
    configs: Mapping[str, Config], builder: KernelBuilder, board: EmulatedBoard
) -> list[Explained]:
    """Build configurations and explain one run of each; runs go on all cores.

    Args:
        configs: by role.
        builder: makes executables with lines.
        board: an open emulated board.

    Raises:
        UserError: if one cannot be built, or no longer computes what it should.
        BoardError: if the plug-in that explains cannot be compiled.
    """
    built = {label: _built(label, config, builder) for label, config in configs.items()}
    build_plugin("explaining")  # once, before several runs ask for it
    with ThreadPoolExecutor(cores()) as pool:
        futures = [
            pool.submit(_explained, label, configs[label], artifact, board)
            for label, artifact in built.items()
        ]
        return [future.result() for future in futures]


def _built(label: str, config: Config, builder: KernelBuilder) -> ElfArtifact:
    artifact = builder.build(config)
    if isinstance(artifact, BuildFailure):
        raise UserError(f"the {label} {config} does not build any more: {artifact.reason}")
    return artifact


def _explained(
    label: str, config: Config, artifact: ElfArtifact, board: EmulatedBoard
) -> Explained:
    measurement, causes = explain_run(board.emulator, board.info, artifact, _LIMIT_S)
    if causes is None:
        raise UserError(f"the {label} {config} does not run any more: {measurement.reason}")
    assembly = artifact.elf_path.with_suffix(COMMENTED).read_text(encoding="utf-8")
    code = read_code_map(artifact.elf_path, assembly)
    by_line = _by_line(causes, code)
    by_cause: defaultdict[str, float] = defaultdict(float)
    for cycles in by_line.values():
        for cause, count in cycles.items():
            by_cause[cause] += count
    ttir = artifact.elf_path.with_suffix(".ttir").read_text(encoding="utf-8")
    accesses = accesses_by_line(ttir, board.info.target)
    return Explained(label, config, measurement, causes.cycles, by_cause, by_line, accesses)


def _by_line(causes: Causes, code: CodeMap) -> Mapping[SourceLine, Mapping[str, float]]:
    """What saves registers counts as spills, whatever the core waited for there."""
    lines: defaultdict[SourceLine, defaultdict[str, float]]
    lines = defaultdict(lambda: defaultdict(float))
    for address, cycles in causes.places.items():
        line = lines[code.line_of(address)]
        for cause, count in cycles.items():
            line[SPILLS if address in code.saves else cause] += count
    return lines
