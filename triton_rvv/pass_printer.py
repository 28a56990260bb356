"""Prints a kernel's IR as passes change it, for `compile --print-after` and `--print-changed`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.ttir_printer import print_ir
from triton_rvv.lowering import PARSED, PASSES, RULES, WRITTEN, Fired

__all__ = ["PassPrinter", "printed_names", "skipped_names"]

_SAYS = {
    PARSED: "Reads Triton's IR.",
    **{each.name: each.says for each in PASSES},
    WRITTEN: "Writes LLVM's IR, by rules that it notes beside each operation.",
}


def printed_names() -> tuple[str, ...]:
    """What `--print-after` takes, in the order of the passes."""
    return tuple(_SAYS)


def skipped_names() -> tuple[str, ...]:
    """What `--skip-pass` takes: passes in order, and then the rules by which code is written."""
    return (*(each.name for each in PASSES), *(each.name for each in RULES))


class PassPrinter:
    """Told of every pass, it prints the IR where that was asked for.

    Args:
        after: the passes after which all of the IR is printed.
        changed: whether to print what each pass changed, as a difference of lines.
        write: takes the text.
    """

    def __init__(self, after: Collection[str], changed: bool, write: Callable[[str], None]) -> None:
        self._after = after
        self._changed = changed
        self._write = write
        self._before = ""

    def __call__(self, fired: Fired, module: Operation) -> None:
        """Print what was asked for of a pass that has run."""
        text = print_ir(module)
        if fired.name in self._after:
            self._write(f"{_title(fired)}\n{text}")
        if self._changed and self._before not in ("", text):
            lines = difflib.unified_diff(
                self._before.splitlines(), text.splitlines(), n=0, lineterm=""
            )
            changes = "\n".join(line for line in lines if line[:3] not in ("---", "+++"))
            self._write(f"{_title(fired)}\n{changes}\n")
        self._before = text


def _title(fired: Fired) -> str:
    places = {0: "no place", 1: "1 place"}.get(fired.count, f"{fired.count} places")
    where = "" if fired.name == PARSED else f", {places}"
    return f"// after {fired.name}{where}. {_SAYS[fired.name]}"
