"""Links object files to a static executable."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triton_rvv.codegen.placement import PLACE_FLAGS, Program, linked_program, with_kernel
from triton_rvv.codegen.zig import ZigError, ZigStopped, run_zig_cc, run_zig_lld
from triton_rvv.targets.target import Backend

__all__ = ["LinkError", "link_elf", "program_around", "warm_up"]

# A linker takes about 30 ms; the first on a machine builds musl, a minute of one core's work.
LINK_TIMEOUT_S = 600.0

_SCRIPT = Path(__file__).with_name("drop_debug.ld")
_SCRIPT_WITH_LINES = Path(__file__).with_name("keep_lines.ld")


class LinkError(Exception):
    """Objects that do not link; the message is the linker's first line that says why."""


def link_elf(
    objects: Sequence[Path], output: Path, backend: Backend = "rvv", with_lines: bool = False
) -> None:
    """Links `objects` and musl to a static Linux executable at `output`.

    The same objects in the same order give the same bytes, whatever their paths. `output` appears
    whole or not at all, so several processes may link at once, even to one path.

    Args:
        objects: relocatable files, one of which defines main.
        output: the executable; its folder has to exist.
        backend: the kind of target that the objects are for.
        with_lines: whether the table of lines of a kernel's object is kept; its code is not
            affected.

    Raises:
        LinkError: for a symbol that is missing or defined twice, or a file that is no object.
        ZigStopped: for a link that this machine did not let run to its end.
    """
    script = _SCRIPT_WITH_LINES if with_lines else _SCRIPT
    objects, output = [path.absolute() for path in objects], output.absolute()
    with tempfile.TemporaryDirectory(prefix=".link-", dir=output.parent) as folder:
        linked = Path(folder) / "linked"
        if _is_placed(objects, linked, backend, with_lines):
            linked.replace(output)
            return
        known = _COMMANDS.get((backend, script))
        try:
            if known is None or not _repeated(known, objects, linked):
                _COMMANDS[backend, script] = _first_link(backend, script, objects, linked)
        except ZigStopped:
            raise
        except ZigError as error:
            raise LinkError(str(error)) from error
        linked.replace(output)


@dataclass(frozen=True)
class _Command:
    """What zig told its linker: what stands around the objects, and the output's place in it."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    output_at: int


# Several take a tenth more processor time, which other builds need.
_ONE_THREAD = "--threads=1"

# Of each kind of link, the linker's command of the first one in this process.
_COMMANDS: dict[tuple[Backend, Path], _Command | None] = {}

# What kernels are placed in, by the objects that it is made of and when they were written.
_PROGRAMS: dict[tuple[tuple[str, int], ...], Program | None] = {}


def _first_link(
    backend: Backend, script: Path, objects: Sequence[Path], linked: Path
) -> _Command | None:
    """Link by zig's C compiler, which makes its libc if there is none yet; the linker's command."""
    names = list(map(str, objects))
    arguments = ["-v", "-static", "-O2", f"-Wl,-T,{script}", *names, "-o", str(linked)]
    said = run_zig_cc(arguments, timeout_s=LINK_TIMEOUT_S, backend=backend)
    for line in said.splitlines():
        tool, *words = line.split(" ")
        # Paths with spaces cannot be told from several words.
        if tool == "ld.lld" and str(linked) in words and set(names) <= set(words):
            first = words.index(names[0])
            if words[first : first + len(names)] == names:
                before, after = tuple(words[:first]), tuple(words[first + len(names) :])
                return _Command(before, after, before.index(str(linked)))
    return None


def _repeated(command: _Command, objects: Sequence[Path], linked: Path) -> bool:
    """Link by the linker alone, which takes a third of the time; False if that fails."""
    try:
        _link_alone(command, objects, linked)
    except ZigError:
        return False
    return True


def _link_alone(
    command: _Command, objects: Sequence[Path], linked: Path, flags: Sequence[str] = ()
) -> None:
    before = list(command.before)
    before[command.output_at] = str(linked)
    run_zig_lld(
        [_ONE_THREAD, *flags, *before, *map(str, objects), *command.after],
        timeout_s=LINK_TIMEOUT_S,
    )


def _is_placed(objects: Sequence[Path], linked: Path, backend: Backend, with_lines: bool) -> bool:
    """Put the first object into a program of the others; False where only a linker can."""
    if with_lines or len(objects) < 2:
        return False
    kernel, *others = objects
    try:
        program, compiled = program_around(others, backend), kernel.read_bytes()
    except FileNotFoundError:
        return False  # the linker says which
    content = program and with_kernel(program, compiled)
    if not content:
        return False
    with open(linked, "wb", opener=_open_as_executable) as file:
        file.write(content)
    return True


def program_around(objects: Sequence[Path], backend: Backend) -> Program | None:
    """What `link_elf` places a kernel in that stands before these objects: linked once in a process
    and its forks. None where only a linker can do it.

    Raises:
        FileNotFoundError: for an object that is missing.
        LinkError, ZigStopped: like `warm_up`.
    """
    versions = tuple((str(path), path.stat().st_mtime_ns) for path in objects)
    if versions not in _PROGRAMS:
        _PROGRAMS[versions] = _program(objects, backend)
    return _PROGRAMS[versions]


def _open_as_executable(path: str, flags: int) -> int:
    return os.open(path, flags, 0o777)


def _program(objects: Sequence[Path], backend: Backend) -> Program | None:
    """The executable of all objects but the kernel's; None where there is none."""
    with tempfile.TemporaryDirectory(prefix="program-") as folder:
        if _COMMANDS.get((backend, _SCRIPT)) is None:
            warm_up(backend)
        command, linked = _COMMANDS.get((backend, _SCRIPT)), Path(folder) / "linked"
        if command is None:
            return None
        try:
            _link_alone(command, objects, linked, PLACE_FLAGS)
        except ZigStopped:
            raise
        except ZigError:  # such as for objects without a main
            return None
        return linked_program(linked.read_bytes())


def warm_up(backend: Backend = "rvv") -> None:
    """Makes zig build its libc, if it has not yet, so that later links are quick.

    Raises:
        LinkError: where an empty program does not link; a ZigStopped like `link_elf`.
    """
    with tempfile.TemporaryDirectory(prefix="warm-up-") as folder:
        source, compiled = Path(folder) / "empty.c", Path(folder) / "empty.o"
        source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        try:
            command = ["-c", str(source), "-o", str(compiled)]
            run_zig_cc(command, timeout_s=LINK_TIMEOUT_S, backend=backend)
        except ZigStopped:
            raise
        except ZigError as error:
            raise LinkError(str(error)) from error
        link_elf([compiled], Path(folder) / "empty.elf", backend)
