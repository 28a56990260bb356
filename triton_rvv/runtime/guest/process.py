"""Runs a linked kernel in QEMU and answers what it asks for."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from triton_rvv.runtime.guest.memory import Mapping, SharedMemory, mappings
from triton_rvv.runtime.host_assertions import assertion_failed
from triton_rvv.runtime.qemu import QemuError, cpu_option, find_qemu
from triton_rvv.targets.target import RVVTarget

__all__ = ["GuestError", "run_guest"]

LIMIT_VARIABLE = "TRITON_RVV_TIME_LIMIT_S"
_DEFAULT_LIMIT_S = 600.0

# Of program.c: kinds of messages, and their layouts.
_READY, _FAULT, _ASSERTION, _OCCUPIED = range(4)
_MESSAGE = struct.Struct("<QQ3I")
_MEMORY = struct.Struct("<4Q")
_MESSAGE_BYTES = 1 << 13

# Where libraries lie is drawn by lot for each process, among 2^28 places.
_ATTEMPTS = 20


class GuestError(RuntimeError):
    """A kernel that did not run to its end in QEMU; nothing of what it wrote has been kept."""


class _Occupied(Exception):
    """QEMU itself has memory at an address that is this process's, too."""


def run_guest(program: Path, target: RVVTarget, slots: bytes, grid: Sequence[int]) -> None:
    """Run every program of a grid, one after another; returns when the last has ended.

    Args:
        program: the executable.
        target: what the code may use of the core.
        slots: the argument array, eight bytes for each.
        grid: programs along x, y and z.

    Raises:
        GuestError: where it crashes, does not end in time, or cannot be started.
    """
    qemu = _qemu_like(target)
    for _ in range(_ATTEMPTS):
        try:
            _run_once([*qemu, str(program)], struct.pack("<4I", *grid, len(slots) // 8) + slots)
            return
        except _Occupied:
            continue
    raise GuestError(
        "QEMU's own memory lies where this process has tensors, each time anew: "
        "switch the randomisation of addresses on (/proc/sys/kernel/randomize_va_space)"
    )


def _run_once(command: Sequence[str], start: bytes) -> None:
    memory = SharedMemory()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        try:
            with theirs:
                files = (theirs.fileno(), memory.file)
                process = subprocess.Popen(
                    [*command, *map(str, files)],
                    env={},
                    stdin=subprocess.DEVNULL,
                    pass_fds=files,
                )
            try:
                unknown = _serve(ours, process, memory, start)
                _check_ending(process.wait(), unknown)
            finally:
                process.kill()
                process.wait()
            memory.take_back()
        finally:
            memory.close()


def _serve(
    channel: socket.socket, process: subprocess.Popen[bytes], memory: SharedMemory, start: bytes
) -> int | None:
    """Answer until the other side has ended.

    Returns:
        An address that the kernel touched without there being memory, if any.
    """
    limit_s = _limit_s()
    deadline = time.monotonic() + limit_s
    unknown = None
    while True:
        channel.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            message = channel.recv(_MESSAGE_BYTES)
        except TimeoutError:
            raise GuestError(
                f"the kernel did not end in QEMU within {limit_s:g} s: "
                f"set {LIMIT_VARIABLE} to more seconds"
            ) from None
        if not message:
            return unknown
        kind, address, *program_id = _MESSAGE.unpack_from(message)
        if kind == _READY:
            _refuse_overlap(memory.own, mappings(process.pid))
            channel.send(start)
        elif kind == _FAULT:
            shared = memory.share(address)
            if shared is None:
                unknown = address
            channel.send(_answer(shared))
        elif kind == _ASSERTION:
            assertion_failed(message[_MESSAGE.size :], *program_id)
        else:
            raise _Occupied


def _refuse_overlap(own: Sequence[Mapping], others: Sequence[Mapping]) -> None:
    """A kernel would see QEMU's memory where it shares an address with this process's."""
    if any(mapping.overlaps(other) for mapping in own for other in others):
        raise _Occupied


def _answer(shared: tuple[Mapping, int] | None) -> bytes:
    if shared is None:
        return _MEMORY.pack(0, 0, 0, 0)
    mapping, offset = shared
    size_bytes = mapping.end - mapping.start
    return _MEMORY.pack(mapping.start, size_bytes, offset, mapping.is_writable)


def _check_ending(status: int, unknown: int | None) -> None:
    if status == -signal.SIGSEGV and unknown is not None:
        raise GuestError(
            f"the kernel ended with SIGSEGV in QEMU: it touched address {unknown:#x}, where it may "
            "not; nothing it wrote has been kept"
        )
    if status < 0:
        name = signal.Signals(-status).name
        raise GuestError(f"the kernel ended with {name} in QEMU; nothing it wrote has been kept")
    if status > 0:
        raise GuestError(f"QEMU ended with status {status}: what it printed says why")


def _qemu_like(target: RVVTarget) -> tuple[str, ...]:
    try:
        qemu = find_qemu()
        return str(qemu), "-cpu", cpu_option(qemu, target)
    except QemuError as error:
        raise GuestError(str(error)) from None


def _limit_s() -> float:
    text = os.environ.get(LIMIT_VARIABLE)
    if text is None:
        return _DEFAULT_LIMIT_S
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{LIMIT_VARIABLE} is {text!r}: set it to a number of seconds") from None
