"""Runs kernels in a process of its own, so that a crash is a result and ends nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import mmap
import os
import pickle
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

__all__ = ["Failure", "Worker"]

# Processor time for one kernel, which a busy machine takes longer to give.
_LIMIT_S = 120
# For one that waits for something and takes no processor time.
_LONGEST_S = 1800
_KERNELS_PER_PROCESS = 400
_LENGTH = struct.Struct("<Q")


class Failure(Exception):
    """A kernel that did not run: its message says what happened."""


class Worker:
    """Runs one kernel after another; a new process takes over now and then, and after a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="triton-rvv-fuzz-"))
        self._count = 0
        self._start_s = 0.0

    def __call__(self, target, text, buffers, arguments, grid, is_study=False, skipped=()):
        """Run a kernel.

        Args:
            target: as `triton_rvv.activate` takes it.
            text: a module with the function `kernel`.
            buffers: a tensor for each.
            arguments: each a number, or the buffer and the element that a pointer leads to.
            grid: programs along x, y and z.
            is_study: whether the code need only be right for these arguments and this grid.
            skipped: passes of the compiler that are left out.

        Returns:
            The buffers afterwards.

        Raises:
            Failure: where it crashes, raises or does not end.
        """
        if self._process is None or self._count % _KERNELS_PER_PROCESS == 0:
            self._restart()
        self._count += 1
        self._start_s = _processor_time_s(self._process.pid)
        sent = {number: _as_bytes(tensor) for number, tensor in buffers.items()}
        request = pickle.dumps((target, text, sent, arguments, grid, is_study, skipped))
        assert self._process is not None
        try:
            self._process.stdin.write(_LENGTH.pack(len(request)) + request)
            self._process.stdin.flush()
            status, result = self._answer()
        except (EOFError, BrokenPipeError):
            code = self._process.wait()
            self._process = None
            raise Failure(f"the process ended with status {code}") from None
        if status == "raised":
            raise Failure(result)
        return {number: _as_tensor(*content) for number, content in result.items()}

    def close(self) -> None:
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)  # QEMU too
            self._process.wait()
            self._process = None

    def _restart(self) -> None:
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ
            | {
                "TRITON_CACHE_DIR": str(self._folder / "cache"),
                "TRITON_RVV_THREADS": "2",
                "TRITON_RVV_TIME_LIMIT_S": str(_LONGEST_S),
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            cwd=self._folder,
            process_group=0,
        )

    def _answer(self):
        length = _LENGTH.unpack(self._read(_LENGTH.size))[0]
        return pickle.loads(self._read(length))

    def _read(self, size: int) -> bytes:
        content, end = b"", time.monotonic() + _LONGEST_S
        assert self._process is not None
        while len(content) < size:
            while not select.select([self._process.stdout], [], [], 1)[0]:
                taken_s = _processor_time_s(self._process.pid) - self._start_s
                if taken_s > _LIMIT_S or time.monotonic() > end:
                    self._end()
                    raise Failure(f"it did not end within {taken_s:.0f} s of processor time")
            more = os.read(self._process.stdout.fileno(), size - len(content))
            if not more:
                raise EOFError
            content += more
        return content


def _processor_time_s(group: int) -> float:
    """What the processes of a group, and those of theirs that have ended, have taken so far."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, after_name = path.read_text().rpartition(")")
        except OSError:  # it has just ended
            continue
        fields = after_name.split()  # proc(5), from the third field on
        if int(fields[2]) == group:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _serve() -> None:
    """Answer requests until there are no more."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    number = 0
    while header := requests.read(_LENGTH.size):
        request = pickle.loads(requests.read(_LENGTH.unpack(header)[0]))
        number += 1
        try:
            answer = ("done", _run(number, *request))
        except Exception as error:  # whatever it is, the other process reports it with the kernel
            answer = ("raised", f"{type(error).__name__}: {error}")
        content = pickle.dumps(answer)
        answers.write(_LENGTH.pack(len(content)) + content)
        answers.flush()


# Tensors as they travel: pickle knows no 8-bit floats.
def _as_bytes(tensor: torch.Tensor) -> tuple[str, bytes]:
    return str(tensor.dtype).removeprefix("torch."), tensor.view(torch.uint8).numpy().tobytes()


def _as_tensor(dtype: str, content: bytes | memoryview) -> torch.Tensor:
    memory = bytearray(content) if isinstance(content, bytes) else content
    return torch.frombuffer(memory, dtype=torch.uint8).view(getattr(torch, dtype))


def _before_a_guard(content: bytes) -> memoryview:
    """The bytes, right before a page that must not be touched, by a kernel in QEMU either."""
    room_bytes = -(-len(content) // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, room_bytes + mmap.PAGESIZE)
    first = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    guard = ctypes.c_void_p(first + room_bytes)
    if ctypes.CDLL(None).mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
        raise OSError("mprotect")
    memory = memoryview(pages)[room_bytes - len(content) : room_bytes]
    memory[:] = content
    return memory


def _run(number, target, text, sent, arguments, grid, is_study, skipped):
    from fuzz_passes import without_passes
    from fuzz_study import for_one_call

    import triton_rvv

    triton_rvv.activate(target)
    path = Path(f"kernel{number}.py").resolve()
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    buffers = {
        number: _as_tensor(dtype, _before_a_guard(content))
        for number, (dtype, content) in sent.items()
    }
    passed = [buffers[x[0]][x[1] :] if isinstance(x, tuple) else x for x in arguments]
    for_one = for_one_call(passed, grid) if is_study else contextlib.nullcontext()
    with without_passes(skipped), for_one:
        module.kernel[grid](*passed)
    return {number: _as_bytes(tensor) for number, tensor in buffers.items()}


if __name__ == "__main__":
    _serve()
