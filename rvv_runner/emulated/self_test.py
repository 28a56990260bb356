"""Checks once for each QEMU that the plug-in sees exactly what a known program executes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from foundation.programs import python_command
from foundation.scratch import UNFINISHED, scratch_folder
from rvv_runner.board import BoardError
from rvv_runner.emulated.counters import parse_report
from rvv_runner.emulated.plugin import build_folder, write_once
from rvv_runner.emulated.run import Emulator, run_in_qemu
from triton_rvv.codegen.zig import ZigError, run_zig_cc

__all__ = ["SELF_TEST_VLEN_BITS", "check_qemu"]

SELF_TEST_VLEN_BITS = 256

_SOURCE = Path(__file__).with_name("self_test.c")
_BUILD_TIMEOUT_S = 120.0
_RUN_TIMEOUT_S = 20.0

# The counts of each region of self_test.c. QEMU reports accesses of whole registers byte by byte or
# in larger parts, so only their cache lines are checked; elements must arrive one by one.
_EXPECTED: tuple[Mapping[str, int], ...] = (
    {"instructions": 0, "vector_instructions": 0, "l1d_load_access": 0},
    {
        "instructions": 41,
        "scalar_loads": 10,
        "scalar_stores": 10,
        "l1d_load_access": 10,
        "l1d_store_access": 10,
        "vector_instructions": 0,
    },
    {
        "instructions": 8,
        "vector_instructions": 4,
        "vector_m1": 3,
        "vector_m2": 1,
        "vector_loads": 2,
        "vector_stores": 1,
        "unknown_vector_type": 0,
        "l1d_load_access": 2,
        "l1d_store_access": 1,
        "vector_elements": 8 + 4 + 16,
    },
    {
        "instructions": 2,
        "whole_register_loads": 1,
        "whole_register_stores": 1,
        "l1d_load_access": 1,
        "l1d_store_access": 1,
    },
)


def check_qemu(emulator: Emulator) -> None:
    """Run the self-test, unless exactly this QEMU has passed it with exactly this plug-in.

    Args:
        emulator: the emulator to check, with a vector length of SELF_TEST_VLEN_BITS.

    Raises:
        BoardError: if QEMU's plug-in interface does not deliver what the model needs.
    """
    passed = build_folder() / f"passed-{_identity(emulator)}"
    if passed.exists():
        return
    run = run_in_qemu(emulator, _self_test_elf(), (), _RUN_TIMEOUT_S)
    problem = _problem(run.result.returncode, run.result.stderr, run.report)
    if problem:
        raise BoardError(
            f"{emulator.qemu} cannot run the emulated board ({problem}): run "
            f"{python_command('rvv_runner')} qemu, which builds one that can"
        )
    write_once(passed.name, "passed\n")


def _problem(returncode: int, stderr: str, report: str | None) -> str:
    """What is wrong with a run of the self-test, or ""."""
    if "unknown option 'plugin'" in stderr:
        return "it is built without plug-ins, as Debian's is since version 13, and Ubuntu's"
    if returncode != 0 or report is None:
        lines = stderr.strip().splitlines() or ["it gave no reason"]
        return f"the self-test ended with status {returncode}: {lines[0]}"
    try:
        regions = parse_report(report)
    except ValueError as error:
        return str(error)
    if len(regions) != len(_EXPECTED):
        return f"the plug-in saw {len(regions)} of {len(_EXPECTED)} marked regions"
    for region, expected in zip(regions, _EXPECTED, strict=True):
        for name, value in expected.items():
            if region.raw[name] != value:
                return f"the plug-in counted {region.raw[name]} for {name} instead of {value}"
    return ""


def _identity(emulator: Emulator) -> str:
    """A hash of the QEMU binary, the plug-in (named by its sources) and the self-test."""
    binary = emulator.qemu.resolve()
    status = binary.stat()
    digest = hashlib.sha256(_SOURCE.read_bytes())
    parts = (binary, status.st_size, status.st_mtime_ns, emulator.plugin.name, emulator.cpu)
    digest.update("\0".join(map(str, parts)).encode())
    return digest.hexdigest()[:16]


def _self_test_elf() -> Path:
    """The self-test as an executable without a libc, compiled on the first call."""
    folder = build_folder()
    built = folder / f"self-test-{hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]}.elf"
    if built.exists():
        return built
    with scratch_folder(UNFINISHED, folder) as temporary:
        compiled = temporary / "self-test.elf"
        flags = ["-static", "-nostdlib", "-ffreestanding", "-O1", "-g0", "-fno-sanitize=all"]
        try:
            run_zig_cc([*flags, str(_SOURCE), "-o", str(compiled)], timeout_s=_BUILD_TIMEOUT_S)
        except ZigError as error:
            raise BoardError(f"the emulated board's self-test does not build: {error}") from error
        compiled.replace(built)
    return built
