"""What measuring over SSH costs beyond the runs themselves:
python benchmarks/search/bench_overhead.py."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from kernels.registry import load_kernel, make_problem
from rvv_runner.board_file import BoardFile, SshSettings, read_board_file
from rvv_runner.measurement import ElfArtifact
from rvv_runner.ssh.board import SshBoard
from triton_rvv.targets.target import RVVTarget

__all__ = ["overheads_s"]

TEST_SERVER = Path(__file__).parents[2] / "tests" / "rvv_runner" / "ssh"
WRAPPER = ("qemu-riscv64", "-cpu", "rv64,v=true,vlen=256,vext_spec=v1.0")
ROUNDS = 20
REPEATS = 3
LIMIT_S = 60.0
EVENTS = {"page_faults": "page-faults", "switches": "context-switches"}  # every Linux counts them


def overheads_s(
    board: SshBoard, artifacts: Sequence[ElfArtifact], run_options: Sequence[Sequence[str]]
) -> list[float]:
    """Seconds that each measurement took beyond the same runs without a board, in turns."""
    overheads = []
    for artifact in artifacts:
        command = [*WRAPPER, str(artifact.elf_path), str(artifact.data_path)]
        command += artifact.launcher_options
        start_s = time.perf_counter()
        for options in run_options:
            subprocess.run([*command, *options], capture_output=True, check=True, timeout=LIMIT_S)
        direct_s = time.perf_counter() - start_s
        start_s = time.perf_counter()
        measurement = board.measure(artifact, REPEATS, LIMIT_S)
        overheads.append(time.perf_counter() - start_s - direct_s)
        assert measurement.status == "correct", measurement.reason
    return overheads


@contextmanager
def ssh_board(folder: Path) -> Iterator[BoardFile]:
    """The board file of the tests' sshd on loopback."""
    sys.path.insert(0, str(TEST_SERVER))
    from ssh_server import SshServer, running

    home = folder / "home"
    home.mkdir()
    os.environ |= {"XDG_CACHE_HOME": str(Path.home() / ".cache"), "HOME": str(home)}
    os.environ.pop("SSH_AUTH_SOCK", None)
    (folder / "sshd").mkdir()
    with running(SshServer(folder / "sshd", home)) as server:
        settings = SshSettings(
            host="127.0.0.1",
            port=server.port,
            folder=str(folder / "board"),
            lock=str(folder / "lock"),
            wrapper=WRAPPER,
            busy_cores=1000.0,  # this machine runs the tuner as well
        )
        yield dataclasses.replace(read_board_file("x60"), name="loopback", events={}, ssh=settings)


def build(folder: Path) -> ElfArtifact:
    problem = make_problem(load_kernel("vector_add"), {"N": 1024})
    store = ArtifactStore(folder)
    request = BuildRequest("vector_add", problem.shape, problem.dtype, RVVTarget(), store)
    built = KernelBuilder(request).build(problem.default_config)
    assert isinstance(built, ElfArtifact), built
    return built


def copies(artifact: ElfArtifact, folder: Path) -> list[ElfArtifact]:
    """The same executable with other hashes, so that each must be sent to the board."""
    made = []
    for number in range(ROUNDS):
        path = folder / f"{number}.elf"
        path.write_bytes(artifact.elf_path.read_bytes() + number.to_bytes(8, "little"))
        path.chmod(0o755)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        made.append(dataclasses.replace(artifact, elf_path=path, sha256=digest))
    return made


def report(
    what: str, board_file: BoardFile, artifacts: list[ElfArtifact], runs: list[list[str]]
) -> None:
    board = SshBoard("loopback", board_file)
    board.open()
    try:
        times_ms = [overhead_s * 1e3 for overhead_s in overheads_s(board, artifacts, runs)]
    finally:
        board.close()
    print(
        f"a measurement over SSH {what}: {statistics.median(times_ms):.1f} ms beyond its runs "
        f"(median of {len(times_ms)})"
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    timed = ["--warmup", "1", "--repeats", str(REPEATS)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        artifact = build(folder / "builds")
        with ssh_board(folder) as board_file:
            same = [artifact] * ROUNDS
            report("without perf", board_file, same, [timed])
            new = copies(artifact, folder)
            report("without perf, of an executable to be sent first", board_file, new, [timed])
            if shutil.which("perf") is None:
                print("with perf: not measured, since this machine has none")
                return
            counting = dataclasses.replace(board_file, events=EVENTS)
            counted = [["--repeats", "0", "--warmup", runs] for runs in ("0", "1")]
            report("with perf", counting, same, [timed, *counted])


if __name__ == "__main__":
    main()
