"""What this machine did to a build is never stored as the configuration's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.workers.artifacts import ArtifactStore, BuildFailure
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from engine.workers.machine import memory_kills, refusal_to_write
from foundation.config import Config
from foundation.errors import UserError
from triton_rvv.targets.target import RVVTarget

CONFIG = Config({"BLOCK_SIZE": 256})

# In a namespace of its own, a program sees a disk of a few kilobytes at its argument.
ON_A_FULL_DISK = """
import sys
from collections.abc import Callable
from pathlib import Path

from engine.workers.artifacts import ArtifactStore
from engine.workers.kernel_builder import BuildRequest, KernelBuilder
from foundation.config import Config
from triton_rvv.targets.target import RVVTarget

store = ArtifactStore(Path(sys.argv[1]))
builder = KernelBuilder(BuildRequest("vector_add", {"N": 1000}, "fp32", RVVTarget(), store))
failure = builder.build(Config({"BLOCK_SIZE": 256}))
print(failure.status, failure.reason)
"""


def in_namespace(script: str, *arguments: str) -> list[str]:
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "-", *arguments]


# No room for the IR, or for the executable.
@pytest.mark.parametrize("size", [pytest.param("4k", marks=pytest.mark.long), "100k"])
def test_a_full_disk_is_not_the_configurations(size: str, tmp_path: Path) -> None:
    may = subprocess.run(in_namespace("true"), capture_output=True, timeout=200, check=False)
    if may.returncode != 0:
        pytest.skip("this user may not make namespaces")
    script = f'mount -t tmpfs -o size={size} none "$1" && "$2" -c "$3" "$1"'
    command = in_namespace(script, str(tmp_path), sys.executable, ON_A_FULL_DISK)
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    status, _, reason = done.stdout.partition(" ")
    assert status == "board", done.stderr
    assert "No space left on device" in reason


def test_a_folder_that_takes_files_does_not_refuse(tmp_path: Path) -> None:
    assert refusal_to_write([tmp_path]) == ""
    missing = tmp_path / "missing"
    assert refusal_to_write([tmp_path, missing]) == (
        f"{missing} cannot be written to: No such file or directory"
    )


def test_what_does_not_compile_is_still_the_configurations(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    builder = KernelBuilder(BuildRequest("vector_add", {"N": 1000}, "fp32", RVVTarget(), store))
    failure = builder.build(Config({"BLOCK_SIZE": 100}))
    assert isinstance(failure, BuildFailure)
    assert failure.status == "compile"


def killed_zig(folder: Path) -> Path:
    """A program that something ends at once."""
    zig = folder / "zig"
    zig.write_text("#!/bin/sh\nkill -9 $$\n")
    zig.chmod(0o755)
    return zig


def no_memory(*_arguments: object, **_options: object) -> None:
    raise MemoryError


def nothing(*_arguments: object, **_options: object) -> None:
    """As from a folder that somebody empties."""


@pytest.mark.parametrize(
    ("where", "what", "reason"),
    [
        ("triton_rvv.codegen.zig.zig_program", None, "zig was ended from outside, by SIGKILL"),
        (
            "triton_rvv.make_ttir.ASTSource.make_ir",
            no_memory,
            "cannot build it: no memory",
        ),
        ("engine.workers.artifacts.ArtifactStore.find", nothing, "the build is no longer in"),
    ],
)
def test_what_ends_a_build_from_outside_is_not_the_configurations(
    where: str,
    what: Callable[..., None] | None,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = ArtifactStore(tmp_path)
    builder = KernelBuilder(BuildRequest("vector_add", {"N": 1000}, "fp32", RVVTarget(), store))
    zig = killed_zig(tmp_path)
    monkeypatch.setattr(where, what or (lambda: zig))
    monkeypatch.setattr(
        "triton_rvv.codegen.link._PROGRAMS", {}
    )  # as in a builder that has linked nothing
    failure = builder.build(CONFIG)
    assert isinstance(failure, BuildFailure)
    assert (failure.status, reason in failure.reason) == ("board", True), failure


def test_a_builder_that_cannot_link_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zig = killed_zig(tmp_path)
    monkeypatch.setattr("triton_rvv.codegen.zig.zig_program", lambda: zig)
    request = BuildRequest("vector_add", {"N": 1000}, "fp32", RVVTarget(), ArtifactStore(tmp_path))
    with pytest.raises(UserError, match=r"^this machine cannot link programs \(zig was ended"):
        KernelBuilder(request)


def test_linux_counts_the_processes_that_memory_ran_out_for() -> None:
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    assert memory_kills() == int(counts["oom_kill"])


OUT_OF_MEMORY = """
from engine.workers.builders import BuilderPool
from engine.workers.ray_session import ray_session
from fakes import FakeBuilder
from foundation.config import Config

with ray_session(cpus=2):
    pool = BuilderPool(FakeBuilder, jobs=2)
    failure = pool.build(Config({"build": "hang"}))
    pool.close()
print(failure.status, failure.reason)
"""


@pytest.mark.long  # Ray may also end the builder while it starts, which is another sentence
def test_ray_ends_a_builder_since_memory_is_short() -> None:
    """With a threshold that any machine is beyond."""
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "RAY_memory_usage_threshold": "0.01",
        "RAY_memory_monitor_refresh_ms": "100",
    }
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.stdout == "board this machine's memory ran out in the build: 1 builder goes on\n"


WITHOUT_RAY = """
import functools
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from engine.workers.builders import BuilderPool
from engine.workers.ray_session import ray_session
from fakes import FakeBuilder
from foundation.config import Config
from foundation.errors import UserError
from ssh_server import descendants, name_of

def kill_once_two_builds_run():
    while log.read_text().count("build") < 3:
        time.sleep(0.01)
    (one,) = (pid for pid in descendants(os.getpid()) if name_of(pid) == sys.argv[1])
    os.kill(one, signal.SIGKILL)

def build(number):
    try:
        told.append(pool.build(Config({"number": number})))
    except UserError as error:
        told.append(error)

told = []

with tempfile.TemporaryDirectory() as folder, ray_session(cpus=2):
    log = Path(folder, "log")
    pool = BuilderPool(functools.partial(FakeBuilder, log), jobs=2)
    pool.build(Config({"number": 0}))
    pool.close()
    pool = BuilderPool(functools.partial(FakeBuilder, log, delay_s=600.0), jobs=2)
    threads = [threading.Thread(target=build, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    kill_once_two_builds_run()
    for thread in threads:
        thread.join()
    pool.close()
for one in told:
    print(one)
"""


# Where one of the latter two ends, Ray ends all workers before the machine stops to answer.
@pytest.mark.long
@pytest.mark.parametrize("name", ["raylet", "ray::RuntimeEnv", "ray::DashboardA"])
def test_a_run_whose_own_ray_ends_says_so_and_blames_no_build(name: str) -> None:
    folders = (Path(__file__).parent, Path(__file__).parents[1] / "rvv_runner" / "ssh")
    paths = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RAY, name],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    sentence = (
        "Ray's processes on this machine have ended: what was measured is stored; "
        "run the same command to resume\n"
    )
    assert done.stdout == 2 * sentence, done.stderr
