"""What a GPU needs to run a configuration: machine code as bytes, and how to make the arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from foundation.config import Config
from gpu_runner.target import GpuTarget
from launchers.arguments import Argument

__all__ = ["ArgumentsSource", "GpuArtifact"]


class ArgumentsSource(Protocol):
    """Makes a kernel's arguments and expected outputs in the process that measures; picklable.

    Sources of one problem are equal and have one hash.
    """

    def make(self, config: Config, device: str) -> tuple[Argument, ...]:
        """The arguments in a configuration.

        Args:
            config: it may record which of its values are read.
            device: where the reference is computed, by torch's name of it: "cuda:0", "cpu".
        """
        ...

    def make_timed(
        self, config: Config, device: str, checked: tuple[Argument, ...]
    ) -> tuple[Argument, ...]:
        """Those of the timed runs: with other contents than `make` gave, where they may differ."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class GpuArtifact:
    """A compiled kernel, for any process with a GPU of its target.

    Args:
        target: what the code was made for.
        name: the kernel's.
        binary: the cubin or hsaco.
        metadata: Triton's description of it, as JSON.
        signature: type of each parameter in the kernel's order; "constexpr" for a constant.
        constants: the value of each constant.
        grid: programs along x, y and z.
        config: the configuration.
        source: makes the arguments.
        sha256: of the binary.
        path: of the file with the binary in the folder of builds.
        provenance: tool versions, key, code size and times of the build; JSON values only.
    """

    target: GpuTarget
    name: str
    binary: bytes = field(repr=False)
    metadata: str = field(repr=False)
    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, object], ...]
    grid: tuple[int, int, int]
    config: Config
    source: ArgumentsSource
    sha256: str
    path: Path
    provenance: Mapping[str, object] = field(default_factory=dict)

    @property
    def needs(self) -> str:
        """The GPU that it was built for."""
        return f"a GPU of the kind {self.target}"

    @property
    def record(self) -> Mapping[str, object]:
        """The machine code, which is an ELF for NVIDIA's and AMD's GPUs too."""
        return {"elf_sha256": self.sha256, "elf_path": str(self.path)}

    def texts(self) -> Sequence[Path]:
        """What Triton made on the way."""
        suffixes = (".ttgir", ".ptx", ".amdgcn")
        paths = (self.path.with_suffix(suffix) for suffix in suffixes)
        return [path for path in paths if path.is_file()]
