"""The folder of builds: a cache keyed by what each was built from, with names people can read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foundation.scratch import UNFINISHED, scratch_folder
from launchers.arguments import Argument
from launchers.data_file import FORMAT_VERSION, is_whole, write_data_file
from rvv_runner.measurement import Measurement, Status

__all__ = ["ARTIFACT_FOLDER", "ArtifactStore", "BuildFailure", "digest", "write_provenance"]

# Where builds are kept, under the current folder.
ARTIFACT_FOLDER = Path("studies", "builds")

_PROVENANCE = "build.json"
_DATA_FOLDER = "data"


@dataclass(frozen=True)
class BuildFailure:
    """Why a configuration has no artifact.

    Args:
        reason: one sentence.
        status: "compile" if the configuration does not compile; "board" if this machine could not
            build it now, which says nothing about the configuration.
    """

    reason: str
    status: Status = "compile"

    @property
    def measurement(self) -> Measurement:
        """What is recorded in place of a measurement."""
        return Measurement(status=self.status, reason=self.reason)


def digest(*parts: object) -> str:
    """A short hexadecimal digest of the parts, whose `repr` must be the same in every process."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ArtifactStore:
    """A folder that many processes may read and extend at once.

    A build's folder appears complete, by a rename, or not at all:

        root/<kernel>/<values>-<key>/<kernel>_kernel.{ttir,llir,o,elf,elf.sha256}, build.json
        root/<kernel>/<values>-<key>/<kernel>_kernel.{ttir,ttgir,llir,ptx,cubin,...}, build.json
        root/data/<kernel>-<digest>.data

    Args:
        root: absolute path of the folder; created with the first build.
        suffix: of the binaries.
    """

    root: Path
    suffix: str = ".elf"

    def find(self, kernel: str, label: str, key: str) -> tuple[Path, Mapping[str, object]] | None:
        """The binary that was built under `key` and its provenance, or None.

        A binary that has changed since is none, so it is built again.
        """
        folder = self._folder(kernel, label, key)
        binary = self._binary(folder, kernel)
        try:
            provenance = json.loads((folder / _PROVENANCE).read_text())
            as_built = _sum_file(binary).read_text() == _sum_of(binary)
        except (OSError, ValueError):
            return None
        return (binary, provenance) if as_built else None

    @contextlib.contextmanager
    def new_folder(self, kernel: str, label: str, key: str) -> Iterator[Path]:
        """A folder to build in; if the block succeeds, it becomes the folder of `key`."""
        final = self._folder(kernel, label, key)
        final.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(UNFINISHED, self.root) as scratch:
            yield scratch
            binary = self._binary(scratch, kernel)
            _sum_file(binary).write_text(_sum_of(binary))
            scratch.chmod(0o755)
            if final.exists() and self.find(kernel, label, key) is None:
                shutil.rmtree(final, ignore_errors=True)  # files were removed or changed
            with contextlib.suppress(OSError):  # another process finished the same build first
                scratch.rename(final)

    def data_file(
        self,
        kernel: str,
        arguments: Sequence[Argument],
        timed: Callable[[], Sequence[Argument]] | None = None,
        source: str = "",
    ) -> Path:
        """The data file with these arguments, written unless it is there with all its bytes.

        Args:
            kernel: its name.
            arguments: for the check before the timed runs.
            timed: makes those for the timed runs if the file has to be written; None for the same.
            source: digest of what makes the arguments; with it, the first set tells the second.
        """
        path = self.root / _DATA_FOLDER / f"{kernel}-{_contents_digest(arguments, source)}.data"
        if not is_whole(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_data_file(path, arguments, timed() if timed else None)
        return path

    def _binary(self, folder: Path, kernel: str) -> Path:
        return folder / f"{kernel}_kernel{self.suffix}"

    def _folder(self, kernel: str, label: str, key: str) -> Path:
        return self.root / kernel / f"{label}-{key}"


def write_provenance(folder: Path, provenance: Mapping[str, object]) -> None:
    """Record what the build in `folder` was made from."""
    (folder / _PROVENANCE).write_text(json.dumps(provenance, indent=2) + "\n")


def _sum_file(binary: Path) -> Path:
    return binary.with_name(f"{binary.name}.sha256")


def _sum_of(binary: Path) -> str:
    """What `sha256sum` prints of a binary, and `sha256sum -c` checks."""
    return f"{hashlib.sha256(binary.read_bytes()).hexdigest()}  {binary.name}\n"


def _contents_digest(arguments: Sequence[Argument], source: str) -> str:
    """A digest of the file format and the arguments, with their values and expected outputs."""
    state = hashlib.sha256(f"format {FORMAT_VERSION} {source}".encode())
    for argument in arguments:
        kind = (argument.name, argument.type, argument.constant, argument.atol, argument.rtol)
        state.update(repr(kind).encode())
        for value in (argument.value, argument.expected, argument.slack):
            if isinstance(value, np.ndarray):
                state.update(repr((value.dtype.str, value.shape)).encode())
                state.update(np.ascontiguousarray(value).data)
            else:
                state.update(repr(value).encode())
    return state.hexdigest()[:16]
