"""What Triton's own front end has against a kernel, as one sentence and the line that it is at."""

from __future__ import annotations

import linecache
import re
import traceback
from pathlib import Path
from typing import Any

from triton.compiler.errors import CompilationError
from triton.runtime.jit import get_jit_fn_file_line

__all__ = ["innermost", "line_of", "refusal"]

# What Triton says of a function that is used before it is complete, by its name in the IR.
_INCOMPLETE_FUNCTION = re.compile(r"KeyError\('[\w.<>]+\.\w+__\w*'\)")


def innermost(error: BaseException) -> BaseException:
    """What Triton met, without the errors for the code around it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def refusal(error: CompilationError) -> str:
    """What is wrong, without the source excerpts around it."""
    cause = innermost(error)
    lines = [line.strip() for line in str(cause).splitlines() if line.strip(" ^")]
    if lines and _INCOMPLETE_FUNCTION.fullmatch(lines[-1]):
        return "a function that calls itself is not supported: write a loop"
    return lines[-1] if lines else _without_message(cause, error)


def line_of(function: Any, error: CompilationError) -> str:
    """The line of the kernel's source as "file:line", empty where Triton does not know it."""
    number = getattr(getattr(error, "node", None), "lineno", None)
    if number is None:
        return ""
    file, first = get_jit_fn_file_line(function)  # of the "def", from which Triton counts
    return f"{file}:{first + number - 1}"


def _without_message(cause: BaseException, error: CompilationError) -> str:
    """The statement of the kernel that is refused, and the one of Triton that refuses it."""
    *_, frame = traceback.extract_tb(cause.__traceback__)
    number, last = frame.lineno or 0, frame.end_lineno or 0
    raised = " ".join("".join(linecache.getlines(frame.filename)[number - 1 : last]).split())
    kernel_lines = (error.src or "").splitlines()[getattr(error.node, "lineno", 0) - 1 :]
    refused = kernel_lines[0].strip() if kernel_lines else "this kernel"
    return (
        f"Triton does not accept `{refused}`: {type(cause).__name__} in its "
        f"{Path(frame.filename).name}:{number}, `{raised}`"
    )
