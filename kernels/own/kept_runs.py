"""What runs of a kernel without a reference left, which took too long, and what a slow reference
gave, kept for other processes: a study's builders need what the process that opened it has had
computed, and Triton's interpreter takes its time."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from foundation.scratch import UNFINISHED, scratch_folder
from foundation.strides import memory_of
from foundation.user_folders import cache_folder
from triton_rvv.version import backend_version, folder_digest

__all__ = [
    "contents_digest",
    "is_slow",
    "keep_noted",
    "keep_slow",
    "kept_outputs",
    "kept_runs",
    "noted",
]

# Of one run; to write and read more takes about as long as to run it again.
_MOST_BYTES = 64 << 20
# Of all that is kept. Beyond it, what was not asked for longest goes, down to half of it.
_MOST_KEPT_BYTES, _MOST_KEPT_FILES = 512 << 20, 4096
# How long what another process runs is waited for: it may have been stopped, or give what is too
# large to keep.
_PATIENCE_S, _PAUSE_S = 60.0, 0.05
# How long a run is taken for a slow one: the machine may have been busy.
_SLOW_FOR_S = 24 * 3600.0
_UNREADABLE = (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError)


def kept_runs(
    job: str,
    starts: Sequence[Mapping[str, Any]],
    run: Callable[[list[int]], list[dict[str, torch.Tensor]]],
) -> list[dict[str, torch.Tensor]]:
    """The tensors after runs from several values, each run once by any process of this user.

    A process that asks for what another one is running waits for it, for a minute at most.

    Args:
        job: all that the runs follow from besides the values, and the versions of the compiler and
            of this package.
        starts: the values of the arguments at the beginning of each run, by name.
        run: gives the tensors after those of the runs that are asked for, by position.
    """
    keys = [_digest(job, contents_digest(start)) for start in starts]
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # nothing is kept where nothing can be written
            held.enter_context(_locked(keys[0]))
        found = [_read(key, start) for key, start in zip(keys, starts, strict=True)]
        # Of equal starts, one runs.
        missing = {key: n for n, key in enumerate(keys) if found[n] is None and key not in keys[:n]}
        after = run([*missing.values()]) if missing else []
        made = dict(zip(missing, after, strict=True))
        for key, one in made.items():
            _keep(key, starts[missing[key]], one)
        if made:
            with contextlib.suppress(OSError):  # another process may forget them, too
                _forget_oldest()
    return [made[key] if one is None else one for key, one in zip(keys, found, strict=True)]


def kept_outputs(
    job: str,
    values: Mapping[str, Any],
    make: Callable[[], Mapping[str, torch.Tensor | None]],
) -> dict[str, torch.Tensor | None]:
    """What `make` gives for values of arguments, made once by any process of this user.

    Args:
        job: as for `kept_runs`.
        values: by name.
        make: gives tensors, or None, by name.
    """
    key = _digest(job, contents_digest(values))
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            held.enter_context(_locked(key))
        found = _loaded(key)
        if found is None:
            found = dict(make())
            with contextlib.suppress(OSError):
                _save(key, found)
                _forget_oldest()
    return found


def is_slow(job: str) -> bool:
    """Whether `keep_slow` was called for the same within a day."""
    return noted(f"{job} is slow", _SLOW_FOR_S) is not None


def keep_slow(job: str) -> None:
    """Remember that runs take too long."""
    keep_noted(f"{job} is slow", {})


def noted(job: str, for_s: float) -> dict[str, Any] | None:
    """What `keep_noted` was last given for the same job within so many seconds, or None."""
    path = _path(_digest(job))
    try:
        is_new = time.time() - path.stat().st_mtime < for_s
        return dict(torch.load(path, weights_only=True)) if is_new else None
    except _UNREADABLE:
        return None


def keep_noted(job: str, facts: Mapping[str, Any]) -> None:
    """Remember strings and numbers of a job."""
    with contextlib.suppress(OSError):
        _save(_digest(job), facts)


def contents_digest(start: Mapping[str, Any]) -> str:
    """A digest of the values of arguments."""
    digest = hashlib.sha256()
    for name, value in start.items():
        if isinstance(value, torch.Tensor):
            device = torch.cuda.get_device_name(value.device) if value.is_cuda else value.device
            digest.update(repr((name, *_kind(value), str(device))).encode())
            digest.update(_bytes(value).cpu().numpy().data)
        else:
            digest.update(repr((name, value)).encode())
    return digest.hexdigest()


def _digest(*parts: str) -> str:
    text = repr((_versions(), folder_digest(Path(__file__).parent), *parts))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@functools.cache
def _versions() -> tuple[str, ...]:
    return (backend_version(), *map(version, ("numpy", "torch", "triton")))


def _folder() -> Path:
    return cache_folder() / "runs"


def _path(key: str) -> Path:
    return _folder() / f"{key}.pt"


@contextlib.contextmanager
def _locked(key: str) -> Iterator[None]:
    """Held by one process at a time, of all that ask for the same; not waited for too long.

    Raises:
        OSError: if the file cannot be made.
    """
    _folder().mkdir(parents=True, exist_ok=True)
    descriptor = os.open(_folder() / f"{key[:2]}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        end_s = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end_s:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(descriptor)


def _read(key: str, start: Mapping[str, Any]) -> dict[str, torch.Tensor] | None:
    """The tensors after a run that was kept; those that it did not change are not in the file."""
    changed = _loaded(key)
    return None if changed is None else {**_tensors(start), **changed}


def _loaded(key: str) -> dict[str, Any] | None:
    path = _path(key)
    try:
        found = dict(torch.load(path, weights_only=True))
        os.utime(path)
    except _UNREADABLE:
        return None
    return found


def _keep(key: str, start: Mapping[str, Any], after: Mapping[str, torch.Tensor]) -> None:
    before = _tensors(start)
    changed = {name: one for name, one in after.items() if not _same(one, before[name])}
    with contextlib.suppress(OSError):
        _save(key, changed)


def _save(key: str, found: Mapping[str, Any]) -> None:
    """Keep tensors, or strings and numbers, unless they take too much.

    Raises:
        OSError: where nothing can be written.
    """
    if sum(memory_of(one).nbytes for one in _tensors(found).values()) > _MOST_BYTES:
        return
    _folder().mkdir(parents=True, exist_ok=True)
    with scratch_folder(UNFINISHED, _folder()) as scratch:
        try:
            torch.save(dict(found), scratch / key)
        except RuntimeError as error:  # what torch raises where the disk is full
            raise OSError(str(error)) from error
        (scratch / key).replace(_path(key))


def _forget_oldest() -> None:
    files = [(file.stat(), file) for file in _folder().glob("*.pt")]
    size_bytes, count = sum(state.st_size for state, _ in files), len(files)
    if size_bytes <= _MOST_KEPT_BYTES and count <= _MOST_KEPT_FILES:
        return
    for state, file in sorted(files, key=lambda one: one[0].st_mtime):
        if size_bytes <= _MOST_KEPT_BYTES // 2 and count <= _MOST_KEPT_FILES // 2:
            return
        file.unlink(missing_ok=True)
        size_bytes, count = size_bytes - state.st_size, count - 1


def _tensors(values: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same bits."""
    are_alike = one.device == other.device and _kind(one) == _kind(other)
    return are_alike and torch.equal(_bytes(one), _bytes(other))


def _kind(tensor: torch.Tensor) -> tuple[torch.dtype, tuple[int, ...], tuple[int, ...]]:
    return tensor.dtype, tuple(tensor.shape), tensor.stride()


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return memory_of(tensor).detach().flatten().view(torch.uint8)
