"""Links object files to a static executable."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from triton_rvv.target import Backend
from triton_rvv.zig import ZigError, run_zig_cc

__all__ = ["LinkError", "link_elf", "warm_up"]

# A link takes about 30 ms; the first on a machine builds musl, a minute of one core's work.
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
        LinkError: for a symbol that is missing or defined twice, a file that is no object, or a
            link that does not end in time.
    """
    script = _SCRIPT_WITH_LINES if with_lines else _SCRIPT
    with tempfile.TemporaryDirectory(prefix=".link-", dir=output.parent) as folder:
        linked = Path(folder) / "linked"
        arguments = ["-static", "-O2", f"-Wl,-T,{script}", *map(str, objects), "-o", str(linked)]
        try:
            run_zig_cc(arguments, timeout_s=LINK_TIMEOUT_S, backend=backend)
        except ZigError as error:
            raise LinkError(str(error)) from error
        linked.replace(output)


def warm_up(backend: Backend = "rvv") -> None:
    """Makes zig build its libc, if it has not yet, so that later links are quick.

    Raises:
        LinkError: where an empty program does not link.
    """
    with tempfile.TemporaryDirectory(prefix="warm-up-") as folder:
        source, compiled = Path(folder) / "empty.c", Path(folder) / "empty.o"
        source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        try:
            command = ["-c", str(source), "-o", str(compiled)]
            run_zig_cc(command, timeout_s=LINK_TIMEOUT_S, backend=backend)
        except ZigError as error:
            raise LinkError(str(error)) from error
        link_elf([compiled], Path(folder) / "empty.elf", backend)
